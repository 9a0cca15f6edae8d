"""What a solver is: settings in, one :class:`Solution` out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, TypeVar

from sklearn.base import BaseEstimator

from nablasso.problems import Coefficients, DualPoint, Problem, SquaredProblem
from nablasso.types import Array

Callback = Callable[[int, Coefficients], None]
AnyProblem = TypeVar("AnyProblem", bound=Problem)


class Status(Enum):
    """How a solver ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STALLED = "stalled"
    INTERRUPTED = "interrupted"  # by the keyboard: the best so far


@dataclass(frozen=True)
class Solution:
    """A function, its dual point and its certificate.

    ``coef`` is the function, ``point`` the dual point that certifies it: for the dual solver they
    are one and the same. ``gap = primal - dual`` bounds the suboptimality of ``coef``.
    """

    coef: Coefficients
    point: DualPoint
    primal: float
    dual: float
    n_iter: int
    status: Status

    @property
    def gap(self) -> float:
        """Bound on ``primal - optimum``."""
        return self.primal - self.dual


class Solver(BaseEstimator, ABC, Generic[AnyProblem]):
    """Holds settings only: no data, no iterates."""

    tol: float
    max_iter: int

    @abstractmethod
    def solve(
        self, problem: AnyProblem, start: Array | None = None, callback: Callback | None = None
    ) -> Solution:
        """Solve ``problem`` to a gap of ``tol`` times its primal at zero.

        Parameters
        ----------
        problem : Problem
        start : array, shape (n, d), optional
            Dual variable ``s`` to start from.
        callback : callable, optional
            Called as ``callback(iteration, coefficients)``.
        """

    def polish(self, problem: AnyProblem, solution: Solution) -> Solution:  # noqa: ARG002
        """A solution closer to the optimum than ``tol`` asks for, where that is cheap."""
        return solution


def closer(solution: Solution, polished: Solution) -> Solution:
    """The one of smaller gap, after all iterations of both, as the first one ended."""
    best = min(solution, polished, key=lambda found: found.gap)
    return replace(best, n_iter=solution.n_iter + polished.n_iter, status=solution.status)


def certify(problem: SquaredProblem, coef: Coefficients, n_iter: int, status: Status) -> Solution:
    """Solution of a primal method: its function, and a dual point made feasible from its ``v``."""
    point = problem.feasible_point(coef.v * (2 * problem.ridge / problem.root))
    dual = problem.primal_dual(point)[1]
    return Solution(coef, point, problem.primal(coef), dual, n_iter, status)
