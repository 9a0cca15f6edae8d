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

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import row_blocks
from nablasso.types import Array, Index

NEGLIGIBLE = 1e-12  # of the largest sum of weights: a row below it has no neighbours


class RowPairs:
    """All pairs of n rows; ``weights`` and other arrays over pairs are (n, n)."""

    def __init__(self, weights: Array) -> None:
        self.weights = weights

    def of_first(self, values: Array) -> Array:
        """``values[i]`` for every pair (i, j)."""
        return np.broadcast_to(values[:, None], self.weights.shape)

    def of_second(self, values: Array) -> Array:
        """``values[j]`` for every pair (i, j)."""
        return np.broadcast_to(values, self.weights.shape)

    def slopes(self, left: Array, right: Array) -> Array:
        """``left_i . (right_j - right_i)`` for every pair: one matrix product."""
        P = left @ right.T
        P -= np.diagonal(P).copy()[:, None]
        return np.asarray(P)

    def first_sums(self, theta: Array) -> Array:
        """``sum_j theta_ij``, shape (n,)."""
        return np.asarray(theta.sum(axis=1))

    def matrix(self, theta: Array) -> Any:
        """``theta`` as a matrix (n, n), dense or sparse, for the next product."""
        return theta

    def gather(self, theta: Array, right: Array) -> Array:
        """``sum_j theta_ij (right_j - right_i)``, shape (n, k): adjoint of slopes in ``left``."""
        return np.asarray(self.matrix(theta) @ right - self.first_sums(theta)[:, None] * right)

    def scatter(self, theta: Array, left: Array) -> Array:
        """``sum_i theta_ij left_i - left_j sum_i theta_ji``, (n, k): adjoint in ``right``."""
        return np.asarray(self.matrix(theta).T @ left - self.first_sums(theta)[:, None] * left)

    def laplacian(self, values: Array) -> Array:
        """``A`` (r, r) with ``b'A b = sum_ij m_ij ((values_i - values_j).b)^2``.

        It is ``values' (diag(m1) + diag(m'1) - m - m') values``.
        """
        m = self.matrix(self.weights)
        degrees = np.asarray(m.sum(axis=0) + m.sum(axis=1)).ravel()
        A = values.T @ (degrees[:, None] * values - m @ values - m.T @ values)
        return np.asarray((A + A.T) / 2)

    def isolated(self) -> Index:
        """Rows without weight on any other row."""
        sums = self.first_sums(self.weights) - self.matrix(self.weights).diagonal()
        return np.flatnonzero(sums <= NEGLIGIBLE * sums.max(initial=0.0))


class SparsePairs(RowPairs):
    """Pairs (i, j) of neighbours, row by row; arrays over pairs are (n_pairs,)."""

    def __init__(self, weights: Array, second: Index, starts: Index) -> None:
        super().__init__(weights)
        self.second, self.n = second, len(starts) - 1
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

    def first_sums(self, theta: Array) -> Array:
        """Sums over the neighbours."""
        return np.asarray(np.bincount(self.first, weights=theta, minlength=self.n))

    def matrix(self, theta: Array) -> Any:
        """One pattern, other values: making it anew is slow."""
        self._pattern.data = theta
        return self._pattern


def make_pairs(X: Array, row_weights: Array, bandwidth: float, n_neighbors: int | None) -> RowPairs:
    """All pairs with the weights (5), or each row with itself and its neighbours with (58)."""
    n = len(X)
    points = X if X.shape[1] else np.zeros((n, 1))
    if n_neighbors is None:
        w = np.exp(cdist(points, points, "sqeuclidean") / (-2 * bandwidth**2))
        w *= row_weights
        w *= row_weights[:, None]
        return RowPairs(w)
    if n_neighbors >= n:
        raise InvalidParameterError(
            f"n_neighbors must be smaller than the number of distinct rows, {n}; got "
            f"{n_neighbors}. Lower it, or leave it out for weights between all pairs."
        )
    from sklearn.neighbors import NearestNeighbors  # takes a while

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
