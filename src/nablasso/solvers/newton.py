r"""Newton's method for losses other than the squared one.

Each step solves the second-order model of (P) at the current function, a problem with the squared
loss, by another solver, started from the current dual variable and only as exactly as the gap of
(P) warrants; a line search on the true objective follows. The model's solution is made dual
feasible where it is not (:meth:`~nablasso.problems.SmoothProblem.certificate`), and the gap of that
point is what ends the iteration and what is returned. Cost: one O(n^3) inversion a step, and five
to ten steps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from nablasso.problems import DualPoint, SmoothProblem, SquaredProblem, descend
from nablasso.solvers.base import Callback, Solution, Solver, Status
from nablasso.solvers.dual import DualSolver
from nablasso.types import Array

SHARE = 0.1  # of the gap of (P) that a model's solution may leave
IDLE = 4  # steps without progress after which the rounding floor is reached
POLISH_STEPS, POLISH_FROM, POLISH_TOL = 4, 1e-6, 1e-11


class Newton(Solver[SmoothProblem]):
    """Squared-loss problems in sequence, certified by the true gap.

    Parameters
    ----------
    inner : Solver, optional
        Solves the models; :class:`DualSolver` by default.
    tol : float
        Gap relative to the primal at ``f = 0``.
    max_iter : int
        Steps.
    """

    def __init__(
        self, inner: Solver[SquaredProblem] | None = None, tol: float = 1e-6, max_iter: int = 100
    ) -> None:
        self.inner = inner
        self.tol = tol
        self.max_iter = max_iter

    def solve(
        self, problem: SmoothProblem, start: Array | None = None, callback: Callback | None = None
    ) -> Solution:
        """Start from the kernel machine with the dual variable ``start`` (zero by default)."""
        s = np.zeros(problem.space.points.shape) if start is None else start
        here = problem.feasible_point(s)
        best = _solution(problem, here)
        target = self.tol * problem.reference
        allowed, total, idle = SHARE * max(best.gap, target), 0, 0
        status = Status.MAX_ITER
        try:
            for _ in range(self.max_iter):
                if callback is not None:
                    callback(total, best.coef)
                before = here
                here, found = self._step(problem, here, allowed)
                drop = problem.objective(before) - problem.objective(here)
                if drop < allowed:  # a model solved this loosely may not show the way down
                    allowed *= SHARE
                total += found.n_iter
                tight = allowed <= SHARE * target
                idle = idle + 1 if tight and found.gap > 0.9 * best.gap else 0
                # points of models are on their spheres, the first one need not be
                if found.gap < best.gap or best.n_iter == 0:
                    best = found
                allowed = max(min(allowed, SHARE * best.gap), SHARE * target)
                if best.gap <= target:
                    status = Status.CONVERGED
                elif found.status is Status.INTERRUPTED:
                    status = Status.INTERRUPTED
                elif idle == IDLE:
                    status = Status.STALLED
                if status is not Status.MAX_ITER:
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return replace(best, n_iter=total, status=status)

    def polish(self, problem: SmoothProblem, solution: Solution) -> Solution:
        """A few more steps towards a gap far below ``tol``, as :meth:`DualSolver.polish`."""
        if self.tol > POLISH_FROM or solution.status is not Status.CONVERGED:
            return solution
        finer = Newton(self.inner, tol=POLISH_TOL, max_iter=POLISH_STEPS)
        polished = finer.solve(problem, solution.point.s)
        best = min(solution, polished, key=lambda found: found.gap)
        total = solution.n_iter + polished.n_iter
        return replace(best, n_iter=total, status=solution.status)

    def _step(
        self, problem: SmoothProblem, here: DualPoint, allowed: float
    ) -> tuple[DualPoint, Solution]:
        """Solve the model at ``here`` to a gap of ``allowed``: next iterate, certified solution."""
        model = problem.model(here)
        inner: Solver[SquaredProblem] = DualSolver() if self.inner is None else clone(self.inner)
        inner.set_params(tol=allowed / (model.scale * model.problem.reference))
        solution = inner.solve(model.problem, here.s / model.scale)
        there = model.lift(solution.point)
        points = (there, problem.certificate(there))  # the first may be outside the dual's domain
        found = min((_solution(problem, point) for point in points), key=lambda each: each.gap)
        onward = descend(problem.objective, here, there)[0]
        return onward, replace(found, n_iter=max(solution.n_iter, 1), status=solution.status)


def _solution(problem: SmoothProblem, point: DualPoint) -> Solution:
    """A dual point as a solution."""
    primal, dual = problem.primal_dual(point)
    return Solution(problem.unpack(point), point, primal, dual, 0, Status.CONVERGED)
