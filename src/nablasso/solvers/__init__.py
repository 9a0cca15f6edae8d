"""Solvers: one algorithm per file, one :class:`Solution` for all."""

from __future__ import annotations

from nablasso.exceptions import InvalidParameterError
from nablasso.solvers.admm import Admm
from nablasso.solvers.base import Solution, Solver, Status
from nablasso.solvers.denovas import Denovas
from nablasso.solvers.dual import DualSolver

SOLVERS: dict[str, type[Solver]] = {"dual": DualSolver, "denovas": Denovas, "admm": Admm}


def as_solver(solver: str | Solver, tol: float, max_iter: int | None) -> Solver:
    """Return the solver that a name or an object stands for; an object keeps its settings."""
    if isinstance(solver, Solver):
        return solver
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise InvalidParameterError(
            f"solver must be one of {', '.join(SOLVERS)} or a nablasso.solvers.Solver object; "
            f"got {solver!r}."
        )
    made = SOLVERS[solver]()
    made.set_params(tol=tol)
    if max_iter is not None:
        made.set_params(max_iter=max_iter)
    return made


__all__ = [
    "SOLVERS",
    "Admm",
    "Denovas",
    "DualSolver",
    "Solution",
    "Solver",
    "Status",
    "as_solver",
]
