r"""Projected gradient for non-negative coefficients, as appendix D has it: a reference solver.

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

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.baselines.barrier import BarrierResult, Block, Objective
from nablasso.nonnegative.losses import PoissonLoss, SquaredLoss
from nablasso.types import Array

MAX_ITER = 100_000
GROW, RELAX = 2.0, 0.95  # of the constant, after a step that failed and after one that did not
DOUBLINGS = 200  # more than between the smallest and the largest number


def minimise(
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
    plain = loss.n_outputs == 1 and not objective.offset.any() and (objective.mixing == 1).all()
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
