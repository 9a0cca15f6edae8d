r"""Kernel machines: the smallest (P), without derivative penalty, for any loss.

.. math:: \min_{u, b} \sum_i p_i\, l(y_i, o_i + b + (K u)_i) + \lambda\, u^\top K u

with an offset ``o``. Newton's method: at predictions ``z`` the loss is replaced by the quadratic
``sum_i q_i (t_i - z_i)^2`` of :func:`quadratic_model`, whose minimiser is one weighted kernel ridge
regression; a line search on the true objective makes it safe. Quadratic convergence; O(n^3) a step.

**Optimality** is ``u = -p l'(y, z) / (2 lambda)``. This is how ``u`` is returned, so that
``-2 lambda u / p`` always lies in the domain of the loss's conjugate and adds up to zero with ``p``
where there is an intercept: a dual feasible point.

**Leave-one-out** without refitting: one Newton step for the left-out problem from the solution
moves the prediction of row ``i`` to ``z_i + (p_i l'_i / 2)(1 / (lambda P_ii) - 1 / q_i)`` with
``P`` of the last weighted regression. For the squared loss this is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nablasso.losses import Loss
from nablasso.spaces.weighted_ridge import WeightedRidge
from nablasso.types import Array

FLOOR = 1e-6  # of the largest curvature: flat pieces of a loss get this much
MAX_STEPS = 100
HALVINGS = 40
PATIENCE = 2  # ridges in a row without a better leave-one-out loss
PRECISION = 1e-14  # relative decrease at which Newton's method has arrived


class QuadraticModel(NamedTuple):
    """``sum_i q_i (target_i - z_i)^2`` plus a constant."""

    weights: Array
    target: Array


class Machine(NamedTuple):
    """A fitted kernel machine; ``predictions`` include offset and intercept."""

    u: Array
    intercept: float
    predictions: Array


class BestMachine(NamedTuple):
    """A machine, its ridge and its predictions of left-out rows."""

    machine: Machine
    ridge: float
    left_out: Array


def quadratic_model(loss: Loss, y: Array, weights: Array, z: Array) -> QuadraticModel:
    """Second-order expansion of the weighted loss at predictions ``z``.

    Curvatures have a floor, so that every target is finite; the model then bends more than the
    loss does, which slows Newton's method where the loss has no curvature and harms nothing.
    """
    half = loss.curvature(y, z) / 2
    top = float(half.max())
    half = np.maximum(half, FLOOR * top if top > 0 else 1.0)
    return QuadraticModel(weights * half, z - loss.gradient(y, z) / (2 * half))


def kernel_machine(
    loss: Loss,
    gram: Array,
    y: Array,
    weights: Array,
    ridge: float,
    *,
    fit_intercept: bool,
    offset: Array | None = None,
    start: Array | None = None,
) -> Machine:
    """Solve from ``start``, an (n,) vector ``u`` (zero by default)."""
    o = np.zeros_like(y) if offset is None else offset
    u = np.zeros_like(y) if start is None else start
    Ku = gram @ u
    b = loss.best_intercept(y, o + Ku, weights) if fit_intercept else 0.0
    here = float(weights @ loss.value(y, o + b + Ku)) + ridge * float(u @ Ku)
    for _ in range(MAX_STEPS):
        model = quadratic_model(loss, y, weights, o + b + Ku)
        step = WeightedRidge(gram, model.weights, ridge, fit_intercept=fit_intercept)
        move = step.solve(model.target - o) - u
        Kmove = gram @ move
        # the model's own intercept: the weighted mean of its residuals
        rest = model.target - o - b - Ku - Kmove
        b_move = float(model.weights @ rest / model.weights.sum()) if fit_intercept else 0.0
        before, t = here, 1.0
        for _ in range(HALVINGS):
            z = o + b + Ku + t * (b_move + Kmove)
            norm2 = float((u + t * move) @ (Ku + t * Kmove))
            here = float(weights @ loss.value(y, z)) + ridge * norm2
            if here <= before:
                break
            t /= 2
        if not here <= before:
            break
        u, Ku, b = u + t * move, Ku + t * Kmove, b + t * b_move
        if here >= before - PRECISION * abs(before):
            break
    if fit_intercept:
        b = loss.best_intercept(y, o + Ku, weights)
    return dual_feasible(loss, gram, y, weights, ridge, o + b + Ku, o, fit_intercept=fit_intercept)


def dual_feasible(
    loss: Loss,
    gram: Array,
    y: Array,
    weights: Array,
    ridge: float,
    z: Array,
    offset: Array,
    *,
    fit_intercept: bool,
) -> Machine:
    """The machine with ``u = -p l'(y, z) / (2 lambda)``, and the predictions it makes."""
    u = -weights * loss.gradient(y, z) / (2 * ridge)
    values = offset + gram @ u
    b = loss.best_intercept(y, values, weights) if fit_intercept else 0.0
    return Machine(u, b, values + b)


def left_out_predictions(
    loss: Loss,
    gram: Array,
    y: Array,
    weights: Array,
    ridge: float,
    z: Array,
    *,
    fit_intercept: bool,
) -> Array:
    """Predictions of each row by the machine fitted without it, to second order."""
    model = quadratic_model(loss, y, weights, z)
    P = WeightedRidge(gram, model.weights, ridge, fit_intercept=fit_intercept).diagonal()
    moved = 1 / (ridge * P) - 1 / model.weights
    return np.asarray(z + weights * loss.gradient(y, z) / 2 * np.maximum(moved, 0.0))


def best_machine(
    loss: Loss, gram: Array, y: Array, weights: Array, ridges: Array, *, fit_intercept: bool
) -> BestMachine:
    """The machine of smallest leave-one-out loss among ``ridges``, the largest among ties.

    Runs from the largest ridge down with warm starts, and ends when ``PATIENCE`` ridges in a row
    were worse than the best.
    """
    best: BestMachine | None = None
    score, worse, u = np.inf, 0, None
    for ridge in np.sort(ridges)[::-1]:
        machine = kernel_machine(
            loss, gram, y, weights, ridge, fit_intercept=fit_intercept, start=u
        )
        u = machine.u
        left_out = left_out_predictions(
            loss, gram, y, weights, ridge, machine.predictions, fit_intercept=fit_intercept
        )
        found = float(weights @ loss.value(y, left_out))
        worse += 1
        if best is None or found < score * (1 - 1e-10):
            best, score, worse = BestMachine(machine, float(ridge), left_out), found, 0
        if worse == PATIENCE:
            break
    assert best is not None
    return best
