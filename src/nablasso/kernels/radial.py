r"""Radial kernels ``k(z, x) = phi(|z - x|^2 / 2)``, and ANOVA kernels made of them.

Products of radial kernels are those of :class:`~nablasso.kernels.base.ProfileOperator`. **ANOVA
kernels** hold low-order interactions of one-dimensional ones: with ``k_a = phi((z_a - x_a)^2 / 2)``
and ``e_s`` the elementary symmetric polynomials of ``k_1, ..., k_d``,

.. math:: k = e_1 + \dots + e_m, \qquad m \in \{1, 2, 3\}.

Order 1 is the additive model. Write ``k'_a`` for the derivative in ``z_a`` (the one in ``x_a`` is
``-k'_a``), ``k''_a`` for the mixed one, ``E_a = dk/dk_a`` and ``E_ab = d^2k/dk_a dk_b``:

====== ======================================= ======================
order  ``E_a``                                 ``E_ab`` (a != b)
====== ======================================= ======================
1      ``1``                                   ``0``
2      ``1 + e_1 - k_a``                       ``1``
3      ``1 + (e_1 - k_a) + e_2 - k_a (e_1 - k_a)`` ``1 + e_1 - k_a - k_b``
====== ======================================= ======================

``L^{ab} = -k'_a k'_b E_ab`` for ``a != b`` and ``L^{aa} = k''_a E_a``. With ``q_a = -k'_a v_a``,
``Q = sum_a q_a``, ``R = sum_a k_a q_a`` the sum over ``b != a`` of ``E_ab q_b`` is ``Q - q_a`` in
order 2 and ``(1 + e_1 - k_a)(Q - q_a) - (R - k_a q_a)`` in order 3: O(m n d) time. The
one-dimensional kernels are kept up to ``KEEP_BYTES`` and recomputed per block of rows beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.spatial.distance import cdist

from nablasso.errors import InvalidParameterError, NotTwiceDifferentiableError
from nablasso.kernels.base import (
    Kernel,
    KernelOperator,
    ProfileOperator,
    ScalarKernel,
    positive,
    row_blocks,
)
from nablasso.types import Array

_Block = tuple[slice, Array, Array, Array, Array]

KEEP_BYTES = 256 << 20  # one-dimensional kernels that are kept, not recomputed
ROUNDING = 1e-10  # of the largest number, up to which two are the same value


class RadialKernel(ScalarKernel):
    """A kernel of the squared distance, given by :meth:`profile` alone."""

    radial = True

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind to evaluation points and centres."""
        self._at_zero()
        r = cdist(Z, X, "sqeuclidean")
        r /= 2
        return ProfileOperator(self, r, Z, X)

    def against(self, X: Array) -> Callable[[Array], Array]:
        """Half the squared distances by one product: values need no more digits."""
        centres, halves = -X.T, np.einsum("ia,ia->i", X, X) / 2

        def gram(Z: Array) -> Array:
            r = Z @ centres
            r += halves
            r += np.einsum("ia,ia->i", Z, Z)[:, None] / 2
            return self.first_two(np.maximum(r, 0.0, out=r))[0]

        return gram

    def derivative_diagonal(self, X: Array) -> Array:
        """``-phi'(0)`` for every point and variable."""
        return np.full(X.shape, -self._at_zero()[1])

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


@dataclass(eq=False, repr=False)
class Gaussian(RadialKernel):
    r"""``exp(-|z - x|^2 / (2 length_scale^2))``."""

    length_scale: float = 1.0

    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi, phi', phi''``."""
        k, slope = self.first_two(r)
        return k, slope, slope / -(float(self.length_scale) ** 2)

    def first_two(self, r: Array) -> tuple[Array, Array]:
        """``phi, phi'``."""
        s2 = positive(self.length_scale, "length_scale") ** 2
        k = r / -s2
        np.exp(k, out=k)
        return k, k / -s2


@dataclass(eq=False, repr=False)
class Matern52(RadialKernel):
    r"""Matern kernel of smoothness 5/2: ``(1 + q + q^2/3) exp(-q)``, ``q = sqrt(5) |z-x| / s``."""

    length_scale: float = 1.0

    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi, phi', phi''``."""
        s2 = positive(self.length_scale, "length_scale") ** 2
        return *self.first_two(r), np.exp(-np.sqrt(10.0 * r / s2)) * (25 / (3 * s2**2))

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


@dataclass(eq=False, repr=False)
class Rough(RadialKernel):
    r"""``exp(tip - sqrt(tip^2 + |z - x|^2 / s^2))``: rough, with a rounded tip.

    ``sqrt(tip^2 + r) - tip`` is a Bernstein function of ``r``, so the kernel is positive definite
    in every dimension. Without the tip it is that of Ornstein and Uhlenbeck, which has no slopes; a
    tip of ``1/10`` is smooth at a tenth of the length scale only.
    """

    length_scale: float = 1.0
    tip: float = 0.1

    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi, phi', phi''``."""
        k, slope = self.first_two(r)
        s2 = float(self.length_scale) ** 2
        q = np.sqrt(self.tip**2 + 2 * r / s2)
        return k, slope, k * (1 / q + 1) / (s2 * q) ** 2

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


@dataclass(eq=False, repr=False)
class RationalQuadratic(RadialKernel):
    r"""``(1 + |z - x|^2 / (2 mixture length_scale^2))^(-mixture)``."""

    length_scale: float = 1.0
    mixture: float = 1.0

    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi, phi', phi''``."""
        s2 = positive(self.length_scale, "length_scale") ** 2
        m = positive(self.mixture, "mixture")
        base = 1 + r / (m * s2)
        k = base**-m
        k1 = k / base
        return k, k1 / -s2, k1 / base * ((m + 1) / (m * s2**2))


@dataclass(eq=False, repr=False)
class Stated(Kernel):
    r"""A radial kernel of the sizes of columns and of their states: whether values are equal.

    ``phi(r)`` with ``r = |z - x|^2 / 2 + sum_a t_a^2 [z_a is not x_a]``: the base kernel of the
    columns and of one indicator times ``t`` for each value that they take. Slopes are those of the
    sizes.

    Parameters
    ----------
    base : RadialKernel
        ``phi``.
    states : array, shape (d,)
        ``t``, zero for a column without states.
    """

    has_width = False  # every column has its own

    base: RadialKernel
    states: Array

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind to evaluation points and centres."""
        r = cdist(Z, X, "sqeuclidean")
        r /= 2
        for a in np.flatnonzero(self.states):
            r += self.states[a] ** 2 * unequal(Z[:, a], X[:, a])
        return ProfileOperator(self.base, r, Z, X)

    def derivative_diagonal(self, X: Array) -> Array:
        """That of the base."""
        return self.base.derivative_diagonal(X)

    @property
    def told(self) -> Array:
        """Mask of the columns whose states tell something: a hundredth of what any tells."""
        return np.asarray(self.states**2 > 0.01 * np.max(self.states**2, initial=0.0))


def unequal(z: Array, x: Array) -> Array:
    """Whether numbers differ by more than rounding, (m, n)."""
    rounding = ROUNDING * max(float(np.max(np.abs(x), initial=0.0)), 1e-300)
    return np.asarray(np.abs(z[:, None] - x) > rounding)


@dataclass(eq=False, repr=False)
class Anova(Kernel):
    """Sum over all sets of at most ``order`` variables of products of one-dimensional kernels."""

    order: int = 2
    base: RadialKernel | None = None

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind to evaluation points and centres."""
        return _AnovaOperator(self._base(), self._order(), Z, X)

    def derivative_diagonal(self, X: Array) -> Array:
        """``-phi'(0) E_a`` with all one-dimensional kernels at ``phi(0)``."""
        d = X.shape[1]
        phi, slope, _ = self._base()._at_zero()
        E = sum(comb(d - 1, s) * phi**s for s in range(self._order()))
        return np.full(X.shape, -slope * E)

    def width(self, X: Array, weights: Array, rule: str) -> float:
        """Distance by the named rule, per coordinate: divided by ``sqrt(d)``."""
        return super().width(X, weights, rule) / float(np.sqrt(X.shape[1]))

    def _base(self) -> RadialKernel:
        if self.base is None:
            return Gaussian()
        if not isinstance(self.base, RadialKernel):
            raise InvalidParameterError(
                f"base must be a radial kernel such as Gaussian() or Matern52(); got {self.base!r}."
            )
        return self.base

    def _order(self) -> int:
        if self.order not in (1, 2, 3):
            raise InvalidParameterError(f"order must be 1, 2 or 3; got {self.order!r}.")
        return int(self.order)


class _AnovaOperator(KernelOperator):
    def __init__(self, base: RadialKernel, order: int, Z: Array, X: Array) -> None:
        base._at_zero()
        self.base, self.order, self.Z, self.X = base, order, Z, X
        keep = 4 * 8 * len(Z) * X.size <= KEEP_BYTES
        self._kept = list(self._made()) if keep else None
        self._gram = np.empty((len(Z), len(X)))
        for rows, k, *_ in self._blocks():
            self._gram[rows] = sum(_symmetric(k, order)[1:])

    def gram(self) -> Array:
        return self._gram

    def push(self, v: Array) -> tuple[Array, None]:
        Dv = np.empty(len(self.Z))
        for rows, _, _, first, _ in self._blocks():
            Dv[rows] = -np.einsum("aij,ja->i", first, v)
        return Dv, None

    def pull(self, u: Array, v: Array, carry: None) -> Array:  # noqa: ARG002 nothing is shared
        G = np.empty(self.Z.shape)
        for rows, k, slope, first, own in self._blocks():
            G[rows] = np.einsum("aij,j->ia", first, u) + np.einsum("aij,ja->ia", own, v)
            if self.order > 1:
                others = self._others(k, -slope * v.T[:, None, :])
                G[rows] += np.einsum("aij,aij->ia", slope, others)
        return G

    def slopes(self, u: Array) -> Array:
        G = np.empty(self.Z.shape)
        coef = np.broadcast_to(u, (len(self.Z), len(self.X)))
        for rows, _, _, first, _ in self._blocks():
            G[rows] = np.einsum("aij,ij->ia", first, coef[rows])
        return G

    def dense(self) -> tuple[Array, Array]:
        _, k, slope, first, own = self._block(slice(None))
        L = np.einsum("aij,bij->iajb", -slope, slope)
        if self.order != 2:  # E_ab of two variables
            both = 1 + k.sum(axis=0) - k[:, None] - k if self.order == 3 else np.zeros((1, 1, 1, 1))
            L *= both.transpose(2, 0, 3, 1)
        for a, block in enumerate(own):
            L[:, a, :, a] = block
        return first.transpose(1, 0, 2), L

    def _blocks(self) -> Iterable[_Block]:
        return self._made() if self._kept is None else self._kept

    def _made(self) -> Iterator[_Block]:
        return (self._block(rows) for rows in row_blocks(len(self.Z), self.X.size))

    def _block(self, rows: slice) -> _Block:
        """Rows; ``k_a``, ``k'_a``, ``k'_a E_a`` and ``k''_a E_a`` there, each (d, rows, n)."""
        delta = self.Z[rows].T[:, :, None] - self.X.T[:, None, :]
        square = delta**2
        k, d1, d2 = self.base.profile(square / 2)
        e = _symmetric(k, self.order)
        E = without = np.ones_like(k)  # a symmetric polynomial of the other variables
        for s in range(1, self.order):
            without = e[s] - k * without
            E = E + without
        slope = d1 * delta
        return rows, k, slope, slope * E, (-d1 - d2 * square) * E

    def _others(self, k: Array, q: Array) -> Array:
        """``sum_{b != a} E_ab q_b`` for all ``a``, (d, rows, n)."""
        rest = q.sum(axis=0) - q
        if self.order == 2:
            return np.asarray(rest)
        kq = k * q
        return np.asarray((1 + k.sum(axis=0) - k) * rest - (kq.sum(axis=0) - kq))


def _symmetric(k: Array, order: int) -> list[Array]:
    """``e_0, ..., e_order`` of ``k`` along its first axis, by Newton-Girard from power sums."""
    powers = [np.sum(k**s, axis=0) for s in range(1, order + 1)]
    e = [np.ones_like(powers[0])]
    for s in range(1, order + 1):
        signed = [(-1) ** (i - 1) * e[s - i] * powers[i - 1] for i in range(1, s + 1)]
        e.append(np.sum(signed, axis=0) / s)
    return e
