"""Forward greedy selection on kernel ridge regression, judged by closed-form leave-one-out.

Each step adds the column with the smallest leave-one-out error over two Gaussian widths and the
polynomials of degree 2 and 3. It stops after 3 steps without a new best error or at 12 columns. The
order of entry is the ranking.
"""

from __future__ import annotations

import numpy as np

from benchmarks.contest import Array, Question
from benchmarks.contestants.ranking import Ranker, Ridge, Scaler

MOST = 12
PATIENCE = 3


def leave_one_out(squared: Array, product: Array, k: int, y: Array) -> float:
    """Smallest error over the kernels, from squared distances and products of k columns."""
    grams = (
        np.exp(-squared / (2 * k)),
        np.exp(-squared / (8 * k)),
        (1 + product / k) ** 2,
        (1 + product / k) ** 3,
    )
    return min(Ridge(gram, y).error for gram in grams)


class Greedy(Ranker):
    """SequentialFeatureSelector's idea, with the tuning inside every step."""

    name = "greedy"
    tuning = (
        "kernel (two Gaussian widths, degrees 2 and 3) and ridge by leave-one-out within every "
        "step; at most 12 columns, patience 3; k and refit by the wrapper"
    )

    def scores(self, question: Question) -> Array:
        """Minus the step of entry; columns that never entered are never taken."""
        Z, y = Scaler.of(question.X)(question.X), question.signed
        n, d = Z.shape
        scores = np.full(d, -np.inf)
        squared, product = np.zeros((n, n)), np.zeros((n, n))
        best, since = np.inf, 0
        for step in range(1, min(MOST, d) + 1):
            errors = np.full(d, np.inf)
            for a in np.flatnonzero(np.isinf(scores)):
                S, P = (Z[:, a, None] - Z[:, a]) ** 2, np.outer(Z[:, a], Z[:, a])
                errors[a] = leave_one_out(squared + S, product + P, step, y)
            taken = int(np.argmin(errors))
            scores[taken] = -step
            squared += (Z[:, taken, None] - Z[:, taken]) ** 2
            product += np.outer(Z[:, taken], Z[:, taken])
            best, since = (errors[taken], 0) if errors[taken] < best else (best, since + 1)
            if since == PATIENCE:
                break
        return scores


CONTESTANTS = (Greedy(),)
