"""Families of problems: one table, one kernel, one loss, one penalty; any ridge, any alpha.

A :class:`Family` holds what all its problems share: the space, and for the squared loss the
eigendecomposition of the kernel.
:func:`walk_path` runs from small alpha upwards: in the dual a small ball is the easy problem, and
its solution is inside the next ball.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nablasso.exceptions import InvalidParameterError
from nablasso.kernels import Kernel
from nablasso.losses import Loss, Squared
from nablasso.penalties import Penalty
from nablasso.preparation import Table
from nablasso.problems import Problem, SmoothProblem, SquaredProblem
from nablasso.solvers import Solution, Solver, Status
from nablasso.spaces import (
    SMALLEST_MACHINE,
    Function,
    PenaltyPoints,
    Refit,
    RepresenterSpace,
    RidgeInverse,
    kernel_ridge,
    kernel_trace,
    length_scale,
    machine_on_grid,
    machine_refit,
    require_memory,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ON_SPHERE = 1e-8  # relative distance from the sphere that is rounding
RIDGE_FLOOR = 1e-5
DEFAULT_FRACTION = 0.1  # alpha=None means this fraction of alpha_max


@dataclass(frozen=True)
class Formulation:
    """What the user asked for, apart from ``alpha`` and ``ridge``.

    ``penalty`` makes the penalty for a table from the table's columns. Thresholds of ``loss`` are
    in units of a robust deviation of the table's ``y``.
    """

    kernel: Kernel
    length_scale: str | float
    penalty: Callable[[NDArray[np.intp]], Penalty]
    fit_intercept: bool
    loss: Loss = field(default_factory=Squared)


class Family:
    """All problems (P) of one formulation on one table.

    ``points`` are penalty points besides the data (:mod:`nablasso.spaces.penalty_points`);
    ``metric`` multiplies each column before the kernel sees it (:mod:`nablasso.metric`).
    """

    def __init__(
        self,
        table: Table,
        formulation: Formulation,
        multiplier: float = 1.0,
        points: PenaltyPoints | None = None,
        metric: Array | None = None,
    ) -> None:
        require_memory(len(table.X) if points is None else len(points.weights), table.X.shape[1])
        self.table = table
        self.formulation = formulation
        self.multiplier = multiplier
        self.points = points
        self.metric = np.ones(table.X.shape[1]) if metric is None else metric
        self.loss = formulation.loss.fitted(table.y, table.weights)
        self.penalty = formulation.penalty(table.columns)
        self.width = self._width(table.X * self.metric)
        scales = self.metric / self.width
        extra = None if points is None else points.extra
        self.space = RepresenterSpace(formulation.kernel, table.X, scales, extra)

    def with_target(self, y: Array) -> Self:
        """The same family with another target; the space is shared."""
        other = copy(self)
        other.table = replace(self.table, y=y)
        other.loss = self.formulation.loss.fitted(y, self.table.weights)
        return other

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
        return kernel_trace(self.space.gram, weights, fit_intercept=intercept)

    @cached_property
    def inverse(self) -> RidgeInverse:
        """Eigendecomposition of the kernel, shared by all ridges."""
        return RidgeInverse(
            self.space.gram, self.table.weights, fit_intercept=self.formulation.fit_intercept
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
        gram, floor = self.space.gram, RIDGE_FLOOR
        return machine_on_grid(
            self.loss, gram, table.y, table.weights, fit_intercept=intercept, floor=floor
        ).ridge

    def problem(self, ridge: float, alpha: float = 0.0) -> Problem:
        """The problem at one ridge and alpha."""
        smallest = (
            self.inverse.smallest_ridge
            if self.is_squared
            else SMALLEST_MACHINE * (self.trace or 1.0)
        )
        if not smallest <= ridge < np.inf:
            raise InvalidParameterError(
                f"ridge must be positive: without it f can pass through every y with zero "
                f"derivatives. Got {ridge!r}; the smallest usable value here is {smallest:.1e}, "
                f"and ridge=None chooses {self.best_ridge():.1e} by leave-one-out."
            )
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

    def refit(self, support: Mask) -> Refit:
        """A kernel machine with the same loss on the supported columns of the table."""
        table, kernel = self.table, self.formulation.kernel
        X, columns = table.X[:, support], table.columns[support]
        metric = self.metric[support]
        scales = metric / (self._width(X * metric) if support.any() else 1.0)
        intercept = self.formulation.fit_intercept
        data = (kernel, X, table.y, table.weights, columns)
        if self.is_squared:
            return kernel_ridge(*data, scales=scales, fit_intercept=intercept)
        return machine_refit(self.loss, *data, scales=scales, fit_intercept=intercept)

    def function(self, solution: Solution) -> Function:
        """The penalised function of a solution."""
        coef = solution.coef
        return Function(coef.intercept, self.table.columns, self.space, coef.u, coef.v)

    def steepness(
        self, solution: Solution, Z: Array | None = None, weights: Array | None = None
    ) -> float:
        """Sum of the derivative norms at other points ``Z``, relative to that at the data.

        Far above one, f is flat at the data and steep between them: its penalty measures nothing.
        Without ``Z`` the points are the data moved a quarter of the way to another row.
        """
        X = self.table.X
        if Z is None:
            Z, weights = X + 0.25 * (np.roll(X, 1, axis=0) - X), self.table.weights
        gradients = self.space.evaluate_gradients(Z, solution.coef.u, solution.coef.v)
        there = float(np.sqrt(np.average(gradients**2, axis=0, weights=weights)).sum())
        here = float(np.sqrt(np.sum(solution.point.g**2, axis=0)).sum())
        return there / here if here > 0 else 1.0

    def _width(self, X: Array) -> float:
        rule = self.formulation.length_scale
        weights = self.table.weights
        return length_scale(self.formulation.kernel, X, weights, rule, self.multiplier)


def alpha_grid(alpha_max: float, n_alphas: int, eps: float) -> Array:
    """``n_alphas`` values from ``alpha_max`` down to ``eps * alpha_max``, equal ratios."""
    return alpha_max * np.logspace(0, np.log10(eps), n_alphas)


def walk_path(
    problem: Problem, alphas: Array, solver: Solver[Any], flat: Array | None = None
) -> Iterator[tuple[Problem, Solution]]:
    """Solutions at increasing ``alphas``, each warm-started from those before.

    ``flat`` is ``problem.flat_dual()``, the solution from ``alpha_max`` on, where known: towards
    the top of the path starts are interpolated to it. An interrupted solve ends the walk: half a
    path is for the caller to judge.
    """
    done: list[tuple[float, Array]] = []
    for alpha in alphas:
        here = replace(problem, alpha=float(alpha))
        solution = solver.solve(here, _warm_start(here, done, flat))
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        yield here, solution
        done = [*done[-1:], (here.alpha, solution.point.s)]


def _warm_start(
    problem: Problem, done: list[tuple[float, Array]], flat: Array | None
) -> Array | None:
    """Of the starts at hand, the one with the best dual value.

    The last solution carried on along the line through the one before it, and the last solution
    moved towards ``flat``. Both are affine in alpha, as the path itself nearly is.
    """
    if not done:
        return None
    last, s = done[-1]
    starts = [s]
    if len(done) > 1 and last > done[0][0]:
        before, s_before = done[0]
        starts = [s + (s - s_before) * ((problem.alpha - last) / (last - before))]
    top = 0.0 if flat is None else problem.gauge(flat)
    if flat is not None and top > last:
        t = min(1.0, (problem.alpha - last) / (top - last))
        starts.append(s + t * (flat - s))
    if len(starts) == 1:
        return starts[0]
    return max(starts, key=lambda s: problem.primal_dual(problem.feasible_point(s))[1])


def support_of(problem: Problem, solution: Solution) -> Mask:
    """Which variables are in: dual norm on the sphere and derivative norm not rounding.

    A variable whose derivative norm the gap proves positive is in too: at a loose tolerance its
    dual norm may not have reached the sphere yet. Whole groups are in or out; unpenalised groups
    are always in.
    """
    penalty, partition = problem.penalty, problem.penalty.partition
    derivative = partition.norms(solution.point.g)
    dual = partition.norms(solution.point.s)
    on_sphere = dual >= penalty.radius(problem.alpha) * (1 - ON_SPHERE)
    proven = problem.derivative_bounds(solution.point)[0] > 0
    proven = np.bincount(partition.labels, weights=proven, minlength=partition.n_groups) > 0
    size = max(float(derivative.max(initial=0.0)), float(np.sqrt(problem.reference)))
    threshold = np.sqrt(np.finfo(float).eps) * size
    chosen = ((on_sphere | proven) & (derivative > threshold)) | (penalty.weights == 0)
    return np.asarray(partition.spread(chosen), dtype=bool)
