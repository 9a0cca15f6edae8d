r"""Machines on features: any loss, a ridge, and no derivative penalty.

.. math:: \min_{c, b} \sum_i p_i\, l(y_i, o_i + b + c \cdot \varphi(x_i)) + \lambda |c|^2

with an offset ``o``: what :mod:`nablasso.spaces.kernel_machine` solves, in O(n m^2) a Newton step
instead of O(n^3). Each step is ridge regression on moments with the weights ``q`` and targets ``t``
of the quadratic model, and a line search on the true objective.

**Optimality** is ``c = Phi' u`` with ``u = -p l'(y, z) / (2 lambda)``; that ``u`` is returned.

**Leave-one-out** to second order: with the leverages ``h`` of the last regression the prediction of
row ``i`` without it is ``z_i - (t_i - z_i) h_i / (1 - h_i)``, exact for the squared loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from nablasso.losses import Loss
from nablasso.spaces.feature_rows import FeatureRows
from nablasso.spaces.fourier import FourierFeatures
from nablasso.spaces.function import Function
from nablasso.spaces.kernel_machine import (
    HALVINGS,
    MAX_STEPS,
    PATIENCE,
    PRECISION,
    quadratic_model,
)
from nablasso.spaces.kernel_ridge import SMALLEST_MACHINE, Refit
from nablasso.spaces.ridge import RIDGE_GRID
from nablasso.types import Array, Index


class FeatureMachine(NamedTuple):
    """``c`` (m,), the intercept, and predictions (n,), offset and intercept included."""

    c: Array
    intercept: float
    predictions: Array


class BestFeatureMachine(NamedTuple):
    """A machine, its ridge and its predictions of left-out rows."""

    machine: FeatureMachine
    ridge: float
    left_out: Array


class MachineData(NamedTuple):
    """What a machine is fitted to; ``weights`` add up to one."""

    loss: Loss
    rows: FeatureRows
    y: Array
    weights: Array
    fit_intercept: bool

    @property
    def trace(self) -> float:
        """Trace of the features' covariance: the natural unit of the ridge."""
        moments = self.rows.moments(self.y, self.weights)
        return float(np.trace(moments.C if self.fit_intercept else moments.uncentred()[0]))

    def objective(self, z: Array, c: Array, ridge: float) -> float:
        """Loss at predictions ``z`` and the ridge."""
        return float(self.weights @ self.loss.value(self.y, z)) + ridge * float(c @ c)

    def intercept(self, z: Array) -> float:
        """The best one on top of ``z``."""
        return self.loss.best_intercept(self.y, z, self.weights) if self.fit_intercept else 0.0


def feature_machine(
    data: MachineData, ridge: float, offset: Array | None = None, start: Array | None = None
) -> FeatureMachine:
    """Solve from ``start``, an (m,) vector ``c`` (zero by default)."""
    o = np.zeros_like(data.y) if offset is None else offset
    c = np.zeros(data.rows.features.n_components) if start is None else start
    z = o + data.rows.at_rows(c)
    z = z + data.intercept(z)
    here = data.objective(z, c, ridge)
    for _ in range(MAX_STEPS):
        step = _Step(data, z, o, ridge)
        before, t = here, 1.0
        for _ in range(HALVINGS):
            trial, values = c + t * (step.c - c), z + t * (step.values - z)
            here = data.objective(values, trial, ridge)
            if here <= before:
                break
            t /= 2
        if not here <= before:
            break
        c, z = trial, values
        if here >= before - PRECISION * abs(before):
            break
    z = o + data.rows.at_rows(c)
    b = data.intercept(z)
    return FeatureMachine(c, b, z + b)


class _Step:
    """One Newton step: ridge regression with the weights and targets of the quadratic model."""

    def __init__(self, data: MachineData, z: Array, offset: Array, ridge: float) -> None:
        self.data, self.model = data, quadratic_model(data.loss, data.y, data.weights, z)
        q, t = self.model.weights, self.model.target - offset
        moments = data.rows.moments(t, q)
        total = moments.weight
        C, cross = (moments.C, moments.c) if data.fit_intercept else moments.uncentred()[:2]
        A = C.copy()
        A[np.diag_indices_from(A)] += ridge / total
        self.factor, self.total = cho_factor(A, lower=True, check_finite=False), total
        self.mean = moments.mean if data.fit_intercept else np.zeros_like(moments.mean)
        self.c = cho_solve(self.factor, cross, check_finite=False)
        b = moments.y_mean - float(self.c @ self.mean) if data.fit_intercept else 0.0
        self.values = offset + b + data.rows.at_rows(self.c)

    def leverages(self) -> Array:
        """``h``: how far a prediction follows its own target."""
        own = 1.0 if self.data.fit_intercept else 0.0
        out = np.empty(len(self.data.y))
        for rows in self.data.rows.chunks():
            psi = self.data.rows.phi(rows) - self.mean
            solved = cho_solve(self.factor, psi.T, check_finite=False)
            out[rows] = own + np.einsum("ij,ji->i", psi, solved)
        return np.asarray(out * self.model.weights / self.total)


def best_feature_machine(data: MachineData, floor: float = 0.0) -> BestFeatureMachine:
    """The machine of smallest leave-one-out loss, one ridge per decade of the grid.

    From the largest ridge down with warm starts, until ``PATIENCE`` ridges in a row were worse.
    """
    grid = RIDGE_GRID[::4]
    ridges = (data.trace or 1.0) * grid[grid >= max(floor, SMALLEST_MACHINE)]
    best: BestFeatureMachine | None = None
    score, worse, c = np.inf, 0, None
    for ridge in np.sort(ridges)[::-1]:
        machine = feature_machine(data, float(ridge), start=c)
        c, z = machine.c, machine.predictions
        step = _Step(data, z, np.zeros_like(z), float(ridge))
        h = np.minimum(step.leverages(), 1 - 1e-10)
        left_out = z - (step.model.target - z) * h / (1 - h)
        found = float(data.weights @ data.loss.value(data.y, left_out))
        worse += 1
        if best is None or found < score * (1 - 1e-10):
            best, score, worse = BestFeatureMachine(machine, float(ridge), left_out), found, 0
        if worse == PATIENCE:
            break
    assert best is not None
    return best


def feature_refit(data: MachineData, features: FourierFeatures, columns: Index) -> Refit:
    """The machine at its best ridge as a function of these columns of the input."""
    machine, ridge, left_out = best_feature_machine(data)
    function = Function(machine.intercept, columns, features, machine.c)
    return Refit(function, ridge, data.y - left_out)
