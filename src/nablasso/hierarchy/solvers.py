"""The solvers of the reduced problem, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nablasso.exceptions import InvalidParameterError
from nablasso.hierarchy.alternating import alternating
from nablasso.hierarchy.newton import Solved, newton
from nablasso.hierarchy.norm import dual_bound
from nablasso.hierarchy.projected_gradient import projected_gradient
from nablasso.hierarchy.reduced import ReducedProblem

Array = NDArray[np.float64]

SOLVERS: dict[str, tuple[Callable[[ReducedProblem, Array, float, int], Solved], int]] = {
    "newton": (newton, 100),
    "alternating": (alternating, 2000),
    "projected_gradient": (projected_gradient, 500),
}

FALLBACK = 100  # steps of the alternating scheme after a stall
LEAST = 1e-4  # of the gap wanted: steps that gain less, gaps being of first order, lead nowhere


@dataclass(frozen=True)
class ReducedSolver:
    """A solver by name, with a limit on its steps."""

    name: str = "newton"
    max_iter: int | None = None

    def solve(self, problem: ReducedProblem, x: Array, tol: float) -> Solved:
        """Solve from weights ``x`` to an absolute gap.

        Where rounding stalls Newton's method the alternating scheme goes on: it needs no curvature.
        """
        method, steps = SOLVERS[self.name]
        solved = method(problem, x, tol, steps if self.max_iter is None else self.max_iter)
        if not solved.stalled or method is not newton:
            return solved
        further = alternating(problem, solved.point.weights.x, tol, FALLBACK, LEAST * tol)
        n_iter = solved.n_iter + further.n_iter
        better = _gap(further) < _gap(solved)
        point = further.point if better else solved.point
        return Solved(point, n_iter, further.converged, stalled=not further.converged)


def _gap(solved: Solved) -> float:
    """Gap of the weights, in units of half of alpha."""
    bound, value, _ = dual_bound(solved.point.weights, solved.point.sizes)
    return bound - value


def as_reduced_solver(solver: object, max_iter: int | None) -> ReducedSolver:
    """The solver that a name stands for."""
    if isinstance(solver, ReducedSolver):
        return solver
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise InvalidParameterError(f"solver must be one of {', '.join(SOLVERS)}; got {solver!r}.")
    return ReducedSolver(solver, max_iter)
