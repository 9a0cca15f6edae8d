r"""Algorithm 1 of Ye and Xie: plain forward-backward splitting, its iterates in view.

Regression (54), from the start ``B``, for all p variables at once:

.. math:: B^+ = T_{\alpha\delta}\big(B - \delta \nabla_B\big), \qquad
          T_\tau(d_a) = \max(1 - \tau / |d_a|, 0)\, d_a

with the gradient (48) as :mod:`nablasso.gradients.problem` has it: the order of its products is the
reduction to n dimensions of section 4.4. Classes (63): besides, with ``f0 = sum_i a_i k(x_i, .)``,

.. math:: a^+ = a - \delta \Phi (\nabla_c + 2 \lambda c), \qquad c = \Phi^\top a ,

a gradient step in the coefficients ``a`` of the kernels, not in the features: in ``c`` it is
multiplied by ``Phi' Phi``. Gradients are those of the iterate before, in both.

**Step.** Theorem 10 asks for ``0 < delta < 2 / |Hessian|``. Here ``delta = 1 / L`` with ``L`` the
largest curvature in ``B`` (power iteration) plus, for classes, that in ``a``: at least the norm.

**Stop.** The paper has "while the convergence condition is not true". Here it is the duality gap
over all variables, or ``max_iter``. An iterate before that is no minimiser and selects more
variables; :class:`~nablasso.gradients.Iterates` shows how many.

Cost of an iteration: O(n p r + (pairs) r). The error falls like ``L |B*|^2 / 2k``: a reference for
the active set (:mod:`nablasso.gradients.active_set`), which solves the same problem. One ``delta``
for ``B`` and ``a`` is slow where the curvatures of the two differ much, as with kernels of large
values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.gradients.active_set import (
    DEFAULT_MAX_ITER,
    SAFETY,
    GradientSolution,
    Iterates,
    largest_curvature,
)
from nablasso.gradients.problem import GradientProblem, Point
from nablasso.solvers import Status


@dataclass(frozen=True)
class ForwardBackward:
    """Settings: gap relative to the objective at zero, and iterations."""

    tol: float = 1e-6
    max_iter: int = DEFAULT_MAX_ITER

    def solve(self, problem: GradientProblem, start: Point | None = None) -> GradientSolution:
        """Minimise from ``start``, zero by default."""
        X, penalty, ridge = problem.X, problem.penalty, problem.offset_ridge or 0.0
        start = problem.zero() if start is None else start
        B, c = np.zeros((X.shape[1], problem.phi.shape[1])), start.c
        B[start.columns] = start.B
        step, gram = step_size(problem), problem.phi.T @ problem.phi
        target, status = self.tol * problem.reference, Status.MAX_ITER
        objectives: list[float] = []
        n_selected: list[int] = []
        try:
            while True:
                z = problem.predictions(X, B, c)
                gB, gc = problem.gradient(problem.slopes(z), X, B)
                primal = problem.smooth_value(z, B, c) + penalty.value(B)
                objectives.append(primal)
                n_selected.append(int(np.any(B != 0, axis=1).sum()))
                dual = problem.dual_value(z, B, gc, penalty.norms(gB), penalty)
                if primal - dual <= target:
                    status = Status.CONVERGED
                    break
                if len(objectives) > self.max_iter:
                    break
                B = penalty.prox(B - step * gB, step)
                if problem.has_offset:
                    c = c - step * (gram @ (gc + 2 * ridge * c))
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        kept = np.any(B != 0, axis=1)
        kept[problem.kept_columns] = True
        point = Point(np.flatnonzero(kept), B[kept], c)
        history = Iterates(np.array(objectives), np.array(n_selected, dtype=np.intp))
        certificate = problem.certificate(point)
        return GradientSolution(point, certificate, max(len(objectives) - 1, 0), status, history)


def step_size(problem: GradientProblem) -> float:
    """``delta``: one over a bound of the norm of the Hessian in ``B`` and ``a``."""
    curvature = largest_curvature(problem, problem.X)
    if problem.has_offset:
        bends = problem.curvature * problem.pairs.first_sums(problem.pairs.weights)
        hessian = problem.phi.T @ (bends[:, None] * problem.phi)
        hessian[np.diag_indices_from(hessian)] += 2 * (problem.offset_ridge or 0.0)
        curvature += float(np.linalg.norm(problem.phi @ hessian @ problem.phi.T, 2))
    return 1 / (SAFETY * curvature)
