"""Nested models: the first groups of a ranking, fitted by kernel ridge regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nablasso.kernels import Kernel
from nablasso.metric.passes import DROP, Metric
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start
from nablasso.spaces import Function, RepresenterSpace, RidgeInverse

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ONE_BY_ONE = 10  # up to this size every size is tried, beyond by steps of a quarter


@dataclass(frozen=True)
class Fit:
    """A fitted function of some columns, one output per target."""

    columns: Index
    intercept: Array  # (q,)
    residuals: Array  # (n, q), leave-one-out
    error: float
    space: RepresenterSpace | None = None
    u: Array | None = None  # (n, q)
    ridge: float = 0.0

    def values(self, Z: Array) -> Array:
        """Predictions at points ``Z`` (m, d) of all columns, shape (m, q)."""
        return np.column_stack([self.function(t).values(Z) for t in range(len(self.intercept))])

    def function(self, target: int = 0) -> Function:
        """The function of one target."""
        u = None if self.u is None else self.u[:, target]
        return Function(float(self.intercept[target]), self.columns, self.space, u)


def ranking(sample: Sample, metric: Metric) -> Index:
    """Groups by decreasing derivative norm, those to keep first; dropped groups are left out."""
    ratios = metric.ratios(sample)
    order = np.lexsort((-ratios, ~sample.kept))
    return np.asarray(order[(ratios[order] >= DROP) | sample.kept[order]], dtype=np.intp)


def sizes(n_groups: int, smallest: int = 0) -> list[int]:
    """Numbers of groups that are tried: all small ones, then steps of a quarter."""
    out = list(range(smallest, min(n_groups, max(smallest, ONE_BY_ONE)) + 1))
    while out and out[-1] < n_groups:
        out.append(min(n_groups, out[-1] + max(1, out[-1] // 4)))
    return out


def fit_groups(sample: Sample, start: Start, groups: Index, scales: Array) -> Fit:
    """Kernel ridge regression on some groups, with the given scales and, if few, with equal ones.

    Of the two the one with the smaller leave-one-out error is returned. No groups give the mean.
    """
    if not len(groups):
        return mean_fit(sample)
    columns = sample.columns(groups)
    learned = scales[sample.labels[columns]]
    learned = np.maximum(learned / (float(learned.max()) or 1.0), DROP)
    equal = np.ones_like(learned)
    choices = [learned] if len(groups) > ONE_BY_ONE or np.ptp(learned) == 0 else [learned, equal]
    return min((_fit(sample, start, columns, s) for s in choices), key=lambda fit: fit.error)


def mean_fit(sample: Sample) -> Fit:
    """The mean of every target."""
    mean = sample.weights @ sample.Y
    residuals = (sample.Y - mean) / (1 - sample.weights)[:, None]
    error = float(np.sum(sample.weights @ residuals**2))
    return Fit(np.empty(0, dtype=np.intp), mean, residuals, error)


def _fit(sample: Sample, start: Start, columns: Index, scales: Array) -> Fit:
    X = sample.X[:, columns]
    kernel, width = start.bind(X * scales, sample.weights)
    return ridge_fit(sample, kernel, columns, scales / width)


def ridge_fit(sample: Sample, kernel: Kernel, columns: Index, scales: Array) -> Fit:
    """Kernel ridge regression on some columns in a given kernel and metric.

    The fit keeps a fresh space: hundreds of fits are held at once, and the matrices of the one that
    was solved in are n^2 numbers each.
    """
    X = sample.X[:, columns]
    space = RepresenterSpace(kernel, X, scales)
    inverse = RidgeInverse(space.gram, sample.weights)
    ridge = inverse.best_ridge(sample.Y)
    u = inverse.coefficients(sample.Y, ridge)
    residuals = inverse.loo_residuals(sample.Y, ridge)
    intercept = sample.weights @ (sample.Y - space.gram @ u)
    error = float(np.sum(sample.weights @ residuals**2))
    return Fit(columns, intercept, residuals, error, RepresenterSpace(kernel, X, scales), u, ridge)
