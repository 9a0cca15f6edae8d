r"""The problem: its primal, its dual, and the gap between them (``docs/mathematics.md``).

.. math::
    \min_{f, b}\; \sum_i p_i\, l(y_i, b + f(x_i)) + \alpha\,\Omega(g) + \lambda \|f\|^2,
    \qquad g_{ja} = \sqrt{\pi_j}\, \partial_a f(t_j) \tag{P}

with weights ``p`` of the data ``x`` and ``pi`` of the penalty points ``t``, both adding up to one
(the points are the data unless others are given), ``lambda = ridge``, and ``Omega`` a function of
the norms of groups of columns of ``g`` (:mod:`nablasso.penalties`).

**Dual.** With multipliers ``2 lambda u`` for the values and ``s`` for ``g`` the minimiser in ``f``
is the representer form with ``v_{ja} = sqrt(pi_j) s_{ja} / (2 lambda)``, and

.. math::
    D(u, s) = -\sum_i p_i\, l^*(y_i, -2\lambda u_i / p_i) - \lambda \|f\|^2
              - (\alpha\Omega)^*(-s),
    \qquad 1^\top u = 0 .

With the best ``u`` for given ``s`` (:meth:`Problem.dual_point`) the dual is a problem in ``s``
alone, ``min_s Phi(s) + (alpha Omega)*(-s)``, and the gradient of ``Phi`` at ``s`` is exactly ``g``.
The **gap** is ``P(f) - D(s')`` with ``s'`` the ``s`` moved into the domain of the conjugate.

**Squared loss**: the best ``u`` is ``P (y - D'v)`` (:mod:`nablasso.regression.ridge`), so ``Phi``
is a quadratic and everything in a dual point is affine in ``s``. **Other losses**: Newton's method,
whose *model* at predictions ``z`` is (P) with the squared loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from nablasso.losses import LossSample, Squared
from nablasso.penalties import Penalty
from nablasso.regression.machine import GramRows, Machines
from nablasso.regression.ridge import WeightedRidge
from nablasso.spaces import RepresenterSpace
from nablasso.types import Array, Index

ABOVE = 1 + 1e-6  # just above, so that rounding selects nothing at alpha_max itself
DAMPING, BLOWN_UP = 1e-4, 3.0  # see Problem.alpha_max
POWER_STEPS = 20
MAX_DIRECT = 2000  # unknowns up to which alpha_max may be computed directly
HALVINGS = 30
FLAT_STEPS = 50
LOOSE = 1e-3  # accuracy of the flat models while Newton's steps are long
ARRIVED = 1e-12  # relative decrease at which the flat function is found


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
    moved = DualPoint(*(y - x for x, y in zip(a, b, strict=True)))
    for out, x in zip(moved, a, strict=True):  # in place: arrays as large as the table
        out *= t
        out += x
    return moved


@dataclass(frozen=True, kw_only=True)
class Problem(LossSample, ABC):
    """(P) with everything it needs; ``dataclasses.replace(problem, alpha=...)`` makes a path.

    ``penalty_weights`` (m,) belong to ``space.points``; None where these are the data.
    """

    penalty: Penalty
    space: RepresenterSpace
    alpha: float
    ridge: float
    penalty_weights: Array | None = None

    @abstractmethod
    def best_u(self, Dv: Array) -> Array:
        """The best ``u`` where the derivative terms have the values ``D'v``."""

    @abstractmethod
    def flat(self) -> tuple[Array, LocalModel]:
        """Dual variable whose function minimises (P) among those flat at the penalty points.

        And the squared-loss problem that it solves.
        """

    def dual_point(self, s: Array) -> DualPoint:
        """The dual point with the best ``u`` at ``s``: products with ``D'``, ``D`` and ``L``."""
        v = self.coefficient(s)
        Dv, carry = self.space.push(v)
        u = self.best_u(Dv)
        g = self.space.pull(u, v, carry)
        g *= self.root
        return DualPoint(s, u, self.space.gram @ u + Dv, g)

    @cached_property
    def root(self) -> Array:
        """``sqrt(pi)`` as a column."""
        weights = self.weights if self.penalty_weights is None else self.penalty_weights
        return np.sqrt(weights)[:, None]

    def feasible_point(self, s: Array) -> DualPoint:
        """The dual point at ``s``, moved into the domain of the conjugate."""
        norms = self.penalty.partition.norms(s)
        inside = self.penalty.project_dual(norms, self.alpha)
        return self.dual_point(self.penalty.partition.rescale(s, norms, inside))

    def with_intercept(self, u: Array, v: Array) -> Coefficients:
        """The function of ``u`` and ``v`` with its best intercept."""
        return Coefficients(u, v, self.intercept(self.space.values(u, v)))

    def coefficient(self, s: Array) -> Array:
        """``v`` that belongs to the dual variable ``s``."""
        return np.asarray(s * (self.root / (2 * self.ridge)))

    def unpack(self, point: DualPoint) -> Coefficients:
        """The function of a dual point."""
        return Coefficients(point.u, self.coefficient(point.s), self.intercept(point.values))

    def primal_dual(self, point: DualPoint) -> tuple[float, float]:
        """Primal and dual objective at a dual point, without further products.

        Of its function ``||f||^2 = u'(K u + D'v) + v'(D u + L v)``.
        """
        norm2 = float(point.u @ point.values + np.vdot(point.s, point.g) / (2 * self.ridge))
        primal = self._primal(point.values, point.g, norm2)
        conjugate = self.conjugate(2 * self.ridge * point.u)
        norms = self.penalty.partition.norms(point.s)
        dual = -conjugate - self.ridge * norm2 - self.penalty.conjugate(norms, self.alpha)
        return primal, dual

    def objective(self, point: DualPoint) -> float:
        """Primal objective of the function of a dual point."""
        return self.primal_dual(point)[0]

    def primal(self, coef: Coefficients) -> float:
        """Objective of any function of the space."""
        values, gradients = self.space.products(coef.u, coef.v)
        norm2 = float(coef.u @ values + np.sum(coef.v * gradients))
        return self._primal(values, gradients * self.root, norm2, coef.intercept)

    def alpha_max(self) -> tuple[float, float]:
        """Smallest ``alpha`` that selects nothing (an upper bound of it where ``M`` is singular).

        From ``max_g ||s_g|| / slope_g`` on :meth:`flat` is feasible. And what defaults are
        fractions of, the same unless it is blown up: on clustered inputs a function can be made
        exactly flat at the data at the price of huge dual variables. Where ``alpha_max`` exceeds
        three times its damped form, with ``M + delta`` for ``M`` and ``delta`` a ten-thousandth of
        the largest eigenvalue, that comes second.
        """
        s, model = self.flat()
        exact = ABOVE * self.gauge(s)
        damped = model.scale * self.gauge(model.problem.flat_dual(damping=DAMPING, direct=False))
        return exact, (exact if exact <= BLOWN_UP * damped else damped)

    def gauge(self, s: Array) -> float:
        """Smallest alpha whose balls hold ``s``."""
        slope = self.penalty.radius(1.0)
        norms = self.penalty.partition.norms(s)
        return float(np.max(norms[slope > 0] / slope[slope > 0], initial=0.0))

    def derivative_bounds(self, point: DualPoint) -> tuple[Array, Array]:
        """Certified lower and upper bounds of ``||d_a f*||_n``, each (d,).

        With gap ``e``: within ``c_a sqrt(e / 2 lambda)`` of ``||d_a f||_n``, ``c_a^2`` the mean of
        ``L^{aa}[i, i]``, and at most ``e / (radius_g - ||s_g||)``.
        """
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

    def _primal(self, values: Array, g: Array, norm2: float, b: float | None = None) -> float:
        fit = self.mean_loss(values + (self.intercept(values) if b is None else b))
        norms = self.penalty.partition.norms(g)
        return fit + self.alpha * self.penalty.value(norms) + self.ridge * norm2


@dataclass(frozen=True, kw_only=True)
class SquaredProblem(Problem):
    """(P) with ``l(y, z) = (y - z)^2``."""

    P: Array  # Ridge.matrix(ridge), which a path shares: it does not depend on alpha

    def best_u(self, Dv: Array) -> Array:
        """``P (y - D'v)``: a dual point costs O(n^2 d)."""
        return np.asarray(self.P @ (self.y - Dv))

    def flat(self) -> tuple[Array, LocalModel]:
        """It is a model of itself."""
        return self.flat_dual(), LocalModel(self, 1.0)

    def flat_dual(
        self,
        tol: float = 1e-8,
        max_iter: int = 1000,
        *,
        damping: float = 0.0,
        direct: bool = True,
        start: Array | None = None,
    ) -> Array:
        """Dual variable whose function is flat on the data: ``M s = -g(0)``.

        ``M`` is the Hessian of ``Phi`` on the penalised variables; ``damping`` times its largest
        eigenvalue is added to its diagonal. Conjugate gradients from ``start`` to a residual of
        ``tol``, one product an iteration; where ``max_iter`` of them do not get there and
        ``direct`` allows it, the least-norm solution up to ``MAX_DIRECT`` unknowns.
        """
        free = self.penalty.partition.spread(self.penalty.weights == 0)
        linear = replace(self, y=np.zeros_like(self.y))  # without y, g is linear in s

        def product(s: Array) -> Array:
            g = linear.dual_point(s).g
            if free.any():
                g[:, free] = 0.0
            return g

        rhs = self.dual_point(np.zeros(self.space.points.shape)).g
        rhs *= np.where(free, 0.0, -1.0)
        delta = damping * top_eigenvalue(product, rhs, POWER_STEPS) if damping else 0.0
        first = None if start is None else np.where(free, 0.0, start)
        solution, converged = conjugate_gradients(
            product, rhs, tol=tol, max_iter=max_iter, delta=delta, start=first
        )
        if not converged and direct and rhs.size <= MAX_DIRECT:
            return self._least_norm_dual(np.flatnonzero(~free))
        return solution

    def _least_norm_dual(self, columns: Index) -> Array:
        """The least-norm solution of ``M s = -g(0)`` on the given columns of ``s``.

        ``M = S (L - D P D') S / (2 ridge)``, up to rounding.
        """
        s, (m, d) = np.zeros(self.space.points.shape), self.space.points.shape
        rhs = -self.dual_point(s).g[:, columns].ravel()
        D, L = self.space.dense()
        kept = (np.arange(m)[:, None] * d + columns).ravel()
        D, L = D[kept], L[np.ix_(kept, kept)]
        root = np.repeat(self.root.ravel(), len(columns))
        M = (L - D @ self.P @ D.T) * root[:, None] * root / (2 * self.ridge)
        w, V = eigh(M, driver="evd", overwrite_a=True, check_finite=False)
        # M is a difference: the size of its negative eigenvalues tells the size of the rounding
        real = w > max(10 * len(w) * np.finfo(float).eps * w[-1], 2 * max(-w[0], 0.0))
        s[:, columns] = (V[:, real] @ ((V[:, real].T @ rhs) / w[real])).reshape(len(s), -1)
        return s


def conjugate_gradients(
    product: Callable[[Array], Array],
    residual: Array,
    *,
    tol: float,
    max_iter: int,
    delta: float = 0.0,
    start: Array | None = None,
    precondition: Callable[[Array], Array] = lambda residual: residual,
) -> tuple[Array, bool]:
    """Solve ``(M + delta) x = rhs`` and say whether the residual came under ``tol`` of ``rhs``.

    In the norm of ``precondition``, about the inverse of ``M``. ``residual`` is the right-hand side
    and is overwritten: three arrays of its size are held. It ends where ``M`` has no curvature.
    """
    target = tol**2 * float(np.vdot(residual, precondition(residual)))
    x = np.zeros_like(residual) if start is None else start.copy()
    if start is not None:
        residual -= product(x) + delta * x
    z = precondition(residual)
    rho, direction = float(np.vdot(residual, z)), z.copy()
    for _ in range(max_iter):
        if rho <= target:
            break
        q = product(direction)
        if delta:
            q += delta * direction
        bend = float(np.vdot(direction, q))
        if bend <= 0:
            break
        x += rho / bend * direction
        residual -= rho / bend * q
        del q
        z = precondition(residual)
        rho, before = float(np.vdot(residual, z)), rho
        direction *= rho / before
        direction += z
    return x, rho <= target


def top_eigenvalue(product: Callable[[Array], Array], x: Array, steps: int) -> float:
    """Largest eigenvalue of a positive semidefinite operator, by power iteration from ``x``."""
    for _ in range(steps):
        size = float(np.linalg.norm(x))
        if size == 0.0:
            return 0.0
        x = product(x / size)
    return float(np.linalg.norm(x))


class LocalModel(NamedTuple):
    """The squared-loss problem that stands for (P) near some predictions."""

    problem: SquaredProblem
    scale: float  # c: the sum of the curvatures

    def lift(self, point: DualPoint) -> DualPoint:
        """The model's dual point in the units of (P)."""
        return point._replace(s=point.s * self.scale)


@dataclass(frozen=True, kw_only=True)
class SmoothProblem(Problem):
    """(P) with a loss other than the squared one."""

    def predictions(self, point: DualPoint) -> Array:
        """Values of a point's function with its best intercept."""
        return point.values + self.intercept(point.values)

    def model(self, point: DualPoint) -> LocalModel:
        """Second-order model of (P) at a point: one O(n^3) inversion."""
        expansion = self.expansion(self.predictions(point))
        scale = float(expansion.weights.sum())
        weights, ridge = expansion.weights / scale, self.ridge / scale
        centre = self.fit_intercept
        inverse = WeightedRidge(self.space.gram, weights, ridge, fit_intercept=centre)
        problem = SquaredProblem(
            expansion.target,
            weights,
            Squared(),
            centre,
            penalty=self.penalty,
            space=self.space,
            ridge=ridge,
            P=inverse.matrix(),
            alpha=self.alpha / scale,
            penalty_weights=self.weights if self.penalty_weights is None else self.penalty_weights,
        )
        return LocalModel(problem, scale)

    def best_u(self, Dv: Array) -> Array:
        """That of a machine whose offset is ``D'v``."""
        return Machines(self, GramRows(self.space.gram)).at(self.ridge, Dv).dual

    def certificate(self, point: DualPoint) -> DualPoint:
        """A dual feasible point near a model's point: one product."""
        u = -self.weights * self.loss.gradient(self.y, self.predictions(point)) / (2 * self.ridge)
        move = u - point.u
        values = point.values + self.space.gram @ move
        return DualPoint(point.s, u, values, point.g + self.space.slopes(move) * self.root)

    def flat(self) -> tuple[Array, LocalModel]:
        """By Newton's method; each model is solved by :meth:`SquaredProblem.flat_dual`."""
        free = replace(self, alpha=0.0)
        nothing = np.zeros(self.space.points.shape)
        here = DualPoint(nothing, np.zeros_like(self.y), np.zeros_like(self.y), nothing)
        tight = False
        for _ in range(FLAT_STEPS):
            model = free.model(here)
            start, accuracy = here.s / model.scale, 1e-8 if tight else LOOSE
            s = model.problem.flat_dual(accuracy, direct=tight, start=start)
            there = model.lift(model.problem.dual_point(s))
            here, drop = descend(free.objective, here, there)
            if tight and drop <= ARRIVED * self.reference:
                break
            tight = tight or drop <= LOOSE**2 * self.reference
        return there.s, model


def descend(
    objective: Callable[[DualPoint], float], here: DualPoint, there: DualPoint
) -> tuple[DualPoint, float]:
    """Go from ``here`` towards ``there``, halving the way until the objective does not rise.

    Where that is, and by how much the objective fell.
    """
    start, t = objective(here), 1.0
    for _ in range(HALVINGS):
        point = between(here, there, t)
        drop = start - objective(point)
        if drop >= 0:
            return point, drop
        t /= 2
    return here, 0.0
