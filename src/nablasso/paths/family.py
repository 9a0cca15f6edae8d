"""Families of problems: one table, one kernel, one loss, one penalty; any ridge, any alpha.

A :class:`Family` holds what all its problems share: the space, and for the squared loss the
eigendecomposition of the kernel. It is the exact one; families in a space of features
(:mod:`nablasso.paths.feature_family`) and on landmark rows
(:mod:`nablasso.paths.landmark_family`) answer the same questions.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.kernels import Kernel
from nablasso.losses import Loss, Squared
from nablasso.penalties import Penalty
from nablasso.problems import Problem, SmoothProblem, SquaredProblem
from nablasso.solvers import Solution, Solver
from nablasso.spaces import (
    SMALLEST_MACHINE,
    Function,
    PenaltyPoints,
    Refit,
    RepresenterSpace,
    RidgeInverse,
    Space,
    SpaceChoice,
    kernel_ridge,
    kernel_trace,
    length_scale,
    machine_on_grid,
    machine_refit,
    require_memory,
)
from nablasso.types import Array, Index, Mask

RIDGE_FLOOR = 1e-5
# of the kernel's trace: ridge=0 means this. Rounding keeps the solver from a gap of 1e-5 below it
# (y = x1^2 in two columns, 20 rows).
RIDGE_LIMIT = 1e-7
DEFAULT_FRACTION = 0.1  # alpha=None means this fraction of alpha_max


@dataclass(frozen=True)
class Formulation:
    """What the user asked for, apart from ``alpha`` and ``ridge``.

    ``penalty`` makes the penalty for a table from the table's columns. Thresholds of ``loss`` are
    in units of a robust deviation of the table's ``y``.
    """

    kernel: Kernel
    length_scale: str | float
    penalty: Callable[[Index], Penalty]
    fit_intercept: bool
    loss: Loss = field(default_factory=Squared)


class Family:
    """All problems (P) of one formulation on one table.

    ``points`` are penalty points besides the data (:mod:`nablasso.spaces.penalty_points`);
    ``metric`` multiplies each column before the kernel sees it
    (:mod:`nablasso.regression.adaptive`).
    """

    def __init__(
        self,
        table: Table,
        formulation: Formulation,
        multiplier: float = 1.0,
        points: PenaltyPoints | None = None,
        metric: Array | None = None,
    ) -> None:
        self.table = table
        self.formulation = formulation
        self.multiplier = multiplier
        self.points = points
        self.metric = np.ones(table.X.shape[1]) if metric is None else metric
        self.loss = formulation.loss.fitted(table.y, table.weights)
        self.penalty = formulation.penalty(table.columns)
        self.width = self._width(table.X * self.metric)
        self.scales = self.metric / self.width
        self._build()

    space: Space
    choice: SpaceChoice | None = None  # where an estimator chose

    def approximation_error(
        self,
        problem: Problem,  # noqa: ARG002 the exact family needs none of them
        support: Mask,  # noqa: ARG002
        solver: Solver[Any],  # noqa: ARG002
    ) -> float:
        """How far the result is from that of the exact space: no way here."""
        return 0.0

    def _build(self) -> None:
        """Make the space."""
        extra = None if self.points is None else self.points.extra
        n_points = len(self.table.X) + (0 if extra is None else len(extra))
        require_memory(n_points, self.table.X.shape[1])
        self.exact = RepresenterSpace(self.formulation.kernel, self.table.X, self.scales, extra)
        self.space = self.exact

    def with_target(self, y: Array) -> Self:
        """The same family with another target; the space is shared."""
        other = copy(self)
        other.table = replace(self.table, y=y)
        other.loss = self.formulation.loss.fitted(y, self.table.weights)
        return other

    @property
    def y_scale(self) -> float:
        """Standard deviation of the target."""
        return self.table.y_scale

    @property
    def is_squared(self) -> bool:
        """Whether the loss is the squared one, which has closed forms."""
        return isinstance(self.loss, Squared)

    @cached_property
    def trace(self) -> float:
        """Trace of the weighted centred kernel: the natural unit of ``ridge``."""
        if self.is_squared:
            return self.inverse.trace
        weights, intercept = self.table.weights, self.formulation.fit_intercept
        return kernel_trace(self.exact.gram, weights, fit_intercept=intercept)

    @cached_property
    def inverse(self) -> RidgeInverse:
        """Eigendecomposition of the kernel, shared by all ridges."""
        return RidgeInverse(
            self.exact.gram, self.table.weights, fit_intercept=self.formulation.fit_intercept
        )

    def best_ridge(self) -> float:
        """Ridge of smallest leave-one-out loss of a kernel machine on all columns.

        With the squared loss that is kernel ridge regression, in closed form. Not less than
        ``RIDGE_FLOOR`` of the kernel's trace: below it a penalised f can be flat at the data and
        steep between them.
        """
        table, intercept = self.table, self.formulation.fit_intercept
        if self.is_squared:
            return self.inverse.best_ridge(table.y, RIDGE_FLOOR)
        gram, floor = self.exact.gram, RIDGE_FLOOR
        return machine_on_grid(
            self.loss, gram, table.y, table.weights, fit_intercept=intercept, floor=floor
        ).ridge

    def problem(self, ridge: float, alpha: float = 0.0) -> Problem:
        """The problem at one ridge and alpha."""
        ridge = self.usable_ridge(ridge)
        shared: dict[str, Any] = {
            "loss": self.loss,
            "penalty": self.penalty,
            "space": self.space,
            "y": self.table.y,
            "weights": self.table.weights,
            "alpha": alpha,
            "ridge": ridge,
            "fit_intercept": self.formulation.fit_intercept,
            "penalty_weights": None if self.points is None else self.points.weights,
        }
        if self.is_squared:
            return SquaredProblem(**shared, P=self.inverse.matrix(ridge))
        return SmoothProblem(**shared)

    @property
    def smallest_ridge(self) -> float:
        """Below this, rounding decides the solution."""
        if self.is_squared:
            return self.inverse.smallest_ridge
        return SMALLEST_MACHINE * (self.trace or 1.0)

    def usable_ridge(self, ridge: float) -> float:
        """The ridge itself; for zero the limit.

        At zero the problem has no unique solution: a function that is flat at the data may do
        anything between them. As ``ridge`` goes to zero its solutions go to the one of smallest
        norm, and ``RIDGE_LIMIT`` of the kernel's trace stands for that.
        """
        smallest = self.smallest_ridge
        if ridge == 0:
            return max(smallest, RIDGE_LIMIT * (self.trace or 1.0))
        if not smallest <= ridge < np.inf:
            raise InvalidParameterError(
                f"ridge must be positive, or zero for the limit: without it f can pass through "
                f"every y with zero derivatives. Got {ridge!r}; the smallest usable value here is "
                f"{smallest:.1e}, and ridge=None chooses {self.best_ridge():.1e} by leave-one-out."
            )
        return ridge

    def refit(self, support: Mask) -> Refit:
        """A kernel machine with the same loss on the supported columns of the table."""
        table, kernel = self.table, self.formulation.kernel
        X, columns = table.X[:, support], table.columns[support]
        scales = self._scales_of(support)
        intercept = self.formulation.fit_intercept
        data = (kernel, X, table.y, table.weights, columns)
        if self.is_squared:
            return kernel_ridge(*data, scales=scales, fit_intercept=intercept)
        return machine_refit(self.loss, *data, scales=scales, fit_intercept=intercept)

    def function(self, solution: Solution) -> Function:
        """The penalised function of a solution."""
        coef = solution.coef
        return Function(coef.intercept, self.table.columns, self.exact, coef.u, coef.v)

    def steepness(
        self, solution: Solution, Z: Array | None = None, weights: Array | None = None
    ) -> float:
        """Sum of the derivative norms at other points ``Z``, relative to that at the data.

        Far above one, f is flat at the data and steep between them: its penalty measures nothing.
        Without ``Z`` the points are the data moved a quarter of the way to another row.
        """
        X = self.table.X
        if Z is None:
            Z, weights = np.roll(X, 1, axis=0), self.table.weights
            Z -= X
            Z *= 0.25
            Z += X
        function = replace(self.function(solution), columns=np.arange(X.shape[1]))
        gradients = function.gradients(Z)
        shares = np.full(len(Z), 1 / len(Z)) if weights is None else weights / weights.sum()
        there = float(np.sqrt(np.einsum("ia,ia,i->a", gradients, gradients, shares)).sum())
        g = solution.point.g
        here = float(np.sqrt(np.einsum("ia,ia->a", g, g)).sum())
        return there / here if here > 0 else 1.0

    def _scales_of(self, support: Mask) -> Array:
        """Scales of the supported columns, the width measured anew."""
        metric = self.metric[support]
        if not support.any():
            return metric
        return np.asarray(metric / self._width(self.table.X[:, support] * metric))

    def _width(self, X: Array) -> float:
        rule = self.formulation.length_scale
        weights = self.table.weights
        return length_scale(self.formulation.kernel, X, weights, rule, self.multiplier)
