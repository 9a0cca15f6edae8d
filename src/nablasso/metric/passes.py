r"""The adaptive metric: let the fit teach the kernel which variables matter.

.. math::
    f = \arg\min \sum_i p_i (y_i - b - f(x_i \circ s))^2 + \lambda \|f\|^2, \qquad
    s_g \leftarrow \Big(\frac{\|\partial_g f\|_n}{\max_h \|\partial_h f\|_n}\Big)^{power}

again and again, with derivatives in the units of ``X`` and ``lambda`` of smallest leave-one-out
error. For an isotropic kernel the derivative in ``x_a`` is ``s_a`` times that in the scaled input,
which itself grows with ``s_a``: so power 1/2 leaves scales alone that the data do not contradict,
and power 1 sharpens. A scale below ``DROP`` becomes zero for good: the variable has left the
kernel. Groups share one scale; groups that must be kept never fall below ``KEPT_SCALE``.

**Which pass, which walk.** The leave-one-out error ``e`` of a fit whose scales were learned from
the same rows is too small, the more so the more variables there were to search and the more the
fit leans on. Passes and walks are compared by

.. math:: \log e + 2\, k \log(G) / n, \qquad k = (\textstyle\sum_g r_g)^2 / \sum_g r_g^2

with ``G`` groups and ``r`` the relative derivative norms: ``k`` is their effective number, and the
term is the price of the risk inflation criterion for ``k`` variables found among ``G``. It ranks
walks; whether a variable matters is decided out of sample (:mod:`nablasso.metric.cross_fit`).

Cost of a pass: one eigendecomposition, O(n^3), and one product ``D u``, O(n^2 d).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nablasso.kernels import Kernel
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start
from nablasso.spaces import RepresenterSpace, RidgeInverse

Array = NDArray[np.float64]

DROP = 1e-3
KEPT_SCALE = 0.1
SETTLED = 0.01  # largest change of a scale that counts as none
PATIENCE = 3  # passes without a better criterion before a walk ends
MAX_FORWARD = 6
TINY = 1e-300


@dataclass(frozen=True)
class Metric:
    """One fit in one metric.

    ``scales`` (one per group), ``norms`` of the derivatives (d,) in the units of ``X``, ``error``
    the leave-one-out mean square and ``residuals`` (n, q) the leave-one-out residuals.
    """

    kernel: Kernel
    width: float
    scales: Array
    norms: Array
    ridge: float
    error: float
    residuals: Array

    def ratios(self, sample: Sample) -> Array:
        """Root mean square derivative of each group, relative to the largest."""
        size = np.sqrt(sample.mean_square(self.norms))
        top = float(size.max(initial=0.0))
        return size / top if top > 0 else np.zeros_like(size)

    def criterion(self, sample: Sample) -> float:
        """What walks are compared by; see the module."""
        ratios = self.ratios(sample)
        size = float(np.sum(ratios)) ** 2 / (float(np.sum(ratios**2)) or 1.0)
        searched = 2 * size * np.log(max(sample.n_groups, 2)) / len(sample.X)
        return float(np.log(max(self.error, TINY)) + searched)


def fit_in_metric(sample: Sample, start: Start, scales: Array) -> Metric:
    """Kernel ridge regression with these scales, and the derivative norms of its function."""
    space, width = _space(sample, start, scales)
    inverse = RidgeInverse(space.gram, sample.weights)
    ridge = inverse.best_ridge(sample.Y)
    residuals = inverse.loo_residuals(sample.Y, ridge)
    squares = np.zeros(space.n_features)
    for u in inverse.coefficients(sample.Y, ridge).T:
        squares += sample.weights @ space.slopes(u) ** 2
    norms = np.zeros(sample.X.shape[1])
    norms[scales[sample.labels] > 0] = np.sqrt(squares)
    error = float(np.sum(sample.weights @ residuals**2))
    return Metric(space.kernel, width, scales, norms, ridge, error, residuals)


def error_in_metric(sample: Sample, start: Start, scales: Array) -> float:
    """Leave-one-out error of that fit, without its derivatives."""
    space, _ = _space(sample, start, scales)
    return RidgeInverse(space.gram, sample.weights).smallest_error(sample.Y)


def _space(sample: Sample, start: Start, scales: Array) -> tuple[RepresenterSpace, float]:
    """The space of the columns whose scale is not zero, and the width of its kernel."""
    per_column = scales[sample.labels]
    active = per_column > 0
    X = sample.X[:, active]
    kernel, width = start.bind(X * per_column[active], sample.weights)
    return RepresenterSpace(kernel, X, per_column[active] / width), width


class Walk:
    """Passes from one start; ``best`` is the pass of smallest criterion so far."""

    def __init__(self, sample: Sample, start: Start, scales: Array | None = None) -> None:
        self.sample, self.start = sample, start
        self.scales = initial_scales(sample, start) if scales is None else scales
        self.metrics: list[Metric] = []
        self.criteria: list[float] = []
        self.finished = False

    @property
    def best(self) -> Metric:
        """The pass of smallest criterion."""
        return self.metrics[int(np.argmin(self.criteria))]

    def advance(self, n_passes: int) -> Walk:
        """Up to ``n_passes`` more passes."""
        for _ in range(n_passes):
            if self.finished:
                break
            metric = fit_in_metric(self.sample, self.start, self.scales)
            self.metrics.append(metric)
            scales = next_scales(self.sample, metric, self.start.power)
            self.criteria.append(metric.criterion(self.sample))
            stale = len(self.criteria) - 1 - int(np.argmin(self.criteria)) >= PATIENCE
            settled = bool(np.max(np.abs(scales - self.scales)) <= SETTLED)
            self.finished = stale or settled or not scales.any()
            self.scales = scales
        return self


def initial_scales(sample: Sample, start: Start) -> Array:
    """Ones, on the open groups if not all are; for a forward start on groups taken in one by one.

    Each step tries every group and takes the one of smallest leave-one-out error, as long as the
    criterion falls. With far more columns than rows all variables together tell nothing, while one
    or two of them may.
    """
    if not start.forward:
        return np.ones(sample.n_groups) if sample.open is None else sample.open.astype(float)
    scales, reached = sample.kept.astype(float), np.inf
    for _ in range(min(MAX_FORWARD, sample.n_groups)):
        tried = [scales + one for one in np.eye(sample.n_groups)[scales == 0]]
        if not tried:
            break
        errors = [error_in_metric(sample, start, trial) for trial in tried]
        best = fit_in_metric(sample, start, tried[int(np.argmin(errors))])
        criterion = best.criterion(sample)
        if criterion >= reached:
            break
        scales, reached = best.scales, criterion
    return scales


def next_scales(sample: Sample, metric: Metric, power: float) -> Array:
    """Scales that the derivative norms of a fit ask for."""
    scales = metric.ratios(sample) ** power
    scales[scales < DROP] = 0.0
    scales[metric.scales == 0] = 0.0
    return np.where(sample.kept, np.maximum(scales, KEPT_SCALE), scales)
