r"""Newton's method on the dual, each step by conjugate gradients.

The negative Hessian in ``(t, c)`` is ``Diag(p k) + J' p M Q M' p J`` with the curvature ``k`` of
the conjugates and ``Q`` the derivatives of the blocks' values, never formed
(:mod:`nablasso.nonnegative.tangents`). In units of its diagonal it is about the identity plus an
operator of rapidly decaying spectrum, so few products give a good step. The dual is once
differentiable and its gradient piecewise smooth, which is enough (semismooth Newton); a line search
keeps it climbing. With many rows quasi-Newton steps come first
(:mod:`nablasso.nonnegative.quasi_newton`).

Cost of a step: one or two eigendecompositions, O(n r^2 + r^3), and O(n r q) for each product with
q positive eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nablasso.nonnegative.dual import Best, DualPoint, DualSolution, Evaluation, Problem
from nablasso.nonnegative.quasi_newton import climb
from nablasso.progress import Watch
from nablasso.solvers import Status
from nablasso.types import Array

MANY = 4000  # rows from which on quasi-Newton steps come first
QUASI = 200  # of these, at most
PRODUCTS = 100  # of conjugate gradients, per step
FORCING = 0.1  # relative residual of a step
LARGEST_STEP = 4.0  # of a coordinate t, a logarithm where it matters
SUFFICIENT = 1e-4  # share of the promised ascent
SHRINK = 0.4
TRIALS = 25
HOPELESS = 100  # steps without any point that meets the constraints
RIDGE = 1e-20  # relative curvature that is none
FLAT = 1e-6  # what stands for none, in units of a row's weight


def solve(
    problem: Problem,
    start: DualPoint,
    *,
    tol: float,
    max_iter: int,
    watch: Watch | None = None,
) -> DualSolution:
    """Climb the dual from ``start`` until the gap is at most ``tol``."""
    best, space = Best(problem, watch=watch), _Space(problem, start)
    x, status, n_iter = space.pack(start), Status.MAX_ITER, 0
    try:
        if len(problem.weights) > MANY:
            n_iter = climb(problem, start, best, tol=tol, max_iter=min(QUASI, max_iter))
            x = space.pack(best.point or start)
        here = space.evaluate(x)
        best.note(here)
        while best.gap > tol and n_iter < max_iter:
            n_iter += 1
            found = _climb(space, x, here)
            if found is None or (n_iter > HOPELESS and not best.parameters):
                status = Status.STALLED
                break
            x, here = found
            best.note(here)
    except KeyboardInterrupt:
        if best.point is None or not best.parameters:
            raise
        status = Status.INTERRUPTED
    if best.gap <= tol and status is not Status.INTERRUPTED:
        status = Status.CONVERGED
    return best.solution(start, n_iter, status)


class _Space:
    """Coordinates and multipliers as one vector ``x``."""

    def __init__(self, problem: Problem, start: DualPoint) -> None:
        self.problem, self.shape = problem, start.t.shape
        self.ends = np.cumsum([start.t.size, *(len(c) for c in start.multipliers)])

    def pack(self, point: DualPoint) -> Array:
        return np.concatenate([point.t.ravel(), *point.multipliers])

    def split(self, x: Array) -> tuple[Array, tuple[Array, ...]]:
        t = x[: self.ends[0]].reshape(self.shape)
        pairs = zip(self.ends[:-1], self.ends[1:], strict=True)
        return t, tuple(x[i:j] for i, j in pairs)

    def evaluate(self, x: Array) -> Evaluation:
        return self.problem.evaluate(DualPoint(*self.split(x)))

    def gradient(self, evaluation: Evaluation) -> Array:
        return np.concatenate([evaluation.ascent.ravel(), *evaluation.excess])

    def hessian(self, evaluation: Evaluation) -> tuple[Callable[[Array], Array], Array]:
        """Products with the negative Hessian, and its diagonal."""
        problem, w = self.problem, self.problem.weights[:, None]
        spectra = zip(problem.blocks, evaluation.spectra, strict=True)
        tangents = [block.tangent(spectrum) for block, spectrum in spectra]
        t = evaluation.point.t
        J = w[:, :, None] * np.einsum("ipc,pb->ibc", problem.loss.jacobian(t), problem.mixing)
        curvature = w * problem.loss.curvature(t, evaluation.Z)

        def product(x: Array) -> Array:
            dt, dc = self.split(x)
            slopes = np.einsum("ibc,ic->ib", J, dt)
            moved = [tangent(slopes[:, b], dc[b]) for b, tangent in enumerate(tangents)]
            F = np.column_stack([values for values, _ in moved])
            out = curvature * dt - np.einsum("ibc,ib->ic", J, F)
            return np.concatenate([out.ravel(), *(-change for _, change in moved)])

        own = np.column_stack([tangent.diagonal() for tangent in tangents])
        diagonal = curvature + np.einsum("ibc,ib->ic", J**2, own)
        ends = [tangent.functional_diagonal() for tangent in tangents]
        return product, np.concatenate([diagonal.ravel(), *ends])


def _climb(space: _Space, x: Array, here: Evaluation) -> tuple[Array, Evaluation] | None:
    """A Newton step and a line search along it; None when nothing climbs any more."""
    gradient = space.gradient(here)
    product, diagonal = space.hessian(here)
    flat = diagonal <= RIDGE * float(diagonal.max())
    diagonal = np.where(flat, FLAT / len(here.Z), diagonal)
    step = _conjugate_gradients(product, gradient, diagonal)
    n_t = space.ends[0]
    step[:n_t] = np.clip(step[:n_t], -LARGEST_STEP, LARGEST_STEP)
    promised = float(gradient @ step)
    if promised <= 0:
        step = gradient / diagonal
        step[:n_t] = np.clip(step[:n_t], -LARGEST_STEP, LARGEST_STEP)
        promised = float(gradient @ step)
    length = 1.0
    for _ in range(TRIALS):
        there = space.evaluate(x + length * step)
        if there.dual >= here.dual + SUFFICIENT * length * promised:
            return x + length * step, there
        length *= SHRINK
    return None


def _conjugate_gradients(
    product: Callable[[Array], Array], gradient: Array, diagonal: Array
) -> Array:
    """Roughly ``H^{-1} gradient``."""
    step, residual = np.zeros_like(gradient), gradient.copy()
    z = residual / diagonal
    direction, size = z.copy(), float(residual @ z)
    target = FORCING**2 * size
    for _ in range(PRODUCTS):
        Hd = product(direction)
        bend = float(direction @ Hd)
        if bend <= 0:
            break
        step += (size / bend) * direction
        residual -= (size / bend) * Hd
        z = residual / diagonal
        new = float(residual @ z)
        if new <= target:
            break
        direction, size = z + (new / size) * direction, new
    return step
