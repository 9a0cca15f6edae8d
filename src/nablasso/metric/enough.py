r"""Were the rows enough? Fresh rows tell whether a dropped variable was missed.

Of very many rows a few hundred are searched first. With the residuals ``r`` of that answer on
fresh rows, each dropped column and its products with the selected ones get a held-out score for
``r`` (:mod:`~nablasso.metric.held_out`), and products of two and three columns a test, unless the
columns are too many (:mod:`~nablasso.metric.overlooked`). The rows were enough when no score is
clearly above what chance gives the best of so many models, ``2 log N / n``, no product is clear,
and every selected group was found in nearly all folds. Otherwise more rows are searched.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nablasso.metric.added_back import promise
from nablasso.metric.nested import Fit
from nablasso.metric.overlooked import clear_product
from nablasso.metric.sample import Sample
from nablasso.metric.screening import by_chance

Array = NDArray[np.float64]

FRESH = 4000  # rows that are looked at
CLEARLY = 2.0  # times what chance gives


def nothing_missed(fresh: Sample, fit: Fit) -> bool:
    """Whether no dropped column explains what a fit leaves over on fresh rows."""
    dropped = np.setdiff1d(np.arange(fresh.X.shape[1]), fit.columns)
    if not len(dropped):
        return True
    residuals = fresh.Y - fit.values(fresh.X)
    best = float(promise(fresh, replace(fit, residuals=residuals), dropped).max())
    if best > CLEARLY * by_chance(len(fresh.X), len(dropped) * (1 + len(fit.columns))):
        return False
    return clear_product(fresh, fit.columns, residuals, partial(_centred, fresh.weights)) is None


def _centred(weights: Array, H: Array) -> Array:
    return H - weights @ H
