r"""Sparse additive model: group lasso on spline bases, one group per column.

.. math:: \min \tfrac{1}{2n} \|y - \sum_a Q_a c_a\|^2 + \lambda \sum_a \|c_a\| / \sqrt{n}

``Q_a`` is an orthonormal basis (times sqrt n) of the centred cubic splines of column ``a``, so that
one block step is exact: ``c_a <- shrink(Q_a'r / n + c_a)``.
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import KFold
from sklearn.preprocessing import SplineTransformer

from benchmarks.contest import Array, Question
from benchmarks.contestants.ranking import Ranker

KNOTS = 6
PENALTIES = np.logspace(0, -2, 15)  # of the largest
SWEEPS, TOL = 200, 1e-4


class Splines:
    """Orthonormal spline blocks, learned on some rows."""

    def __init__(self, X: Array) -> None:
        self.maps, self.means, self.factors = [], [], []
        for column in X.T:
            spline = SplineTransformer(KNOTS, knots="quantile", extrapolation="linear")
            B = spline.fit_transform(column[:, None])
            mean = B.mean(axis=0)
            _, s, V = np.linalg.svd((B - mean) / np.sqrt(len(X)), full_matrices=False)
            kept = s > 1e-8 * max(float(s[0]), 1e-300)
            self.maps.append(spline)
            self.means.append(mean)
            self.factors.append(V[kept].T / s[kept])

    def blocks(self, X: Array) -> list[Array]:
        """Features of new rows, one block per column."""
        parts = zip(X.T, self.maps, self.means, self.factors, strict=True)
        return [(m.transform(x[:, None]) - mean) @ F for x, m, mean, F in parts]


def group_lasso(blocks: list[Array], y: Array, penalty: float, start: list[Array]) -> list[Array]:
    """Block coordinate descent on orthonormal blocks."""
    n, c = len(y), [part.copy() for part in start]
    residual = y - sum((Q @ part for Q, part in zip(blocks, c, strict=True)), np.zeros(n))
    for _ in range(SWEEPS):
        moved = 0.0
        for a, Q in enumerate(blocks):
            target = Q.T @ residual / n + c[a]
            size = float(np.linalg.norm(target))
            new = target * max(0.0, 1 - penalty / size) if size > 0 else target
            step = new - c[a]
            if step.any():
                residual -= Q @ step
                moved = max(moved, float(np.linalg.norm(step)))
                c[a] = new
        if moved <= TOL * float(np.std(y)):
            break
    return c


class SparseAdditive(Ranker):
    """Penalty by cross-validation."""

    name = "sparse_additive"
    tuning = (
        "cubic splines with 6 knots at quantiles, 15 penalties down to 1/100 of the largest by "
        "5-fold cross-validation; ranked by the norms of the components; k and refit by the wrapper"
    )

    def scores(self, question: Question) -> Array:
        """Norm of each component; never taken where it is zero."""
        X, y = question.X, question.signed
        errors = np.zeros(len(PENALTIES))
        for train, held_out in KFold(5, shuffle=True, random_state=question.seed).split(X):
            splines, mean = Splines(X[train]), float(y[train].mean())
            new = splines.blocks(X[held_out])
            for j, c in enumerate(_path(splines.blocks(X[train]), y[train] - mean)):
                predicted = mean + sum(Q @ part for Q, part in zip(new, c, strict=True))
                errors[j] += np.sum((y[held_out] - predicted) ** 2)
        paths = _path(Splines(X).blocks(X), y - y.mean())
        best = paths[int(np.argmin(errors))]
        norms = np.array([float(np.linalg.norm(part)) for part in best])
        return np.where(norms > 0, norms, -np.inf)


def _path(blocks: list[Array], y: Array) -> list[list[Array]]:
    """Solutions from the largest penalty down, warm-started."""
    largest = max(float(np.linalg.norm(Q.T @ y)) / len(y) for Q in blocks)
    c, found = [np.zeros(Q.shape[1]) for Q in blocks], []
    for fraction in PENALTIES:
        c = group_lasso(blocks, y, fraction * largest, c)
        found.append(c)
    return found


CONTESTANTS = (SparseAdditive(),)
