r"""Machines: the smallest (P), without derivative penalty, for any loss; refits.

.. math:: \min_{f, b} \sum_i p_i\, l(y_i, o_i + b + f(x_i)) + \lambda \|f\|^2

with an offset ``o``, and ``f = K u`` of a Gram matrix or ``f = Phi c`` of features. Newton's
method: at predictions ``z`` the loss is replaced by the quadratic ``sum_i q_i (t_i - z_i)^2`` of
:meth:`LossSample.expansion`, whose minimiser is one weighted ridge regression; a line search on the
true objective makes it safe. Quadratic convergence; O(n^3) a step, or O(n m^2) on m features.

**Optimality** is ``u = -p l'(y, z) / (2 lambda)`` and ``c = Phi' u``. That ``u`` is returned as
``dual``: ``-2 lambda u / p`` always lies in the domain of the loss's conjugate and adds up to zero
with ``p`` where there is an intercept, a dual feasible point.

**Leave-one-out** without refitting: let ``h_i`` be the leverage of row ``i`` in the last weighted
regression. One Newton step for the left-out problem moves the prediction of row ``i`` to

.. math:: z_i + \frac{p_i l'_i}{2 q_i} \Big(\frac1{1 - h_i} - 1\Big), \qquad
          1 - h_i = \lambda P_{ii} / q_i ,

exact for the squared loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from nablasso.kernels import Kernel
from nablasso.losses import LossSample, Squared
from nablasso.regression.ridge import RIDGE_GRID, TIE, Ridge, WeightedRidge, moments_of
from nablasso.spaces import Function, RepresenterSpace
from nablasso.types import Array, Index

SMALLEST_MACHINE = 1e-7  # ridges below, in units of the trace, leave too few digits for Newton
MAX_STEPS = 100
HALVINGS = 40
PATIENCE = 2  # ridges in a row without a better leave-one-out loss
PRECISION = 1e-14  # relative decrease at which Newton's method has arrived


class GramRows:
    """``f = K u``: what a machine asks of the functions at the rows, with a kernel."""

    def __init__(self, gram: Array) -> None:
        self.gram = gram

    def values(self, coef: Array) -> Array:
        """``K u``."""
        return np.asarray(self.gram @ coef)

    def norm2(self, coef: Array, values: Array) -> float:
        """``u' K u``."""
        return float(coef @ values)

    def from_dual(self, u: Array) -> Array:
        """``u`` itself."""
        return u

    def regress(self, target: Array, weights: Array, ridge: float, *, fit_intercept: bool) -> Array:
        """One Cholesky factorisation, O(n^3)."""
        return WeightedRidge(self.gram, weights, ridge, fit_intercept=fit_intercept).solve(target)


class OnFeatures:
    """``f = Phi c``: the same on features ``Phi`` (n, m)."""

    def __init__(self, Phi: Array) -> None:
        self.Phi = Phi

    def values(self, coef: Array) -> Array:
        """``Phi c``."""
        return np.asarray(self.Phi @ coef)

    def norm2(self, coef: Array, values: Array) -> float:  # noqa: ARG002 of kernels
        """``|c|^2``."""
        return float(coef @ coef)

    def from_dual(self, u: Array) -> Array:
        """``Phi' u``."""
        return np.asarray(u @ self.Phi)

    def regress(self, target: Array, weights: Array, ridge: float, *, fit_intercept: bool) -> Array:
        """One pass over the rows, O(n m^2)."""
        A, cross = moments_of(self.Phi, target, weights, centre=fit_intercept)
        A[np.diag_indices_from(A)] += ridge
        factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        return np.asarray(cho_solve(factor, cross, check_finite=False))


class Machine(NamedTuple):
    """A fitted machine: coefficients and dual variable; ``predictions`` with offset, intercept."""

    coef: Array
    dual: Array
    intercept: float
    predictions: Array


class BestMachine(NamedTuple):
    """A machine, its ridge and its predictions of left-out rows."""

    machine: Machine
    ridge: float
    left_out: Array


@dataclass(frozen=True)
class Machines:
    """All machines on some rows."""

    smallest: ClassVar[float] = SMALLEST_MACHINE
    sample: LossSample
    rows: GramRows | OnFeatures

    @property
    def gram(self) -> Array:
        """``K``: what leaving rows out needs."""
        assert isinstance(self.rows, GramRows)
        return self.rows.gram

    @cached_property
    def trace(self) -> float:
        """The natural unit of the ridge: ``sum_i p_i K_ii``, less ``p' K p``."""
        p, K = self.sample.weights, self.gram
        trace = float(p @ np.diagonal(K))
        return trace - float(p @ K @ p) if self.sample.fit_intercept else trace

    def at(self, ridge: float, offset: Array | None = None, start: Array | None = None) -> Machine:
        """Solve; ``start`` is a dual variable to start from, zero by default."""
        rows, sample, centre = self.rows, self.sample, self.sample.fit_intercept
        o = np.zeros_like(sample.y) if offset is None else offset
        coef = rows.from_dual(np.zeros_like(sample.y) if start is None else start)
        f = rows.values(coef)
        b = sample.intercept(o + f)
        here = sample.mean_loss(o + b + f) + ridge * rows.norm2(coef, f)
        for _ in range(MAX_STEPS):
            model = sample.expansion(o + b + f)
            new = rows.regress(model.target - o, model.weights, ridge, fit_intercept=centre)
            move = new - coef
            f_move, b_move = rows.values(move), 0.0
            if centre:  # the model's own: the weighted mean of its residuals
                rest = model.target - o - b - f - f_move
                b_move = float(model.weights @ rest / model.weights.sum())
            before, t = here, 1.0
            for _ in range(HALVINGS):
                norm2 = rows.norm2(coef + t * move, f + t * f_move)
                here = sample.mean_loss(o + b + f + t * (b_move + f_move)) + ridge * norm2
                if here <= before:
                    break
                t /= 2
            if not here <= before:
                break
            coef, f, b = coef + t * move, f + t * f_move, b + t * b_move
            if isinstance(sample.loss, Squared) or here >= before - PRECISION * abs(before):
                break
        return self._finished(ridge, coef, o)

    def _finished(self, ridge: float, coef: Array, offset: Array) -> Machine:
        """The machine and its dual variable; on a kernel they are one and the same."""
        sample, values = self.sample, offset + self.rows.values(coef)
        b = sample.intercept(values)
        slopes = sample.loss.gradient(sample.y, values + b)
        dual = np.asarray(-sample.weights * slopes / (2 * ridge))
        if isinstance(self.rows, GramRows):
            coef, values = dual, offset + self.rows.values(dual)
            b = sample.intercept(values)
        return Machine(coef, dual, b, values + b)

    def left_out(self, ridge: float, z: Array) -> Array:
        """Predictions of each row by the machine fitted without it, to second order."""
        sample, q = self.sample, self.sample.expansion(z).weights
        fit = WeightedRidge(self.gram, q, ridge, fit_intercept=sample.fit_intercept)
        further = np.maximum(q / (ridge * fit.diagonal()) - 1, 0.0)
        slopes = sample.weights * sample.loss.gradient(sample.y, z)
        return np.asarray(z + slopes / (2 * q) * further)

    def best(self, floor: float = 0.0) -> BestMachine:
        """The machine of smallest leave-one-out loss, the largest ridge among ties.

        One ridge per decade of ``RIDGE_GRID``, at least ``floor`` of the trace, from the largest
        down with warm starts, until ``PATIENCE`` ridges in a row were worse than the best.
        """
        best: BestMachine | None = None
        score, worse, dual = np.inf, 0, None
        grid = RIDGE_GRID[::-4]
        for ridge in (self.trace or 1.0) * grid[grid >= max(floor, SMALLEST_MACHINE)]:
            machine = self.at(float(ridge), start=dual)
            dual = machine.dual
            left_out = self.left_out(float(ridge), machine.predictions)
            found = self.sample.mean_loss(left_out)
            worse += 1
            if best is None or found < score * (1 - TIE):
                best, score, worse = BestMachine(machine, float(ridge), left_out), found, 0
            if worse == PATIENCE:
                break
        assert best is not None
        return best


class Refit(NamedTuple):
    """A fitted machine, its ridge and its leave-one-out residuals ``y - z``."""

    function: Function
    ridge: float
    loo_residuals: Array


def refit(
    sample: LossSample,
    kernel: Kernel,
    X: Array,  # (n, d) selected columns only
    columns: Index,
    scales: Array,  # (d,)
) -> Refit:
    """The papers' refit ("debiasing") after selection: a machine on some columns.

    Of the ridge of smallest leave-one-out loss; the squared loss has closed forms. No columns give
    the best constant.
    """
    y = sample.y
    if X.shape[1] == 0:
        left_out = _left_out_intercepts(sample) if sample.fit_intercept else sample.null
        return Refit(Function(float(sample.null[0]), columns), 0.0, y - left_out)
    space = RepresenterSpace(kernel, X, scales)
    if isinstance(sample.loss, Squared):
        inverse = Ridge(space.gram, sample.weights, fit_intercept=sample.fit_intercept)
        ridge = inverse.best_ridge(y)
        u = inverse.coefficients(y, ridge)
        b = sample.intercept(space.gram @ u)
        return Refit(Function(b, columns, space, u), ridge, inverse.loo_residuals(y, ridge))
    best = Machines(sample, GramRows(space.gram)).best()
    function = Function(best.machine.intercept, columns, space, best.machine.coef)
    return Refit(function, best.ridge, y - best.left_out)


def _left_out_intercepts(sample: LossSample) -> Array:
    """Intercept without each row: one Newton step, exact for the squared loss."""
    y, p, z = sample.y, sample.weights, sample.null
    slopes, bends = p * sample.loss.gradient(y, z), p * sample.loss.curvature(y, z)
    rest = bends.sum() - bends
    return np.asarray(z + np.divide(slopes, rest, out=np.zeros_like(y), where=rest > 0))
