r"""One loop on the dual: spectral projected gradient, then acceleration with restart.

The dual of (P) in ``s`` is ``min_s Phi(s) + h(s)`` with ``Phi`` a convex quadratic whose gradient
at ``s`` is ``g`` (one product, O(n^2 d)) and ``h = (alpha Omega)*`` with a closed-form proximal
operator. Two step rules share the loop:

* *spectral*: the step is a Barzilai-Borwein quotient of the last two iterates; a non-monotone
  line search, exact on the quadratic, keeps it safe. It finds the active groups in few products.
* *accelerated*: Nesterov's extrapolation with gradient restart and the largest curvature met so
  far as its constant. It takes over after ``spectral_steps`` products, where ill-conditioned
  problems make the spectral steps wander.

Where ``n d`` is at most ``max_factored``, a problem that has not converged after ``4 n d`` products
gets a better point from :class:`~nablasso.solvers.Admm`, if ``RESCUE_STEPS`` of its iterations find
one: with a light ridge that saves tens of thousands of products.

The gradient at an extrapolated point is the same combination of gradients already known: every
product is spent at a feasible iterate, whose gap comes for free, and every gap is checked.

**Newton's method** for losses other than the squared one. Each step solves the second-order model
of (P) at the current function by another solver, only as exactly as the gap of (P) warrants; a line
search on the true objective follows. The gap of the model's solution, made dual feasible, ends the
iteration. Cost: one O(n^3) inversion a step, and five to ten steps.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import count

import numpy as np
from sklearn.base import clone

from nablasso.problems import DualPoint, Problem, SmoothProblem, SquaredProblem, between, descend
from nablasso.solvers.base import Solution, Solver, Status, Steps, follow
from nablasso.solvers.papers import Admm
from nablasso.types import Array

MEMORY = 10  # objective values the non-monotone line search looks back on
TINY = 1e-300
INSIDE, NEARLY_FLAT = 1e-8, 1e-3  # relative: to the sphere, to the largest derivative
POLISH_STEPS, POLISH_TOL = 200, 1e-13
RESCUE_AFTER, RESCUE_STEPS = 4, 1000  # products over n d; iterations of ADMM
SHARE = 0.1  # of the gap of (P) that the solution of a Newton model may leave
IDLE = 4  # Newton steps without progress after which the rounding floor is reached
NEWTON_POLISH_STEPS, NEWTON_POLISH_TOL = 4, 1e-11


class DualSolver(Solver[SquaredProblem]):
    """Projected gradient on the dual, certified at every iteration.

    ``max_iter`` counts products; after ``spectral_steps`` of them acceleration takes over.
    """

    max_factored = 3000  # unknowns up to which ADMM may help out
    large = 5_000_000  # unknowns from which on memory decides: no third point, no polishing

    def __init__(self, tol: float = 1e-6, max_iter: int = 20000, spectral_steps: int = 300) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.spectral_steps = spectral_steps

    def steps(self, problem: SquaredProblem, start: Array | None) -> Steps:
        """The dual points on the way from ``start`` (zero by default)."""
        shape = problem.space.points.shape
        point = problem.feasible_point(np.zeros(shape) if start is None else start)
        run = _Run(problem, point, projected=start is not None and _settled(problem, point))
        del point  # the run moves on from it
        target, size = self.tol * problem.reference, shape[0] * shape[1]
        rescue = max(self.spectral_steps, RESCUE_AFTER * size)
        for n_iter in count():
            found = _solution(problem, run.point, n_iter)
            goes_on = not run.projected and n_iter < self.max_iter
            yield found.coef if goes_on and found.gap <= target else found
            if n_iter == rescue and size <= self.max_factored:
                run = self._factored(problem, run)
            early = n_iter < self.spectral_steps or 0 <= n_iter - rescue < self.spectral_steps
            if not (run.spectral() if early or size > self.large else run.accelerated()):
                yield _solution(problem, run.point, n_iter)
                return

    def finer(self, solution: Solution) -> DualSolver | None:
        """Up to twice as many products again.

        Not with more than ``large`` unknowns, where two solutions at once would be too many.
        """
        budget = max(POLISH_STEPS, 2 * solution.n_iter)
        budget = min(budget, self.max_iter - solution.n_iter)
        if solution.point.s.size > self.large or budget < 1:
            return None
        return DualSolver(tol=POLISH_TOL, max_iter=budget, spectral_steps=budget)

    def _factored(self, problem: SquaredProblem, run: _Run) -> _Run:
        """Go on from where ADMM gets to, if its dual is the better one."""
        found = Admm(tol=self.tol, max_iter=RESCUE_STEPS).solve(problem, run.point.s)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        better = found.dual > problem.primal_dual(run.point)[1]
        return _Run(problem, found.point) if better else run


def _settled(problem: SquaredProblem, point: DualPoint) -> bool:
    """Whether the groups inside their spheres have next to no derivative, as at a solution.

    A warm start can meet a loose tolerance while groups that are in lie just inside.
    """
    partition = problem.penalty.partition
    inside = partition.norms(point.s) < problem.penalty.radius(problem.alpha) * (1 - INSIDE)
    derivative = partition.norms(point.g)
    largest = float(derivative.max(initial=0.0))
    return not np.any(derivative[inside] > NEARLY_FLAT * largest)


class _Run:
    """The iterate and what the step rules remember of it."""

    def __init__(
        self, problem: SquaredProblem, point: DualPoint, *, projected: bool = False
    ) -> None:
        self.problem, self.point = problem, point
        self.projected = projected  # after a full step active groups sit exactly on their spheres
        self.smooth, self.h = 0.0, self._h(point.s)  # Phi up to a constant
        self.recent = deque([self.h], maxlen=MEMORY)
        self.previous: DualPoint | None = None
        self.momentum, self.curvature, self.step, self.even = 1.0, 0.0, 1.0, False
        length2 = float(np.vdot(point.g, point.g))
        if length2 > TINY:  # inverse curvature along the first gradient: one product
            there = problem.dual_point(point.s + point.g)
            bend = float(np.vdot(point.g, there.g)) - length2
            self.curvature = max(bend / length2, TINY)
            self.step = length2 / bend if bend > 0 else 1.0

    def spectral(self) -> bool:
        """One step along the spectral projected gradient; False when nothing moves any more."""
        here = self.point
        target = self._forward(here, self.step)
        move = target - here.s
        length2 = float(np.vdot(move, move))
        if length2 <= TINY:
            return False
        del move  # arrays as large as the table: none is kept longer than needed
        there = self.problem.dual_point(target)
        move = target - here.s
        change = there.g - here.g
        slope, bend = float(np.vdot(move, here.g)), float(np.vdot(move, change))
        change2 = float(np.vdot(change, change))
        del move, change
        h_there = self._h(target)
        drop = slope + h_there - self.h  # directional derivative bound, negative
        self.projected = self.smooth + slope + bend / 2 + h_there <= max(self.recent) + 1e-4 * drop
        if not self.projected:
            t = min(1.0, max(-drop / max(bend, TINY), 1e-3))
            there = between(here, there, t)
            h_there = self._h(there.s)
            self.smooth += t * slope + t**2 * bend / 2
        else:
            self.smooth += slope + bend / 2
        self.h, self.point, self.previous = h_there, there, None
        self.recent.append(self.smooth + self.h)
        self.curvature = max(self.curvature, bend / length2, np.sqrt(change2 / length2))
        if bend > 0:  # the two Barzilai-Borwein quotients in turn
            self.even = not self.even
            self.step = length2 / bend if self.even else bend / max(change2, TINY)
        return True

    def accelerated(self) -> bool:
        """One extrapolated step; restarts when the momentum points uphill."""
        here, before = self.point, self.previous or self.point
        following = (1 + np.sqrt(1 + 4 * self.momentum**2)) / 2
        ahead = between(before, here, 1 + (self.momentum - 1) / following)
        target = self._forward(ahead, 1 / self.curvature)
        there = self.problem.dual_point(target)
        move = target - ahead.s
        length2, bend = float(np.vdot(move, move)), float(np.vdot(move, there.g - ahead.g))
        if bend > self.curvature * length2 * (1 + 1e-9):  # the constant was too small: try again
            self.curvature = 1.05 * bend / length2
            return True
        if length2 <= TINY:
            return False
        uphill = float(np.vdot(move, target - here.s)) < 0
        self.momentum = 1.0 if uphill else following
        self.previous, self.point = (there if uphill else here), there
        self.projected = True
        return True

    def _forward(self, point: DualPoint, step: float) -> Array:
        """A gradient step, then the proximal operator of ``h``."""
        s = point.g * -step
        s += point.s
        return self.problem.penalty.prox_conjugate(s, step, self.problem.alpha)

    def _h(self, s: Array) -> float:
        norms = self.problem.penalty.partition.norms(s)
        return self.problem.penalty.conjugate(norms, self.problem.alpha)


class Newton(Solver[SmoothProblem]):
    """Squared-loss problems in sequence, certified by the true gap.

    ``inner`` solves these models, :class:`DualSolver` by default; ``max_iter`` counts them.
    """

    def __init__(
        self, inner: Solver[SquaredProblem] | None = None, tol: float = 1e-6, max_iter: int = 100
    ) -> None:
        self.inner = inner
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: SmoothProblem, start: Array | None = None) -> Solution:
        """As all; iterations are those of the models, so they do not end the steps."""
        return follow(self.steps(problem, start), self.tol * problem.reference, np.inf)

    def steps(self, problem: SmoothProblem, start: Array | None) -> Steps:
        """The kernel machine with the dual variable ``start``, then the best model so far."""
        s = np.zeros(problem.space.points.shape) if start is None else start
        here, target = problem.feasible_point(s), self.tol * problem.reference
        best = _solution(problem, here)
        allowed, total, idle = SHARE * max(best.gap, target), 0, 0
        # points of models are on their spheres, the first one need not be
        yield best if best.gap > target else best.coef
        for _ in range(self.max_iter):
            here, found, drop = self._step(problem, here, allowed)
            if drop < allowed:  # a model solved this loosely may not show the way down
                allowed *= SHARE
            total += found.n_iter
            tight = allowed <= SHARE * target
            idle = idle + 1 if tight and found.gap > 0.9 * best.gap else 0
            if found.gap < best.gap or best.n_iter == 0:
                best = found
            allowed = max(min(allowed, SHARE * best.gap), SHARE * target)
            yield replace(best, n_iter=total)
            if found.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if idle == IDLE:
                return

    def finer(self, solution: Solution) -> Newton:  # noqa: ARG002
        """A few more steps."""
        return Newton(self.inner, tol=NEWTON_POLISH_TOL, max_iter=NEWTON_POLISH_STEPS)

    def _step(
        self, problem: SmoothProblem, here: DualPoint, allowed: float
    ) -> tuple[DualPoint, Solution, float]:
        """Solve the model at ``here`` to a gap of ``allowed``.

        The next iterate, a certified solution, and by how much the objective fell.
        """
        model = problem.model(here)
        inner: Solver[SquaredProblem] = DualSolver() if self.inner is None else clone(self.inner)
        inner.set_params(tol=allowed / (model.scale * model.problem.reference))
        solution = inner.solve(model.problem, here.s / model.scale)
        there = model.lift(solution.point)
        points = (there, problem.certificate(there))  # the first may be outside the dual's domain
        found = min((_solution(problem, point) for point in points), key=lambda each: each.gap)
        onward, drop = descend(problem.objective, here, there)
        found = replace(found, n_iter=max(solution.n_iter, 1), status=solution.status)
        return onward, found, drop


def _solution(problem: Problem, point: DualPoint, n_iter: int = 0) -> Solution:
    """A dual point as a solution."""
    values = problem.primal_dual(point)
    return Solution(*values, n_iter, Status.CONVERGED, problem.unpack(point), point)
