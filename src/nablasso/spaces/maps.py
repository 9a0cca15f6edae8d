r"""Feature maps: a kernel as the inner product of finitely many functions.

**Random Fourier features.** A frequency ``omega_j`` with amplitude ``a_j`` gives two,

.. math::
    \varphi(z) = \big(a_j \cos(\omega_j \cdot z),\; a_j \sin(\omega_j \cdot z)\big)_{j \le q},
    \qquad \varphi(z) \cdot \varphi(x) = \sum_j a_j^2 \cos(\omega_j \cdot (z - x)) ,

the cosines first, then the sines: m = 2q features. Drawn as :mod:`nablasso.spaces.frequencies`
does, the right-hand side has the kernel as its mean and a deviation of order ``m^{-1/2}`` or less,
or, on a lattice, an error that is smaller than any power of m.

*Slopes.* With ``psi = (a sin, -a cos)`` the derivative of a feature is
``d_a phi_j = -omega_ja psi_j``, so for ``f = w . phi``

.. math:: \|\partial_a f\|_n^2 = (\omega_a \circ w)^\top S\, (\omega_a \circ w), \qquad
          S = \mathrm{E}\,\psi\psi^\top

for all variables from one matrix, which is ``E phi phi'`` with its blocks swapped
(:func:`slope_moments`): one pass over the rows makes both.

*Sparse frequencies* touch few variables each. Variable ``a`` is out of ``f`` if and only if all
features touching it have weight zero: these features can select. Where every frequency touches
every variable the space contains no function of fewer variables but the constants, and a penalty
on derivatives shrinks without selecting. Cost: O(n q d) for the projections of dense frequencies,
O(n q s) where each touches ``s``.

**Nystrom features**: the part of a kernel's space that a few landmark rows span. With landmarks
``L`` (r, d), ``k(L, L) = F F'`` (pivoted Cholesky, rows that add nothing dropped)

.. math:: \varphi(z) = F^{-1} k(L, z), \qquad
          \varphi(z) \cdot \varphi(x) = k(z, L)\, k(L, L)^{-1} k(L, x) ,

the kernel's projection: exact at the landmarks, never larger than the kernel on the diagonal.
``f = w . phi`` is ``sum_i u_i k(l_i, .)`` with ``u = F^{-T} w``. For prediction and refits: the
space has no functions of fewer variables, and no pass of slopes. O(r^3) once, O(r d + r^2) a row.

**Pivoted Cholesky** (:func:`low_rank`): ``K ~ F F'`` with as few columns as needed. The remainder
``K - F F'`` is positive semi-definite and its trace is at most ``tol`` times that of ``K`` (n times
its largest diagonal entry), or what the largest allowed rank leaves. Features of new points come
from the pivot rows alone, ``phi(z) = L_P^{-1} k(X_P, z)``. O(n r^2) after the n x n matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.utils import check_random_state

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import Kernel, row_blocks
from nablasso.spaces.exact import RepresenterSpace, check_number
from nablasso.spaces.frequencies import draw_frequencies
from nablasso.types import Array, Index

CHUNK_BYTES = 64 << 20  # memory that evaluation at new points may take for the features
GATHER = 64  # variables per touched variable from which gathering beats a dense product
POOL = 20_000  # rows that landmarks are chosen from
PRECISION = 1e-12  # of the trace of k(L, L): what dropping rows may lose
RANK_PRECISION = 1e-10  # of the trace: what a kernel without a rank may lose


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """``m = 2q`` features of points ``Z`` (n, d), in the precision of ``Z``.

    ``index`` are the variables that each frequency touches, ``values`` the frequencies there,
    scales of the inputs included; a place of value zero touches nothing.
    """

    n_columns: int
    index: Index  # (q, s)
    values: Array  # (q, s)
    amplitudes: Array  # (q,)

    @property
    def n_components(self) -> int:
        """``m``."""
        return 2 * len(self.amplitudes)

    @cached_property
    def frequencies(self) -> Array:
        """``omega``, shape (q, d)."""
        dense = np.zeros((len(self.values), self.n_columns))
        np.add.at(dense, (np.arange(len(dense))[:, None], self.index), self.values)
        return dense

    @cached_property
    def touching(self) -> tuple[Index, ...]:
        """For each variable the features, cosines and sines, that depend on it."""
        q = len(self.values)
        rows, places = np.nonzero(self.values)
        order = np.lexsort((rows, self.index[rows, places]))
        column, row = self.index[rows, places][order], rows[order]
        ends = np.searchsorted(column, np.arange(self.n_columns + 1))
        touched = [row[start:end] for start, end in pairwise(ends)]
        return tuple(np.concatenate([found, found + q]) for found in touched)

    @cached_property
    def selects(self) -> bool:
        """Whether the space has functions that ignore a variable, for each variable in it."""
        moving = 2 * int(np.any(self.values != 0, axis=1).sum())
        sizes = [len(found) for found in self.touching if len(found)]
        return len(sizes) <= 1 or max(sizes) < moving

    def features(self, Z: NDArray[Any]) -> NDArray[Any]:
        """``phi(z)``, shape (n, m)."""
        T = self._projections(Z)
        q = len(self.amplitudes)
        out = np.empty((len(T), 2 * q), dtype=T.dtype)
        np.cos(T, out=out[:, :q])
        np.sin(T, out=out[:, q:])
        out *= np.tile(self.amplitudes, 2).astype(T.dtype)
        return out

    def slopes(self, phi: NDArray[Any]) -> NDArray[Any]:
        """``psi(z)`` from ``phi(z)``, both (n, m)."""
        q = len(self.amplitudes)
        return np.hstack([phi[:, q:], -phi[:, :q]])

    def evaluate(self, Z: Array, w: Array) -> Array:
        """``w . phi(z)`` at new points, in chunks of bounded memory."""
        out = np.empty(len(Z))
        for rows in row_blocks(len(Z), self.n_components, CHUNK_BYTES // 8):
            out[rows] = self.features(Z[rows]) @ w
        return out

    def evaluate_gradients(self, Z: Array, w: Array) -> Array:
        """Gradients of ``w . phi`` at new points, shape (k, d)."""
        out = np.empty((len(Z), self.n_columns))
        q = len(self.amplitudes)
        for rows in row_blocks(len(Z), self.n_components, CHUNK_BYTES // 8):
            weighted = self.slopes(self.features(Z[rows])) * -w
            out[rows] = (weighted[:, :q] + weighted[:, q:]) @ self.frequencies
        return out

    def _projections(self, Z: NDArray[Any]) -> NDArray[Any]:
        """``Z omega'``, shape (n, q)."""
        Z = Z if Z.dtype == np.float32 else np.asarray(Z, dtype=float)
        width = max(1, self.index.shape[1])
        if self.n_columns <= GATHER * width:
            return np.asarray(Z @ self.frequencies.T.astype(Z.dtype))
        T = np.zeros((len(Z), len(self.values)), dtype=Z.dtype)
        for place in range(self.index.shape[1]):
            T += Z[:, self.index[:, place]] * self.values[:, place].astype(Z.dtype)
        return T


def slope_moments(second: Array) -> Array:
    """``E psi psi'`` from ``E phi phi'``: the blocks of cosines and sines change places."""
    q = len(second) // 2
    out = np.empty_like(second)
    out[:q, :q], out[q:, q:] = second[q:, q:], second[:q, :q]
    out[:q, q:], out[q:, :q] = -second[q:, :q], -second[:q, q:]
    return out


def draw_fourier(
    kernel: Kernel,
    scales: Array,
    n_components: int = 512,
    random_state: Any = 0,
    points: Array | None = None,
    *,
    lattices: bool = True,
) -> FourierFeatures:
    """Draw the features of a kernel of the columns times ``scales`` (d,), zero removing a column.

    ``m = n_components`` (the next even number), or fewer where more would add nothing. Draws follow
    the order of the columns: give them in a canonical order, as a
    :class:`~nablasso.data.table.Table` has them, and permuting the input permutes the result. Rows
    ``points`` say how far ``lattices`` must reach; without them columns are taken for standardised.
    """
    check_number(n_components)
    scales = np.asarray(scales, dtype=float)
    n = (int(n_components) + 1) // 2
    drawn = draw_frequencies(kernel, scales, n, random_state, points, lattices=lattices)
    return FourierFeatures(len(scales), *drawn)


# --- landmarks ---


@dataclass(frozen=True, eq=False)
class NystromFeatures:
    """``r`` features of points ``Z`` (n, d); ``scales`` multiply the columns for the kernel."""

    kernel: Kernel
    scales: Array  # (d,)
    landmarks: Array  # (r, d)
    factor: Array  # (r, r), lower triangular: factor @ factor.T = k(landmarks, landmarks)

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
    check_number(n_components)
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
