"""Solvers: one algorithm per file, one :class:`Solution` for all."""

from __future__ import annotations

from typing import Any

from nablasso.errors import InvalidParameterError
from nablasso.losses import Loss, Squared
from nablasso.problems import SquaredProblem
from nablasso.solvers.base import Solution, Solver, Status, support_of, walk_path
from nablasso.solvers.dual import DualSolver, Newton
from nablasso.solvers.papers import Admm, Denovas, consistent_tau, irrelevant

SOLVERS: dict[str, type[Solver[SquaredProblem]]] = {
    "dual": DualSolver,
    "denovas": Denovas,
    "admm": Admm,
}


def as_solver(
    solver: str | Solver[Any], tol: float, max_iter: int | None, loss: Loss | None = None
) -> Solver[Any]:
    """Return the solver that a name or an object stands for; an object keeps its settings.

    For a ``loss`` other than the squared one it solves the models of :class:`Newton`.
    """
    if isinstance(solver, Solver):
        made = solver
    elif isinstance(solver, str) and solver in SOLVERS:
        limit = {} if max_iter is None else {"max_iter": max_iter}
        made = SOLVERS[solver]().set_params(tol=tol, **limit)
    else:
        raise InvalidParameterError(
            f"solver must be one of {', '.join(SOLVERS)} or a nablasso.solvers.Solver object; "
            f"got {solver!r}."
        )
    if loss is None or isinstance(loss, Squared) or isinstance(made, Newton):
        return made
    return Newton(made, tol=made.tol)


__all__ = [
    "SOLVERS",
    "Admm",
    "Denovas",
    "DualSolver",
    "Newton",
    "Solution",
    "Solver",
    "Status",
    "as_solver",
    "consistent_tau",
    "irrelevant",
    "support_of",
    "walk_path",
]
