"""What predicts after gradients were learned: a fit on directions or on selected variables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.kernels import Gaussian, length_scale
from nablasso.losses import Squared
from nablasso.regression.machine import Refit, refit
from nablasso.regression.paired import saving
from nablasso.types import Array

WHOLE = 1e-9  # distance from a whole number that is rounding
MOST_COPIES = 100  # of a row, for predictors that take no weights
MAX_ROWS = 2000  # of kernel ridge regression: rows of a table are in random order


def fit_predictor(predictor: Any, features: Array, table: Table) -> Any:
    """Fit ``predictor`` (None: kernel ridge regression) to the table's target.

    Features are those of the table's rows. The result has ``predict``.
    """
    if predictor is None:
        return KernelRidge(features, table)
    y = table.y + table.y_mean
    if np.ptp(table.weights) == 0:
        return clone(predictor).fit(features, y)
    if has_fit_parameter(predictor, "sample_weight"):
        return clone(predictor).fit(features, y, sample_weight=len(y) * table.weights)
    copies = table.weights / table.weights.min()
    whole = np.rint(copies).astype(int)
    if np.abs(copies - whole).max() > WHOLE or whole.max() > MOST_COPIES:
        raise InvalidParameterError(
            f"predictor must take sample_weight, because rows have weights; {predictor!r} does "
            "not. Choose another one."
        )
    return clone(predictor).fit(np.repeat(features, whole, axis=0), np.repeat(y, whole))


class KernelRidge:
    """Kernel ridge regression, Gaussian, ridge by closed-form leave-one-out."""

    def __init__(self, features: Array, table: Table) -> None:
        self.y_mean = table.y_mean
        self.refit = _ridge(features, table)

    def predict(self, features: Array) -> Array:
        """Values in the units of y."""
        return np.asarray(self.y_mean + self.refit.function.values(features))


def left_out_gain(features: Array, targets: Array, table: Table) -> tuple[float, float]:
    """R2 on left-out rows of kernel ridge regression, and the gain over the mean.

    The gain is in standard errors. Targets are (n, q): y, or plus and minus one per class.
    """
    null, ours = np.zeros(len(targets)), np.zeros(len(targets))
    for target in targets.T:
        refit = _ridge(features, replace(table, y=target))
        n = len(refit.loo_residuals)
        weights = _normalised(table.weights[:n])
        null[:n] += ((target[:n] - weights @ target[:n]) / (1 - weights)) ** 2
        ours[:n] += refit.loo_residuals**2
    return saving(null[:n], ours[:n], weights)


def _ridge(features: Array, table: Table) -> Refit:
    F, y = features[:MAX_ROWS], table.y[:MAX_ROWS]
    weights = _normalised(table.weights[:MAX_ROWS])
    varies = np.ptp(F, axis=0) > 0
    columns = np.flatnonzero(varies)
    F = np.ascontiguousarray(F[:, varies])
    scales = np.full(len(columns), 1 / _width(F, weights))
    data = (Squared(), Gaussian(), F, y, weights, columns)
    return refit(*data, scales=scales, fit_intercept=True)


def _width(X: Array, weights: Array) -> float:
    return length_scale(Gaussian(), X, weights, "median") if X.shape[1] else 1.0


def _normalised(weights: Array) -> Array:
    return np.asarray(weights / weights.sum())
