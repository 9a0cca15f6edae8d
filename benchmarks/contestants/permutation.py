"""Permutation importance on held-out rows, all columns permuted in one call of ``predict``.

The numbers are those of :func:`sklearn.inspection.permutation_importance` on each held-out fold,
averaged: the mean increase of the squared error. Batching makes wide tables affordable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from benchmarks.contest import Array, Question

REPEATS = 5
BATCH = 20_000  # rows predicted at a time


def held_out_importance(question: Question, model: Any, folds: int = 5) -> Array:
    """Increase of the held-out squared error per permuted column, averaged over folds."""
    X, y = question.X, question.y
    rng = np.random.default_rng(question.seed)
    total = np.zeros(X.shape[1])
    for train, held_out in KFold(folds, shuffle=True, random_state=question.seed).split(X):
        fitted = clone(model).fit(X[train], y[train])
        total += importance(fitted, X[held_out], y[held_out], rng)
    return total / folds


def importance(model: Any, X: Array, y: Array, rng: np.random.Generator) -> Array:
    """Increase of the squared error per permuted column, averaged over the repeats."""
    n, d = X.shape
    base = np.mean((model.predict(X) - y) ** 2)
    orders = np.array([rng.permutation(n) for _ in range(REPEATS)])
    increase = np.zeros(d)
    step = max(1, BATCH // (n * REPEATS))
    for first in range(0, d, step):
        columns = range(first, min(first + step, d))
        block = np.tile(X, (len(columns) * REPEATS, 1)).reshape(len(columns), REPEATS, n, d)
        for j, a in enumerate(columns):
            block[j, :, :, a] = X[:, a][orders]
        predicted = np.asarray(model.predict(block.reshape(-1, d)), dtype=float)
        errors = (predicted.reshape(len(columns), -1, n) - y) ** 2
        increase[columns.start : columns.stop] = errors.mean(axis=(1, 2)) - base
    return increase
