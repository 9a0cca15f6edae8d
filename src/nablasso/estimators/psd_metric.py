"""Which columns non-negative functions depend on, by the adaptive metric."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.estimators.stratified import stratified_folds
from nablasso.estimators.taught import sample_of
from nablasso.exceptions import InvalidParameterError
from nablasso.kernels import Gaussian
from nablasso.metric import default_starts, search, select, starts_of
from nablasso.metric.paired import paired
from nablasso.preparation import Table

Array = NDArray[np.float64]

SEARCH_ROWS = 500
LARGEST = 30
SMALLEST = 1e-6  # squared residuals below, in units of their mean, are as good as zero


class Learned(NamedTuple):
    """Relative scale of each column of the table, zero when dropped, and held-out residuals.

    ``gain`` is what they save over the mean, in standard errors.
    """

    scales: Array
    residuals: Array
    gain: float = 0.0


def check_metric(metric: Any) -> None:
    """Refuse anything but None and the names of the two learned metrics."""
    if metric is not None and metric not in ("adaptive", "evidence"):
        raise InvalidParameterError(
            f'metric must be None, "adaptive" or "evidence"; got {metric!r}.'
        )


def learn(estimator: Any, table: Table, targets: Array) -> Learned:
    """Columns that the mean of ``targets`` depends on, and how much, decided out of sample."""
    sample = sample_of(estimator, table, targets[:, None]).first(SEARCH_ROWS)
    centred = sample.Y - sample.weights @ sample.Y
    if np.ptp(sample.Y) == 0 or not sample.X.shape[1]:
        return Learned(sample.kept[sample.labels].astype(float), centred[:, 0])
    starts = default_starts(len(sample.X), sample.n_groups)
    folds = stratified_folds(sample.Y, None, estimator.random_state)
    largest = min(sample.n_groups, LARGEST + int(sample.kept.sum()))
    selection = select(sample, starts, folds, largest, verbose=estimator.verbose)
    residuals = selection.held_out_residuals(sample)[:, 0]
    residuals = np.where(np.isfinite(residuals), residuals, centred[:, 0])
    scales = np.zeros(len(sample.labels))
    if len(selection.chosen):
        inner = sample.groups(selection.chosen)
        best = min(search(inner, starts_of(Gaussian())), key=lambda trail: trail.metric.error)
        learned = best.metric.scales[inner.labels]
        floor = 0.05 * float(learned.max()) or 1.0  # what was chosen stays
        scales[sample.columns(selection.chosen)] = np.maximum(learned, floor)
    saved = paired(centred[:, 0] ** 2 - residuals**2, sample.weights)
    return Learned(scales, residuals, saved.mean / saved.error if saved.error > 0 else 0.0)


def noise_targets(residuals: Array) -> Array:
    """Logs of squared residuals: their mean is the log of the noise's variance, up to a number."""
    squares = residuals**2
    size = float(squares.mean()) or 1.0
    return np.log(np.maximum(squares / size, SMALLEST))
