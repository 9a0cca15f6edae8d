"""Backward elimination of columns by kernel ridge regression and its leave-one-out error.

The column whose loss hurts least goes first, and the best set on the way is kept. With k columns
k (k + 1) / 2 eigendecompositions of an n x n kernel. It stays outside the estimators, whose
functions depend on all that they call selected; those prune nodes (:mod:`nablasso.hierarchy`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nablasso.experiments.hkl_rivals import Fitted
from nablasso.kernels import as_kernel
from nablasso.spaces.kernel_ridge import Refit, kernel_ridge, length_scale

Array = NDArray[np.float64]


def pruned_refit(Z: Array, y: Array, columns: Sequence[int]) -> Fitted:
    """Kernel ridge regression on the best of the sets that backward elimination visits."""
    here = tuple(columns)
    visited = {here: _ridge(Z, y, here)}
    while len(here) > 1:
        smaller = {
            rest: _ridge(Z, y, rest)
            for rest in (tuple(c for c in here if c != gone) for gone in here)
        }
        here = min(smaller, key=lambda rest: _left_out_error(smaller[rest]))
        visited[here] = smaller[here]
    best = min(visited, key=lambda rest: _left_out_error(visited[rest]))
    mean, function = float(y.mean()), visited[best].function
    return Fitted(lambda new: np.asarray(mean + function.values(new)), best)


def _ridge(Z: Array, y: Array, columns: tuple[int, ...]) -> Refit:
    """Gaussian kernel of median width, ridge by leave-one-out; no columns give the mean."""
    kernel, weights = as_kernel("gaussian"), np.full(len(y), 1 / len(y))
    index = np.array(columns, dtype=np.intp)
    X = Z[:, index]
    width = length_scale(kernel, X, weights, "median") if len(index) else 1.0
    scales = np.full(len(index), 1 / width)
    return kernel_ridge(kernel, X, y - y.mean(), weights, index, scales=scales, fit_intercept=True)


def _left_out_error(refit: Refit) -> float:
    return float(np.mean(refit.loo_residuals**2))
