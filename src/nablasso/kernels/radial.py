r"""Radial kernels ``k(z, x) = phi(|z - x|^2 / 2)``.

With ``r = |z - x|^2 / 2`` and ``delta = z - x``

.. math::
    \partial_z k = \phi'\,\delta, \qquad \partial_x k = -\phi'\,\delta, \qquad
    \partial_z \partial_x k = -\phi' I - \phi''\,\delta\delta^\top .

The products are those of :class:`~nablasso.kernels.base.ProfileOperator`.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.spatial.distance import cdist

from nablasso.errors import NotTwiceDifferentiableError
from nablasso.kernels.base import (
    Kernel,
    KernelOperator,
    ProfileOperator,
    positive,
    width_by_rule,
)
from nablasso.types import Array


class RadialKernel(Kernel):
    """A kernel of the squared distance, given by :meth:`profile` alone."""

    @abstractmethod
    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi(r), phi'(r), phi''(r)`` for ``r = |z - x|^2 / 2``."""

    def first_two(self, r: Array) -> tuple[Array, Array]:
        """``phi(r), phi'(r)``: all that tuning needs, where they are cheaper than all three."""
        return self.profile(r)[:2]

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind to evaluation points and centres."""
        self._at_zero()
        r = cdist(Z, X, "sqeuclidean")
        r /= 2
        return ProfileOperator(self, r, Z, X, radial=True)

    def diagonal(self, X: Array) -> Array:
        """``phi(0)`` for every point."""
        return np.full(len(X), self._at_zero()[0])

    def derivative_diagonal(self, X: Array) -> Array:
        """``-phi'(0)`` for every point and variable."""
        return np.full(X.shape, -self._at_zero()[1])

    def width(self, X: Array, weights: Array, rule: str) -> float:
        """Distance between points by the named rule."""
        return width_by_rule(X, weights, rule)

    def _at_zero(self) -> tuple[float, float, float]:
        with np.errstate(all="ignore"):
            phi, d1, d2 = (float(f[0]) for f in self.profile(np.zeros(1)))
        if not np.isfinite([phi, d1, d2]).all():
            raise NotTwiceDifferentiableError(
                f"The kernel must be twice differentiable; {self!r} has phi(0) = {phi}, "
                f"phi'(0) = {d1}, phi''(0) = {d2}. Use Gaussian(), Matern52() or "
                "RationalQuadratic()."
            )
        return phi, d1, d2


class Gaussian(RadialKernel):
    r"""``exp(-|z - x|^2 / (2 length_scale^2))``."""

    def __init__(self, length_scale: float = 1.0) -> None:
        self.length_scale = length_scale

    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi, phi', phi''``."""
        s2 = positive(self.length_scale, "length_scale") ** 2
        k = np.exp(-r / s2)
        return k, k / -s2, k / s2**2

    def first_two(self, r: Array) -> tuple[Array, Array]:
        """``phi, phi'``."""
        s2 = positive(self.length_scale, "length_scale") ** 2
        k = r / -s2
        np.exp(k, out=k)
        return k, k / -s2


class Matern52(RadialKernel):
    r"""Matern kernel of smoothness 5/2: ``(1 + q + q^2/3) exp(-q)``, ``q = sqrt(5) |z-x| / s``."""

    def __init__(self, length_scale: float = 1.0) -> None:
        self.length_scale = length_scale

    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi, phi', phi''``."""
        s2 = positive(self.length_scale, "length_scale") ** 2
        q = np.sqrt(10.0 * r / s2)
        e = np.exp(-q)
        return (1 + q + q**2 / 3) * e, (1 + q) * e * (-5 / (3 * s2)), e * (25 / (3 * s2**2))

    def first_two(self, r: Array) -> tuple[Array, Array]:
        """``phi, phi'``."""
        s2 = positive(self.length_scale, "length_scale") ** 2
        q = r * (10.0 / s2)
        np.sqrt(q, out=q)
        e = np.exp(-q)
        square = q * q
        q += 1
        q *= e  # (1 + q) e
        square *= e
        square /= 3
        square += q
        q *= -5 / (3 * s2)
        return square, q


class Rough(RadialKernel):
    r"""``exp(tip - sqrt(tip^2 + |z - x|^2 / s^2))``: rough, with a rounded tip.

    ``sqrt(tip^2 + r) - tip`` is a Bernstein function of ``r``, so the kernel is positive definite
    in every dimension. Without the tip it is that of Ornstein and Uhlenbeck, which has no slopes; a
    tip of ``1/10`` is smooth at a tenth of the length scale only.
    """

    def __init__(self, length_scale: float = 1.0, tip: float = 0.1) -> None:
        self.length_scale = length_scale
        self.tip = tip

    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi, phi', phi''``."""
        s2 = positive(self.length_scale, "length_scale") ** 2
        tip = positive(self.tip, "tip")
        q = np.sqrt(tip**2 + 2 * r / s2)
        k = np.exp(tip - q)
        return k, k / (-s2 * q), k * (1 / q + 1) / (s2 * q) ** 2

    def first_two(self, r: Array) -> tuple[Array, Array]:
        """``phi, phi'``."""
        s2, tip = positive(self.length_scale, "length_scale") ** 2, positive(self.tip, "tip")
        q = r * (2 / s2)
        q += tip**2
        np.sqrt(q, out=q)
        k = tip - q
        np.exp(k, out=k)
        q *= -s2
        return k, np.divide(k, q, out=q)


class RationalQuadratic(RadialKernel):
    r"""``(1 + |z - x|^2 / (2 mixture length_scale^2))^(-mixture)``."""

    def __init__(self, length_scale: float = 1.0, mixture: float = 1.0) -> None:
        self.length_scale = length_scale
        self.mixture = mixture

    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi, phi', phi''``."""
        s2 = positive(self.length_scale, "length_scale") ** 2
        m = positive(self.mixture, "mixture")
        base = 1 + r / (m * s2)
        k = base**-m
        k1 = k / base
        return k, k1 / -s2, k1 / base * ((m + 1) / (m * s2**2))
