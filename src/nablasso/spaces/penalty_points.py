r"""Where the penalty measures derivatives: at the data, and at further points.

A narrow kernel with a small ridge can be flat at the data and steep between them; derivatives at
more points make the empirical norms honest. Two kinds of points are added to the data:

* *unlabelled* rows: inputs without a target. Each counts as a row of weight one.
* *jittered* copies of the data: row ``i`` moved a random part, at most half, of the way to another
  row drawn at random, with the weight of row ``i``. They stay inside the cloud of the data.

Draws are made row by row of a table, whose order is canonical, so that permuting the input permutes
the result; unlabelled rows are merged and sorted for the same reason.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from nablasso.data.table import Table
from nablasso.types import Array

FURTHEST = 0.5


class PenaltyPoints(NamedTuple):
    """Points added to the data, and the weights of the data and of them, adding up to one."""

    extra: Array  # (m - n, d)
    weights: Array  # (m,)


def penalty_points(
    table: Table, total: float, unlabelled: Array | None, n_jitter: int, random_state: Any
) -> PenaltyPoints | None:
    """The points that ``X_unlabeled`` and ``n_jitter`` ask for; None where both ask for nothing.

    Parameters
    ----------
    table : Table
    total : float
        Sum of the sample weights behind the table's, which add up to one.
    unlabelled : array, shape (k, n_features), optional
        In the units of the input.
    n_jitter : int
        Copies of each row.
    random_state : int, RandomState or None
        None stands for 0: fits are reproducible by default.
    """
    extra = [np.empty((0, table.X.shape[1]))]
    weights = [table.weights]
    if n_jitter:
        extra += _jittered(table.X, n_jitter, random_state)
        weights += [table.weights] * n_jitter
    if unlabelled is not None and len(unlabelled):
        Z = table.scaler.transform(unlabelled)[:, table.columns]
        Z, counts = np.unique(Z, axis=0, return_counts=True)
        extra.append(Z)
        weights.append(counts / total)
    if len(weights) == 1:
        return None
    joined = np.concatenate(weights)
    return PenaltyPoints(np.vstack(extra), joined / joined.sum())


def _jittered(X: Array, n_jitter: int, random_state: Any) -> list[Array]:
    """Each row moved part of the way to another one, once per copy."""
    rng = check_random_state(0 if random_state is None else random_state)
    n = len(X)
    copies = []
    for _ in range(n_jitter):
        other = (np.arange(n) + rng.randint(1, n, size=n)) % n
        part = rng.uniform(0, FURTHEST, size=(n, 1))
        copies.append(X + part * (X[other] - X))
    return copies
