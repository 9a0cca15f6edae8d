"""Warm-started paths along alpha.

:func:`walk_path` runs from small alpha upwards: in the dual a small ball is the easy problem, and
its solution is inside the next ball.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.problems import Problem
from nablasso.solvers import Solution, Solver, Status
from nablasso.types import Array


def alpha_grid(alpha_max: float, n_alphas: int, eps: float) -> Array:
    """``n_alphas`` values from ``alpha_max`` down to ``eps * alpha_max``, equal ratios."""
    return alpha_max * np.logspace(0, np.log10(eps), n_alphas)


def consistent_tau(
    n_samples: int, goal: str = "safe filter", *, scale: float = 1.0, exponent: float | None = None
) -> float:
    r"""A ``tau`` that goes to zero with n as the theorems of Rosasco et al. (2013) ask for.

    In the paper's problem ``alpha = 2 tau`` and ``ridge = tau nu`` with ``nu`` fixed. With
    :math:`\tau_n = c\, n^{-q}`

    * "prediction" (Theorem 8): the risk goes to the smallest in the space if :math:`\tau_n \to 0`
      and :math:`\sqrt n\, \tau_n \to \infty`, so for ``0 < q < 1/2``;
    * "function" (Theorem 9): so does the distance to the function of smallest norm that has it, if
      :math:`\sqrt n\, \tau_n^2 \to \infty`, so for ``0 < q < 1/4``;
    * "safe filter" (Theorem 11): under the same condition every relevant variable is selected with
      probability going to one. That no other is selected is not claimed.

    Parameters
    ----------
    n_samples : int
    goal : {"prediction", "function", "safe filter"}
    scale : float
        The constant c, in the units of y times those of the columns; theory does not give it.
    exponent : float, optional
        q; by default the middle of what the goal allows, 1/4 or 1/8.

    Returns
    -------
    float
    """
    largest = {"prediction": 0.5, "function": 0.25, "safe filter": 0.25}
    if goal not in largest:
        raise InvalidParameterError(
            f"goal must be one of {', '.join(map(repr, largest))}; got {goal!r}."
        )
    q = largest[goal] / 2 if exponent is None else exponent
    if not 0 < q < largest[goal]:
        raise InvalidParameterError(
            f"exponent must lie between 0 and {largest[goal]} for the goal {goal!r}; got {q!r}. "
            "Faster decay leaves the noise in, none keeps the bias."
        )
    return float(scale * n_samples**-q)


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
