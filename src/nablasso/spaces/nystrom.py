r"""Nystrom features: the part of a kernel's space that a few landmark rows span.

With landmarks ``L`` (r, d), ``k(L, L) = F F'`` (pivoted Cholesky, rows that add nothing dropped)

.. math:: \varphi(z) = F^{-1} k(L, z), \qquad
          \varphi(z) \cdot \varphi(x) = k(z, L)\, k(L, L)^{-1} k(L, x) ,

the kernel's projection: exact at the landmarks, never larger than the kernel on the diagonal.
``f = w . phi`` is ``sum_i u_i k(l_i, .)`` with ``u = F^{-T} w``. For prediction and refits: the
space has no functions of fewer variables, and no pass of slopes.

Landmarks are rows drawn by their weights. Cost: O(r^3) once, O(r d + r^2) a row.

**Pivoted Cholesky** (:func:`low_rank`): ``K ~ F F'`` with as few columns as needed. The remainder
``K - F F'`` is positive semi-definite and its trace is at most ``tol`` times that of ``K`` (n times
its largest diagonal entry), or what the largest allowed rank leaves. The kernel of the model is
then the low-rank one: features of new points come from the pivot rows alone,

.. math:: \varphi(z) = L_P^{-1} k(X_P, z), \qquad F = \varphi(X).

O(n r^2) after the n x n matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.utils import check_random_state

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import Kernel, row_blocks
from nablasso.spaces.exact import RepresenterSpace
from nablasso.types import Array, Index

POOL = 20_000  # rows that landmarks are chosen from
PRECISION = 1e-12  # of the trace of k(L, L): what dropping rows may lose
RANK_PRECISION = 1e-10  # of the trace: what a kernel without a rank may lose
CHUNK_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class NystromFeatures:
    """``r`` features of points ``Z`` (n, d).

    Parameters
    ----------
    kernel : Kernel
    scales : array, shape (d,)
        Multipliers of the columns before the kernel sees them.
    landmarks : array, shape (r, d)
    factor : array, shape (r, r)
        Lower triangular, ``factor @ factor.T = k(landmarks, landmarks)``.
    """

    kernel: Kernel
    scales: Array
    landmarks: Array
    factor: Array

    @property
    def n_components(self) -> int:
        """``r``."""
        return len(self.landmarks)

    @property
    def n_columns(self) -> int:
        """``d``."""
        return int(self.landmarks.shape[1])

    @cached_property
    def _space(self) -> RepresenterSpace:
        return RepresenterSpace(self.kernel, self.landmarks, self.scales)

    def features(self, Z: NDArray[Any]) -> NDArray[Any]:
        """``phi(z)``, shape (n, r), computed in double precision, in that of ``Z``."""
        out = np.empty((len(Z), self.n_components), dtype=np.result_type(Z.dtype, np.float32))
        centres = self.landmarks * self.scales
        for rows in row_blocks(len(Z), self.n_components, CHUNK_BYTES // 8):
            cross = self.kernel(Z[rows] * self.scales, centres)
            out[rows] = solve_triangular(self.factor, cross.T, lower=True, check_finite=False).T
        return out

    def evaluate(self, Z: Array, w: Array) -> Array:
        """``w . phi(z)`` at new points."""
        return self._space.evaluate(Z, self._coefficients(w))

    def evaluate_gradients(self, Z: Array, w: Array) -> Array:
        """Gradients of ``w . phi`` at new points, shape (k, d)."""
        return self._space.evaluate_gradients(Z, self._coefficients(w))

    def _coefficients(self, w: Array) -> Array:
        """``u = F^{-T} w``."""
        return np.asarray(solve_triangular(self.factor, w, lower=True, trans="T"))


def draw_nystrom(
    kernel: Kernel,
    scales: Array,
    X: Array,
    weights: Array,
    n_components: int = 512,
    random_state: Any = 0,
    *,
    pool: int = POOL,
) -> NystromFeatures:
    """Choose landmarks among the rows of ``X`` and make the features.

    Rows are expected merged and in canonical order (:mod:`nablasso.data.table`), so that draws do
    not depend on how they came. Fewer components come out where rows add nothing to the others.
    """
    if not isinstance(n_components, int | np.integer) or n_components < 1:
        raise InvalidParameterError(
            f"n_components must be a whole number of at least 1; got {n_components!r}."
        )
    rng = check_random_state(0 if random_state is None else random_state)
    n = min(int(n_components), len(X))
    if len(X) > pool:
        some = _by_weight(weights, max(pool, n), rng)
        X, weights = X[some], weights[some]
    return nystrom_features(kernel, scales, X[np.sort(_by_weight(weights, n, rng))])


def nystrom_features(kernel: Kernel, scales: Array, landmarks: Array) -> NystromFeatures:
    """The features of given landmarks, those that add nothing to the others left out."""
    found = low_rank(kernel(landmarks * scales, landmarks * scales), tol=PRECISION)
    if not len(found.pivots):
        raise InvalidParameterError(
            f"{kernel!r} is zero at all landmarks: it spans no functions here. Use another kernel, "
            "or leave fewer columns at scale zero."
        )
    return NystromFeatures(kernel, scales, landmarks[found.pivots], found.factor)


def _by_weight(weights: Array, n: int, rng: np.random.RandomState) -> Index:
    """``n`` different rows, drawn one after the other by their weights."""
    possible = int(np.count_nonzero(weights > 0))
    p = weights / weights.sum()
    return np.asarray(rng.choice(len(p), size=min(n, possible), replace=False, p=p))


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


def low_rank(K: Array, rank: int | None = None, tol: float = RANK_PRECISION) -> LowRank:
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
