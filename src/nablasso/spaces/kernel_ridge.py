"""Kernel ridge regression on some columns: the papers' refit ("debiasing") after selection."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.kernels import Kernel
from nablasso.spaces.function import Function
from nablasso.spaces.representer import RepresenterSpace
from nablasso.spaces.ridge import RidgeInverse

Array = NDArray[np.float64]


class Refit(NamedTuple):
    """A kernel ridge fit, its ridge and its leave-one-out residuals."""

    function: Function
    ridge: float
    loo_residuals: Array


def length_scale(
    kernel: Kernel, X: Array, weights: Array, rule: str | float, multiplier: float = 1.0
) -> float:
    """Number that a rule or a number stands for on these points."""
    width = kernel.width(X, weights, rule) if isinstance(rule, str) else float(rule)
    return multiplier * width


def kernel_ridge(
    kernel: Kernel,
    X: Array,  # (n, d) selected columns only
    y: Array,
    weights: Array,
    columns: NDArray[np.intp],
    *,
    width: float,
    fit_intercept: bool,
) -> Refit:
    """Fit with the ridge of smallest leave-one-out error; no columns give the mean."""
    mean = float(weights @ y) if fit_intercept else 0.0
    if X.shape[1] == 0:
        loo = (y - mean) / (1 - weights) if fit_intercept else y
        return Refit(Function(mean, columns), 0.0, loo)
    space = RepresenterSpace(kernel, X, np.full(X.shape[1], 1 / width))
    inverse = RidgeInverse(space.gram, weights, fit_intercept=fit_intercept)
    ridge = inverse.best_ridge(y)
    u = inverse.matrix(ridge) @ y
    intercept = float(weights @ (y - space.gram @ u)) if fit_intercept else 0.0
    return Refit(Function(intercept, columns, space, u), ridge, inverse.loo_residuals(y, ridge))
