r"""The adaptive decomposition: principal components of a kernel on the column itself.

A Gaussian kernel is centred at the data and decomposed,
``k~(x, x') = sum_j phi_j(x) phi_j(x')`` with components of decreasing variance on the data
(weights included). Level 0 is the constant, levels 1 to q - 1 the first components, level q the
rest by differencing; they add up to ``1 + k~``.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import eigh

from nablasso.hierarchy.decompositions.base import Array, Decomposition, check_degree
from nablasso.kernels.base import positive

NEGLIGIBLE = 1e-10  # of the largest eigenvalue: components below are rounding


class KernelPCA(Decomposition):
    """Kernel principal components of each column.

    Parameters
    ----------
    degree : int, default=3
        ``q``.
    b : float, default=0.5
        Of ``exp(-b (x - x')^2)``.
    """

    def __init__(self, degree: int = 3, b: float = 0.5) -> None:
        self.degree = degree
        self.b = b

    def n_levels(self) -> int:
        """``q + 1``."""
        positive(self.b, "b")
        return check_degree(self.degree) + 1

    def fitted(self, x: Array, weights: Array) -> Self:
        """A copy that knows the components of the column."""
        copy = type(self)(self.degree, self.b)
        copy.x_, copy.weights_ = x, weights / weights.sum()
        root = np.sqrt(copy.weights_)
        values, vectors = eigh(root[:, None] * copy.total(x, x) * root)
        order = np.argsort(-values)[: self.degree - 1]
        order = order[values[order] > NEGLIGIBLE * values.max()]
        # phi_j(x) = sum_i k~(x, x_i) sqrt(p_i) v_ij / sqrt(value_j)
        copy.loadings_ = root[:, None] * vectors[:, order] / np.sqrt(values[order])
        return copy

    def features(self, x: Array, level: int) -> Array | None:
        """1 and the first components; none for the rest."""
        if level == 0:
            return np.ones((len(x), 1))
        if level == self.degree:
            return None
        loadings = self.loadings_[:, level - 1 : level]
        if loadings.shape[1] == 0:  # a column of few values has fewer components
            return np.zeros((len(x), 1))
        return np.asarray(self.total(x, self.x_) @ loadings)

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """The level's kernel."""
        left = self.features(x, level)
        if left is not None:
            right = self.features(z, level)
            assert right is not None
            return np.asarray(left @ right.T)
        rest = self.total(x, z)
        loadings = self.loadings_
        rest -= (self.total(x, self.x_) @ loadings) @ (self.total(z, self.x_) @ loadings).T
        return rest

    def total(self, x: Array, z: Array) -> Array:
        """The centred Gaussian kernel."""
        p = self.weights_
        K = self._gaussian(x, z)
        left, right = self._gaussian(x, self.x_) @ p, self._gaussian(z, self.x_) @ p
        middle = float(p @ self._gaussian(self.x_, self.x_) @ p)
        return np.asarray(K - left[:, None] - right + middle)

    def _gaussian(self, x: Array, z: Array) -> Array:
        return np.asarray(np.exp(-float(self.b) * (x[:, None] - z) ** 2))
