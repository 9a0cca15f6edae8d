r"""The finite-dimensional feature map: anchors, and ``K ~ V' V`` of low rank.

With anchors ``Z`` (r points) and ``k(Z, Z) = L L'`` the features of a point are
``Phi(x) = L^{-1} k(Z, x)``: orthonormal coordinates of its projection on the span of the anchors'
features. ``V = Phi(X)``, and ``V'V = K`` exactly when the anchors span everything, else Nystrom's
approximation. A model ``Phi' A Phi`` is ``v' B v`` with ``B = L^{-T} A L^{-1}``.

Anchors are chosen by randomly pivoted Cholesky: each next one with probability proportional to
weight times what is not yet spanned, O(n r^2). It ends when no point has more than ``SPANNED``
left, so a singular ``K`` (repeated or close points, wide kernels) gives as many anchors as its
numerical rank and a well-conditioned ``L``.

The kernel is ``height^2 (exp(-|x - z|^2 / 2) + constant)``; the constant is one more feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial.distance import cdist

from nablasso.kernels.base import row_blocks
from nablasso.nonnegative.gaussians import Bumps
from nablasso.nonnegative.model import LinearModel, PSDModel
from nablasso.types import Array, Index

if TYPE_CHECKING:
    from nablasso.nonnegative.task import Task


FREE = 2
SPANNED = 1e-10  # share of k(x, x) left over that counts as none; integrals still see 1e-8


@dataclass(frozen=True)
class Factor:
    """Features ``Phi`` of the anchors ``Z`` (r, d) with Cholesky factor ``L``."""

    Z: Array
    L: Array
    height: float = 1.0
    constant: float = 0.0

    @property
    def rank(self) -> int:
        """Number of features."""
        return len(self.Z) + (self.constant > 0)

    @property
    def bumps(self) -> Bumps:
        """Kernel functions of the anchors and, last, the constant."""
        precisions = np.ones_like(self.Z)
        if not self.constant:
            return Bumps(self.Z, precisions)
        row = np.zeros((1, self.Z.shape[1]))
        return Bumps(np.vstack([self.Z, row]), np.vstack([precisions, row]))

    def features(self, X: Array) -> Array:
        """``Phi`` at the rows of ``X``, shape (k, rank)."""
        V = np.empty((len(X), self.rank))
        r = len(self.Z)
        for rows in row_blocks(len(X), r):
            K = np.exp(-0.5 * cdist(self.Z, X[rows], "sqeuclidean"))
            V[rows, :r] = solve_triangular(self.L, K, lower=True, check_finite=False).T
        V[:, :r] *= self.height
        if self.constant:
            V[:, r] = self.height * np.sqrt(self.constant)
        return V

    def in_features(self, W: Array) -> Array:
        """A functional's matrix on the bumps, in the coordinates of the features."""
        T = self._pull(self._pull(W).T)
        return np.asarray(0.5 * (T + T.T))

    def psd_model(self, F: Array) -> PSDModel:
        """``Phi' F F' Phi`` as a model in the units of ``Z``."""
        return PSDModel(self.bumps, self._push(F))

    def linear_model(self, w: Array) -> LinearModel:
        """``w . Phi`` as a model in the units of ``Z``."""
        return LinearModel(self.bumps, self._push(w))

    def _push(self, F: Array) -> Array:
        """Coefficients of the bumps, ``height L^{-T} F``."""
        r = len(self.Z)
        top = solve_triangular(self.L, F[:r], lower=True, trans="T", check_finite=False)
        return self.height * np.concatenate([top, np.sqrt(self.constant) * F[r:]])

    def _pull(self, W: Array) -> Array:
        """``height L^{-1} W``, the transpose of :meth:`_push`."""
        r = len(self.Z)
        top = solve_triangular(self.L, W[:r], lower=True, check_finite=False)
        return self.height * np.concatenate([top, np.sqrt(self.constant) * W[r:]])


def make_factors(task: Task) -> tuple[Factor, ...]:
    """The factor of each block; blocks of the same scales and rank share one.

    A free function costs a product where a PSD model costs an eigendecomposition, so it may have
    ``FREE`` times as many anchors.
    """
    made: dict[tuple[bytes, int], Factor] = {}
    n = len(task.X)
    keys = []
    for scales, nonnegative in zip(task.scales, task.nonnegative, strict=True):
        rank = n if task.rank is None else min(n, task.rank * (1 if nonnegative else FREE))
        keys.append((scales.tobytes(), rank))
        if keys[-1] not in made:
            made[keys[-1]] = make_factor(
                task.X * scales,
                task.weights,
                rank,
                np.random.default_rng(task.random_state),
                height=task.height,
                constant=task.constant,
            )
    return tuple(made[key] for key in keys)


def make_factor(
    X: Array,
    weights: Array,
    rank: int | None,
    rng: np.random.Generator,
    *,
    height: float = 1.0,
    constant: float = 0.0,
) -> Factor:
    """Factor with at most ``rank`` anchors among the rows of ``X``."""
    Z = X[choose_anchors(X, weights, len(X) if rank is None else min(rank, len(X)), rng)]
    K = np.exp(-0.5 * cdist(Z, Z, "sqeuclidean"))
    return Factor(Z, cholesky(K, lower=True), height, constant)


def choose_anchors(X: Array, weights: Array, rank: int, rng: np.random.Generator) -> Index:
    """Rows chosen by randomly pivoted Cholesky."""
    n = len(X)
    left = np.ones(n)
    F = np.empty((rank, n))
    chosen: list[int] = []
    for k in range(rank):
        mass = np.cumsum(np.where(left > SPANNED, weights * left, 0.0))
        if mass[-1] <= 0:
            break
        pivot = int(np.searchsorted(mass, rng.random() * mass[-1], side="right"))
        column = np.exp(-0.5 * np.sum((X - X[pivot]) ** 2, axis=1))
        column -= F[:k, pivot] @ F[:k]
        F[k] = column / np.sqrt(left[pivot])
        left = np.maximum(left - F[k] ** 2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)
