"""Selection by p-values: the whole search without some rows, then a test on these.

Each of five folds is left out of a search of its own, so that the columns its p-values are about
were found on other rows. A column is redrawn given the others; its p-value is the share of redrawn
columns that predict the left-out rows as well (:mod:`nablasso.inference`). Nothing is
discovered unless the searches predict left-out rows clearly better than the mean.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nablasso.estimators.cross_validation import stratified_folds
from nablasso.inference import (
    HeldOut,
    LinearConditional,
    PredictionLoss,
    adjusted_p_values,
    enough_draws,
    randomization_p_values,
)
from nablasso.progress import track
from nablasso.regression.ridge import paired
from nablasso.search.check import to_the_end
from nablasso.search.decide import search
from nablasso.search.few import Decision, FewRows
from nablasso.types import Array, Index

N_FOLDS = 5
CLEAR_GAIN = 2.0  # standard errors over the mean


def discoveries(
    decision: Decision, fdr: float, random_state: Any, verbose: int
) -> tuple[Decision, Array]:
    """The decision on the groups discovered, and the p-value of every group."""
    rows = decision.few
    folds = stratified_folds(rows.Y, N_FOLDS, random_state)
    held_out, gains = [], np.zeros(len(rows.X))
    for train, test in track(folds, len(folds), "searching folds", verbose=verbose):
        part = rows.only(train)
        found = search(part, rows.rules.walked_rows)
        predict = partial(_outputs, found, rows)
        used = np.isin(rows.labels, found.model.groups)
        loss = PredictionLoss(
            predict, test.astype(float), rows.weights[test], partial(_distance, rows.Y)
        )
        held_out.append(HeldOut(test, loss, used))
        mean = part.weights @ rows.Y[train] / part.weights.sum()
        before = np.sum((rows.Y[test] - mean) ** 2, axis=1)
        gains[test] = before - _distance(rows.Y, test, predict(rows.X[test]))
    members = [np.flatnonzero(rows.labels == g) for g in range(rows.n_groups)]
    p_values = randomization_p_values(
        held_out,
        rows.X,
        LinearConditional(rows.X, rows.weights / rows.weights.sum()),
        groups=members,
        ranks=np.array([columns.min() for columns in members]),
        seed=0 if random_state is None else check_random_state(random_state).randint(2**31 - 1),
        n_draws=enough_draws(rows.n_groups, fdr),
        n_jobs=None,
        verbose=verbose,
    )
    gain = paired(gains, rows.weights)
    convincing = gain.mean > CLEAR_GAIN * gain.error
    discovered = (adjusted_p_values(p_values) <= fdr) & convincing
    kept = np.isin(np.arange(rows.n_groups), rows.kept)
    order = np.lexsort((p_values, ~kept))[: rows.n_groups if rows.most is None else rows.most]
    groups = np.sort(order[discovered[order] | kept[order]])
    return settled(decision, groups), p_values


def settled(best: Decision, groups: Index) -> Decision:
    """The best family on given groups, tuned to the end."""
    few = best.few
    tried = tuple(few.tune(family, groups) for family in few.families)
    model = to_the_end(few, min(tried, key=lambda model: model.price), tried)
    return replace(best, model=model, tried=tried, clear={})


def _outputs(found: Decision, rows: FewRows, X: Array) -> Array:
    """Predictions (m, q) in the units of all rows."""
    functions = [found.few.function(found.model, t) for t in range(rows.Y.shape[1])]
    values = np.column_stack([function.values(X) for function in functions])
    (mean, unit), (whole, scale) = found.few.unit, rows.unit
    return np.asarray((mean + unit * values - whole) / scale)


def _distance(Y: Array, numbers: NDArray[np.generic], outputs: Array) -> Array:
    """Squared error per row, added up over targets; rows are given by their numbers."""
    rows = np.asarray(numbers, dtype=np.intp)
    return np.asarray(np.sum((Y[rows] - outputs) ** 2, axis=1))
