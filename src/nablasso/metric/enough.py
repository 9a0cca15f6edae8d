r"""Were the rows enough? Fresh rows tell whether a dropped variable was missed.

Of very many rows a few hundred are searched first. With the residuals ``r`` of that answer on
fresh rows, each dropped column, its products with the selected ones and, unless there are too many,
the products of two dropped columns get a held-out score for ``r``
(:mod:`~nablasso.metric.held_out`). The rows were enough when no score is clearly above what chance
gives the best of so many models, ``2 log N / n``, and when every selected group was found in nearly
all folds. Otherwise more rows are searched.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nablasso.metric.added_back import promise
from nablasso.metric.held_out import product_scores
from nablasso.metric.nested import Fit
from nablasso.metric.sample import Sample
from nablasso.metric.screening import by_chance

Index = NDArray[np.intp]

FRESH = 4000  # rows that are looked at
MAX_PAIRS = 20_000
CLEARLY = 2.0  # times what chance gives


def nothing_missed(fresh: Sample, fit: Fit) -> bool:
    """Whether no dropped column explains what a fit leaves over on fresh rows."""
    dropped = np.setdiff1d(np.arange(fresh.X.shape[1]), fit.columns)
    if not len(dropped):
        return True
    there = replace(fit, residuals=fresh.Y - fit.values(fresh.X))
    best = float(promise(fresh, there, dropped).max())
    n_models = len(dropped) * (1 + len(fit.columns))
    if 0 < len(dropped) * (len(dropped) - 1) // 2 <= MAX_PAIRS:
        a, b = np.triu_indices(len(dropped), 1)
        pairs = np.column_stack([dropped[a], dropped[b]])
        scores = product_scores(fresh.X, there.residuals, fresh.weights, pairs)
        best = max(best, float(scores.max()))
        n_models += len(pairs)
    return best <= CLEARLY * by_chance(len(fresh.X), n_models)
