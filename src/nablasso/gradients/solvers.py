r"""Solvers of sparse gradient learning, and the fit that selects nothing.

**Active set**: accelerated forward-backward splitting with restart. *Inner loop*, on the s
variables of the active set: a gradient step from an extrapolated point and the proximal operator of
the penalty (46), Nesterov's momentum, set back to zero where it points uphill: O(n s r + (pairs)
min(s, r)) flops an iteration. ``c`` is measured in units in which its curvature is that of ``B``.
*Outer loop*: the gap over all p variables, one full pass of O(n p r + (pairs) r). While it is too
large, variables whose gradient is above ``alpha w_a`` come in; rows that are zero leave.

**Forward-backward**, Algorithm 1 of Ye and Xie: (54) for all p variables at once, plain steps; for
classes (63), with ``f0 = sum_i a_i k(x_i, .)``,

.. math:: B^+ = \mathrm{prox}_{\delta\,\mathrm{penalty}}\big(B - \delta \nabla_B\big), \qquad
          a^+ = a - \delta \Phi (\nabla_c + 2 \lambda c), \qquad c = \Phi^\top a .

Theorem 10 asks for ``0 < delta < 2 / |Hessian|``; here ``delta = 1 / L`` with ``L`` the largest
curvature in ``B`` plus, for classes, that in ``a``.

**Scales of alpha.** ``alpha_max`` is exact: the gradient norm at B = 0, with the best f0 and kept
variables. For the ridge form no alpha selects nothing; its scale is half the largest curvature of
the loss: there the penalty of a fit without error is about the objective at zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from nablasso.gradients.problem import (
    TINY,
    GradientPoint,
    GradientProblem,
    GradientSolution,
    RowPenalty,
)
from nablasso.losses import LossSample, Squared
from nablasso.regression.machine import Machines, OnFeatures
from nablasso.solvers.base import Status, follow
from nablasso.types import Array, Mask

CHECK = 10  # iterations between two looks at the inner gap
GROWTH = 10  # variables that may come in when there are fewer
SAFETY = 1.02
RELAX = 0.97  # factor of the constant after a step where the loss bends less than its bound
DEFAULT_MAX_ITER = 50000
HUGE = 1e150  # an alpha that selects nothing
NULL_TOL, NULL_STEPS = 1e-13, 20000  # for the fit without gradients


@dataclass(frozen=True)
class GradientSolver(ABC):
    """Settings: gap relative to the objective at zero, and iterations in all."""

    tol: float = 1e-6
    max_iter: int = DEFAULT_MAX_ITER

    @abstractmethod
    def steps(self, problem: GradientProblem, start: GradientPoint) -> Iterator[GradientSolution]:
        """The solution at the start, then those that follow."""

    def solve(
        self, problem: GradientProblem, start: GradientPoint | None = None
    ) -> GradientSolution:
        """Minimise from ``start``, zero by default; rows that are zero leave."""
        start = problem.zero() if start is None else start
        steps = self.steps(problem, start)
        found = follow(steps, self.tol * problem.reference, self.max_iter)
        point = found.point
        inside = _staying(problem, point)[problem.penalty.labels[point.columns]]
        return replace(found, point=point.on(point.columns[inside]))


class ActiveSet(GradientSolver):
    """Accelerated steps on an active set."""

    def solve(
        self, problem: GradientProblem, start: GradientPoint | None = None
    ) -> GradientSolution:
        """Minimise from ``start``; the ridge of many variables in rotated ones, turned back."""
        rotated = problem.rotated()
        if rotated is None:
            return super().solve(problem, start)
        turned, rotation = rotated
        found = self.solve(turned)
        B = found.point.on(np.arange(turned.X.shape[1])).B
        point = GradientPoint(np.arange(problem.X.shape[1]), rotation @ B, found.point.c)
        return replace(problem.certificate(point, found.n_iter), status=found.status)

    def steps(self, problem: GradientProblem, start: GradientPoint) -> Iterator[GradientSolution]:
        """The outer loop."""
        target = self.tol * problem.reference
        found = problem.certificate(start.on(np.union1d(start.columns, problem.kept_columns)))
        while True:
            yield found
            aim, before = max(target / 2, found.gap / 10), found
            budget = self.max_iter - found.n_iter
            point, done, stuck = _accelerated(problem, _grown(problem, found), aim, budget)
            found = problem.certificate(point, found.n_iter + done)
            if stuck and found.gap >= before.gap:
                yield found
                return


def _accelerated(
    problem: GradientProblem, start: GradientPoint, aim: float, budget: int
) -> tuple[GradientPoint, int, bool]:
    """The inner loop on the variables of ``start``, until their gap is at most ``aim``.

    Where it ends, after how many iterations, and whether nothing moved any more.
    """
    penalty, ridge = problem.penalty.restricted(start.columns), problem.offset_ridge or 0.0
    XA = np.ascontiguousarray(problem.X[:, start.columns])
    relax = 1.0 if isinstance(problem.loss, Squared) else RELAX
    curvature, unit2 = problem.largest_curvature(XA), 1.0
    if problem.has_offset:  # in this unit, squared, the curvature of c is that of B
        unit2 = curvature / (float(np.linalg.norm(problem.offset_hessian, 2)) or 1.0)
        curvature *= 2  # at most the sum of the two
    constant, momentum = SAFETY * curvature, 1.0
    now = before = start.B, start.c, problem.predictions(XA, start.B, start.c)
    for done in range(budget + 1):
        if done == budget or (done % CHECK == 0 and _gap(problem, penalty, XA, *now) <= aim):
            break
        following = float(1 + np.sqrt(1 + 4 * momentum**2)) / 2
        t = (momentum - 1) / following
        B, c, z = (new + t * (new - old) for new, old in zip(now, before, strict=True))
        theta = problem.slopes(z)
        gB, gc = problem.gradient(theta, XA)
        step = 1 / constant
        newB = penalty.prox(B - step * gB, step)
        newc = (c - step * unit2 * gc) / (1 + 2 * step * unit2 * ridge)
        new = newB, newc, problem.predictions(XA, newB, newc)
        length2 = float(np.sum((newB - B) ** 2) + np.sum((newc - c) ** 2) / unit2)
        if length2 <= TINY:
            return GradientPoint(start.columns, *now[:2]), done + 1, True
        bend = float(np.sum((problem.slopes(new[2]) - theta) * (new[2] - z)))
        if bend > constant * length2 * (1 + 1e-6):  # the constant was too small: try again
            constant = SAFETY * bend / length2
            continue
        uphill = np.sum((B - newB) * (newB - now[0])) + (c - newc) @ (newc - now[1]) / unit2
        before, momentum = (new, 1.0) if uphill > 0 else (now, following)
        now, constant = new, relax * constant
    return GradientPoint(start.columns, *now[:2]), done, False


def _gap(
    problem: GradientProblem, penalty: RowPenalty, XA: Array, B: Array, c: Array, z: Array
) -> float:
    """Gap of the problem restricted to columns ``XA``."""
    gB, gc = problem.gradient(problem.slopes(z), XA)
    primal = problem.smooth_value(z, c) + penalty.value(B)
    return primal - problem.dual_value(z, gc, penalty.norms(gB), penalty)


def _grown(problem: GradientProblem, found: GradientSolution) -> GradientPoint:
    """Rows that are not zero, and the variables that should not be."""
    penalty, staying = problem.penalty, _staying(problem, found.point)
    weights = np.where(staying, 1.0, penalty.weights)
    gauges = np.where(staying, -np.inf, found.norms / weights)
    order = np.argsort(-gauges, kind="stable")[: max(GROWTH, int(staying.sum()))]
    entering = order[gauges[order] > penalty.alpha]
    staying[entering] = True
    return found.point.on(np.flatnonzero(staying[penalty.labels]))


def _staying(problem: GradientProblem, point: GradientPoint) -> Mask:
    """Groups with a row that is not zero, and those that are kept."""
    groups = problem.penalty.kept
    groups[problem.penalty.labels[point.columns[np.any(point.B != 0, axis=1)]]] = True
    return groups


class ForwardBackward(GradientSolver):
    """Algorithm 1 of Ye and Xie."""

    def steps(self, problem: GradientProblem, start: GradientPoint) -> Iterator[GradientSolution]:
        """Plain steps on all variables."""
        X, penalty, ridge = problem.X, problem.penalty, problem.offset_ridge or 0.0
        everything = np.arange(X.shape[1])
        B, c = start.on(everything).B, start.c
        step, gram = step_size(problem), problem.phi.T @ problem.phi
        for n_iter in count():
            z = problem.predictions(X, B, c)
            gB, gc = problem.gradient(problem.slopes(z), X)
            norms = penalty.norms(gB)
            primal = problem.smooth_value(z, c) + penalty.value(B)
            values = (primal, problem.dual_value(z, gc, norms, penalty))
            point = GradientPoint(everything, B, c)
            yield GradientSolution(*values, n_iter, Status.CONVERGED, point, norms)
            B = penalty.prox(B - step * gB, step)
            c = c - step * (gram @ (gc + 2 * ridge * c))


def step_size(problem: GradientProblem) -> float:
    """``delta``: one over a bound of the norm of the Hessian in ``B`` and ``a``."""
    curvature = problem.largest_curvature(problem.X)
    if problem.has_offset:
        phi, ridge = problem.phi, problem.offset_ridge or 0.0
        hessian = problem.offset_hessian + 2 * ridge * np.eye(phi.shape[1])
        curvature += float(np.linalg.norm(phi @ hessian @ phi.T, 2))
    return 1 / (SAFETY * curvature)


def null_point(problem: GradientProblem) -> tuple[GradientPoint, float]:
    """The fit that selects nothing but the kept variables, and ``alpha_max``."""
    penalty = replace(problem.penalty, form="lasso", alpha=HUGE)
    null = replace(problem, penalty=penalty)
    point = null.zero()
    if problem.has_offset:  # all pairs of row i predict phi_i . c: a machine, once for either class
        pairs, phi = problem.pairs, np.vstack([problem.phi, problem.phi])
        plus = np.sum(pairs.weights, axis=1, where=problem.targets > 0)
        weights = np.concatenate([plus, pairs.weights.sum(axis=1) - plus])
        y = np.repeat([1.0, -1.0], len(plus))
        sample = LossSample(y, weights, problem.loss, fit_intercept=False)
        machines = Machines(sample, OnFeatures(phi))
        point = replace(point, c=machines.at(problem.offset_ridge or 0.0).coef)
    if len(point.columns):
        point = ActiveSet(NULL_TOL, NULL_STEPS).solve(null, point).point
    return point, penalty.gauge(null.certificate(point).norms)


def alpha_scale(problem: GradientProblem, alpha_max: float) -> float:
    """The natural unit of alpha."""
    if problem.penalty.form == "ridge":
        turned = problem.rotated()
        smaller = problem if turned is None else turned[0]
        return smaller.largest_curvature(smaller.X) / 2
    return alpha_max
