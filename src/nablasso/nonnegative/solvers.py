r"""Three ways up the dual, each a stream of evaluations that :func:`solve` follows to its gap.

``docs/mathematics.md`` has the formulas.

:func:`newton`, for losses whose conjugates are smooth in ``t``. The negative Hessian in ``(t, c)``
is ``Diag(p k) + J' p M Q M' p J`` with the curvature ``k`` of the conjugates and ``Q`` the
derivatives of the blocks' values, never formed: steps are solved by conjugate gradients in units of
its diagonal, and a line search keeps them climbing (semismooth Newton). With many rows a product
costs as much as an evaluation, so L-BFGS steps come first.

:func:`interior`, for losses whose slopes live in a box: a primal-dual interior point method in
``u``, the slopes in units of their box, with ``z(u) - y = e+ - e-, e+ (1 - u) = e- u = mu``. A step
climbs the dual plus ``mu sum log u (1 - u)``, and a line search on that keeps it safe. ``mu`` is
Mehrotra's. Each step is a Cholesky factorisation of order n p up to ``DENSE``, above that conjugate
gradients with the free function treated exactly.

:func:`fista`, the algorithm of Marteau-Ferey, Bach and Rudi, for reference: forward-backward steps
in the slopes with Nesterov's momentum. One eigendecomposition per PSD block and iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import OptimizeResult, minimize

from nablasso.nonnegative.dual import DualProblem, Evaluation, LinearBlock, SlopePoint, Tangent
from nablasso.problems import conjugate_gradients, top_eigenvalue
from nablasso.solvers import Status
from nablasso.types import Array

Map = Callable[[Array], Array]
Steps = Iterator[Evaluation | None]  # None: a step that was not looked at

PRODUCTS = 100  # of conjugate gradients, per step
SUFFICIENT = 1e-4  # share of the promised ascent

# Newton's method
MANY = 4000  # rows from which on quasi-Newton steps come first
QUASI = 200  # of these, at most
MEMORY = 20  # pairs of the quasi-Newton matrix
EVALUATIONS = 3  # at most, per quasi-Newton step
ROUGH = 0.1  # relative residual of a step
LARGEST_STEP = 4.0  # of a coordinate t, a logarithm where it matters
SHRINK = 0.4
TRIALS = 25
RIDGE = 1e-20  # relative curvature that is none
FLAT = 1e-6  # what stands for none, in units of a row's weight

# the interior point method
DENSE = 1600  # order of the largest matrix that is factorised
FINE = 1e-2  # relative residual of a step
INSIDE = 0.02  # least distance of a start from the ends of the box
TO_THE_END = 0.98  # share of the way to the nearest bound
FIRST = 0.1  # of the residuals' size: where e+ and e- begin
CENTRED = (1e-3, 0.5)  # mu of a step in units of the last
BEHIND = 10.0  # residuals that many times mu ask for a larger mu
HALVINGS = 30
ROUNDING = 1e-13  # of the dual's terms

# FISTA
CHECK = 10  # iterations between two looks at the gap
POWER_STEPS, SAFE = 50, 1.02  # power iteration approaches the constant from below


@dataclass
class Climb:
    """What a method is asked for, and the best functions and dual point so far, or at the end."""

    problem: DualProblem
    point: SlopePoint
    tol: float
    max_iter: int
    n_iter: int = 0
    primal: float = np.inf
    dual: float = -np.inf
    parameters: list[Array] = field(default_factory=list)
    status: Status = Status.STALLED

    @property
    def gap(self) -> float:
        """``primal - dual``."""
        return self.primal - self.dual

    def note(self, evaluation: Evaluation) -> None:
        """Take in one evaluation."""
        if evaluation.dual > self.dual:
            self.dual, self.point = evaluation.dual, evaluation.point
        problem, each = self.problem, zip(self.problem.blocks, evaluation.parameters, strict=True)
        feasible = [block.feasible(theta) for block, theta in each]
        parameters = [theta for theta in feasible if theta is not None]
        if len(parameters) < len(feasible):
            return
        moved = len(self.point.c) > 0  # to an integral of one
        Z = problem.outputs(parameters) if moved else evaluation.Z
        primal = problem.primal(parameters, Z)
        if primal < self.primal:
            self.primal, self.parameters = primal, parameters


def solve(
    method: Callable[[Climb, SlopePoint], Steps],
    problem: DualProblem,
    start: SlopePoint,
    *,
    tol: float,
    max_iter: int,
) -> Climb:
    """Follow a method from ``start`` until the gap is at most ``tol``.

    A method gives the evaluation at the start, then one for each step, and ends when it stalls.
    """
    best = Climb(problem, start, tol, max_iter)
    try:
        for here in method(best, start):
            if here is not None:
                best.note(here)
            if best.gap <= tol or best.n_iter >= max_iter:
                best.status = Status.CONVERGED if best.gap <= tol else Status.MAX_ITER
                break
            best.n_iter += 1
    except KeyboardInterrupt:
        if not best.parameters:
            raise
        best.status = Status.INTERRUPTED
    best.parameters = best.parameters or problem.evaluate(best.point).parameters
    return best


# ---------------------------------------------------------------------------- Newton's method


def newton(climb: Climb, start: SlopePoint) -> Steps:
    """Newton steps in the coordinates ``t``, after quasi-Newton steps if rows are many."""
    space = Coordinates(climb.problem, start)
    if len(climb.problem.weights) > MANY:
        _quasi_newton(climb, space, start)
    x = space.pack(climb.point)
    found: tuple[Array, Evaluation] | None = (x, space.evaluate(x))
    while found is not None:
        yield found[1]
        found = _newton_step(space, *found)


class Coordinates:
    """Coordinates and multiplier as one vector ``x``."""

    def __init__(self, problem: DualProblem, start: SlopePoint) -> None:
        self.problem, self.shape, self.n_t = problem, start.t.shape, start.t.size

    def pack(self, point: SlopePoint) -> Array:
        """A point as a vector."""
        return np.concatenate([point.t.ravel(), point.c])

    def split(self, x: Array) -> tuple[Array, Array]:
        """Coordinates (n, k), and the multiplier."""
        return x[: self.n_t].reshape(self.shape), x[self.n_t :]

    def evaluate(self, x: Array) -> Evaluation:
        """The dual there."""
        return self.problem.evaluate(SlopePoint(*self.split(x)))

    def gradient(self, evaluation: Evaluation) -> Array:
        """Of the dual."""
        return np.concatenate([evaluation.ascent.ravel(), evaluation.excess])

    def hessian(self, evaluation: Evaluation) -> tuple[Map, Array]:
        """Products with the negative Hessian, and its diagonal."""
        problem, w = self.problem, self.problem.weights[:, None]
        tangents = _tangents(problem, evaluation)
        t = evaluation.point.t
        J = w[:, :, None] * np.einsum("ipc,pb->ibc", problem.loss.jacobian(t), problem.mixing)
        curvature = w * problem.loss.curvature(t, evaluation.Z)

        def product(x: Array) -> Array:
            dt, dc = self.split(x)
            slopes = np.einsum("ibc,ic->ib", J, dt)
            moved = [tangent(slopes[:, b], dc) for b, tangent in enumerate(tangents)]
            F = np.column_stack([values for values, _ in moved])
            out = curvature * dt - np.einsum("ibc,ib->ic", J, F)
            return np.concatenate([out.ravel(), *(-change for _, change in moved)])

        own = np.column_stack([tangent.diagonal() for tangent in tangents])
        diagonal = curvature + np.einsum("ibc,ib->ic", J**2, own)
        ends = [tangent.mass_diagonal() for tangent in tangents]
        return product, np.concatenate([diagonal.ravel(), *ends])


def _tangents(problem: DualProblem, evaluation: Evaluation) -> list[Tangent]:
    spectra = zip(problem.blocks, evaluation.spectra, strict=True)
    return [block.tangent(spectrum) for block, spectrum in spectra]


def _newton_step(space: Coordinates, x: Array, here: Evaluation) -> tuple[Array, Evaluation] | None:
    """A Newton step and a line search along it; None when nothing climbs any more."""
    gradient = space.gradient(here)
    product, diagonal = space.hessian(here)
    flat = diagonal <= RIDGE * float(diagonal.max())
    diagonal = np.where(flat, FLAT / len(here.Z), diagonal)
    n_t = space.n_t

    def bounded(step: Array) -> tuple[Array, float]:
        step[:n_t] = np.clip(step[:n_t], -LARGEST_STEP, LARGEST_STEP)
        return step, float(gradient @ step)

    accuracy: Any = {"tol": ROUGH, "max_iter": PRODUCTS, "precondition": lambda r: r / diagonal}
    step, promised = bounded(conjugate_gradients(product, gradient.copy(), **accuracy)[0])
    if promised <= 0:
        step, promised = bounded(gradient / diagonal)
    length = 1.0
    for _ in range(TRIALS):
        there = space.evaluate(x + length * step)
        if there.dual >= here.dual + SUFFICIENT * length * promised:
            return x + length * step, there
        length *= SHRINK
    return None


def _quasi_newton(climb: Climb, space: Coordinates, start: SlopePoint) -> None:
    """L-BFGS, in units of the roots of the rows' weights: the Hessian is about the identity then.

    Evaluations and steps are noted in ``climb``.
    """
    n = len(climb.problem.weights)
    root = np.repeat(np.sqrt(climb.problem.weights * n), start.t.shape[1])
    units = np.append(root, np.full(len(start.c), np.sqrt(n)))

    def descent(x: Array) -> tuple[float, Array]:
        evaluation = space.evaluate(x / units)
        climb.note(evaluation)
        return -evaluation.dual * n, -space.gradient(evaluation) / units * n

    def look(intermediate_result: OptimizeResult) -> None:  # noqa: ARG001
        if climb.gap <= climb.tol:
            raise StopIteration

    limit = min(QUASI, climb.max_iter)
    how: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "callback": look}
    how["options"] = {"maxiter": limit, "maxfun": EVALUATIONS * limit + 1}
    how["options"] |= {"maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
    result: OptimizeResult = minimize(descent, space.pack(start) * units, **how)
    climb.n_iter = int(result.nit)


# ----------------------------------------------------------------- the interior point method


def interior(climb: Climb, start: SlopePoint) -> Steps:
    """Interior point steps for a loss with bounded slopes."""
    path = _Path(climb.problem, start)
    yield path.here
    while path.advance():
        yield path.here


class _Path:
    """The current point: ``u``, both sides of the residual, and what the dual says at ``u``."""

    def __init__(self, problem: DualProblem, start: SlopePoint) -> None:
        self.problem = problem
        self.w = problem.weights[:, None] / len(problem.mixing)
        self.u = np.clip(start.t, INSIDE, 1 - INSIDE)
        self.here = self._evaluate(self.u)
        e = self._residual(self.here)
        least = FIRST * float(np.sqrt(np.sum(self.w * e**2))) or FIRST
        self.above, self.below = np.maximum(e, 0) + least, np.maximum(-e, 0) + least

    def advance(self) -> bool:
        """One step; False when nothing climbs any more."""
        u, above, below, w = self.u, self.above, self.below, self.w
        e = self._residual(self.here)
        D = above / (1 - u) + below / u
        invert = normal_solver(self.problem, self.here, D)
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
        return self.problem.evaluate(SlopePoint(u, np.zeros(0)))

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
        for _ in range(HALVINGS):
            u = self.u + length * du
            there = self._evaluate(u)
            if height(there, u) >= before + SUFFICIENT * length * promised - rounding:
                self.u, self.here = u, there
                return length
            length *= 0.5
        return 0.0


def normal_solver(problem: DualProblem, here: Evaluation, D: Array) -> Map:
    """Solutions of ``(w (-z'(u) + Diag D)) x = g`` for any ``g`` (n, p)."""
    tangents = _tangents(problem, here)
    if D.size <= DENSE:
        return _factorised(problem, tangents, D)
    w, M = problem.weights[:, None] / D.shape[1], problem.mixing
    precondition = _preconditioner(problem, tangents, D)

    def product(x: Array) -> Array:
        slopes = w * (x @ M)
        F = [tangent(slopes[:, b], np.zeros(0))[0] for b, tangent in enumerate(tangents)]
        return np.asarray(w * (D * x - np.column_stack(F) @ M.T))

    options: Any = {"tol": FINE, "max_iter": PRODUCTS, "precondition": precondition}
    return lambda g: conjugate_gradients(product, g.copy(), **options)[0]


def _factorised(problem: DualProblem, tangents: list[Tangent], D: Array) -> Map:
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


def _preconditioner(problem: DualProblem, tangents: list[Tangent], D: Array) -> Map:
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


# -------------------------------------------------------------------------------------- FISTA


def fista(climb: Climb, start: SlopePoint) -> Steps:
    """Accelerated forward-backward steps in the slopes."""
    problem = climb.problem
    step, unit = step_size(problem)
    a, c = problem.loss.slopes(start.t), start.c
    momentum, ahead = 1.0, (a, c)
    yield problem.evaluate(start)
    while True:
        before = a, c
        a, c, x = _forward_backward(problem, *ahead, step, unit)
        following = float(1 + np.sqrt(1 + 4 * momentum**2)) / 2
        t, momentum = (momentum - 1) / following, following
        ahead = a + t * (a - before[0]), c + t * (c - before[1])
        looked = climb.n_iter % CHECK == 0 or climb.n_iter == climb.max_iter
        point = SlopePoint(problem.loss.coordinates_of(a, x), c)
        yield problem.evaluate(point) if looked else None


def _forward_backward(
    problem: DualProblem, a: Array, c: Array, step: float, unit: float
) -> tuple[Array, Array, Array]:
    """New slopes and multiplier, and the outputs that the slopes are subgradients at."""
    parameters = [theta for _, theta, _ in problem.attained(a, c)]
    v = a + step * problem.outputs(parameters)
    x = problem.loss.prox(v / step, 1 / step)
    return v - step * x, c + step * unit**2 * problem.excess(parameters), x


def step_size(problem: DualProblem) -> tuple[float, float]:
    """``1 / L``, and ``u`` of the multiplier."""
    curvature, density = slope_curvature(problem), problem.blocks[0]
    if density.mass is None:
        return 1 / (SAFE * curvature), 1.0
    top = float(np.linalg.norm(density.mass)) ** 2 / density.l2
    return 1 / (2 * SAFE * curvature), float(np.sqrt(curvature / top))


def slope_curvature(problem: DualProblem) -> float:
    """Largest eigenvalue of the Hessian's bound in the slopes, in units of the roots of weights."""
    root, M = np.sqrt(problem.weights)[:, None], problem.mixing

    def product(a: Array) -> Array:
        slopes = (root * a) @ M
        bends = [block.bend(s) for block, s in zip(problem.blocks, slopes.T, strict=True)]
        return np.asarray(root * (np.column_stack(bends) @ M.T))

    start = np.random.default_rng(0).uniform(0.5, 1.5, (len(root), len(M)))
    return top_eigenvalue(product, root * start, POWER_STEPS)
