r"""A primal-dual interior point method for losses whose slopes live in a box.

With ``u`` in ``(0, 1)`` the slopes in units of their box, ``e+, e- > 0`` the two sides of the
residual and ``mu`` going to zero, the conditions are

.. math:: z(u) - y = e^+ - e^-, \qquad e^+ (1 - u) = \mu, \qquad e^- u = \mu

where ``z(u)`` are the outputs of the functions (11) that belong to ``u``. Linearised, they are

.. math:: \Big(-z'(u) + \mathrm{Diag}\big(\tfrac{e^+}{1-u} + \tfrac{e^-}{u}\big)\Big) du
          = z(u) - y - \frac{\mu}{1-u} + \frac{\mu}{u}

with a positive matrix on the left and on the right the gradient of the dual plus
``mu sum log u (1 - u)``. So every step climbs that function, and a line search on it is all that
keeps the method safe although ``z'`` is only piecewise smooth. ``mu`` is chosen as Mehrotra does,
from a first solution with ``mu = 0``. About 10 to 25 steps, few more for light penalties: the
matrix that penalties make badly conditioned is factorised, not iterated on.

Cost of a step: a Cholesky factorisation of order n p while that is at most ``DENSE``, O(n^2 r q)
for the matrix. Above, conjugate gradients with the free function treated exactly (a matrix of
order r) and the others by their diagonals, O(n r q) per product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from nablasso.nonnegative.blocks import LinearBlock
from nablasso.nonnegative.dual import Best, DualPoint, DualSolution, Evaluation, Problem
from nablasso.nonnegative.tangents import Tangent
from nablasso.progress import Watch
from nablasso.solvers import Status
from nablasso.types import Array

Solve = Callable[[Array], Array]

DENSE = 1600  # order of the largest matrix that is factorised
PRODUCTS = 100  # of conjugate gradients, per step
FORCING = 1e-2  # relative residual of a step
INSIDE = 0.02  # least distance of a start from the ends of the box
TO_THE_END = 0.98  # share of the way to the nearest bound
FIRST = 0.1  # of the residuals' size: where e+ and e- begin
CENTRED = (1e-3, 0.5)  # mu of a step in units of the last
BEHIND = 10.0  # residuals that many times mu ask for a larger mu
SUFFICIENT = 1e-4  # share of the promised ascent
TRIALS = 30
ROUNDING = 1e-13  # of the dual's terms


def solve(
    problem: Problem,
    start: DualPoint,
    *,
    tol: float,
    max_iter: int,
    watch: Watch | None = None,
) -> DualSolution:
    """Climb the dual of a loss with bounded slopes until the gap is at most ``tol``."""
    best, status, n_iter = Best(problem, watch=watch), Status.MAX_ITER, 0
    try:
        path = _Path(problem, start)
        best.note(path.here)
        while best.gap > tol and n_iter < max_iter:
            n_iter += 1
            if not path.advance():
                status = Status.STALLED
                break
            best.note(path.here)
    except KeyboardInterrupt:
        if best.point is None or not best.parameters:
            raise
        status = Status.INTERRUPTED
    if best.gap <= tol and status is not Status.INTERRUPTED:
        status = Status.CONVERGED
    return best.solution(start, n_iter, status)


class _Path:
    """The current point: ``u``, both sides of the residual, and what the dual says at ``u``."""

    def __init__(self, problem: Problem, start: DualPoint) -> None:
        self.problem, self.multipliers = problem, start.multipliers
        self.w = problem.weights[:, None] / problem.loss.n_outputs
        self.u = np.clip(start.t, INSIDE, 1 - INSIDE)
        self.here = self._evaluate(self.u)
        e = self._residual(self.here)
        least = FIRST * float(np.sqrt(np.sum(self.w * e**2))) or FIRST
        self.above, self.below = np.maximum(e, 0) + least, np.maximum(-e, 0) + least

    def advance(self) -> bool:
        """One step; False when nothing climbs any more."""
        u, above, below, w = self.u, self.above, self.below, self.w
        e = self._residual(self.here)
        invert = normal_solver(self.problem, self.here, above / (1 - u) + below / u)
        du = invert(w * e)
        da, db = self._sides(du, 0.0, 0.0)
        mu = self._target(e, du, da, db)
        ascent = w * (e - mu / (1 - u) + mu / u)
        ta, tb = mu + da * du, mu - db * du  # what the linearisation left out
        du = invert(w * (e - ta / (1 - u) + tb / u))
        if float(np.sum(du * ascent)) <= 0:
            ta = tb = np.full_like(u, mu)
            du = invert(ascent)
        da, db = self._sides(du, ta, tb)
        length = self._search(du, mu, float(np.sum(du * ascent)))
        if not length:
            return False
        along = min(1.0, TO_THE_END * min(_room(above, da), _room(below, db)))
        self.above, self.below = above + along * da, below + along * db
        return True

    def _evaluate(self, u: Array) -> Evaluation:
        return self.problem.evaluate(DualPoint(u, self.multipliers))

    def _residual(self, evaluation: Evaluation) -> Array:
        """``z - y``: the gradient of the dual in ``u``, without the weights."""
        return np.asarray(evaluation.ascent / self.w)

    def _sides(self, du: Array, ta: Array | float, tb: Array | float) -> tuple[Array, Array]:
        """Steps of both sides at which the linearised products are ``ta`` and ``tb``."""
        u, above, below = self.u, self.above, self.below
        return (ta + above * du) / (1 - u) - above, (tb - below * du) / u - below

    def _target(self, e: Array, du: Array, da: Array, db: Array) -> float:
        """The ``mu`` to aim at, from how far the step towards ``mu = 0`` would go."""
        u, above, below, w = self.u, self.above, self.below, self.w
        mu = 0.5 * float(np.sum(w * (above * (1 - u) + below * u)))
        a = min(1.0, _room(u, du), _room(1 - u, -du), _room(above, da), _room(below, db))
        products = (above + a * da) * (1 - u - a * du) + (below + a * db) * (u + a * du)
        share = float(np.clip((0.5 * np.sum(w * products) / mu) ** 3, *CENTRED))
        behind = float(np.sum(w * np.abs(e - above + below))) > BEHIND * mu
        return mu * max(share, 0.1 if behind else 0.0)

    def _search(self, du: Array, mu: float, promised: float) -> float:
        """Move ``u`` along ``du`` and return how far; 0 where no length climbs."""

        def height(evaluation: Evaluation, u: Array) -> float:
            return evaluation.dual + mu * float(np.sum(self.w * (np.log(u) + np.log1p(-u))))

        before = height(self.here, self.u)
        rounding = ROUNDING * (1 + abs(before))
        length = min(1.0, TO_THE_END * min(_room(self.u, du), _room(1 - self.u, -du)))
        for _ in range(TRIALS):
            u = self.u + length * du
            there = self._evaluate(u)
            if height(there, u) >= before + SUFFICIENT * length * promised - rounding:
                self.u, self.here = u, there
                return length
            length *= 0.5
        return 0.0


def normal_solver(problem: Problem, here: Evaluation, D: Array) -> Solve:
    """Solutions of ``(w (-z'(u) + Diag D)) x = g`` for any ``g`` (n, p)."""
    tangents = [
        block.tangent(spectrum)
        for block, spectrum in zip(problem.blocks, here.spectra, strict=True)
    ]
    return (_factorised if D.size <= DENSE else _iterated)(problem, tangents, D)


def _factorised(problem: Problem, tangents: list[Tangent], D: Array) -> Solve:
    n, p = D.shape
    w, M = problem.weights / p, problem.mixing
    blocks = np.zeros((p, n, p, n))
    for b, tangent in enumerate(tangents):
        Q = tangent.matrix() * np.outer(w, w)
        for c, d in np.argwhere(np.outer(M[:, b], M[:, b])):
            blocks[c, :, d, :] += M[c, b] * M[d, b] * Q
    H = blocks.reshape(n * p, n * p)
    H.flat[:: n * p + 1] += (w[:, None] * D).T.ravel()
    factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)

    def invert(g: Array) -> Array:
        return np.asarray(cho_solve(factor, g.T.ravel(), check_finite=False).reshape(p, n).T)

    return invert


def _iterated(problem: Problem, tangents: list[Tangent], D: Array) -> Solve:
    w, M = problem.weights[:, None] / D.shape[1], problem.mixing
    precondition = _preconditioner(problem, tangents, D)

    def product(x: Array) -> Array:
        slopes = w * (x @ M)
        F = [tangent(slopes[:, b], np.zeros(0))[0] for b, tangent in enumerate(tangents)]
        return np.asarray(w * (D * x - np.column_stack(F) @ M.T))

    def invert(g: Array) -> Array:
        x, residual = np.zeros_like(g), g.copy()
        z = precondition(residual)
        direction, size = z.copy(), float(np.sum(residual * z))
        enough = FORCING**2 * size
        for _ in range(PRODUCTS):
            if size <= 0:
                break
            Hd = product(direction)
            step = size / float(np.sum(direction * Hd))
            x += step * direction
            residual -= step * Hd
            z = precondition(residual)
            new = float(np.sum(residual * z))
            if new <= enough:
                break
            direction, size = z + (new / size) * direction, new
        return x

    return invert


def _preconditioner(problem: Problem, tangents: list[Tangent], D: Array) -> Solve:
    """The first free function exactly, by Woodbury's formula; all else by its diagonal."""
    w, M = problem.weights[:, None] / D.shape[1], problem.mixing
    free = [b for b, block in enumerate(problem.blocks) if isinstance(block, LinearBlock)][:1]
    own = np.column_stack([tangent.diagonal() for tangent in tangents])
    own[:, free] = 0.0
    B = w * D + w**2 * (own @ (M.T**2))
    if not free:
        return lambda g: g / B
    block, m = problem.blocks[free[0]], M[:, free[0]]
    Phi = block.Phi
    C = (Phi * np.sum((w * m) ** 2 / B, axis=1)[:, None]).T @ Phi
    C.flat[:: len(C) + 1] += block.l2
    factor = cho_factor(C, check_finite=False)

    def apply(g: Array) -> Array:
        x = g / B
        inner = cho_solve(factor, (w[:, 0] * (x @ m)) @ Phi, check_finite=False)
        return np.asarray(x - w * np.outer(Phi @ inner, m) / B)

    return apply


def _room(x: Array, dx: Array) -> float:
    """Largest length at which ``x + length dx`` is still not negative."""
    shrinking = dx < 0
    return float(np.min(x[shrinking] / -dx[shrinking])) if shrinking.any() else np.inf
