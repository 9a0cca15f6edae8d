r"""(P) with any smooth loss: a sequence of squared-loss problems.

At predictions ``z`` the loss is replaced by its second-order expansion ``sum_i q_i (t_i - z_i)^2``
(:func:`~nablasso.spaces.quadratic_model`). With ``c = sum q`` this *model* is (P) with the squared
loss, targets ``t``, weights ``q / c``, ``alpha / c`` and ``lambda / c``: everything known about the
squared loss applies. A solution of the model has the same ``u`` and ``c`` times its ``s``.

Three minimisations run this way, each with a line search on the true objective
(:func:`descend`) that makes it converge from anywhere, and each with quadratic convergence:

* the dual point at ``s``: a kernel machine with offset ``D'v`` (O(n^3) a step),
* the flat function and with it ``alpha_max``: conjugate gradients in each model,
* (P) itself: :class:`nablasso.solvers.Newton`.

**Certificate.** A model's ``u`` may lie outside the domain of the loss's conjugate. With
``u' = -p l'(y, z) / (2 lambda)`` at the model's predictions, its best intercept included, it lies
inside and adds up to zero; ``(u', s)`` is a dual point of (P) with a function of its own, whose gap
is a true bound. ``u' - u`` is the remainder of the expansion, so the gap follows that of the model
as the steps get short.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nablasso.losses import Squared
from nablasso.problems.base import ABOVE, DualPoint, Problem, between
from nablasso.problems.squared import BLOWN_UP, DAMPING, SquaredProblem
from nablasso.spaces import WeightedRidge, dual_feasible, kernel_machine, quadratic_model
from nablasso.types import Array

HALVINGS = 30
FLAT_STEPS = 50
LOOSE = 1e-3  # accuracy of the flat models while Newton's steps are long
ARRIVED = 1e-12  # relative decrease at which the flat function is found


@dataclass(frozen=True)
class Model:
    """The squared-loss problem that stands for (P) near some predictions."""

    problem: SquaredProblem
    scale: float  # c: the sum of the curvatures

    def lift(self, point: DualPoint) -> DualPoint:
        """The model's dual point in the units of (P)."""
        return point._replace(s=point.s * self.scale)


@dataclass(frozen=True, kw_only=True)
class SmoothProblem(Problem):
    """(P) with a loss other than the squared one."""

    def predictions(self, point: DualPoint) -> Array:
        """Values of a point's function with its best intercept."""
        return point.values + self._best_intercept(point.values)

    def model(self, point: DualPoint) -> Model:
        """Second-order model of (P) at a point: one O(n^3) inversion."""
        expansion = quadratic_model(self.loss, self.y, self.weights, self.predictions(point))
        scale = float(expansion.weights.sum())
        weights, ridge = expansion.weights / scale, self.ridge / scale
        inverse = WeightedRidge(self.space.gram, weights, ridge, fit_intercept=self.fit_intercept)
        problem = SquaredProblem(
            loss=Squared(),
            penalty=self.penalty,
            space=self.space,
            y=expansion.target,
            weights=weights,
            alpha=self.alpha / scale,
            ridge=ridge,
            fit_intercept=self.fit_intercept,
            penalty_weights=self.weights if self.penalty_weights is None else self.penalty_weights,
            P=inverse.matrix(),
        )
        return Model(problem, scale)

    def dual_point(self, s: Array) -> DualPoint:
        """Eliminate ``u`` at ``s``: a kernel machine whose offset is ``D'v``."""
        v = self.coefficient(s)
        Dv, carry = self.space.push(v)
        machine = kernel_machine(
            self.loss,
            self.space.gram,
            self.y,
            self.weights,
            self.ridge,
            fit_intercept=self.fit_intercept,
            offset=Dv,
        )
        g = self.space.pull(machine.u, v, carry) * self.root
        return DualPoint(s, machine.u, machine.predictions - machine.intercept, g)

    def certificate(self, point: DualPoint) -> DualPoint:
        """A dual feasible point near a model's point: one product."""
        offset = point.values - self.space.gram @ point.u
        machine = dual_feasible(
            self.loss,
            self.space.gram,
            self.y,
            self.weights,
            self.ridge,
            self.predictions(point),
            offset,
            fit_intercept=self.fit_intercept,
        )
        nothing = np.zeros(self.space.points.shape)
        change = self.space.gradients(machine.u - point.u, nothing) * self.root
        values = machine.predictions - machine.intercept
        return DualPoint(point.s, machine.u, values, point.g + change)

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

    def _flat(self) -> tuple[Array, Model]:
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
