r"""The problem: its primal, its dual, and the gap between them.

.. math::
    \min_{f, b}\; \sum_i p_i\, l(y_i, b + f(x_i)) + \alpha\,\Omega(g) + \lambda \|f\|^2,
    \qquad g_{ja} = \sqrt{\pi_j}\, \partial_a f(t_j) \tag{P}

with weights ``p`` of the data ``x`` and ``pi`` of the penalty points ``t``, both adding up to one,
``lambda = ridge``, and ``Omega`` a function of the norms of groups of columns of ``g``
(:mod:`nablasso.penalties`). The penalty points are the data, and ``pi`` is ``p``, unless others are
given.

**Dual.** With multipliers ``2 lambda u`` for the values and ``s`` for ``g`` the minimiser in ``f``
is the representer form with ``v_{ja} = sqrt(pi_j) s_{ja} / (2 lambda)``, and

.. math::
    D(u, s) = -\sum_i p_i\, l^*(y_i, -2\lambda u_i / p_i) - \lambda \|f\|^2
              - (\alpha\Omega)^*(-s),
    \qquad 1^\top u = 0 .

With the best ``u`` for given ``s`` (:meth:`Problem.dual_point`) the dual is a problem in ``s``
alone, ``min_s Phi(s) + (alpha Omega)*(-s)``, and the gradient of ``Phi`` at ``s`` is exactly ``g``.
For the lasso ``s_g`` is confined to the ball of radius ``alpha w_g``.

**Gap.** For any ``(u, v, b)`` the gap is ``P(f) - D(s')`` where ``s'`` is ``s`` moved into the
domain of the conjugate; it bounds the suboptimality of ``f``.

**Bounds from the gap.** For ``f`` and ``s`` of one dual point with gap ``e``: (P) is strongly
convex and so is minus the dual in ``f``, so ``2 lambda ||f - f*||^2 <= e``. With ``c_a^2`` the mean
of ``L^{aa}[i, i]`` this bounds ``| ||d_a f||_n - ||d_a f*||_n |`` by ``c_a sqrt(e / (2 lambda))``;
and from the Fenchel inequality of each group ``||d_g f*||_n <= e / (radius_g - ||s_g||)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nablasso.losses import Loss
from nablasso.penalties import Penalty
from nablasso.spaces import Space
from nablasso.types import Array

ROUNDING = 1e-24  # a loss this small relative to the size of y is rounding: y is constant
ABOVE = 1 + 1e-6  # just above, so that rounding selects nothing at alpha_max itself


class Coefficients(NamedTuple):
    """A function: ``u`` (n,), ``v`` (m, d) and the intercept."""

    u: Array
    v: Array
    intercept: float


class DualPoint(NamedTuple):
    """A dual point and its function: everything is linear in ``(u, s)``."""

    s: Array  # (m, d)
    u: Array  # (n,)
    values: Array  # f(x_i) without the intercept
    g: Array  # sqrt(pi_j) d_a f(t_j), the gradient of Phi


def between(a: DualPoint, b: DualPoint, t: float) -> DualPoint:
    """``a + t (b - a)``."""
    if a is b or t == 1.0:
        return b
    return DualPoint(*(_mixed(x, y, t) for x, y in zip(a, b, strict=True)))


def _mixed(x: Array, y: Array, t: float) -> Array:
    """``x + t (y - x)`` with no other array of that size."""
    out = y - x
    out *= t
    out += x
    return out


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """(P) with everything it needs; ``dataclasses.replace(problem, alpha=...)`` makes a path.

    ``penalty_weights`` (m,) belong to ``space.points``; None where these are the data.
    """

    loss: Loss
    penalty: Penalty
    space: Space
    y: Array
    weights: Array
    alpha: float
    ridge: float
    fit_intercept: bool
    penalty_weights: Array | None = None

    @abstractmethod
    def dual_point(self, s: Array) -> DualPoint:
        """The dual point with the best ``u`` at ``s``."""

    @abstractmethod
    def flat_dual(self) -> Array:
        """Dual variable whose function minimises (P) among those flat at the penalty points."""

    @abstractmethod
    def alpha_max_and_scale(self) -> tuple[float, float]:
        """``alpha_max``, and what defaults are fractions of: the same unless it is blown up."""

    @property
    def root(self) -> Array:
        """``sqrt(pi)`` as a column."""
        weights = self.weights if self.penalty_weights is None else self.penalty_weights
        return np.sqrt(weights)[:, None]

    @property
    def reference(self) -> float:
        """Primal at ``f = 0``: relative gaps are relative to it."""
        b = self._best_intercept(np.zeros_like(self.y))
        at_zero = float(self.weights @ self.loss.value(self.y, np.full_like(self.y, b)))
        size = float(self.weights @ self.y**2)
        return at_zero if at_zero > ROUNDING * size else max(size, 1.0)

    def feasible_point(self, s: Array) -> DualPoint:
        """The dual point at ``s``, moved into the domain of the conjugate."""
        norms = self.penalty.partition.norms(s)
        inside = self.penalty.project_dual(norms, self.alpha)
        return self.dual_point(self.penalty.partition.rescale(s, norms, inside))

    def with_intercept(self, u: Array, v: Array) -> Coefficients:
        """The function of ``u`` and ``v`` with its best intercept."""
        return Coefficients(u, v, self._best_intercept(self.space.values(u, v)))

    def coefficient(self, s: Array) -> Array:
        """``v`` that belongs to the dual variable ``s``."""
        return np.asarray(s * (self.root / (2 * self.ridge)))

    def unpack(self, point: DualPoint) -> Coefficients:
        """The function of a dual point."""
        return Coefficients(point.u, self.coefficient(point.s), self._best_intercept(point.values))

    def squared_norm(self, point: DualPoint) -> float:
        """``||f||^2 = u'(K u + D'v) + v'(D u + L v)``."""
        return float(point.u @ point.values + np.vdot(point.s, point.g) / (2 * self.ridge))

    def primal_dual(self, point: DualPoint) -> tuple[float, float]:
        """Primal and dual objective at a dual point, without further products."""
        norm2 = self.squared_norm(point)
        primal = self._primal(point.values, point.g, norm2)
        slopes = -2 * self.ridge * point.u / self.weights
        conjugate = float(self.weights @ self.loss.conjugate(self.y, slopes))
        norms = self.penalty.partition.norms(point.s)
        dual = -conjugate - self.ridge * norm2 - self.penalty.conjugate(norms, self.alpha)
        return primal, dual

    def objective(self, point: DualPoint) -> float:
        """Primal objective of the function of a dual point."""
        return self._primal(point.values, point.g, self.squared_norm(point))

    def primal(self, coef: Coefficients) -> float:
        """Objective of any function of the space."""
        values, gradients = self.space.products(coef.u, coef.v)
        norm2 = float(coef.u @ values + np.sum(coef.v * gradients))
        return self._primal(values, gradients * self.root, norm2, coef.intercept)

    def gap(self, coef: Coefficients) -> float:
        """Bound on the suboptimality of any function: primal minus a feasible dual value."""
        point = self.feasible_point(coef.v * (2 * self.ridge / self.root))
        return self.primal(coef) - self.primal_dual(point)[1]

    def alpha_max(self) -> float:
        r"""Smallest ``alpha`` that selects nothing (an upper bound of it where ``M`` is singular).

        :meth:`flat_dual` makes all penalised derivatives zero on the data; it is feasible from
        ``alpha = max_g ||s_g|| / slope_g`` on, with ``slope_g`` the penalty's slope at zero.
        """
        return ABOVE * self.gauge(self.flat_dual())

    def alpha_scale(self) -> float:
        """Second of :meth:`alpha_max_and_scale`: what defaults are fractions of."""
        return self.alpha_max_and_scale()[1]

    def gauge(self, s: Array) -> float:
        """Smallest alpha whose balls hold ``s``."""
        slope = self.penalty.radius(1.0)
        norms = self.penalty.partition.norms(s)
        return float(np.max(norms[slope > 0] / slope[slope > 0], initial=0.0))

    def derivative_bounds(self, point: DualPoint) -> tuple[Array, Array]:
        """Certified lower and upper bounds of ``||d_a f*||_n``, each (d,)."""
        primal, dual = self.primal_dual(point)
        gap = max(primal - dual, 0.0)
        partition = self.penalty.partition
        norms = np.sqrt(np.einsum("ia,ia->a", point.g, point.g))
        size = np.sqrt((self.root**2).ravel() @ self.space.derivative_diagonal())
        slack = size * np.sqrt(gap / (2 * self.ridge))
        room = np.maximum(self.penalty.radius(self.alpha) - partition.norms(point.s), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            fenchel = np.where(room > 0, gap / room, np.inf)
        return np.maximum(norms - slack, 0.0), np.minimum(norms + slack, partition.spread(fenchel))

    def _primal(
        self, values: Array, g: Array, norm2: float, intercept: float | None = None
    ) -> float:
        b = self._best_intercept(values) if intercept is None else intercept
        fit = float(self.weights @ self.loss.value(self.y, values + b))
        norms = self.penalty.partition.norms(g)
        return fit + self.alpha * self.penalty.value(norms) + self.ridge * norm2

    def _best_intercept(self, values: Array) -> float:
        if not self.fit_intercept:
            return 0.0
        return self.loss.best_intercept(self.y, values, self.weights)
