r"""A kernel machine in feature space: few features, any loss.

.. math:: \min_{u, b} \sum_i p_i\, l(y_i, b + (\Psi u)_i) + \rho\, \|u\|^2

is the machine of :mod:`nablasso.spaces.kernel_machine` with the kernel ``Psi Psi'``. Newton's
method with D features costs O(n D^2) a step instead of O(n^3). The solution is returned as ``u``
and the dual variable ``-p l'(y, z) / (2 rho)``, which lies in the domain of the loss's conjugate
and adds up to zero where there is an intercept; one step for the squared loss.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from nablasso.losses import Loss, Squared
from nablasso.spaces.kernel_machine import quadratic_model
from nablasso.types import Array

MAX_STEPS = 100
HALVINGS = 40
PRECISION = 1e-14


def centred_moments(
    Phi: Array, target: Array, weights: Array, *, centre: bool
) -> tuple[Array, Array]:
    """``Phi' Q Phi`` and ``Phi' Q target`` with ``Q = diag(q) - q q' / sum(q)``, or ``diag(q)``."""
    weighted = Phi * weights[:, None]
    C, c = weighted.T @ Phi, weighted.T @ target
    if centre:
        total = float(weights.sum())
        mean = weighted.sum(axis=0)
        C -= np.outer(mean, mean / total)
        c -= mean * (float(weights @ target) / total)
    return np.asarray(C), np.asarray(c)


def feature_machine(
    loss: Loss,
    Psi: Array,
    y: Array,
    weights: Array,
    ridge: float,
    *,
    fit_intercept: bool,
    start: Array | None = None,
) -> tuple[Array, Array]:
    """Dual variable and ``u`` of the solution; ``start`` is a dual variable to start from."""
    u = np.zeros(Psi.shape[1]) if start is None else Psi.T @ start
    values = Psi @ u
    b = loss.best_intercept(y, values, weights) if fit_intercept else 0.0
    here = float(weights @ loss.value(y, values + b)) + ridge * float(u @ u)
    for _ in range(MAX_STEPS):
        model = quadratic_model(loss, y, weights, values + b)
        C, target = centred_moments(Psi, model.target, model.weights, centre=fit_intercept)
        C[np.diag_indices_from(C)] += ridge
        move = dposv(C, target, lower=1)[1] - u
        moved = Psi @ move
        rest = model.target - values - b - moved
        b_move = float(model.weights @ rest / model.weights.sum()) if fit_intercept else 0.0
        before, t = here, 1.0
        for _ in range(HALVINGS):
            z = values + b + t * (moved + b_move)
            here = float(weights @ loss.value(y, z)) + ridge * float(np.sum((u + t * move) ** 2))
            if here <= before:
                break
            t /= 2
        if not here <= before:
            break
        u, values, b = u + t * move, values + t * moved, b + t * b_move
        if isinstance(loss, Squared) or here >= before - PRECISION * abs(before):
            break
    if fit_intercept:
        b = loss.best_intercept(y, values, weights)
    return np.asarray(-weights * loss.gradient(y, values + b) / (2 * ridge)), np.asarray(u)
