"""Folds of cross-validation, drawn in the canonical order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import check_random_state

from nablasso.data.table import MIN_ROWS, Table
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.types import Index

Fold = tuple[Index, Index]


def draw_folds(
    cv: Any,
    X: Any,
    y: Any,
    groups: Any,
    table: Table,
    random_state: Any,
    *,
    stratify: bool = False,
) -> list[Fold]:
    """(train, test) row indices of the input; ``stratify`` spreads classes evenly.

    A number draws that many folds over the table's rows, so that copies of a row stay together and
    the order of the input does not matter; rows of weight zero are in no fold. With ``groups`` a
    number means :class:`~sklearn.model_selection.GroupKFold` or its stratified form.
    """
    if isinstance(cv, int | np.integer) or cv is None:
        n_folds = 5 if cv is None else int(cv)
        folds = (
            _canonical_folds(n_folds, table, random_state, stratify)
            if groups is None
            else list(
                (StratifiedGroupKFold if stratify else GroupKFold)(n_folds).split(X, y, groups)
            )
        )
    else:
        folds = list(check_cv(cv).split(X, y, groups))
    for train, test in folds:
        n_train, n_test = (int(np.sum(table.rows[part] >= 0)) for part in (train, test))
        if n_train < MIN_ROWS or n_test == 0:
            raise InvalidDataError(
                f"Every fold needs at least {MIN_ROWS} training rows and one test row of non-zero "
                f"weight; one has {n_train} and {n_test} (n_samples={len(X)}). Add rows, or raise "
                "cv so that more of them train."
            )
        missing = np.setdiff1d(table.y, y[train][table.rows[train] >= 0]) if stratify else ()
        if len(missing):
            raise InvalidDataError(
                f"Every training fold needs rows of every class; one has none of {len(missing)} "
                "classes. Add rows of the rare classes, or lower cv."
            )
    return folds


def _canonical_folds(n_folds: int, table: Table, random_state: Any, stratify: bool) -> list[Fold]:
    n = len(table.y)
    if not 2 <= n_folds <= n:
        raise InvalidParameterError(
            f"cv must be between 2 and the number of distinct rows, {n}; got {n_folds}."
        )
    shuffle = random_state is not None
    seed = check_random_state(random_state) if shuffle else None
    kind = StratifiedKFold if stratify else KFold
    splitter = kind(n_folds, shuffle=shuffle, random_state=seed)
    fold_of_row = np.empty(n, dtype=np.intp)
    for number, (_, test) in enumerate(splitter.split(np.empty((n, 1)), table.y)):
        fold_of_row[test] = number
    fold = np.where(table.rows >= 0, fold_of_row[table.rows], -1)
    return [
        (np.flatnonzero((fold >= 0) & (fold != number)), np.flatnonzero(fold == number))
        for number in range(n_folds)
    ]
