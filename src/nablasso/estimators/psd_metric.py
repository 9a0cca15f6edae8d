"""Which columns non-negative functions depend on, by the search of the one call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.estimators.taught import rows_of
from nablasso.regression.paired import paired
from nablasso.search.decide import search
from nablasso.search.families import FAMILIES
from nablasso.types import Array

SEARCH_ROWS = 500
GAUSSIAN = FAMILIES[6]
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
    n = min(len(table.X), SEARCH_ROWS)
    rows = rows_of(estimator, table, targets[:, None], n, time=None)
    if np.ptp(rows.targets) == 0 or not rows.X.shape[1]:
        kept = np.isin(rows.labels, rows.kept).astype(float)
        return Learned(kept, rows.targets[:, 0] - rows.unit[0])
    found = search(rows, rows.rules.walked_rows)
    residuals = found.few.residuals(found.model, rows)[:, 0]
    scales = np.zeros(len(rows.labels))
    if len(found.model.groups):
        gaussian = rows.tune(GAUSSIAN, found.model.groups)
        learned = np.zeros(rows.n_groups)
        learned[gaussian.groups] = np.sqrt(gaussian.variances)
        floor = 0.05 * float(learned.max()) or 1.0  # what was chosen stays
        learned[gaussian.groups] = np.maximum(learned[gaussian.groups], floor)
        scales = learned[rows.labels] / float(learned.max())
    centred = rows.standardised(found.few)[:, 0]
    saved = paired(centred**2 - residuals**2, rows.weights)
    gain = saved.mean / saved.error if saved.error > 0 else 0.0
    return Learned(scales, residuals * float(found.few.unit[1][0]), gain)


def noise_targets(residuals: Array) -> Array:
    """Logs of squared residuals: their mean is the log of the noise's variance, up to a number."""
    squares = residuals**2
    size = float(squares.mean()) or 1.0
    return np.log(np.maximum(squares / size, SMALLEST))
