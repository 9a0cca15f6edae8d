r"""The paper's solver: projected gradient in ``eta``, smoothed (section 4.3).

``J`` is not differentiable where a weight is zero; ``x -> (1 - eps) x + eps / R`` with
``eps = 1e-3`` makes it so and leaves exact zeros in ``x``. Steps along the gradient, projected onto
the simplex, with a backtracking line search. It is here as the reference: its gap cannot go below
what the smoothing costs, about ``eps`` relative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nablasso.hierarchy.newton import Solved
from nablasso.hierarchy.norm import dual_bound
from nablasso.hierarchy.reduced import Point, ReducedProblem

Array = NDArray[np.float64]

SMOOTHING = 1e-3
HALVINGS = 30
STALLED = 1e-12


def projected_gradient(
    problem: ReducedProblem, x: Array, tol: float, max_iter: int = 500
) -> Solved:
    """Solve to a gap of ``tol``, or until no step decreases the objective."""
    x = project(x)
    point = problem.evaluate(_smoothed(x))
    length = 1.0
    for step in range(max_iter):
        bound, value, ratios = dual_bound(point.weights, point.sizes)
        if problem.alpha / 2 * (bound - value) <= tol:
            return Solved(point, step, True)
        slope = -(1 - SMOOTHING) * problem.alpha / 2 * ratios
        before = point.value
        moved: Point | None = None
        for _ in range(HALVINGS):
            new = project(x - length * slope)
            there = problem.evaluate(_smoothed(new), point.dual)
            if there.value <= before + 1e-4 * float(slope @ (new - x)):
                moved = there
                break
            length /= 2
        if moved is None or before - moved.value <= STALLED * abs(before):
            return Solved(point if moved is None else moved, step + 1, False, stalled=True)
        x, point, length = new, moved, 2 * length
    return Solved(point, max_iter, False)


def project(x: Array) -> Array:
    """Euclidean projection onto the simplex."""
    ordered = np.sort(x)[::-1]
    means = (np.cumsum(ordered) - 1) / np.arange(1, len(x) + 1)
    count = int(np.flatnonzero(ordered > means)[-1])
    return np.asarray(np.maximum(x - means[count], 0.0))


def _smoothed(x: Array) -> Array:
    return np.asarray((1 - SMOOTHING) * x + SMOOTHING / len(x))
