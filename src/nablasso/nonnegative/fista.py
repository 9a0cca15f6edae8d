r"""FISTA on the dual (10), the algorithm of Marteau-Ferey, Bach and Rudi: a reference solver.

In the slopes ``a`` (n, p) of the losses and the multipliers ``c`` of the constraints the dual is

.. math:: \min_{a, c} \; f(a, c) + g(a), \qquad g(a) = \sum_i p_i\, l_i^*(a_i),

.. math::
    f(a, c) = \sum_b \Omega_b^*\Big(-\Phi_b^\top \mathrm{Diag}(p\, a M_b) \Phi_b
    - \sum_c c\, W_c\Big) - \sum_i p_i\, a_i \cdot o + \sum_c c\, r_c .

``f`` is smooth and ``g`` is a sum over rows. With the inner product
``sum_i p_i a_i.b_i + sum_c c_c d_c / u^2``, in which a weight k is k copies of a row, the gradient
of ``f`` is ``-z``, the outputs of the functions (11) at the rows, and ``-u^2 (Tr(A W_c) - r_c)``.
One iteration from the extrapolated point ``(a, c)``, with the step ``s = 1 / L``:

.. math::
    v = a + s z, \quad x = \mathrm{prox}_{l / s}(v / s), \quad a^+ = v - s x, \quad
    c^+ = c + s u^2 (\mathrm{Tr}(A W) - r)

(Moreau's identity: the proximal operator of ``l*`` is that of ``l``, which is a closed form or one
equation per row), then Nesterov's momentum. ``a+`` is a subgradient of ``l`` at ``x``: that gives
``l*(a+)`` and so the dual value.

**Step.** ``L`` is the largest eigenvalue of ``a -> sum_b (k_b^2) p a / l2`` (``k_b`` for a linear
block) in this inner product, by power iteration; ``u`` gives the multipliers the same curvature,
which at most doubles it. The error of the dual falls like ``2 L |a* - a|^2 / k^2`` (Beck and
Teboulle, theorem 4.4).

**Cost** of an iteration: one eigendecomposition per PSD block, O(n r^2 + r^3); one more every
``CHECK`` iterations, for the primal point and the gap.
"""

from __future__ import annotations

import numpy as np

from nablasso.nonnegative.dual import Best, DualPoint, DualSolution, Problem
from nablasso.progress import Watch
from nablasso.solvers import Status
from nablasso.types import Array

CHECK = 10  # iterations between two looks at the gap
POWER_STEPS, SAFE = 50, 1.02  # power iteration approaches the constant from below
MAX_ITER = 20_000


def solve(
    problem: Problem,
    start: DualPoint,
    *,
    tol: float,
    max_iter: int,
    watch: Watch | None = None,
) -> DualSolution:
    """Iterate from ``start`` until the gap is at most ``tol``."""
    best, status, n_iter = Best(problem, watch=watch), Status.MAX_ITER, 0
    step, units = step_size(problem)
    a, c = problem.loss.slopes(start.t), start.multipliers
    momentum, ahead = 1.0, (a, c)
    try:
        best.note(problem.evaluate(start))
        while best.gap > tol and n_iter < max_iter:
            n_iter += 1
            before = a, c
            a, c, x = _forward_backward(problem, *ahead, step, units)
            following = float(1 + np.sqrt(1 + 4 * momentum**2)) / 2
            t, momentum = (momentum - 1) / following, following
            ahead = (
                a + t * (a - before[0]),
                tuple(now + t * (now - old) for now, old in zip(c, before[1], strict=True)),
            )
            if n_iter % CHECK == 0 or n_iter == max_iter:
                best.note(problem.evaluate(DualPoint(problem.loss.coordinates_of(a, x), c)))
    except KeyboardInterrupt:
        if best.point is None or not best.parameters:
            raise
        status = Status.INTERRUPTED
    if best.gap <= tol and status is not Status.INTERRUPTED:
        status = Status.CONVERGED
    return best.solution(start, n_iter, status)


def _forward_backward(
    problem: Problem, a: Array, c: tuple[Array, ...], step: float, units: tuple[Array, ...]
) -> tuple[Array, tuple[Array, ...], Array]:
    """New slopes and multipliers, and the outputs that the slopes are subgradients at."""
    parameters = [theta for _, theta, _ in problem.attained(a, c)]
    v = a + step * problem.outputs(parameters)
    x = problem.loss.prox(v / step, 1 / step)
    moved = tuple(
        old + step * unit**2 * block.excess(theta)
        for block, theta, old, unit in zip(problem.blocks, parameters, c, units, strict=True)
    )
    return v - step * x, moved, x


def step_size(problem: Problem) -> tuple[float, tuple[Array, ...]]:
    """``1 / L``, and ``u`` of each multiplier, by block."""
    curvature, units = slope_curvature(problem), []
    for block in problem.blocks:
        W = np.array([matrix.ravel() for matrix in block.functionals])
        top = float(np.linalg.norm(W, 2)) ** 2 / block.l2 if len(W) else 1.0
        units.append(np.full(len(W), np.sqrt(curvature / top)))
    constrained = any(len(unit) for unit in units)
    return 1 / (SAFE * curvature * (1 + constrained)), tuple(units)


def slope_curvature(problem: Problem) -> float:
    """Largest eigenvalue of the Hessian's bound in the slopes, by power iteration."""
    p, M = problem.weights[:, None], problem.mixing
    a = np.random.default_rng(0).uniform(0.5, 1.5, (len(p), len(M)))
    size = float(np.sqrt(np.sum(p * a**2)))
    for _ in range(POWER_STEPS):
        slopes = (p * (a / size)) @ M
        bends = [block.bend(s) for block, s in zip(problem.blocks, slopes.T, strict=True)]
        a = np.column_stack(bends) @ M.T
        size = float(np.sqrt(np.sum(p * a**2)))
    return size
