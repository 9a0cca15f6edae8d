r"""Pairs of rows and their weights; the products that a sum over pairs is made of.

With ``G`` (n, p) the gradients at the rows, the prediction of a pair is ``z_ij = (x_j - x_i).G_i``.
Given ``P_ij = left_i . right_j`` it is ``P_ij - P_ii``, and the adjoint of that, for ``theta`` on
the pairs, is a difference of two products. ``left, right`` are ``G, X`` or ``Phi, X B``, whichever
is narrower (k columns).

=====================  ===============  ============
weights                memory           a product
=====================  ===============  ============
Gaussian (5), dense    n^2              n^2 k flops
k' neighbours (58)     n k'             n k' k flops
=====================  ===============  ============

Weights of pairs: ``m_ij = p_i p_j w_ij`` with the weights ``p`` of the rows. (5) has
``w = exp(-|x_i - x_j|^2 / 2 s^2)``, (58) ``exp(-2 |x_i - x_j|^2 / s^2)`` for the k' rows next to
``x_i``. A row counts as its own neighbour besides the k': in regression this pair is zero, in
classification it is where the label of the row itself speaks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import row_blocks
from nablasso.types import Array, Index

NEGLIGIBLE = 1e-12  # of the largest sum of weights: a row below it has no neighbours


class Pairs(ABC):
    """Weighted pairs of n rows; arrays over pairs have the shape of ``weights``."""

    weights: Array

    @abstractmethod
    def of_first(self, values: Array) -> Array:
        """``values[i]`` for every pair (i, j)."""

    @abstractmethod
    def of_second(self, values: Array) -> Array:
        """``values[j]`` for every pair (i, j)."""

    @abstractmethod
    def slopes(self, left: Array, right: Array) -> Array:
        """``left_i . (right_j - right_i)`` for every pair."""

    @abstractmethod
    def gather(self, theta: Array, right: Array) -> Array:
        """``sum_j theta_ij (right_j - right_i)``, shape (n, k): adjoint of slopes in ``left``."""

    @abstractmethod
    def scatter(self, theta: Array, left: Array) -> Array:
        """``sum_i theta_ij left_i - left_j sum_i theta_ji``, (n, k): adjoint in ``right``."""

    @abstractmethod
    def first_sums(self, theta: Array) -> Array:
        """``sum_j theta_ij``, shape (n,)."""

    @abstractmethod
    def laplacian(self, values: Array) -> Array:
        """``A`` (r, r) with ``b'A b = sum_ij m_ij ((values_i - values_j).b)^2``."""

    @abstractmethod
    def isolated(self) -> Index:
        """Rows without weight on any other row."""


class DensePairs(Pairs):
    """All pairs; ``weights`` is (n, n)."""

    def __init__(self, weights: Array) -> None:
        self.weights = weights

    def of_first(self, values: Array) -> Array:
        """Constant along rows."""
        return np.broadcast_to(values[:, None], self.weights.shape)

    def of_second(self, values: Array) -> Array:
        """Constant along columns."""
        return np.broadcast_to(values, self.weights.shape)

    def slopes(self, left: Array, right: Array) -> Array:
        """One matrix product."""
        P = left @ right.T
        P -= np.diagonal(P).copy()[:, None]
        return np.asarray(P)

    def gather(self, theta: Array, right: Array) -> Array:
        """One matrix product."""
        return np.asarray(theta @ right - theta.sum(axis=1)[:, None] * right)

    def scatter(self, theta: Array, left: Array) -> Array:
        """One matrix product."""
        return np.asarray(theta.T @ left - theta.sum(axis=1)[:, None] * left)

    def first_sums(self, theta: Array) -> Array:
        """Row sums."""
        return np.asarray(theta.sum(axis=1))

    def laplacian(self, values: Array) -> Array:
        """``values' (diag(m1) + diag(m'1) - m - m') values``."""
        m = self.weights
        degrees = m.sum(axis=0) + m.sum(axis=1)
        return _symmetric(values.T @ (degrees[:, None] * values - m @ values - m.T @ values))

    def isolated(self) -> Index:
        """By sums off the diagonal."""
        return _without_weight(self.weights.sum(axis=1) - np.diagonal(self.weights))


class SparsePairs(Pairs):
    """Pairs (i, j) of neighbours in compressed rows; ``weights`` is (n_pairs,)."""

    def __init__(self, weights: Array, second: Index, starts: Index) -> None:
        self.weights, self.second, self.starts = weights, second, starts
        self.n = len(starts) - 1
        self.first = np.repeat(np.arange(self.n), np.diff(starts))
        self._pattern = csr_array((weights, second, starts), shape=(self.n, self.n))

    def of_first(self, values: Array) -> Array:
        """Taken by the first index."""
        return np.asarray(values[self.first])

    def of_second(self, values: Array) -> Array:
        """Taken by the second index."""
        return np.asarray(values[self.second])

    def slopes(self, left: Array, right: Array) -> Array:
        """Dot products pair by pair, in blocks."""
        own = np.einsum("ik,ik->i", left, right)
        out = np.empty(len(self.weights))
        for some in row_blocks(len(out), left.shape[1]):
            i, j = self.first[some], self.second[some]
            out[some] = np.einsum("ik,ik->i", left[i], right[j]) - own[i]
        return out

    def gather(self, theta: Array, right: Array) -> Array:
        """One sparse product."""
        return np.asarray(self._matrix(theta) @ right - self.first_sums(theta)[:, None] * right)

    def scatter(self, theta: Array, left: Array) -> Array:
        """One sparse product."""
        return np.asarray(self._matrix(theta).T @ left - self.first_sums(theta)[:, None] * left)

    def first_sums(self, theta: Array) -> Array:
        """Sums over the neighbours."""
        return np.asarray(np.bincount(self.first, weights=theta, minlength=self.n))

    def laplacian(self, values: Array) -> Array:
        """As in :class:`DensePairs`."""
        m = self._matrix(self.weights)
        degrees = np.asarray(m.sum(axis=0) + m.sum(axis=1)).ravel()
        return _symmetric(values.T @ (degrees[:, None] * values - m @ values - m.T @ values))

    def isolated(self) -> Index:
        """By sums over the others."""
        others = np.where(self.first == self.second, 0.0, self.weights)
        return _without_weight(self.first_sums(others))

    def _matrix(self, theta: Array) -> Any:
        """A matrix for the next product: one pattern, other values (making it anew is slow)."""
        self._pattern.data = theta
        return self._pattern


def gaussian_pairs(X: Array, row_weights: Array, bandwidth: float) -> DensePairs:
    """All pairs with the weights (5)."""
    w = np.ones((len(X), len(X)))
    if X.shape[1]:
        w = np.exp(cdist(X, X, "sqeuclidean") / (-2 * bandwidth**2))
    w *= row_weights
    w *= row_weights[:, None]
    return DensePairs(w)


def neighbour_pairs(
    X: Array, row_weights: Array, bandwidth: float, n_neighbors: int
) -> SparsePairs:
    """Pairs of nearest neighbours with the weights (58), and each row with itself."""
    n = len(X)
    if n_neighbors >= n:
        raise InvalidParameterError(
            f"n_neighbors must be smaller than the number of distinct rows, {n}; got "
            f"{n_neighbors}. Lower it, or leave it out for weights between all pairs."
        )
    points = X if X.shape[1] else np.zeros((n, 1))
    found = NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors(return_distance=False)
    second = np.sort(np.column_stack([found, np.arange(n)]), axis=1).ravel().astype(np.intp)
    starts = np.arange(n + 1, dtype=np.intp) * (n_neighbors + 1)
    first = np.repeat(np.arange(n), n_neighbors + 1)
    distances = np.empty(len(second))
    for some in row_blocks(len(second), points.shape[1]):
        delta = points[first[some]] - points[second[some]]
        distances[some] = np.einsum("ia,ia->i", delta, delta)
    w = np.exp(-2 * distances / bandwidth**2) * row_weights[first] * row_weights[second]
    return SparsePairs(w, second, starts)


def make_pairs(
    X: Array, row_weights: Array, bandwidth: float, n_neighbors: int | None
) -> DensePairs | SparsePairs:
    """Weights (5), or (58) where a number of neighbours is given."""
    if n_neighbors is None:
        return gaussian_pairs(X, row_weights, bandwidth)
    return neighbour_pairs(X, row_weights, bandwidth, n_neighbors)


def _without_weight(sums: Array) -> Index:
    return np.flatnonzero(sums <= NEGLIGIBLE * sums.max(initial=0.0))


def _symmetric(A: Array) -> Array:
    return np.asarray((A + A.T) / 2)
