"""Folds that are alike: rows next to each other in the order of the target go to different ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from nablasso.errors import InvalidParameterError
from nablasso.estimators.folds import Fold
from nablasso.types import Array

MANY_ROWS = 400  # from here on five folds do as well as ten


def stratified_folds(Y: Array, n_folds: int | None, random_state: Any) -> list[Fold]:
    """(train, test) rows for targets ``Y`` (n, q), rows in canonical order.

    Rows are sorted by the targets and dealt out in rounds of ``n_folds``, each round in random
    order. Without ``random_state`` the draw is fixed.
    """
    n = len(Y)
    if n_folds is None:
        n_folds = min(5 if n >= MANY_ROWS else 10, n)
    if not 2 <= n_folds <= n:
        raise InvalidParameterError(
            f"cv must be between 2 and the number of distinct rows, {n}; got {n_folds}."
        )
    rng = check_random_state(0 if random_state is None else random_state)
    order = np.lexsort((np.arange(n), *Y.T))
    fold = np.empty(n, dtype=np.intp)
    for start in range(0, n, n_folds):
        round_ = order[start : start + n_folds]
        fold[round_] = rng.permutation(n_folds)[: len(round_)]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
