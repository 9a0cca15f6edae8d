"""What a solver is: settings in, one :class:`Solution` out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Generic, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from nablasso.problems import Coefficients, DualPoint, Problem
from nablasso.types import Array, Mask

POLISH_FROM = 1e-6  # a looser tol is taken at its word
ON_SPHERE = 1e-8  # relative distance from the sphere that is rounding

AnyProblem = TypeVar("AnyProblem", bound=Problem)


class Status(Enum):
    """How a solver ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STALLED = "stalled"
    INTERRUPTED = "interrupted"  # by the keyboard: the best so far


@dataclass(frozen=True)
class Certified:
    """Primal and dual value of what a solver found, its iterations, and how it ended."""

    primal: float
    dual: float
    n_iter: int
    status: Status

    @property
    def gap(self) -> float:
        """Bound on ``primal - optimum``."""
        return self.primal - self.dual


Found = TypeVar("Found", bound=Certified)


def follow(steps: Iterable[Found | Coefficients], target: float, max_iter: float) -> Found:
    """The last solution that a method's ``steps`` gave, until its gap is at most ``target``.

    A step whose gap was not looked at is a function alone; a method ends when it stalls.
    """
    found, status = None, Status.STALLED
    try:
        for step in steps:
            if isinstance(step, Coefficients):
                continue
            found = step
            if found.gap <= target or found.n_iter >= max_iter:
                status = Status.CONVERGED if found.gap <= target else Status.MAX_ITER
                break
    except KeyboardInterrupt:
        if found is None:
            raise
        status = Status.INTERRUPTED
    assert found is not None
    return replace(found, status=status)


@dataclass(frozen=True)
class Solution(Certified):
    """A function and its certificate.

    ``coef`` is the function, ``point`` the dual point that certifies it: for the dual solver they
    are one and the same. ``gap = primal - dual`` bounds the suboptimality of ``coef``.
    """

    coef: Coefficients
    point: DualPoint


Steps = Iterator[Solution | Coefficients]


class Solver(BaseEstimator, ABC, Generic[AnyProblem]):
    """Holds settings only: no data, no iterates. ``tol`` is relative to the primal at ``f = 0``."""

    tol: float
    max_iter: int

    @abstractmethod
    def steps(self, problem: AnyProblem, start: Array | None) -> Steps:
        """What is found in each iteration, beginning with the start; see :func:`follow`."""

    def solve(self, problem: AnyProblem, start: Array | None = None) -> Solution:
        """Solve to a gap of ``tol`` times the primal at zero, from a dual variable ``start``."""
        return follow(self.steps(problem, start), self.tol * problem.reference, self.max_iter)

    def finer(self, solution: Solution) -> Self | None:  # noqa: ARG002
        """What brings the gap of a solution far below ``tol``, where that is cheap."""
        return None

    def polish(self, problem: AnyProblem, solution: Solution) -> Solution:
        """A solution closer to the optimum than ``tol`` asks for, or the same.

        Two runs that differ by rounding then give the same answer to many digits. Nothing is done
        where a looser ``tol`` than the default was asked for, or was not reached.
        """
        finer = self.finer(solution)
        if finer is None or self.tol > POLISH_FROM or solution.status is not Status.CONVERGED:
            return solution
        polished = finer.solve(problem, solution.point.s)
        best = min(solution, polished, key=lambda found: found.gap)
        return replace(best, n_iter=solution.n_iter + polished.n_iter, status=solution.status)


def certify(problem: Problem, coef: Coefficients, n_iter: int) -> Solution:
    """Solution of a primal method: its function, and a dual point made feasible from its ``v``."""
    point = problem.feasible_point(coef.v * (2 * problem.ridge / problem.root))
    dual = problem.primal_dual(point)[1]
    return Solution(problem.primal(coef), dual, n_iter, Status.CONVERGED, coef, point)


def support_of(problem: Problem, solution: Solution) -> Mask:
    """Which variables are in: dual norm on the sphere and derivative norm not rounding.

    A variable whose derivative norm the gap proves positive is in too: at a loose tolerance its
    dual norm may not have reached the sphere yet. Whole groups are in or out; unpenalised groups
    are always in.
    """
    penalty, partition = problem.penalty, problem.penalty.partition
    derivative = partition.norms(solution.point.g)
    dual = partition.norms(solution.point.s)
    on_sphere = dual >= penalty.radius(problem.alpha) * (1 - ON_SPHERE)
    proven = problem.derivative_bounds(solution.point)[0] > 0
    proven = np.bincount(partition.labels, weights=proven, minlength=partition.n_groups) > 0
    size = max(float(derivative.max(initial=0.0)), float(np.sqrt(problem.reference)))
    threshold = np.sqrt(np.finfo(float).eps) * size
    chosen = ((on_sphere | proven) & (derivative > threshold)) | (penalty.weights == 0)
    return np.asarray(partition.spread(chosen), dtype=bool)


def walk_path(
    problem: Problem, alphas: Array, solver: Solver[Any], flat: Array | None = None
) -> Iterator[tuple[Problem, Solution]]:
    """Solutions at increasing ``alphas``, each warm-started from those before.

    In the dual a small ball is the easy problem, and its solution is inside the next ball.
    ``flat`` is ``problem.flat()[0]``, the solution from ``alpha_max`` on, where known: towards
    the top of the path starts are interpolated to it. An interrupted solve ends the walk: half a
    path is for the caller to judge.
    """
    done: list[tuple[float, Array]] = []
    for alpha in alphas:
        here = replace(problem, alpha=float(alpha))
        solution = solver.solve(here, _warm_start(here, done, flat))
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        yield here, solution
        done = [*done[-1:], (here.alpha, solution.point.s)]


def _warm_start(
    problem: Problem, done: list[tuple[float, Array]], flat: Array | None
) -> Array | None:
    """Of the starts at hand, the one with the best dual value.

    The last solution carried on along the line through the one before it, and the last solution
    moved towards ``flat``. Both are affine in alpha, as the path itself nearly is.
    """
    if not done:
        return None
    last, s = done[-1]
    starts = [s]
    if len(done) > 1 and last > done[0][0]:
        before, s_before = done[0]
        starts = [s + (s - s_before) * ((problem.alpha - last) / (last - before))]
    top = 0.0 if flat is None else problem.gauge(flat)
    if flat is not None and top > last:
        t = min(1.0, (problem.alpha - last) / (top - last))
        starts.append(s + t * (flat - s))
    if len(starts) == 1:
        return starts[0]
    return max(starts, key=lambda s: problem.primal_dual(problem.feasible_point(s))[1])
