r"""Two solvers of the convex models of appendix D.

**Barrier method** (:func:`minimise`): Newton steps on a sequence of smooth problems.

.. math::
    \min_\theta \sum_i w_i\, \ell_t(o + M F_i) + \tfrac12 \sum_s \theta_s^\top G_s \theta_s
      - t \sum_s b_s(\theta_s) \quad \text{subject to} \quad c^\top \theta = 1, \qquad
    F_{is} = (\Phi_s \theta_s)_i

``w`` adds up to one. ``b_s`` is the mean of the logarithms of what must stay positive: values at
the rows (PNM) or coefficients (NCM). With weights that add up to one each barrier costs a gap of
exactly ``t`` on the central path, the smoothing of the pinball loss ``2 t``; so the gap is ``t``
times their number there. A point near the path, with squared Newton decrement ``s``, is within
``s`` of it, and its multipliers are off by a share of at most ``sqrt(s N / t)`` where ``N`` counts
the logarithms (self-concordance). Each centring ends when that share is under ``OFF``, so
``gap = (1 + 2 OFF) t (number of barriers) + s`` is a bound. ``t`` shrinks tenfold until that is
below the tolerance. One step costs ``O(n q^2 + q^3)`` for ``q`` parameters in all.

The pinball loss has a kink; its barrier form, with ``u - v = y - z`` eliminated,

.. math:: \rho_t(r) = \min_{u - v = r} \tau u + (1 - \tau) v - t \log u - t \log v,

is smooth and tends to it with ``t``.

**Projected gradient** (:func:`project`) for non-negative coefficients, as appendix D has it.

.. math::
    \min_{\theta \ge 0} F(\theta) = \sum_i w_i\, \ell_i((\Phi\theta)_i)
    + \tfrac12 \theta^\top G \theta
    \qquad (35), \quad \text{or also} \quad c^\top \theta = 1 \qquad (36)

One step is ``theta+ = P(theta - F'(theta) / L)`` with the projection in closed form: the positive
part for (35), for (36) ``max(v - tau c, 0)`` with the ``tau`` that makes ``c'theta = 1``, one sort.
``L`` is doubled until the step stays above the parabola it promises, and relaxed after each step.

**Gap.** ``F`` is convex, so ``F(theta) - F* <= max_beta F'(theta).(theta - beta)`` over any set
that holds a minimiser. For (36) that is the simplex. For (35), ``F'(theta*).theta* = 0`` says that
``sum_i w_i l_i'(z_i) z_i <= 0``: the mean of ``z`` is at most the root mean square of y (squares)
or the mean of y (Poisson), and with ``q = Phi'w`` the set is ``{beta >= 0, q'beta <= B}``. Both
maxima are at a corner. The bound falls like the root of the error: it is true, not tight.

Cost of an iteration: O(n m + m^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.losses import GaussianLoss, PinballLoss, PoissonLoss, RowLoss, SquaredLoss
from nablasso.types import Array

Rows = tuple[Array, Array, Array]  # values (n,), gradients (n, p), Hessians (n, p, p)

SHRINK = 0.1  # of t from one smooth problem to the next
START = 0.1  # first t in units of the loss at the start
ARMIJO = 1e-4
HALVINGS = 60
OFF = 0.1  # share by which multipliers may be off those of the central path
CENTRED = 0.1  # share of the tolerance that the Newton decrement may have
MOST_PROJECTIONS = 100_000
GROW, RELAX = 2.0, 0.95  # of the constant, after a step that failed and after one that did not
DOUBLINGS = 200  # more than between the smallest and the largest number


def barriers(loss: RowLoss) -> float:
    """Gap that the smoothing costs, per unit of ``t``."""
    return 2.0 if isinstance(loss, PinballLoss) else 0.0


def expansion(loss: RowLoss, Z: Array, t: float = 0.0) -> Rows:
    """Value, gradient and Hessian at outputs Z (n, p); values are infinite outside the domain."""
    if isinstance(loss, PinballLoss) and t > 0:
        value, slope, bend = smooth_pinball(loss.y[:, None] - Z, loss.levels, t)
        p = Z.shape[1]
        return value.mean(axis=1), -slope / p, bend[:, :, None] * (np.eye(p) / p)
    with np.errstate(all="ignore"):
        return loss.value(Z), loss.slopes(loss.coordinates(Z)), _hessian(loss, Z)


def _hessian(loss: RowLoss, Z: Array) -> Array:
    n, p = Z.shape
    if isinstance(loss, PoissonLoss):
        return np.asarray(loss.y[:, None] / Z**2)[:, :, None]
    if isinstance(loss, SquaredLoss):
        return np.broadcast_to(2 * np.eye(p), (n, p, p))
    if isinstance(loss, GaussianLoss):
        h = Z[:, 0]
        mean = Z[:, 1] / h
        corner = -mean / h
        block = np.array([[0.5 / h**2 + mean**2 / h, corner], [corner, 1 / h]])
        return np.moveaxis(block, 2, 0)
    return np.zeros((n, p, p))  # pinball: piecewise linear


def smooth_pinball(r: Array, levels: Array, t: float) -> Rows:
    """``rho_t``, its first and second derivative.

    Stationarity ``t/u + t/v = 1`` with ``v = u - r`` gives ``2 u = r + 2 t + sqrt(r^2 + 4 t^2)``.
    """
    root = np.hypot(r, 2 * t)
    small = 2 * t**2 / (root + np.abs(r))  # (root - |r|) / 2 without cancellation
    u = t + np.maximum(r, 0.0) + small
    v = t + np.maximum(-r, 0.0) + small
    value = levels * u + (1 - levels) * v - t * np.log(u) - t * np.log(v)
    return value, levels - t / u, t / (u**2 + v**2)


@dataclass(frozen=True)
class Block:
    """One output: values ``features @ theta``, penalty ``theta' gram theta / 2``.

    ``kept`` says what the barrier keeps positive: "values", "coefficients" or None.
    """

    features: Array
    gram: Array
    kept: str | None
    normal: Array | None = None  # c: the equality c'theta = 1


@dataclass(frozen=True)
class Objective:
    """``sum_i weights_i loss(offset + mixing F_i)``."""

    loss: RowLoss
    weights: Array
    mixing: Array
    offset: Array

    def rows(self, F: Array, t: float) -> Rows:
        """Weighted value, gradient and Hessian with respect to ``F_i``, per row."""
        value, slope, bend = expansion(self.loss, self.offset + F @ self.mixing.T, t)
        w, M = self.weights, self.mixing
        return w * value, w[:, None] * (slope @ M), w[:, None, None] * (M.T @ bend @ M)


class BarrierResult(NamedTuple):
    """Parameters per block, objective without barriers, gap, Newton steps, whether it is tight."""

    theta: list[Array]
    objective: float
    gap: float
    n_iter: int
    converged: bool


class Barrier:
    """The smooth problem for one ``t``, on the parameters of all blocks in one vector."""

    def __init__(self, objective: Objective, blocks: list[Block]) -> None:
        self.objective, self.weights, self.blocks = objective, objective.weights, blocks
        ends = np.cumsum([block.features.shape[1] for block in blocks])
        self.slices = [
            slice(int(end) - block.features.shape[1], int(end))
            for end, block in zip(ends, blocks, strict=True)
        ]
        self.size = int(ends[-1])
        self.normal = self._normal()

    def _normal(self) -> Array | None:
        if all(block.normal is None for block in self.blocks):
            return None
        normal = np.zeros(self.size)
        for block, part in zip(self.blocks, self.slices, strict=True):
            if block.normal is not None:
                normal[part] = block.normal
        return normal

    @property
    def terms(self) -> float:
        """Gap per unit of t on the central path."""
        return barriers(self.objective.loss) + sum(block.kept is not None for block in self.blocks)

    @property
    def logarithms(self) -> int:
        """The most logarithms that one barrier is the mean of."""
        return max(len(self.weights), *(len(block.gram) for block in self.blocks))

    def values(self, theta: Array) -> Array:
        """Outputs at the rows, (n, p)."""
        return np.column_stack(
            [b.features @ theta[s] for b, s in zip(self.blocks, self.slices, strict=True)]
        )

    def value(self, theta: Array, t: float) -> float:
        """The smooth objective; infinite outside the domain."""
        F = self.values(theta)
        total = float(self.objective.rows(F, t)[0].sum())
        for k, (block, part) in enumerate(zip(self.blocks, self.slices, strict=True)):
            total += 0.5 * float(theta[part] @ block.gram @ theta[part])
            if block.kept and t > 0:
                kept, share = self._kept(block, F[:, k], theta[part])
                if (kept <= 0).any():
                    return np.inf
                total -= t * float(share @ np.log(kept))
        return total if np.isfinite(total) else np.inf

    def _kept(self, block: Block, f: Array, theta: Array) -> tuple[Array, Array]:
        """What the barrier keeps positive, and the weights of its logarithms."""
        if block.kept == "values":
            return f, self.weights
        return theta, np.full(len(theta), 1 / len(theta))

    def derivatives(self, theta: Array, t: float) -> tuple[Array, Array]:
        """Gradient and Hessian of the smooth objective."""
        F = self.values(theta)
        _, slopes, bends = self.objective.rows(F, t)
        diagonal = np.zeros(self.size)
        gradient, hessian = np.empty(self.size), np.zeros((self.size, self.size))
        for k, (block, part) in enumerate(zip(self.blocks, self.slices, strict=True)):
            slope, bend = slopes[:, k], bends[:, k, k]
            extra: Array | float = 0.0
            if block.kept and t > 0:
                kept, share = self._kept(block, F[:, k], theta[part])
                if block.kept == "values":
                    slope, bend = slope - t * share / kept, bend + t * share / kept**2
                else:
                    extra = -t * share / kept
                    diagonal[part] = t * share / kept**2
            gradient[part] = block.features.T @ slope + block.gram @ theta[part] + extra
            hessian[part, part] = (block.features.T * bend) @ block.features + block.gram
            for j in range(k):
                cross = (block.features.T * bends[:, k, j]) @ self.blocks[j].features
                hessian[part, self.slices[j]] = cross
                hessian[self.slices[j], part] = cross.T
        hessian[np.diag_indices(self.size)] += diagonal
        return gradient, hessian

    def direction(self, theta: Array, t: float) -> tuple[Array, float]:
        """Newton's direction within ``c'theta = 1``, and the squared decrement."""
        gradient, hessian = self.derivatives(theta, t)
        factor = _cholesky(hessian)
        step = -cho_solve(factor, gradient)
        if self.normal is not None:
            across = cho_solve(factor, self.normal)
            step -= across * float(self.normal @ step) / float(self.normal @ across)
        return step, float(-gradient @ step)


def minimise(
    objective: Objective,
    blocks: list[Block],
    start: list[Array],
    *,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> BarrierResult:
    """Follow the central path to a gap of ``tol`` from a start inside the domain."""
    problem = Barrier(objective, blocks)
    theta = np.concatenate(start)
    t = START * max(abs(problem.value(theta, 0.0)), 1e-3) if problem.terms else 0.0
    steps, last = 0, False
    while True:
        close = min(CENTRED * tol, OFF**2 * (t if problem.terms else 1.0) / problem.logarithms)
        theta, squared, used = _centre(problem, theta, t, close, max_iter - steps)
        steps += used
        gap = (1 + 2 * OFF) * t * problem.terms + squared
        last = gap <= tol or steps >= max_iter or not problem.terms
        if last:
            break
        t = max(t * SHRINK, 0.5 * tol / problem.terms)
    parts = [theta[part] for part in problem.slices]
    return BarrierResult(parts, problem.value(theta, 0.0), gap, steps, gap <= tol)


def _centre(
    problem: Barrier, theta: Array, t: float, close: float, budget: int
) -> tuple[Array, float, int]:
    """Newton steps for one t until the squared decrement is at most ``close``."""
    here, used = problem.value(theta, t), 0
    while True:
        step, squared = problem.direction(theta, t)
        squared = max(squared, 0.0)
        if squared <= close or used >= budget:
            return theta, squared, used
        used += 1
        length = 1.0
        for _ in range(HALVINGS):
            new = theta + length * step
            there = problem.value(new, t)
            if there <= here - ARMIJO * length * squared:
                break
            length /= 2
        else:  # rounding: no step decreases any more
            return theta, squared, used
        theta, here = new, there


def _cholesky(H: Array) -> tuple[Array, bool]:
    """Factor, with as little added to the diagonal as makes it possible."""
    shift, scale = 0.0, float(np.trace(H)) / len(H)
    for power in range(-15, 1):
        try:
            return cho_factor(H + shift * np.eye(len(H)) if shift else H)
        except LinAlgError:
            shift = scale * 10.0**power
    raise FloatingPointError("The Hessian of the barrier problem is not positive definite.")


def project(
    objective: Objective, block: Block, start: Array, *, tol: float, max_iter: int
) -> BarrierResult:
    """Descend from ``start``, which is feasible, to a gap of ``tol``."""
    corners, fixed = _corners(objective, block)
    theta, n_iter = start, 0
    value, gradient = _expanded(objective, block, theta)
    constant = float(np.trace(block.gram)) / len(theta) or 1.0
    while True:
        best = float((gradient / corners).min())
        gap = float(gradient @ theta) - (best if fixed else min(best, 0.0))
        if gap <= tol or n_iter >= max_iter:
            break
        for _ in range(DOUBLINGS):
            new = _projected(theta - gradient / constant, block.normal)
            move = new - theta
            there, slope = _expanded(objective, block, new)
            if there <= value + gradient @ move + 0.5 * constant * move @ move:
                break
            constant *= GROW
        n_iter += 1
        if there >= value and not move.any():  # rounding: nothing moves any more
            break
        theta, value, gradient = new, there, slope
        constant *= RELAX
    return BarrierResult([theta], value, gap, n_iter, gap <= tol)


def _expanded(objective: Objective, block: Block, theta: Array) -> tuple[float, Array]:
    """``F`` and its gradient; infinite outside the domain."""
    values, slopes, _ = objective.rows((block.features @ theta)[:, None], 0.0)
    pull = block.gram @ theta
    value = float(values.sum() + 0.5 * theta @ pull)
    return (value if np.isfinite(value) else np.inf), block.features.T @ slopes[:, 0] + pull


def _projected(v: Array, normal: Array | None) -> Array:
    """The nearest point that is not negative and, with a normal ``c``, has ``c'theta = 1``."""
    if normal is None:
        return np.maximum(v, 0.0)
    order = np.argsort(-v / normal, kind="stable")
    c = normal[order]
    roots = (np.cumsum(c * v[order]) - 1) / np.cumsum(c**2)
    return np.maximum(v - float(roots.max()) * normal, 0.0)


def _corners(objective: Objective, block: Block) -> tuple[Array, bool]:
    """``b`` such that the set of the gap is the simplex ``b'beta = 1``, or that and zero."""
    if block.normal is not None:
        return block.normal, True
    loss, w = objective.loss, objective.weights
    plain = len(objective.mixing) == 1 and (objective.mixing == 1).all()
    plain = plain and not objective.offset.any()
    if plain and isinstance(loss, SquaredLoss):
        most = float(np.sqrt(w @ loss.y[:, 0] ** 2))
    elif plain and isinstance(loss, PoissonLoss):
        most = float(w @ loss.y)
    else:
        raise InvalidParameterError(
            'solver="projected_gradient" needs a smooth loss of one function: densities, and '
            'non-negative regression; use solver="auto" here.'
        )
    return (w @ block.features) / max(most, np.finfo(float).tiny), False
