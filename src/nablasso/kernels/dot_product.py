r"""Dot-product kernels ``k(z, x) = phi(z . x)``, and powers of an additive kernel.

Products are those of :class:`~nablasso.kernels.base.ProfileOperator`. **Powers of an additive
kernel** are smooth functions of few variables at a time, at matrix speed: a fixed map ``phi`` takes
a number to ``rank`` smooth features, and

.. math:: k(z, x) = \Big(c + \sum_a \phi(z_a)\cdot\phi(x_a)\Big)^m

so order ``m = 1`` is the additive model and order ``m`` holds all interactions of at most ``m``
variables, as the ANOVA kernels do. It is a dot-product kernel of the features
``Phi(x) = (phi(x_1), ..., phi(x_d))``, and with ``J_a = phi'(x_a)`` every product is that kernel's
on ``d rank`` columns, ``v`` multiplied by ``J`` on the way in and gradients on the way out.

**The features.** ``phi(x) = G^{-1/2} (exp(-(x - t)^2 / 2 h^2))_t`` minus its value at zero, for
``rank`` knots ``t`` on [-3, 3] with Gram matrix ``G``: nearly the features of a Gaussian kernel of
width ``h`` for standardised columns. They vanish at ``x = 0``, so a variable of scale zero adds
nothing, and are flat far outside, so an outlier does not dominate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigh

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import Kernel, KernelOperator, ProfileOperator, ScalarKernel
from nablasso.types import Array

REACH = 3.0  # the outermost knots of the features, in deviations of a column
WIDTH = 0.8


class DotProductKernel(ScalarKernel):
    """A kernel of the dot product, given by :meth:`profile` alone."""

    has_width = False
    radial = False

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind to evaluation points and centres."""
        return ProfileOperator(self, Z @ X.T, Z, X)

    def against(self, X: Array) -> Callable[[Array], Array]:
        """One product."""
        return lambda Z: self.first_two(Z @ X.T)[0]

    def derivative_diagonal(self, X: Array) -> Array:
        """``phi'(|x|^2) + phi''(|x|^2) x_a^2``."""
        _, d1, d2 = self.profile(np.einsum("ia,ia->i", X, X))
        return np.asarray(d1[:, None] + d2[:, None] * X**2)


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
        low = np.full_like(t, float(p > 1))
        for _ in range(p - 2):  # products: a power is much slower
            low *= t + c
        return *self.first_two(t), p * (p - 1) * low

    def first_two(self, t: Array) -> tuple[Array, Array]:
        """``phi, phi'``."""
        p, c = self._checked()
        base, slope = t + c, np.ones_like(t)
        for _ in range(p - 1):
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


@dataclass(eq=False, repr=False)
class AdditivePower(Kernel):
    """``(offset + sum_a phi(z_a) . phi(x_a))^order``.

    Parameters
    ----------
    order : int, default=2
        Largest number of variables that interact.
    offset : float, default=1.0
        The smaller, the more the highest order counts.
    rank : int, default=10
        Number of features per variable.
    centre : array, shape (d, rank), optional
        Subtracted from the features; their values at zero by default.
    scale : array, shape (d,), optional
        Multiplies the features of each variable; ones by default.
    """

    has_width = False  # the knots are in deviations of a column

    order: int = 2
    offset: float = 1.0
    rank: int = 10
    centre: Array | None = None
    scale: Array | None = None

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind to evaluation points and centres."""
        return _AdditiveOperator(self, Z, X)

    def against(self, X: Array) -> Callable[[Array], Array]:
        """The features of ``X`` once, and no slopes."""
        gram = self._outer().against(self._values(X))
        return lambda Z: gram(self._values(Z))

    def derivative_diagonal(self, X: Array) -> Array:
        """``psi' |J_a|^2 + psi'' (J_a . Phi_a)^2`` with ``psi`` the power."""
        Phi, J = self.features(X)
        _, d1, d2 = self._outer().profile(np.einsum("ib,ib->i", Phi, Phi))
        blocks = (*X.shape, self.rank)
        J2 = np.sum(J.reshape(blocks) ** 2, axis=2)
        JPhi = np.sum(J.reshape(blocks) * Phi.reshape(blocks), axis=2)
        return np.asarray(d1[:, None] * J2 + d2[:, None] * JPhi**2)

    def features(self, X: Array) -> tuple[Array, Array]:
        """``Phi`` and its derivatives, both (n, d rank), the features of a column together."""
        knots, root = self._knots()
        delta = X[:, :, None] - knots
        bumps = np.exp(-(delta**2) / (2 * WIDTH**2))
        return self._mapped(bumps, root), self._scaled((bumps * delta / -(WIDTH**2)) @ root)

    def _values(self, X: Array) -> Array:
        """``Phi`` alone."""
        knots, root = self._knots()
        return self._mapped(np.exp(-((X[:, :, None] - knots) ** 2) / (2 * WIDTH**2)), root)

    def _mapped(self, bumps: Array, root: Array) -> Array:
        if self.centre is not None:
            return self._scaled(bumps @ root - self.centre)
        at_zero = np.exp(-(self._knots()[0] ** 2) / (2 * WIDTH**2))
        return self._scaled((bumps - at_zero) @ root)

    def _scaled(self, features: Array) -> Array:
        if self.scale is not None:
            features *= np.asarray(self.scale)[:, None]
        return features.reshape(len(features), -1)

    def _knots(self) -> tuple[Array, Array]:
        if not isinstance(self.rank, int | np.integer) or self.rank < 3:
            raise InvalidParameterError(
                f"rank must be an integer of at least 3; got {self.rank!r}."
            )
        return _knots_of(int(self.rank))

    def _outer(self) -> Polynomial:
        return Polynomial(self.order, self.offset)


@cache
def _knots_of(rank: int) -> tuple[Array, Array]:
    """Knots, and the root of the inverse of their Gram matrix."""
    knots = np.linspace(-REACH, REACH, rank)
    G = np.exp(-((knots[:, None] - knots) ** 2) / (2 * WIDTH**2))
    w, V = eigh(G)
    return knots, V / np.sqrt(np.maximum(w, 1e-8)) @ V.T


class _AdditiveOperator(ProfileOperator):
    """The dot-product operator of the features between two multiplications by ``J``."""

    def __init__(self, kernel: AdditivePower, Z: Array, X: Array) -> None:
        self.shape = (len(Z), X.shape[1], int(kernel.rank))
        Phi_z, self.J_z = kernel.features(Z)
        Phi_x, self.J_x = (Phi_z, self.J_z) if X is Z else kernel.features(X)
        super().__init__(kernel._outer(), Phi_z @ Phi_x.T, Phi_z, Phi_x)

    def push(self, v: Array) -> tuple[Array, Array]:
        return super().push(self._lift(v))

    def pull(self, u: Array, v: Array, carry: Array) -> Array:
        return self._lower(super().pull(u, self._lift(v), carry))

    def slopes(self, u: Array) -> Array:
        return self._lower(super().slopes(u))

    def dense(self) -> tuple[Array, Array]:
        """``D`` and ``L``; the features are summed first, so nothing of size rank^2 is held."""
        J_z, Phi_z = (F.reshape(self.shape) for F in (self.J_z, self.Z))
        J_x, Phi_x = (F.reshape(-1, *self.shape[1:]) for F in (self.J_x, self.X))
        along_z = np.einsum("iat,jat->iaj", J_z, Phi_x)
        along_x = np.einsum("iat,jat->iaj", Phi_z, J_x)
        L = np.einsum("ij,iaj,ibj->iajb", self.K2, along_z, along_x)
        both = np.einsum("iat,jat->iaj", J_z, J_x)
        for a in range(self.shape[1]):
            L[:, a, :, a] += self.K1 * both[:, a]
        return self.K1[:, None, :] * along_z, L

    def _lift(self, v: Array) -> Array:
        return np.asarray(np.repeat(v, self.shape[2], axis=1) * self.J_x)

    def _lower(self, G: Array) -> Array:
        return np.asarray((G * self.J_z).reshape(self.shape).sum(axis=2))
