r"""Features of a kernel matrix: pivoted Cholesky, ``K ~ F F'`` with as few columns as needed.

The remainder ``K - F F'`` is positive semi-definite and its trace is at most ``tol`` times that of
``K`` (n times its largest diagonal entry), or what the largest allowed rank leaves. The kernel of
the model is then the low-rank one: features of new points come from the pivot rows alone,

.. math:: \varphi(z) = L_P^{-1} k(X_P, z), \qquad F = \varphi(X).

O(n r^2) after the n x n matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from nablasso.types import Array, Index

PRECISION = 1e-10  # of the trace: what a kernel without a rank may lose


class LowRank(NamedTuple):
    """``train`` (n, r) with ``train @ train.T ~ K``; ``factor`` (r, r) lower, of the pivot rows."""

    train: Array
    pivots: Index
    factor: Array

    def features(self, cross: Array) -> Array:
        """Features (m, r) of new points from their kernel (m, r) with the pivot rows."""
        if not len(self.pivots):
            return np.zeros((len(cross), 0))
        solved = solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
        return np.asarray(solved.T)


def low_rank(K: Array, rank: int | None = None, tol: float = PRECISION) -> LowRank:
    """Pivoted Cholesky of a positive semi-definite matrix."""
    n = len(K)
    largest = float(np.max(np.diagonal(K), initial=0.0))
    mean = float(np.mean(np.diagonal(K)))
    if not largest > 0 or not mean > 0:
        return LowRank(np.zeros((n, 0)), np.empty(0, dtype=np.intp), np.zeros((0, 0)))
    # every diagonal entry that is left is below this
    L, order, found, _ = dpstrf(K, tol=max(tol * mean, n * 1e-16 * largest), lower=1)
    r = int(found) if rank is None else min(int(found), rank)
    L = np.tril(L)[:, :r]
    order = np.asarray(order - 1, dtype=np.intp)
    train = np.empty((n, r))
    train[order] = L
    return LowRank(train, order[:r], L[:r])
