r"""Alphas: where nothing is selected, and the scale of alpha for each form.

``alpha_max`` is exact: the gradient norm at B = 0, with the best f0 and kept variables. For the
squared and ridge forms no alpha selects nothing; their scales are the alphas at which the penalty
of a fit without error is about the objective at zero: ``alpha_max^2 / 4 f(0)`` and half the largest
curvature of the loss.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import solve

from nablasso.gradients.active_set import ActiveSet, largest_curvature
from nablasso.gradients.problem import GradientProblem, Point
from nablasso.types import Array

HUGE = 1e150  # an alpha that selects nothing
NULL_TOL, NULL_STEPS = 1e-13, 20000  # for the fit without gradients
NEWTON_STEPS, TINY_STEP = 100, 1e-10


def null_point(problem: GradientProblem) -> tuple[Point, float]:
    """The fit that selects nothing but the kept variables, and ``alpha_max``."""
    penalty = replace(problem.penalty, form="lasso", alpha=HUGE)
    null = replace(problem, penalty=penalty)
    point = null.zero()
    if problem.has_offset:
        point = replace(point, c=best_offset(problem))
    if len(point.columns):
        point = ActiveSet(NULL_TOL, NULL_STEPS).solve(null, point).point
    return point, penalty.gauge(null.certificate(point).norms)


def best_offset(problem: GradientProblem) -> Array:
    """``c`` of the best f0 without gradients: Newton's method, safe by halving."""
    phi, ridge, pairs = problem.phi, problem.offset_ridge or 0.0, problem.pairs
    c = np.zeros(phi.shape[1])
    nothing = np.zeros((0, len(c)))

    def objective(c: Array) -> tuple[float, Array]:
        z = problem.predictions(problem.X[:, :0], nothing, c)
        return problem.smooth_value(z, nothing, c), z

    here, z = objective(c)
    for _ in range(NEWTON_STEPS):
        gradient = problem.offset_gradient(problem.slopes(z)) + 2 * ridge * c
        bends = pairs.first_sums(pairs.weights * problem.loss.curvature(problem.targets, z))
        hessian = phi.T @ (bends[:, None] * phi)
        hessian[np.diag_indices_from(hessian)] += 2 * ridge
        move = solve(hessian, gradient, assume_a="pos")
        t, before = 1.0, here
        while t > TINY_STEP:
            new, z = objective(c - t * move)
            if new <= before:
                break
            t /= 2
        if t <= TINY_STEP:
            break
        c, here = c - t * move, new
        if before - here <= NULL_TOL * before:
            break
    return c


def alpha_scale(problem: GradientProblem, alpha_max: float) -> float:
    """The natural unit of alpha."""
    if problem.penalty.form == "ridge":
        reduced = problem.reduced()
        smaller = problem if reduced is None else reduced[0]
        return largest_curvature(smaller, smaller.X) / 2
    if problem.penalty.form == "squared":
        return alpha_max**2 / (4 * problem.reference)
    return alpha_max
