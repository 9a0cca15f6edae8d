"""The judge: time to a relative duality gap, measured from snapshots, off the clock.

A solver hands over its iterate after every iteration. The clock stands still while the snapshot is
taken; gaps are computed afterwards by :meth:`Problem.gap`, the same for every solver.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from nablasso.problems import Coefficients, Problem
from nablasso.regression.ridge import Ridge
from nablasso.solvers import Solution, Solver
from nablasso.solvers.base import certify, follow

TARGET = 1e-4


@dataclass
class Stopwatch:
    """Snapshots with the time at which each was ready."""

    started: float = field(default_factory=time.perf_counter)
    paused: float = 0.0
    snapshots: list[tuple[float, Coefficients]] = field(default_factory=list)

    def watched(
        self, steps: Iterable[Solution | Coefficients]
    ) -> Iterator[Solution | Coefficients]:
        """The steps of a solver, with a snapshot of each."""
        for step in steps:
            now = time.perf_counter()
            coef = step.coef if isinstance(step, Solution) else step
            copy = Coefficients(coef.u.copy(), coef.v.copy(), coef.intercept)
            self.snapshots.append((now - self.started - self.paused, copy))
            self.paused += time.perf_counter() - now
            yield step

    def solve(self, solver: Solver, problem: Problem) -> Solution:
        """As the solver does, watched."""
        steps = self.watched(solver.steps(problem, None))
        return follow(steps, solver.tol * problem.reference, solver.max_iter)


def time_to_gap(
    problem: Problem, solver: Solver, target: float = TARGET, *, set_up: float = 0.0
) -> tuple[float, int]:
    """Seconds and iterations until the relative gap is at most ``target``; inf when never."""
    watch = Stopwatch()
    watch.solve(solver, problem)
    for iteration, (seconds, coef) in enumerate(watch.snapshots, start=1):
        if certify(problem, coef, 0).gap <= target * problem.reference:
            return seconds + set_up, iteration
    return float("inf"), len(watch.snapshots)


def elimination_time(problem: Problem) -> float:
    """Seconds to prepare ``P``, which only the dual solver needs."""
    start = time.perf_counter()
    Ridge(problem.space.gram, problem.weights).matrix(problem.ridge)
    return time.perf_counter() - start


def median_of(values: list[float]) -> float:
    """Median of repeated measurements."""
    return float(np.median(values))
