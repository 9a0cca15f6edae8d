r"""Prediction intervals from left-out residuals, without a split.

The residual ``r_i`` of row ``i``, predicted from all the others, is distributed nearly as the error
at a new row. So ``prediction +- q`` covers a new y with probability about ``level`` when q is the
``ceil(level (n + 1))``-th smallest ``|r_i|``. With weights ``p`` (adding up to one) q is the
smallest number with

.. math:: \sum_{|r_i| \le q} p_i \ge \mathrm{level}\,(1 + 1/n), \qquad n = 1 / \sum_i p_i^2

which is the same for equal weights. Where the right side exceeds one no finite q will do.

**Locally scaled.** With an estimate ``s(x) > 0`` of the size of the error,
``prediction +- q s(x)`` with q from the ``|r_i| / s_{-i}(x_i)`` is wide where the data are noisy.
``s`` is kernel ridge regression of ``|r|``, held above a fifth of its mean, ``s_{-i}`` its left-out
prediction.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.kernels import Kernel
from nablasso.losses import Squared
from nablasso.regression.machine import refit
from nablasso.spaces import Function
from nablasso.types import Array, Index

ROUNDING = 1e-12
LEAST_SCALE = 0.2  # of the mean absolute residual


def interval_half_width(loo_residuals: Array, weights: Array, level: float) -> float:
    """Half the width of the interval around a prediction.

    Parameters
    ----------
    loo_residuals : array, shape (n,)
        Left-out residuals, divided by the local scale where there is one.
    weights : array, shape (n,)
        Adding up to one.
    level : float
        Probability to cover, between 0 and 1.

    Returns
    -------
    float
        Infinite, with a warning, when the rows are too few for the level.
    """
    if not 0 < level < 1:
        raise InvalidParameterError(
            f"The level of an interval is a probability between 0 and 1; got {level!r}."
        )
    n_rows = 1 / float(weights @ weights)
    needed = level * (1 + 1 / n_rows) - ROUNDING
    if needed > 1:
        warnings.warn(
            f"An interval at level {level:g} needs at least {_least_rows(level)} rows; "
            f"{n_rows:.0f} give an infinite one. Lower the level or add rows.",
            UserWarning,
            stacklevel=2,
        )
        return float(np.inf)
    sizes = np.abs(loo_residuals)
    order = np.argsort(sizes, kind="stable")
    reached = np.searchsorted(np.cumsum(weights[order]), needed)
    return float(sizes[order[min(int(reached), len(order) - 1)]])


def _least_rows(level: float) -> int:
    """The smallest n with ``level (n + 1) <= n``."""
    return int(np.ceil(level / (1 - level) - 1e-9))


class LocalScale(NamedTuple):
    """The size of the error as a function of the inputs, and left out at the rows fitted on."""

    function: Function
    least: float
    left_out: Array

    def at(self, Z: Array) -> Array:
        """The scale at the points ``Z``."""
        return np.asarray(np.maximum(self.function.values(Z), self.least))


def local_scale(
    kernel: Kernel,
    X: Array,  # (n, d) selected columns only
    loo_residuals: Array,
    weights: Array,
    columns: Index,
    *,
    scales: Array,  # (d,)
) -> LocalScale:
    """Fit the size of the left-out residuals by kernel ridge regression."""
    sizes = np.abs(loo_residuals)
    least = LEAST_SCALE * float(weights @ sizes) or 1.0
    data = (Squared(), kernel, X, sizes, weights, columns)
    fit = refit(*data, scales=scales, fit_intercept=True)
    return LocalScale(fit.function, least, np.maximum(sizes - fit.loo_residuals, least))
