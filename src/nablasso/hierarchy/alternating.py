r"""Alternating closed forms: the kernel machine at ``eta``, then the best ``eta`` of its function.

``eta_v = ||f_{D(v)}|| / (d_v Omega)``; with ``||f_{D(v)}||^2 = eta_v t_v`` this is
``x_v <- sqrt(x_v t_v)``, divided by the sum. Every step decreases the objective. Weights that go to
zero do so geometrically, and slowly where their node is nearly active.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nablasso.hierarchy.newton import Solved, start_from
from nablasso.hierarchy.norm import dual_bound
from nablasso.hierarchy.reduced import ReducedProblem

Array = NDArray[np.float64]

SMALLEST = 1e-30


def alternating(
    problem: ReducedProblem, x: Array, tol: float, max_iter: int = 2000, least: float = -np.inf
) -> Solved:
    """Solve to a gap of ``tol``, or until a step gains less than ``least``."""
    point = problem.evaluate(start_from(x))
    for step in range(max_iter):
        bound, value, ratios = dual_bound(point.weights, point.sizes)
        if problem.alpha / 2 * (bound - value) <= tol:
            return Solved(point, step, True)
        x = np.maximum(point.weights.x * np.sqrt(ratios), SMALLEST)
        before, point = point.value, problem.evaluate(x / x.sum(), point.dual)
        if before - point.value < least:
            return Solved(point, step + 1, False, stalled=True)
    return Solved(point, max_iter, False)
