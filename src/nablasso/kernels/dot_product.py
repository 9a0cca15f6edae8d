r"""Dot-product kernels ``k(z, x) = phi(z . x)``.

.. math::
    \partial_z k = \phi'\,x, \qquad \partial_x k = \phi'\,z, \qquad
    (\partial_z \partial_x k)_{ab} = \phi'\,\delta_{ab} + \phi''\,x_a z_b .

With ``K1 = phi'``, ``K2 = phi''`` (m x n) and ``T[i,j] = z_i . v_j``

* ``D' v = rows(Z . (K1 v))``
* ``D u + L v = K1 v + (K2 * T + K1 diag(u)) X``

again three matrix products, of which :meth:`push` makes ``K1 v``, or with more columns than rows
``T``, and hands it on.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from numbers import Integral, Real

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import Kernel, KernelOperator, column_blocks, row_blocks
from nablasso.types import Array


class DotProductKernel(Kernel):
    """A kernel of the dot product, given by :meth:`profile` alone."""

    has_width = False

    @abstractmethod
    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """``phi(t), phi'(t), phi''(t)`` for ``t = z . x``."""

    def first_two(self, t: Array) -> tuple[Array, Array]:
        """``phi(t), phi'(t)``: all that tuning needs, where they are cheaper than all three."""
        return self.profile(t)[:2]

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind to evaluation points and centres."""
        return DotProductOperator(self, Z, X)

    def diagonal(self, X: Array) -> Array:
        """``phi(|x|^2)``."""
        return self.profile(np.einsum("ia,ia->i", X, X))[0]

    def derivative_diagonal(self, X: Array) -> Array:
        """``phi'(|x|^2) + phi''(|x|^2) x_a^2``."""
        _, d1, d2 = self.profile(np.einsum("ia,ia->i", X, X))
        return np.asarray(d1[:, None] + d2[:, None] * X**2)

    def width(self, X: Array, weights: Array, rule: str) -> float:  # noqa: ARG002 one interface
        """Always 1: a named rule measures distances, and these kernels have none."""
        return 1.0


class Linear(DotProductKernel):
    """``z . x``: with it the derivative lasso is the lasso plus a ridge."""

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """``t, 1, 0``."""
        return t, np.ones_like(t), np.zeros_like(t)


class Polynomial(DotProductKernel):
    """``(z . x + offset)^degree``."""

    def __init__(self, degree: int = 2, offset: float = 1.0) -> None:
        self.degree = degree
        self.offset = offset

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """``phi, phi', phi''``."""
        p, c = self._checked()
        base = t + c
        if p == 1:
            return base, np.ones_like(t), np.zeros_like(t)
        low = np.ones_like(t)
        for _ in range(p - 2):  # products: a power is much slower
            low *= base
        first = low * base
        return first * base, p * first, p * (p - 1) * low

    def first_two(self, t: Array) -> tuple[Array, Array]:
        """``phi, phi'``."""
        p, c = self._checked()
        base = t + c
        if p == 1:
            return base, np.ones_like(t)
        slope = base.copy()
        for _ in range(p - 2):
            slope *= base
        base *= slope
        slope *= p
        return base, slope

    def _checked(self) -> tuple[int, float]:
        p, c = self.degree, self.offset
        if not isinstance(p, Integral) or p < 1:
            raise InvalidParameterError(f"degree must be an integer of at least 1; got {p!r}.")
        if not isinstance(c, Real) or not (np.isfinite(float(c)) and c >= 0):
            raise InvalidParameterError(
                f"offset must be zero or positive, or the kernel is not positive; got {c!r}."
            )
        return int(p), float(c)


class DotProductOperator(KernelOperator):
    """A dot-product kernel between evaluation points and centres."""

    def __init__(self, kernel: DotProductKernel, Z: Array, X: Array) -> None:
        self.kernel, self.Z, self.X = kernel, Z, X
        self.T = Z @ X.T
        self.K0, self.K1 = kernel.first_two(self.T)
        self.wide = X.shape[1] > len(X)

    @cached_property
    def K2(self) -> Array:
        """``phi''``, which values and slopes do not need."""
        return self.kernel.profile(self.T)[2]

    def gram(self) -> Array:
        """``K0``."""
        return self.K0

    def slopes(self, u: Array) -> Array:
        """``K1 diag(u) X``."""
        return np.asarray((self.K1 * u) @ self.X)

    def push(self, v: Array) -> tuple[Array, Array]:
        """``D' v``, and ``K1 v`` or ``T``."""
        if self.wide:
            T = self.Z @ v.T
            return np.einsum("ij,ij->i", self.K1, T), T
        K1v = self.K1 @ v
        return np.einsum("ia,ia->i", self.Z, K1v), K1v

    def pull(self, u: Array, v: Array, carry: Array) -> Array:
        """``K1 v + (K2 * T + K1 diag(u)) X``."""
        if self.wide:
            B = carry * self.K2 + self.K1 * u
            G = np.empty(self.Z.shape)
            for columns in column_blocks(*self.Z.shape):
                G[:, columns] = B @ self.X[:, columns] + self.K1 @ v[:, columns]
            return G
        G = carry.copy()
        for rows in row_blocks(*self.K1.shape):
            B = self.Z[rows] @ v.T
            B *= self.K2[rows]
            B += self.K1[rows] * u
            G[rows] += B @ self.X
        return G

    def dense(self) -> tuple[Array, Array]:
        """``D`` and ``L``, entry by entry."""
        D = np.einsum("ij,ja->iaj", self.K1, self.X)
        L = np.einsum("ij,ja,ib->iajb", self.K2, self.X, self.Z)
        for a in range(self.Z.shape[1]):
            L[:, a, :, a] += self.K1
        return D, L
