r"""Functions whose values are gradients: kernels, their features, directions.

**Features**: a kernel as an inner product of few, ``K = Phi Phi'``. A function of the RKHS spanned
by the points is ``f(x) = phi(x) . b`` with norm ``||f|| = |b|``, where ``phi`` maps the points to
the rows of ``Phi`` (N, r). Pivoted Cholesky factorisation (:func:`nablasso.spaces.low_rank`) finds
``Phi`` and the rank r, which is p for the linear kernel however many rows there are. The paper's
square root of K is ``Phi`` times a rotation, so norms, steps and solutions are the same.

With pivots P and the triangle ``L = Phi[P]``: ``phi(x) = L^{-1} k(x_P, x)``.

**Two kernels** for which sparse gradient learning is an older method.

* ``Constant``: ``k = 1``. Gradients are the same everywhere; with all weights equal, sparse
  gradient learning is the lasso (Remark 2 of Ye and Xie).
* ``Delta``: ``k(z, x) = 1`` where ``z = x``, else 0. Gradients at the rows have nothing to do with
  each other; without penalty they are those of the outer product of gradients (Remark 1).

**Effective dimension reduction**: eigenvectors of the sparse gradient covariance ``Xi = B B'``.
``Xi_ab = <f^a, f^b>_K`` (21) is zero outside the selected variables, so its eigenvectors, from a
singular value decomposition of the s rows that are not zero, are zero there too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from nablasso.errors import NotTwiceDifferentiableError
from nablasso.kernels import DotProductKernel, Kernel, KernelOperator
from nablasso.kernels.base import row_blocks
from nablasso.spaces.maps import low_rank
from nablasso.types import Array, Index

RANK_TOL = 1e-12  # of the mean of k(x, x): what is left out of K
EXPLAINED = 0.95
ROUNDING = 1e-12  # of the largest eigenvalue


class Constant(DotProductKernel):
    """``1``: the space of the constant functions."""

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """``1, 0, 0``."""
        return np.ones_like(t), np.zeros_like(t), np.zeros_like(t)


class Delta(Kernel):
    """One where two points are equal, zero elsewhere; it has values and no derivatives."""

    has_width = False

    def between(self, Z: Array, X: Array) -> KernelOperator:  # noqa: ARG002 one interface
        """No operator: the kernel is not differentiable."""
        raise NotTwiceDifferentiableError(
            f"{self!r} has values but no derivatives; it serves sparse gradient learning only. "
            "Use Gaussian() or another kernel of nablasso.kernels."
        )

    def __call__(self, Z: Array, X: Array) -> Array:
        """One where rows are equal, shape (m, n)."""
        Z, X = np.asarray(Z, dtype=float), np.asarray(X, dtype=float)
        if not X.shape[1]:
            return np.ones((len(Z), len(X)))
        return np.asarray(cdist(Z, X, "chebyshev") == 0, dtype=float)

    def diagonal(self, X: Array) -> Array:
        """Ones."""
        return np.ones(len(X))

    def derivative_diagonal(self, X: Array) -> Array:  # noqa: ARG002 one interface
        """No derivatives."""
        raise NotTwiceDifferentiableError(f"{self!r} has no derivatives.")

    def width(self, X: Array, weights: Array, rule: str) -> float:  # noqa: ARG002 one interface
        """Always 1: there is nothing to scale."""
        return 1.0


class KernelFactor:
    """Features of a kernel on ``points`` (N, p) divided by ``length_scale``."""

    def __init__(self, kernel: Kernel, points: Array, length_scale: float) -> None:
        self.kernel, self.length_scale = kernel, length_scale
        scaled = points / length_scale
        self.phi, pivots, self.triangle = low_rank(kernel(scaled, scaled), tol=RANK_TOL)
        self._centres = scaled[pivots]

    @property
    def rank(self) -> int:
        """Number of features."""
        return int(self.phi.shape[1])

    def evaluate(self, Z: Array, B: Array) -> Array:
        """Values (m, s) of functions ``B`` (s, r) at new points ``Z`` (m, p)."""
        out = np.zeros((len(Z), len(B)))
        if not self.rank or not len(B):
            return out
        C = solve_triangular(self.triangle, B.T, trans="T", lower=True)
        for rows in row_blocks(len(Z), max(self.rank, Z.shape[1])):
            out[rows] = self.kernel(Z[rows] / self.length_scale, self._centres) @ C
        return out


@dataclass(frozen=True)
class GradientFunction:
    """``f^a(x) = phi(x) . B_a`` for the input columns ``active``, zero for all others.

    The kernel sees the input columns ``columns``. ``c`` is the function ``f0``.
    """

    factor: KernelFactor
    columns: Index
    active: Index
    B: Array
    c: Array

    def values(self, Z: Array) -> Array:
        """``f0`` at standardised points ``Z`` (m, d)."""
        return self._evaluate(Z, self.c[None, :])[:, 0]

    def gradients(self, Z: Array) -> Array:
        """Gradients at standardised points, shape (m, d), in standardised units."""
        out = np.zeros(Z.shape)
        if len(self.active):
            out[:, self.active] = self._evaluate(Z, self.B)
        return out

    def at_rows(self, n_rows: int) -> Array:
        """Gradients of the active columns at the rows of the table, shape (n_rows, s)."""
        return np.asarray(self.factor.phi[:n_rows] @ self.B.T)

    def _evaluate(self, Z: Array, B: Array) -> Array:
        inner = Z[:, self.columns] if len(self.columns) else np.zeros((len(Z), 1))
        return self.factor.evaluate(np.ascontiguousarray(inner), B)


class Directions(NamedTuple):
    """Eigenvectors (q, d) of the covariance, all its positive eigenvalues, and itself (d, d)."""

    components: Array
    spectrum: Array
    covariance: csr_array


def find_directions(
    blocks: list[tuple[Index, Array]], n_features: int, n_components: int | None
) -> Directions:
    """Directions of gradients given as (columns, B); several add up their covariances."""
    columns = np.unique(np.concatenate([active for active, _ in blocks]))
    stacked = np.zeros((len(columns), sum(B.shape[1] for _, B in blocks)))
    start = 0
    for active, B in blocks:
        stacked[np.searchsorted(columns, active), start : start + B.shape[1]] = B
        start += B.shape[1]
    if not stacked.size or not stacked.any():
        empty = csr_array((n_features, n_features))
        return Directions(np.zeros((1, n_features)), np.zeros(0), empty)
    vectors, sizes, _ = np.linalg.svd(stacked, full_matrices=False)
    spectrum = sizes**2
    rank = int(np.sum(spectrum > ROUNDING * spectrum[0]))
    if n_components is None:
        share = np.cumsum(spectrum) / spectrum.sum()
        n_components = int(np.searchsorted(share, EXPLAINED * (1 - ROUNDING)) + 1)
    kept = min(n_components, rank)
    components = np.zeros((kept, n_features))
    components[:, columns] = _signed(vectors[:, :kept].T)
    inner = stacked @ stacked.T
    s = len(columns)
    rows, cols = np.repeat(columns, s), np.tile(columns, s)
    covariance = csr_array((inner.ravel(), (rows, cols)), shape=(n_features, n_features))
    return Directions(components, spectrum[:rank], covariance)


def _signed(vectors: Array) -> Array:
    """Each row with its largest entry positive."""
    largest = np.argmax(np.abs(vectors), axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), largest])
    return np.asarray(vectors * signs[:, None])
