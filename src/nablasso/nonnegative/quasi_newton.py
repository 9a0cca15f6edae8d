r"""L-BFGS on the dual: cheap steps for many rows.

A product with the Hessian costs about as much as an evaluation when there are many rows and many
positive eigenvalues, so with many rows quasi-Newton steps come first, and Newton's method
(:mod:`nablasso.nonnegative.newton`) finishes what they leave. Coordinates are scaled by the root of
their row's weight and multipliers by that of the number of rows: the Hessian is then about the
identity plus an operator of rapidly decaying spectrum.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from nablasso.nonnegative.dual import Best, DualPoint, Problem
from nablasso.types import Array

MEMORY = 20  # pairs of the quasi-Newton matrix
EVALUATIONS = 3  # at most, per iteration


def climb(problem: Problem, start: DualPoint, best: Best, *, tol: float, max_iter: int) -> int:
    """Note evaluations in ``best`` until its gap is at most ``tol``; the number of steps."""
    shape, n = start.t.shape, len(problem.weights)
    root = np.sqrt(problem.weights * n)[:, None]
    unit = np.sqrt(n)
    ends = np.cumsum([start.t.size, *(len(c) for c in start.multipliers)])

    def unpack(x: Array) -> DualPoint:
        t = x[: ends[0]].reshape(shape) / root
        return DualPoint(t, tuple(x[i:j] / unit for i, j in pairwise(ends)))

    def descent(x: Array) -> tuple[float, Array]:
        evaluation = problem.evaluate(unpack(x))
        best.note(evaluation)
        parts = [(evaluation.ascent / root).ravel(), *(e / unit for e in evaluation.excess)]
        return -evaluation.dual * n, -np.concatenate(parts) * n

    def look(intermediate_result: OptimizeResult) -> None:  # noqa: ARG001
        if best.gap <= tol:
            raise StopIteration

    x = np.concatenate([(start.t * root).ravel(), *(c * unit for c in start.multipliers)])
    options: dict[str, Any] = {
        "maxiter": max_iter,
        "maxfun": EVALUATIONS * max_iter + 1,
        "maxcor": MEMORY,
        "ftol": 0.0,
        "gtol": 0.0,
    }
    result: OptimizeResult = minimize(  # type: ignore[call-overload]
        descent, x, jac=True, method="L-BFGS-B", callback=look, options=options
    )
    return int(result.nit)
