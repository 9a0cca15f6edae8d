r"""Derivatives of a block's values in the slopes, as products.

For a PSD block ``A = [M]_+ / l2`` with ``M = U Diag(m) U'``. In the eigenbasis

.. math:: dA = \frac{1}{l_2} U\, (\Theta \circ U^\top dM\, U)\, U^\top, \qquad
          \Theta_{ij} = \frac{[m_i]_+ - [m_j]_+}{m_i - m_j}

is 1 between positive eigenvalues, 0 between the others, and ``m_i / (m_i - m_j)`` across. So only
rows of positive eigenvalues are needed, q of them: with ``P = Phi U`` a product costs O(n r q).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from nablasso.types import Array


class Tangent(ABC):
    """A linear map from changes of slopes and multipliers to changes of values and functionals."""

    @abstractmethod
    def __call__(self, slopes: Array, multipliers: Array) -> tuple[Array, Array]:
        """Changes of the values (n,) and of the functionals, to first order."""

    @abstractmethod
    def matrix(self) -> Array:
        """Minus the derivative of the values in the slopes, (n, n)."""

    @abstractmethod
    def diagonal(self) -> Array:
        """Minus the derivative of each value in its own slope, (n,), not negative."""

    @abstractmethod
    def functional_diagonal(self) -> Array:
        """Minus the derivative of each functional in its own multiplier."""


class LinearTangent(Tangent):
    """``-Phi Phi' / l2``."""

    def __init__(self, Phi: Array, l2: float) -> None:
        self.Phi, self.l2 = Phi, l2

    def __call__(self, slopes: Array, multipliers: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """One product with ``Phi`` and one with its transpose."""
        return -(self.Phi @ (slopes @ self.Phi)) / self.l2, np.zeros(0)

    def matrix(self) -> Array:
        """``Phi Phi' / l2``."""
        return np.asarray(self.Phi @ self.Phi.T) / self.l2

    def diagonal(self) -> Array:
        """``|phi_i|^2 / l2``."""
        return np.asarray(np.einsum("ij,ij->i", self.Phi, self.Phi) / self.l2)

    def functional_diagonal(self) -> Array:
        """None."""
        return np.zeros(0)


class PSDTangent(Tangent):
    """See the module; ``functionals`` are matrices (r, r) in the coordinates of ``Phi``."""

    def __init__(
        self,
        Phi: Array,
        l2: float,
        eigenvalues: Array,
        U: Array,
        functionals: tuple[Array, ...],
    ) -> None:
        first = int(np.searchsorted(eigenvalues, 0.0, side="right"))
        top, rest = eigenvalues[first:], eigenvalues[:first]
        across = top[:, None] / (top[:, None] - rest)
        self._weights = np.hstack([2 * across, np.ones((len(top), len(top)))]) / l2
        self._P = Phi @ U if len(top) else np.zeros((len(Phi), 0))
        self._first = first
        self._top = np.ascontiguousarray(self._P[:, first:])
        self._W = [U[:, first:].T @ W @ U for W in functionals]

    def __call__(self, slopes: Array, multipliers: Array) -> tuple[Array, Array]:
        """Two products with ``P`` and its positive part."""
        top = self._top
        if not top.shape[1]:
            return np.zeros(len(self._P)), np.zeros(len(self._W))
        X = -(top * slopes[:, None]).T @ self._P
        for c, W in zip(multipliers, self._W, strict=True):
            X -= c * W
        X *= self._weights
        values = np.einsum("ij,ij->i", top @ X, self._P)
        return values, np.array([float(np.sum(W * X)) for W in self._W])

    def matrix(self) -> Array:
        """``sum_j (p_j p_j') * (P Diag(Theta_j) P') / l2`` over positive eigenvalues j."""
        Q = np.zeros((len(self._P), len(self._P)))
        for p, weights in zip(self._top.T, self._weights, strict=True):
            Q += np.outer(p, p) * ((self._P * weights) @ self._P.T)
        return Q

    def diagonal(self) -> Array:
        """``sum_jk Theta_jk P_ij^2 P_ik^2 / l2``."""
        squares = self._P**2
        top = squares[:, self._first :]
        if not top.shape[1]:
            return np.zeros(len(self._P))
        return np.asarray(np.einsum("ij,ij->i", top @ self._weights, squares))

    def functional_diagonal(self) -> Array:
        """``sum Theta * W^2 / l2``."""
        return np.array([float(np.sum(W**2 * self._weights)) for W in self._W])
