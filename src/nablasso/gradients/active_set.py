r"""Accelerated forward-backward splitting with restart, on an active set of variables.

**Inner loop**, on the s variables of the active set: a gradient step from an extrapolated point and
the proximal operator of the penalty (46), Nesterov's momentum, set back to zero where it points
uphill. Predictions are linear, so those of the extrapolated point are a combination of known ones:
one product forward and one backward an iteration, O(n s r + (pairs) min(s, r)) flops. The constant
comes from power iterations and is raised where a step shows it too small. ``c`` has a step of its
own: it is measured in units in which its curvature is that of ``B``.

**Outer loop**: the gap over all p variables, one full pass of O(n p r + (pairs) r). While it is too
large, variables whose gradient is above ``alpha w_a`` come in, largest first, at most as many as
there are (but ten); rows that are zero leave. The inner loop runs until its gap is a tenth of the
outer one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.gradients.problem import Certificate, GradientProblem, Point
from nablasso.solvers import Status
from nablasso.types import Array, Index, Mask

CHECK = 10  # iterations between two looks at the inner gap
GROWTH = 10  # variables that may come in when there are fewer
POWER_STEPS = 10
SAFETY = 1.02
RELAX = 0.97  # factor of the constant after a step where the loss bends less than its bound
TINY = 1e-300
DEFAULT_MAX_ITER = 50000


@dataclass(frozen=True)
class Iterates:
    """Objective and number of selected variables at the start and after every iteration."""

    objectives: Array
    n_selected: Index


@dataclass(frozen=True)
class GradientSolution:
    """Gradients, their certificate over all variables, and how the solver ended.

    ``history`` is None where the solver keeps none.
    """

    point: Point
    certificate: Certificate
    n_iter: int
    status: Status
    history: Iterates | None = None

    @property
    def gap(self) -> float:
        """Bound on the distance of the objective from its minimum."""
        return self.certificate.gap


@dataclass(frozen=True)
class ActiveSet:
    """Settings: gap relative to the objective at zero, and iterations in all."""

    tol: float = 1e-6
    max_iter: int = DEFAULT_MAX_ITER

    def solve(self, problem: GradientProblem, start: Point | None = None) -> GradientSolution:
        """Minimise from ``start``, zero by default."""
        rotated = problem.reduced()
        if rotated is not None:
            return self._solve_rotated(problem, *rotated)
        point = problem.zero() if start is None else _with_kept(problem, start)
        target = self.tol * problem.reference
        n_iter, status = 0, Status.MAX_ITER
        certificate = problem.certificate(point)
        try:
            while True:
                if certificate.gap <= target:
                    status = Status.CONVERGED
                    break
                if n_iter >= self.max_iter:
                    break
                point = _grown(problem, point, certificate)
                inner = _Inner(problem, point)
                aim = max(target / 2, certificate.gap / 10)
                done = inner.run(aim, self.max_iter - n_iter)
                n_iter += done
                point = inner.point()
                before, certificate = certificate, problem.certificate(point)
                if inner.stuck and certificate.gap >= before.gap:
                    status = Status.STALLED
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return GradientSolution(_pruned(problem, point), certificate, n_iter, status)

    def _solve_rotated(
        self, problem: GradientProblem, reduced: GradientProblem, rotation: Array
    ) -> GradientSolution:
        """Solve in rotated variables and turn back."""
        found = self.solve(reduced)
        B = np.zeros((reduced.X.shape[1], reduced.phi.shape[1]))
        B[found.point.columns] = found.point.B
        point = Point(np.arange(problem.X.shape[1]), rotation @ B, found.point.c)
        return GradientSolution(point, problem.certificate(point), found.n_iter, found.status)


class _Inner:
    """The iterate on the active set and what the acceleration remembers."""

    def __init__(self, problem: GradientProblem, point: Point) -> None:
        self.problem, self.columns = problem, point.columns
        self.penalty = problem.penalty.restricted(point.columns)
        self.XA = np.ascontiguousarray(problem.X[:, point.columns])
        self.B, self.c = point.B, point.c
        self.z = problem.predictions(self.XA, self.B, self.c)
        self.before = (self.B, self.c, self.z)
        self.momentum = 1.0
        self.stuck = False
        self.relax = 1.0 if problem.is_quadratic else RELAX
        self.unit = 1.0
        curvature = largest_curvature(problem, self.XA)
        if problem.has_offset:  # in this unit the curvature of c is that of B
            self.unit = float(np.sqrt(curvature / problem.offset_curvature))
            curvature *= 2  # at most the sum of the two
        self.constant = SAFETY * curvature

    def point(self) -> Point:
        """Where it is."""
        return Point(self.columns, self.B, self.c)

    def run(self, target: float, budget: int) -> int:
        """Iterate until the gap on the active set is small; returns the number of iterations."""
        for done in range(budget):
            if done % CHECK == 0 and self.gap() <= target:
                return done
            if not self._step():
                self.stuck = True
                return done + 1
        return budget

    def gap(self) -> float:
        """Gap of the problem restricted to the active set."""
        problem, penalty = self.problem, self.penalty
        gB, gc = problem.gradient(problem.slopes(self.z), self.XA, self.B)
        primal = problem.smooth_value(self.z, self.B, self.c) + penalty.value(self.B)
        return primal - problem.dual_value(self.z, self.B, gc, penalty.norms(gB), penalty)

    def _step(self) -> bool:
        """One accelerated step; False when nothing moves any more."""
        problem = self.problem
        following = (1 + np.sqrt(1 + 4 * self.momentum**2)) / 2
        t = (self.momentum - 1) / following
        B, c, z = (
            now + t * (now - old)
            for now, old in zip((self.B, self.c, self.z), self.before, strict=True)
        )
        theta = problem.slopes(z)
        gB, gc = problem.gradient(theta, self.XA, B)
        step = 1 / self.constant
        newB = self.penalty.prox(B - step * gB, step)
        newc = c
        if problem.has_offset:
            c_step = step * self.unit**2
            newc = (c - c_step * gc) / (1 + 2 * c_step * (problem.offset_ridge or 0.0))
        newz = problem.predictions(self.XA, newB, newc)
        moveB, movec = newB - B, newc - c
        length2 = float(np.sum(moveB**2)) + float(movec @ movec) / self.unit**2
        if length2 <= TINY:
            return False
        bend = float(np.sum((problem.slopes(newz) - theta) * (newz - z)))
        bend += 2 * problem.roughness(moveB)
        if bend > self.constant * length2 * (1 + 1e-6):  # the constant was too small: try again
            self.constant = SAFETY * bend / length2
            return True
        uphill = np.sum((B - newB) * (newB - self.B)) + (c - newc) @ (newc - self.c) / self.unit**2
        now = (newB, newc, newz)
        self.before = now if uphill > 0 else (self.B, self.c, self.z)
        self.momentum = 1.0 if uphill > 0 else float(following)
        self.B, self.c, self.z = now
        self.constant *= self.relax
        return True


def largest_curvature(problem: GradientProblem, XA: Array) -> float:
    """Largest eigenvalue of the Hessian's bound in ``B``, by power iteration; 1 where zero."""
    rank = problem.phi.shape[1]
    B, c = np.random.RandomState(0).standard_normal((XA.shape[1], rank)), np.zeros(rank)
    value = 0.0
    for _ in range(POWER_STEPS):
        size = float(np.sqrt(np.sum(B**2)))
        if size <= TINY:
            break
        B = B / size
        z = problem.predictions(XA, B, c)
        B, _c = problem.gradient(problem.curvature * problem.pairs.weights * z, XA, B)
        value = float(np.sqrt(np.sum(B**2)))
    return value or 1.0


def _with_kept(problem: GradientProblem, start: Point) -> Point:
    """``start`` with the variables that are always kept among its columns."""
    columns = np.union1d(start.columns, problem.kept_columns)
    B = np.zeros((len(columns), problem.phi.shape[1]))
    B[np.searchsorted(columns, start.columns)] = start.B
    return Point(columns, B, start.c)


def _grown(problem: GradientProblem, point: Point, certificate: Certificate) -> Point:
    """Rows that are not zero, and the variables that should not be."""
    penalty = problem.penalty
    present = _present_groups(problem, point)
    gauges = np.where(
        present | penalty.kept,
        -np.inf,
        certificate.norms / np.where(penalty.kept, 1.0, penalty.weights),
    )
    order = np.argsort(-gauges, kind="stable")[: max(GROWTH, int(present.sum()))]
    entering = np.zeros(len(present), dtype=bool)
    entering[order] = gauges[order] > _entry_level(problem, point)
    groups = present | penalty.kept | entering
    columns = np.flatnonzero(groups[penalty.labels])
    B = np.zeros((len(columns), point.B.shape[1]))
    _, ours, theirs = np.intersect1d(columns, point.columns, return_indices=True)
    B[ours] = point.B[theirs]
    return Point(columns, B, point.c)


def _entry_level(problem: GradientProblem, point: Point) -> float:
    """Gradient norm over weight from which a variable comes in."""
    return problem.penalty.restricted(point.columns).level(point.B)


def _present_groups(problem: GradientProblem, point: Point) -> Mask:
    """Groups with a row that is not zero."""
    labels = problem.penalty.labels[point.columns]
    present = np.zeros(len(problem.penalty.weights), dtype=bool)
    present[labels[np.any(point.B != 0, axis=1)]] = True
    return present


def _pruned(problem: GradientProblem, point: Point) -> Point:
    """Without rows of zeros."""
    groups = _present_groups(problem, point) | problem.penalty.kept
    inside = groups[problem.penalty.labels[point.columns]]
    return Point(point.columns[inside], point.B[inside], point.c)
