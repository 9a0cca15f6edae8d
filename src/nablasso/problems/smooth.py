r"""(P) with any smooth loss: a sequence of squared-loss problems.

At predictions ``z`` the loss is replaced by its second-order expansion ``sum_i q_i (t_i - z_i)^2``
(:func:`~nablasso.regression.machine.quadratic_model`). With ``c = sum q`` this *model* is (P) with
the squared loss, targets ``t``, weights ``q / c``, ``alpha / c`` and ``lambda / c``: everything
known about the squared loss applies. A solution of the model has the same ``u`` and ``c`` times its
``s``.

Three minimisations run this way, each with a line search on the true objective
(:func:`descend`) that makes it converge from anywhere, and each with quadratic convergence:

* the dual point at ``s``: a machine with offset ``D'v`` (O(n^3) a step),
* the flat function and with it ``alpha_max``: conjugate gradients in each model,
* (P) itself: :class:`nablasso.solvers.Newton`.

**Certificate.** A model's ``u`` may lie outside the domain of the loss's conjugate. With
``u' = -p l'(y, z) / (2 lambda)`` at the model's predictions, its best intercept included, it lies
inside and adds up to zero; ``(u', s)`` is a dual point of (P) with a function of its own, whose gap
is a true bound. ``u' - u`` is the remainder of the expansion, so the gap follows that of the model
as the steps get short.

**Features.** In a space of features on rows in memory a model needs the rows only by their moments:
it is (P) on pseudo-rows (:mod:`nablasso.spaces.features`), one pass over the rows, O(n m^2), and
then O(d m^2) a product. The slopes' moments ``S`` belong to the penalty and are the same in all
models, so dual variables ``s`` carry over. A model's dual point has ``w``; with predictions
``z = b + Phi w`` its multipliers on the rows are ``u = q (t - z) / lambda``, and
``w = Phi' u - sum_a omega_a * R' v_a`` because the model's ``u`` is the best one for its ``s``. So
``(u, s)`` is a dual point of (P) as in the exact space, and the gap is that of (P) on all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nablasso.losses import Squared
from nablasso.problems.base import (
    ABOVE,
    BLOWN_UP,
    DAMPING,
    DualPoint,
    Problem,
    SquaredProblem,
    between,
)
from nablasso.regression.machine import (
    GramRows,
    Machines,
    OnFeatures,
    QuadraticModel,
    quadratic_model,
)
from nablasso.regression.ridge import WeightedRidge
from nablasso.spaces import FeatureRows, FeatureSpace, PseudoRows
from nablasso.types import Array

HALVINGS = 30
FLAT_STEPS = 50
LOOSE = 1e-3  # accuracy of the flat models while Newton's steps are long
ARRIVED = 1e-12  # relative decrease at which the flat function is found


@dataclass(frozen=True)
class LocalModel:
    """The squared-loss problem that stands for (P) near some predictions."""

    problem: SquaredProblem
    scale: float  # c: the sum of the curvatures

    def lift(self, point: DualPoint) -> DualPoint:
        """The model's dual point in the units of (P)."""
        return point._replace(s=point.s * self.scale)


@dataclass(frozen=True)
class CompressedModel(LocalModel):
    """A model on pseudo-rows, and the way back to the rows of ``space``."""

    pseudo: FeatureSpace
    space: FeatureSpace
    expansion: QuadraticModel
    ridge: float  # of (P)

    def lift(self, point: DualPoint) -> DualPoint:
        """The model's dual point on the rows, in the units of (P).

        Its function is computed from ``u``: where the loss is flat targets are far away, and ``w``
        itself would be another one by their rounding.
        """
        v, rows = self.problem.coefficient(point.s), self.pseudo.rows
        assert isinstance(rows, PseudoRows)
        w = self.pseudo.coefficients(point.u, v)
        values = self.space.rows.at_rows(w) + rows.intercept(w)
        u = self.expansion.weights * (self.expansion.target - values) / self.ridge
        return DualPoint(point.s * self.scale, u, *self.space.products(u, v))


@dataclass(frozen=True, kw_only=True)
class SmoothProblem(Problem):
    """(P) with a loss other than the squared one."""

    @property
    def machines(self) -> Machines:
        """(P) without its penalty."""
        data, space = (self.y, self.weights, self.fit_intercept), self.space
        if isinstance(space, FeatureSpace) and isinstance(space.rows, FeatureRows):
            return Machines(self.loss, OnFeatures(space.rows), *data)
        return Machines(self.loss, GramRows(space.gram), *data)

    def predictions(self, point: DualPoint) -> Array:
        """Values of a point's function with its best intercept."""
        return point.values + self._best_intercept(point.values)

    def model(self, point: DualPoint) -> LocalModel:
        """Second-order model of (P) at a point: one O(n^3) inversion, or a pass over the rows."""
        expansion = quadratic_model(self.loss, self.y, self.weights, self.predictions(point))
        scale = float(expansion.weights.sum())
        weights, ridge = expansion.weights / scale, self.ridge / scale
        shared: dict[str, Any] = {
            "loss": Squared(),
            "penalty": self.penalty,
            "alpha": self.alpha / scale,
            "ridge": ridge,
        }
        if isinstance(self.space, FeatureSpace):
            pseudo = self.space.compressed(
                expansion.target, weights, fit_intercept=self.fit_intercept
            )
            problem = SquaredProblem(**shared, **on_pseudo_rows(pseudo, ridge))
            return CompressedModel(problem, scale, pseudo, self.space, expansion, self.ridge)
        inverse = WeightedRidge(self.space.gram, weights, ridge, fit_intercept=self.fit_intercept)
        problem = SquaredProblem(
            **shared,
            space=self.space,
            y=expansion.target,
            weights=weights,
            fit_intercept=self.fit_intercept,
            penalty_weights=self.weights if self.penalty_weights is None else self.penalty_weights,
            P=inverse.matrix(),
        )
        return LocalModel(problem, scale)

    def dual_point(self, s: Array) -> DualPoint:
        """Eliminate ``u`` at ``s``: a machine whose offset is ``D'v``."""
        v = self.coefficient(s)
        Dv, carry = self.space.push(v)
        u = self.machines.at(self.ridge, Dv).dual
        g = self.space.pull(u, v, carry) * self.root
        return DualPoint(s, u, self.space.kernel_product(u) + Dv, g)

    def certificate(self, point: DualPoint) -> DualPoint:
        """A dual feasible point near a model's point: one product."""
        u = -self.weights * self.loss.gradient(self.y, self.predictions(point)) / (2 * self.ridge)
        move, nothing = u - point.u, np.zeros(self.space.points.shape)
        values = point.values + self.space.kernel_product(move)
        g = point.g + self.space.gradients(move, nothing) * self.root
        return DualPoint(point.s, u, values, g)

    def flat_dual(self) -> Array:
        """Multiplier of the best function that is flat at the penalty points.

        Newton's method; each model is solved by :meth:`SquaredProblem.flat_dual`.
        """
        return self._flat()[0]

    def alpha_max_and_scale(self) -> tuple[float, float]:
        """``alpha_max`` twice, unless it is blown up; the damped form is the last model's."""
        s, model = self._flat()
        exact = ABOVE * self.gauge(s)
        damped = model.problem.flat_dual(damping=DAMPING, direct=False)
        scale = model.scale * self.gauge(damped)
        return exact, (exact if exact <= BLOWN_UP * scale else scale)

    def _flat(self) -> tuple[Array, LocalModel]:
        """The flat function's multiplier and the model it solves."""
        free = replace(self, alpha=0.0)
        nothing = np.zeros(self.space.points.shape)
        here = DualPoint(nothing, np.zeros_like(self.y), np.zeros_like(self.y), nothing)
        before, tight = free.objective(here), False
        for _ in range(FLAT_STEPS):
            model = free.model(here)
            start, accuracy = here.s / model.scale, 1e-8 if tight else LOOSE
            s = model.problem.flat_dual(accuracy, direct=tight, start=start)
            there = model.lift(model.problem.dual_point(s))
            here, now = descend(free.objective, here, there)
            drop, before = before - now, now
            if tight and drop <= ARRIVED * self.reference:
                break
            tight = tight or drop <= LOOSE**2 * self.reference
        return there.s, model


def on_pseudo_rows(space: FeatureSpace, ridge: float) -> dict[str, Any]:
    """What :class:`SquaredProblem` takes from a space of pseudo-rows, each of weight one."""
    rows = space.rows
    assert isinstance(rows, PseudoRows)
    return {
        "space": space,
        "y": rows.y,
        "weights": np.ones(rows.n_samples),
        "fit_intercept": False,  # the means are removed from the moments
        "penalty_weights": np.ones(len(space.points)),
        "P": rows.ridge_inverse(ridge),
    }


def descend(
    objective: Callable[[DualPoint], float], here: DualPoint, there: DualPoint
) -> tuple[DualPoint, float]:
    """Go from ``here`` towards ``there``, halving the way until the objective does not rise."""
    start, t = objective(here), 1.0
    for _ in range(HALVINGS):
        point = between(here, there, t)
        value = objective(point)
        if value <= start:
            return point, value
        t /= 2
    return here, start
