"""Warm-started paths along alpha.

:func:`walk_path` runs from small alpha upwards: in the dual a small ball is the easy problem, and
its solution is inside the next ball.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from nablasso.problems import Problem
from nablasso.solvers import Solution, Solver, Status
from nablasso.types import Array


def alpha_grid(alpha_max: float, n_alphas: int, eps: float) -> Array:
    """``n_alphas`` values from ``alpha_max`` down to ``eps * alpha_max``, equal ratios."""
    return alpha_max * np.logspace(0, np.log10(eps), n_alphas)


def walk_path(
    problem: Problem, alphas: Array, solver: Solver[Any], flat: Array | None = None
) -> Iterator[tuple[Problem, Solution]]:
    """Solutions at increasing ``alphas``, each warm-started from those before.

    ``flat`` is ``problem.flat_dual()``, the solution from ``alpha_max`` on, where known: towards
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
