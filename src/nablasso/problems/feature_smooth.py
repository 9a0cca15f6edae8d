r"""(P) with any smooth loss in a space of Fourier features, on rows in memory.

The sequence of squared-loss problems of :mod:`nablasso.problems.smooth`, where a model needs the
rows only by their moments: with the weights ``q / c`` and targets ``t`` of the expansion it is (P)
on pseudo-rows (:mod:`nablasso.spaces.compressed`), one pass over the rows, O(n m^2), and then
O(d m^2) a product. The slopes' moments ``S`` belong to the penalty and are the same in all models,
so dual variables ``s`` carry over.

**Back to the rows.** A model's dual point has ``w``; with predictions ``z = b + Phi w`` its
multipliers on the rows are ``u = q (t - z) / lambda``, and ``w = Phi' u - sum_a omega_a * R' v_a``
because the model's ``u`` is the best one for its ``s``. So ``(u, s)`` is a dual point of (P) as in
the exact space, :meth:`certificate` moves ``u`` into the domain of the loss's conjugate, and the
gap is that of (P) on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.losses import Squared
from nablasso.problems.base import DualPoint
from nablasso.problems.smooth import Model, SmoothProblem
from nablasso.problems.squared import SquaredProblem
from nablasso.spaces import (
    FeatureRows,
    FeatureSpace,
    MachineData,
    feature_machine,
    quadratic_model,
)
from nablasso.spaces.kernel_machine import QuadraticModel
from nablasso.types import Array


@dataclass(frozen=True)
class FeatureModel(Model):
    """A model on pseudo-rows, and the way back."""

    compressed: FeatureSpace
    rows: FeatureRows
    expansion: QuadraticModel
    ridge: float  # of (P)

    def lift(self, point: DualPoint) -> DualPoint:
        """The model's dual point on the rows, in the units of (P).

        Its function is computed from ``u``: where the loss is flat targets are far away, and ``w``
        itself would be another one by their rounding.
        """
        v = self.problem.coefficient(point.s)
        w = self.compressed.coefficients(point.u, v)
        values = self.rows.at_rows(w) + self.compressed.intercept(w)
        u = self.expansion.weights * (self.expansion.target - values) / self.ridge
        return DualPoint(point.s * self.scale, u, *self.rows.products(u, v))


@dataclass(frozen=True, kw_only=True)
class FeatureSmoothProblem(SmoothProblem):
    """(P) with a loss other than the squared one, in the space of ``rows``."""

    rows: FeatureRows

    def model(self, point: DualPoint) -> Model:
        """Second-order model of (P) at a point: one pass over the rows."""
        expansion = quadratic_model(self.loss, self.y, self.weights, self.predictions(point))
        scale = float(expansion.weights.sum())
        ridge = self.ridge / scale
        space = self.rows.compressed(
            expansion.target, expansion.weights / scale, fit_intercept=self.fit_intercept
        )
        problem = SquaredProblem(
            loss=Squared(),
            penalty=self.penalty,
            space=space,
            y=space.y,
            weights=np.ones(space.n_samples),
            alpha=self.alpha / scale,
            ridge=ridge,
            fit_intercept=False,
            penalty_weights=np.ones(len(space.points)),
            P=space.ridge_inverse(ridge),
        )
        return FeatureModel(problem, scale, space, self.rows, expansion, self.ridge)

    def dual_point(self, s: Array) -> DualPoint:
        """Eliminate ``u`` at ``s``: a machine on features whose offset is ``D'v``."""
        Dv, carry = self.rows.push(self.coefficient(s))
        data = MachineData(self.loss, self.rows, self.y, self.weights, self.fit_intercept)
        machine = feature_machine(data, self.ridge, Dv)
        return self._feasible(s, machine.predictions, carry)

    def certificate(self, point: DualPoint) -> DualPoint:
        """A dual feasible point near a model's point: one product."""
        carry = -self.rows.slopes.adjoint(self.coefficient(point.s))
        return self._feasible(point.s, self.predictions(point), carry)

    def _feasible(self, s: Array, z: Array, carry: Array) -> DualPoint:
        """The point at ``s`` with ``u = -p l'(y, z) / (2 lambda)``."""
        u = -self.weights * self.loss.gradient(self.y, z) / (2 * self.ridge)
        w = self.rows.adjoint(u) + carry
        return DualPoint(s, u, self.rows.at_rows(w), -self.rows.slopes.apply(w))
