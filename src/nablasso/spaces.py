r"""The space that f lives in, and what a fit leaves: a function.

**The representer space.** The exact minimiser of (P) is

.. math:: f = \sum_j u_j\, k(x_j, \cdot) + \sum_{j,a} v_{j,a}\, \partial_a k(t_j, \cdot)

with ``u`` (n,) at the data ``x`` and ``v`` (m, d) at the penalty points ``t``, the data followed by
``extra`` points, none by default; ``K``, ``D`` and ``L`` are the inner products. Products treat
both sums as one over all m points, ``u`` zero at the extra ones: O(m^2 d) time, O(m^2) memory.

Inputs are multiplied by ``scales`` (d,), one over a length scale, before the kernel sees them; zero
removes a variable. Derivatives are in the units of ``X``: ``v`` and gradients are multiplied too.

**Pivoted Cholesky** (:func:`low_rank`): ``K ~ F F'`` with as few columns as needed. The remainder
``K - F F'`` is positive semi-definite and its trace is at most ``tol`` times that of ``K`` (n times
its largest diagonal entry), or what the largest allowed rank leaves. Features of new points come
from the pivot rows alone, ``phi(z) = L_P^{-1} k(X_P, z)``. O(n r^2) after the n x n matrix.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from nablasso.data.table import Table
from nablasso.errors import DataTooLargeError
from nablasso.kernels.base import Kernel, KernelOperator, row_blocks
from nablasso.types import Array, Index

CHUNK_BYTES = 64 << 20  # memory that evaluation at new points may take for one matrix
SQUARE_MATRICES = 9  # K and its two derivatives, P, eigenvectors and what their making needs
RANK_PRECISION = 1e-10  # of the trace: what a kernel without a rank may lose


class RepresenterSpace:
    """Functions spanned by the kernel at the rows of ``X`` and its derivatives at all points.

    ``scales`` (d,) multiply the inputs, ``extra`` (m - n, d) are further points of the penalty.
    """

    def __init__(
        self, kernel: Kernel, X: Array, scales: Array | None = None, extra: Array | None = None
    ) -> None:
        self.kernel = kernel
        self.X, (self.n_samples, self.n_features) = X, X.shape
        self.points = X if extra is None or not len(extra) else np.vstack([X, extra])
        self.scales = np.ones(X.shape[1]) if scales is None else np.asarray(scales, dtype=float)
        self._centres = self.points * self.scales

    @cached_property
    def operator(self) -> KernelOperator:
        """The kernel bound to the points on both sides."""
        return self.kernel.between(self._centres, self._centres)

    @cached_property
    def gram(self) -> Array:
        """``K`` of the data, shape (n, n)."""
        gram = self.operator.gram()
        n = self.n_samples
        return gram if n == len(self.points) else np.ascontiguousarray(gram[:n, :n])

    def products(self, u: Array, v: Array) -> tuple[Array, Array]:
        """``K u + D' v`` and ``D u + L v``."""
        Dv, carry = self.push(v)
        return self.gram @ u + Dv, self.pull(u, v, carry)

    def values(self, u: Array, v: Array) -> Array:
        """``K u + D' v``."""
        return np.asarray(self.gram @ u + self.push(v)[0])

    def push(self, v: Array) -> tuple[Array, Any]:
        """``D' v`` at the data, shape (n,), and a carry for :meth:`pull`."""
        Dv, carry = self.operator.push(v * self.scales)
        return Dv[: self.n_samples], carry

    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        """``D u + L v`` at the points, shape (m, d)."""
        gradients = self.operator.pull(self._padded(u), v * self.scales, carry)
        gradients *= self.scales
        return gradients

    def gradients(self, u: Array, v: Array) -> Array:
        """``D u + L v``."""
        return self.pull(u, v, self.push(v)[1])

    def slopes(self, u: Array) -> Array:
        """``D u`` at the points: gradients of a function without derivative terms."""
        slopes = self.operator.slopes(self._padded(u))
        slopes *= self.scales
        return slopes

    def derivative_diagonal(self) -> Array:
        """``L^{aa}[i, i]`` in the units of ``X``, shape (m, d)."""
        return self.kernel.derivative_diagonal(self._centres) * self.scales**2

    def dense(self) -> tuple[Array, Array]:
        """``D`` (m d x n) and ``L`` (m d x m d); rows ordered as ``v.ravel()``."""
        D, L = self.operator.dense()
        m, d = self.points.shape
        D = (D * self.scales[:, None])[:, :, : self.n_samples]
        L = L * self.scales[:, None, None] * self.scales
        return D.reshape(m * d, -1), L.reshape(m * d, m * d)

    def evaluate(self, Z: Array, u: Array, v: Array | None = None) -> Array:
        """Values at new points ``Z`` (k, d), in chunks of bounded memory; ``u`` (n,) or (n, q)."""
        out, u = np.empty((len(Z), *u.shape[1:])), self._padded(u)
        if v is None:
            gram = self.kernel.against(self._centres)
            for rows in row_blocks(len(Z), max(self.points.shape)):
                out[rows] = gram(Z[rows] * self.scales) @ u
            return out
        for rows, operator in self._chunks(Z):
            out[rows] = operator.gram() @ u + operator.push(v * self.scales)[0]
        return out

    def evaluate_gradients(self, Z: Array, u: Array, v: Array | None = None) -> Array:
        """Gradients at new points ``Z`` (k, d), in chunks of bounded memory."""
        out, u = np.empty(Z.shape), self._padded(u)
        for rows, operator in self._chunks(Z):
            out[rows] = operator.slopes(u) if v is None else operator.gradients(u, v * self.scales)
            out[rows] *= self.scales
        return out

    def _padded(self, u: Array) -> Array:
        """``u`` with zeros at the extra points."""
        missing = len(self.points) - len(u)
        return np.concatenate([u, np.zeros(missing)]) if missing else u

    def _chunks(self, Z: Array) -> Iterator[tuple[slice, KernelOperator]]:
        for rows in row_blocks(len(Z), max(self.points.shape), CHUNK_BYTES // 8):
            yield rows, self.kernel.between(Z[rows] * self.scales, self._centres)


@dataclass(frozen=True)
class Function:
    """``intercept + f(x[columns])`` with ``f`` in some space; a constant without one.

    ``v`` is None when the function has no derivative terms, as after kernel ridge regression.
    """

    intercept: float
    columns: Index
    space: RepresenterSpace | None = None
    u: Array = field(default_factory=lambda: np.empty(0))
    v: Array | None = None

    def values(self, Z: Array) -> Array:
        """Values at standardised points ``Z`` (m, d)."""
        if self.space is None:
            return np.full(len(Z), self.intercept)
        return np.asarray(self.intercept + self.space.evaluate(Z[:, self.columns], self.u, self.v))

    def gradients(self, Z: Array) -> Array:
        """Gradients in standardised units at ``Z``, shape (m, d); zero outside ``columns``."""
        if self.space is None:
            return np.zeros(Z.shape)
        own = self.space.evaluate_gradients(Z[:, self.columns], self.u, self.v)
        if np.array_equal(self.columns, np.arange(Z.shape[1])):
            return own
        out = np.zeros(Z.shape)
        out[:, self.columns] = own
        return out


class PenaltyPoints(NamedTuple):
    """Points added to the data, and the weights of the data and of them, adding up to one."""

    extra: Array  # (m - n, d)
    weights: Array  # (m,)


def penalty_points(table: Table, unlabelled: Array | None) -> PenaltyPoints | None:
    """Rows ``unlabelled`` (k, n_features), in the units of the input, beside those of a table."""
    if unlabelled is None or not len(unlabelled):
        return None
    Z = table.scaler.transform(unlabelled)[:, table.columns]
    extra, counts = np.unique(Z, axis=0, return_counts=True)
    weights = np.concatenate([table.weights, counts / table.total])
    return PenaltyPoints(extra, weights / weights.sum())


# --- memory ---


def available_bytes() -> int | None:
    """Memory that can be had now, or None where the system does not tell."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def require_memory(n_samples: int, n_features: int) -> None:
    """Refuse sizes whose n x n matrices would not fit."""
    needed = 8 * (SQUARE_MATRICES * n_samples**2 + 8 * n_samples * n_features)
    available = available_bytes()
    if available is None or needed <= available:
        return
    fitting = int((available / (8 * SQUARE_MATRICES)) ** 0.5 * 0.9)
    raise DataTooLargeError(
        f"The exact space needs n x n matrices: {needed / 2**30:.1f} GiB for {n_samples} rows, and "
        f"{available / 2**30:.1f} GiB are available. Fit on a random sample of at most {fitting} "
        "rows, for example sklearn.utils.resample(X, y, replace=False, n_samples=...), or let "
        "NablassoRegressor or NablassoClassifier look at all of them."
    )


# --- pivoted Cholesky ---


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
    n, diagonal = len(K), np.diagonal(K)
    if rank is not None and 2 * rank < n:
        return first_pivots(diagonal, lambda pivot: K[:, pivot], rank, tol)
    least = _negligible(diagonal, tol)
    if least is None:
        return LowRank(np.zeros((n, 0)), np.empty(0, dtype=np.intp), np.zeros((0, 0)))
    L, order, found, _ = dpstrf(K, tol=least, lower=1)
    r = int(found) if rank is None else min(int(found), rank)
    L = np.tril(L)[:, :r]
    order = np.asarray(order - 1, dtype=np.intp)
    train = np.empty((n, r))
    train[order] = L
    return LowRank(train, order[:r], L[:r])


def first_pivots(
    diagonal: Array, column: Callable[[int], Array], rank: int, tol: float = RANK_PRECISION
) -> LowRank:
    """The same of a matrix given by its columns, ended after ``rank`` of them: O(n rank^2)."""
    L, left, pivots = np.zeros((len(diagonal), rank)), diagonal.copy(), list[int]()
    least = _negligible(diagonal, tol)
    for k in range(0 if least is None else rank):
        pivot = int(np.argmax(left))
        if left[pivot] <= least:
            break
        L[:, k] = (column(pivot) - L[:, :k] @ L[pivot, :k]) / np.sqrt(left[pivot])
        L[pivots, k] = 0.0
        left -= L[:, k] ** 2
        pivots.append(pivot)
        left[pivots] = 0.0
    L, order = L[:, : len(pivots)], np.array(pivots, dtype=np.intp)
    return LowRank(L, order, L[order])


def _negligible(diagonal: Array, tol: float) -> float | None:
    """What no entry of the diagonal that is left may exceed; None where all are zero."""
    largest, mean = float(np.max(diagonal, initial=0.0)), float(np.mean(diagonal))
    return max(tol * mean, len(diagonal) * 1e-16 * largest) if largest > 0 < mean else None
