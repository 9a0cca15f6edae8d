"""The papers' refit ("debiasing") after selection: a kernel machine on some columns.

With the squared loss it is kernel ridge regression, all ridges from one eigendecomposition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nablasso.kernels import Kernel
from nablasso.losses import Loss
from nablasso.spaces.function import Function
from nablasso.spaces.kernel_machine import BestMachine, best_machine
from nablasso.spaces.representer import RepresenterSpace
from nablasso.spaces.ridge import RIDGE_GRID, RidgeInverse
from nablasso.types import Array, Index

SMALLEST_MACHINE = 1e-7  # ridges below, in units of the trace, leave too few digits for Newton


class Refit(NamedTuple):
    """A fitted machine, its ridge and its leave-one-out residuals ``y - z``."""

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
    columns: Index,
    *,
    scales: Array,  # (d,)
    fit_intercept: bool,
) -> Refit:
    """Fit with the ridge of smallest leave-one-out error; no columns give the mean."""
    mean = float(weights @ y) if fit_intercept else 0.0
    if X.shape[1] == 0:
        loo = (y - mean) / (1 - weights) if fit_intercept else y
        return Refit(Function(mean, columns), 0.0, loo)
    space = RepresenterSpace(kernel, X, scales)
    inverse = RidgeInverse(space.gram, weights, fit_intercept=fit_intercept)
    ridge = inverse.best_ridge(y)
    u = inverse.matrix(ridge) @ y
    intercept = float(weights @ (y - space.gram @ u)) if fit_intercept else 0.0
    return Refit(Function(intercept, columns, space, u), ridge, inverse.loo_residuals(y, ridge))


def machine_refit(
    loss: Loss,
    kernel: Kernel,
    X: Array,  # (n, d) selected columns only
    y: Array,
    weights: Array,
    columns: Index,
    *,
    scales: Array,  # (d,)
    fit_intercept: bool,
) -> Refit:
    """:func:`kernel_ridge` with another loss; leave-one-out to second order."""
    if X.shape[1] == 0:
        b = loss.best_intercept(y, np.zeros_like(y), weights) if fit_intercept else 0.0
        left_out = _left_out_intercepts(loss, y, weights, b) if fit_intercept else np.zeros_like(y)
        return Refit(Function(b, columns), 0.0, y - left_out)
    space = RepresenterSpace(kernel, X, scales)
    best = machine_on_grid(loss, space.gram, y, weights, fit_intercept=fit_intercept)
    function = Function(best.machine.intercept, columns, space, best.machine.u)
    return Refit(function, best.ridge, y - best.left_out)


def machine_on_grid(
    loss: Loss, gram: Array, y: Array, weights: Array, *, fit_intercept: bool, floor: float = 0.0
) -> BestMachine:
    """The machine of smallest leave-one-out loss, one ridge per decade of ``RIDGE_GRID``."""
    grid = RIDGE_GRID[::4]
    unit = kernel_trace(gram, weights, fit_intercept=fit_intercept) or 1.0
    ridges = unit * grid[grid >= max(floor, SMALLEST_MACHINE)]
    return best_machine(loss, gram, y, weights, ridges, fit_intercept=fit_intercept)


def kernel_trace(gram: Array, weights: Array, *, fit_intercept: bool) -> float:
    """Trace of the weighted kernel, centred where there is an intercept."""
    trace = float(weights @ np.diagonal(gram))
    return trace - float(weights @ gram @ weights) if fit_intercept else trace


def _left_out_intercepts(loss: Loss, y: Array, weights: Array, b: float) -> Array:
    """Intercept without each row: one Newton step, exact for the squared loss."""
    z = np.full_like(y, b)
    slopes, bends = weights * loss.gradient(y, z), weights * loss.curvature(y, z)
    rest = bends.sum() - bends
    return np.asarray(b + np.divide(slopes, rest, out=np.zeros_like(y), where=rest > 0))
