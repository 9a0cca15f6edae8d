"""Solvers of the reduced problem in the weights ``x``, by name.

:func:`newton` is the fast one, :func:`alternating` needs no curvature and takes over where rounding
stalls it, and :func:`projected_gradient` is the paper's, as a reference. All end at a gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve
from scipy.linalg.lapack import dposv

from nablasso.errors import InvalidParameterError
from nablasso.hierarchy.problem import HullPoint, HullProblem, dual_bound
from nablasso.types import Array

NEWTON_STEPS = 100
CENTRING = 0.1
TO_THE_BORDER = 0.99
NEWTON_HALVINGS = 12
FLOOR = 1e-9  # weights of a start are at least this share
LEEWAY = 1e-3  # of the multiplier: the largest ratio keeps a little slack
SMALLEST = 1e-30
SMOOTHING = 1e-3
GRADIENT_HALVINGS = 30
STALLED = 1e-12
FALLBACK = 100  # steps of the alternating scheme after a stall
LEAST = 1e-4  # of the gap wanted: steps that gain less, gaps being of first order, lead nowhere


class HullSolution(NamedTuple):
    """A point, the steps it took, and whether the gap was reached.

    ``stalled``: no step decreases the objective in the digits there are.
    """

    point: HullPoint
    n_iter: int
    converged: bool
    stalled: bool = False


def start_from(x: Array) -> Array:
    """A start inside the simplex."""
    x = np.maximum(x, FLOOR)
    return np.asarray(x / x.sum())


def newton(
    problem: HullProblem, x: Array, tol: float, max_iter: int = NEWTON_STEPS
) -> HullSolution:
    r"""Interior-point Newton method in the weights, to a gap of ``tol``.

    ``J(x)`` is convex on the simplex ``x >= 0, sum x = 1``, with multipliers ``s >= 0`` of the
    bounds and ``nu`` of the sum: ``s_v = nu - (lambda / 2) t_v / x_v`` and ``x_v s_v = 0`` at the
    optimum. With ``nu = (lambda / 2) max_v t_v / x_v`` the sum of ``x_v s_v`` *is* the gap of the
    weights. Each step solves, in relative coordinates ``delta = dx / x`` with the Hessian ``H`` of
    :mod:`nablasso.hierarchy.problem`,

    .. math:: (H + \mathrm{diag}(x s))\, \delta + \tau x = \mu - x s, \qquad x^\top \delta = 0,

    and takes what a line search on ``J(x) - mu sum log x`` allows. The alternating scheme
    (:func:`alternating`) converges slowly where weights go to zero; this one needs
    10 to 20 steps whatever the data, each O(R^3) for R nodes besides the kernel machine.
    """
    x = start_from(x)
    point = problem.evaluate(x)
    if problem.n_nodes == 1:
        return HullSolution(point, 0, True)
    half, mu = problem.alpha / 2, np.inf
    for step in range(max_iter):
        bound, value, ratios = dual_bound(point.weights, point.sizes)
        gap = half * (bound - value)
        if gap <= tol:
            return HullSolution(point, step, True)
        mu = min(mu, CENTRING * gap / problem.n_nodes)  # the gap may rise on the way, mu may not
        slack = half * (bound * (1 + min(LEEWAY, gap / (half * bound))) - ratios)
        delta = _direction(problem, point, slack, mu)
        moved = _line_search(problem, point, delta, mu)
        if moved is None:
            return HullSolution(point, step, False, stalled=True)
        point = moved
    return HullSolution(point, max_iter, False)


def _direction(problem: HullProblem, point: HullPoint, slack: Array, mu: float) -> Array:
    x = point.weights.x
    _, H = problem.hessian(point)
    xs = x * slack
    A = H + np.diag(xs)
    A[np.diag_indices_from(A)] += 1e-14 * float(np.trace(A)) / len(x)
    right = np.column_stack([mu - xs, x])
    both, failed = dposv(A, right)[1:]
    if failed:  # rounding made a weightless node's curvature negative
        A[np.diag_indices_from(A)] += 1e-8 * float(np.trace(A)) / len(x)
        both = solve(A, right, assume_a="sym", check_finite=False)
    tau = (x @ both[:, 0]) / (x @ both[:, 1])
    return np.asarray(both[:, 0] - tau * both[:, 1])


def _line_search(
    problem: HullProblem, point: HullPoint, delta: Array, mu: float
) -> HullPoint | None:
    """The longest step that decreases the barrier function; None if there is none."""
    x = point.weights.x
    here = point.value - mu * float(np.log(x).sum())
    down = -float(delta.min())
    t = min(1.0, TO_THE_BORDER / down) if down > 0 else 1.0
    for _ in range(NEWTON_HALVINGS):
        new = np.maximum(x * (1 + t * delta), 1e-30)
        new /= new.sum()
        moved = problem.evaluate(new, point.dual)
        there = moved.value - mu * float(np.log(new).sum())
        if there <= here + 1e-14 * abs(here):
            return moved
        t /= 2
    return None


def alternating(
    problem: HullProblem, x: Array, tol: float, max_iter: int = 2000, least: float = -np.inf
) -> HullSolution:
    r"""Kernel machine at ``eta``, then the best ``eta`` of its function, to a gap of ``tol``.

    Ends early where a step gains less than ``least``.

    ``eta_v = ||f_{D(v)}|| / (d_v Omega)``; with ``||f_{D(v)}||^2 = eta_v t_v`` this is ``x_v <-
    sqrt(x_v t_v)``, divided by the sum. Every step decreases the objective. Weights that go to zero
    do so geometrically, and slowly where their node is nearly active.
    """
    point = problem.evaluate(start_from(x))
    for step in range(max_iter):
        bound, value, ratios = dual_bound(point.weights, point.sizes)
        if problem.alpha / 2 * (bound - value) <= tol:
            return HullSolution(point, step, True)
        x = np.maximum(point.weights.x * np.sqrt(ratios), SMALLEST)
        before, point = point.value, problem.evaluate(x / x.sum(), point.dual)
        if before - point.value < least:
            return HullSolution(point, step + 1, False, stalled=True)
    return HullSolution(point, max_iter, False)


def projected_gradient(
    problem: HullProblem, x: Array, tol: float, max_iter: int = 500
) -> HullSolution:
    r"""Projected gradient in ``eta``, smoothed (section 4.3 of the paper), to a gap of ``tol``.

    Ends early where no step decreases the objective.

    ``J`` is not differentiable where a weight is zero; ``x -> (1 - eps) x + eps / R`` with ``eps =
    1e-3`` makes it so and leaves exact zeros in ``x``. Steps along the gradient, projected onto the
    simplex, with a backtracking line search. It is here as the reference: its gap cannot go below
    what the smoothing costs, about ``eps`` relative.
    """
    x = project(x)
    point = problem.evaluate(_smoothed(x))
    length = 1.0
    for step in range(max_iter):
        bound, value, ratios = dual_bound(point.weights, point.sizes)
        if problem.alpha / 2 * (bound - value) <= tol:
            return HullSolution(point, step, True)
        slope = -(1 - SMOOTHING) * problem.alpha / 2 * ratios
        before = point.value
        moved: HullPoint | None = None
        for _ in range(GRADIENT_HALVINGS):
            new = project(x - length * slope)
            there = problem.evaluate(_smoothed(new), point.dual)
            if there.value <= before + 1e-4 * float(slope @ (new - x)):
                moved = there
                break
            length /= 2
        if moved is None or before - moved.value <= STALLED * abs(before):
            return HullSolution(point if moved is None else moved, step + 1, False, stalled=True)
        x, point, length = new, moved, 2 * length
    return HullSolution(point, max_iter, False)


def project(x: Array) -> Array:
    """Euclidean projection onto the simplex."""
    ordered = np.sort(x)[::-1]
    means = (np.cumsum(ordered) - 1) / np.arange(1, len(x) + 1)
    count = int(np.flatnonzero(ordered > means)[-1])
    return np.asarray(np.maximum(x - means[count], 0.0))


def _smoothed(x: Array) -> Array:
    return np.asarray((1 - SMOOTHING) * x + SMOOTHING / len(x))


SOLVERS: dict[str, tuple[Callable[[HullProblem, Array, float, int], HullSolution], int]] = {
    "newton": (newton, 100),
    "alternating": (alternating, 2000),
    "projected_gradient": (projected_gradient, 500),
}


@dataclass(frozen=True)
class HullSolver:
    """A solver by name, with a limit on its steps."""

    name: str = "newton"
    max_iter: int | None = None

    def __post_init__(self) -> None:
        if self.name not in list(SOLVERS):
            raise InvalidParameterError(
                f"solver must be one of {', '.join(SOLVERS)}; got {self.name!r}."
            )

    def solve(self, problem: HullProblem, x: Array, tol: float) -> HullSolution:
        """Solve from weights ``x`` to an absolute gap.

        Where rounding stalls Newton's method the alternating scheme goes on: it needs no curvature.
        """
        method, steps = SOLVERS[self.name]
        solved = method(problem, x, tol, steps if self.max_iter is None else self.max_iter)
        if not solved.stalled or method is not newton:
            return solved
        further = alternating(problem, solved.point.weights.x, tol, FALLBACK, LEAST * tol)
        n_iter = solved.n_iter + further.n_iter
        better = _gap(further) < _gap(solved)
        point = further.point if better else solved.point
        return HullSolution(point, n_iter, further.converged, stalled=not further.converged)


def _gap(solved: HullSolution) -> float:
    """Gap of the weights, in units of half of alpha."""
    bound, value, _ = dual_bound(solved.point.weights, solved.point.sizes)
    return bound - value
