r"""Families of problems in a space of Fourier features: one pass over the rows, then any number.

What a problem needs of the rows are moments (:mod:`nablasso.spaces.moments`), computed once; each
problem is then (P) on pseudo-rows (:mod:`nablasso.spaces.compressed`), O(d m^2) a product. The
refit draws features of the selected columns alone, with the width measured on them: all m features
go where f is, and one more pass over the rows fits them.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from nablasso.data.table import Table, first_rows
from nablasso.errors import InvalidParameterError
from nablasso.paths.family import RIDGE_FLOOR, Family, Formulation
from nablasso.problems import Problem, SquaredProblem
from nablasso.solvers import Solution, Solver
from nablasso.spaces import (
    SMALLEST_RIDGE,
    FeatureRidge,
    FeatureSpace,
    FourierFeatures,
    Function,
    PenaltyPoints,
    Refit,
    draw_fourier,
    kernel_ridge,
    row_moments,
    slope_moments,
)
from nablasso.types import Array, Mask

STEEP_ROWS = 2000  # rows at which the steepness between the data is measured
PROBED = 100  # rows on which the problem is solved in the exact space too
PROBE_TOL, PROBE_STEPS = 1e-4, 300


class FeatureFamily(Family):
    """All problems (P) of one formulation on one table, with f in a space of Fourier features."""

    def __init__(
        self,
        table: Table,
        formulation: Formulation,
        multiplier: float = 1.0,
        points: PenaltyPoints | None = None,
        metric: Array | None = None,
        *,
        n_components: int = 512,
        sampling: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components, self.sampling, self.random_state = n_components, sampling, random_state
        super().__init__(table, formulation, multiplier, points, metric)

    def _build(self) -> None:
        if not self.is_squared:
            raise InvalidParameterError(
                f"Moments of rows serve the squared loss alone; got {self.loss!r}. Other losses "
                "need the rows at every step: use SmoothFeatureFamily."
            )
        self.features = self._draw(self.scales, self.table.X)
        self._compress()

    def _draw(self, scales: Array, X: Array) -> FourierFeatures:
        """Features of the kernel at these scales for the rows ``X``."""
        kernel, m = self.formulation.kernel, self.n_components
        return draw_fourier(kernel, scales, m, self.sampling, self.random_state, X)

    def _compress(self) -> None:
        """Moments of the rows, and (P) on pseudo-rows."""
        table, intercept = self.table, self.formulation.fit_intercept
        self.ridge = FeatureRidge(
            self.features, table.X, table.y, table.weights, fit_intercept=intercept
        )
        self.compressed = FeatureSpace(
            self.features, self.ridge.moments, fit_intercept=intercept, S=self._slopes()
        )
        self.space = self.compressed

    def _slopes(self) -> Array | None:
        """Moments of the slopes at all penalty points; None where these are the rows."""
        if self.points is None:
            return None
        Z = np.vstack([self.table.X, self.points.extra])
        moments = row_moments(self.features, Z, np.zeros(len(Z)), self.points.weights)
        return slope_moments(moments.uncentred()[0])

    def with_target(self, y: Array) -> Self:
        """The same family with another target: one more pass over the rows."""
        other = super().with_target(y)
        other._compress()
        return other

    @property
    def trace(self) -> float:
        """Trace of the features' covariance: the natural unit of ``ridge``."""
        return self.compressed.trace

    @property
    def smallest_ridge(self) -> float:
        """Below this, rounding decides the solution."""
        return SMALLEST_RIDGE * (self.trace or 1.0)

    def best_ridge(self) -> float:
        """Ridge of smallest leave-one-out error of ridge regression on the features."""
        return self.ridge.best_ridge(RIDGE_FLOOR)

    def problem(self, ridge: float, alpha: float = 0.0) -> Problem:
        """The problem at one ridge and alpha, on pseudo-rows of weight one."""
        ridge = self.usable_ridge(ridge)
        space = self.compressed
        return SquaredProblem(
            loss=self.loss,
            penalty=self.penalty,
            space=space,
            y=space.y,
            weights=np.ones(space.n_samples),
            alpha=alpha,
            ridge=ridge,
            fit_intercept=False,  # the means are removed from the moments
            penalty_weights=np.ones(len(space.points)),
            P=space.ridge_inverse(ridge),
        )

    def refit(self, support: Mask) -> Refit:
        """Ridge regression on features of the supported columns."""
        table, intercept = self.table, self.formulation.fit_intercept
        X, columns, scales = table.X[:, support], table.columns[support], self._scales_of(support)
        kernel = self.formulation.kernel
        if not support.any():
            data = (kernel, X, table.y, table.weights, columns)
            return kernel_ridge(*data, scales=scales, fit_intercept=intercept)
        ridge = FeatureRidge(
            self._draw(scales, X), X, table.y, table.weights, fit_intercept=intercept
        )
        return ridge.refit(columns)

    def function(self, solution: Solution) -> Function:
        """The penalised function of a solution."""
        w = self.compressed.coefficients(solution.coef.u, solution.coef.v)
        return Function(self.compressed.intercept(w), self.table.columns, self.features, w)

    def approximation_error(
        self,
        problem: Problem,
        support: Mask,  # noqa: ARG002 the functions are compared, not their supports
        solver: Solver[Any],
    ) -> float:
        """Of (P): its minimisers here and in the exact space, fitted to the same rows.

        Root mean squared difference at the rows after them, in deviations of ``y``, on ``PROBED``
        rows at the problem's alpha and ridge.
        """
        n = min(PROBED, len(self.table.X))
        sample = first_rows(self.table, n)
        formulation = replace(self.formulation, length_scale=self.width)
        exact = Family(sample, formulation, metric=self.metric)
        exact.loss = self.loss  # its thresholds are those of all rows
        ours = copy(self)
        ours.table, ours.points = sample, None
        ours._compress()
        rough = clone(solver).set_params(tol=PROBE_TOL, max_iter=PROBE_STEPS)
        others = slice(n, 2 * n) if len(self.table.X) > n else slice(n)
        Z = np.zeros((len(self.table.X[others]), int(self.table.columns.max()) + 1))
        Z[:, self.table.columns] = self.table.X[others]
        values = []
        for family in (ours, exact):
            there = family.problem(max(problem.ridge, family.smallest_ridge), problem.alpha)
            values.append(family.function(rough.solve(there)).values(Z))
        return float(np.sqrt(np.mean((values[0] - values[1]) ** 2))) / self.y_scale

    def steepness(
        self, solution: Solution, Z: Array | None = None, weights: Array | None = None
    ) -> float:
        """As in the exact family, measured on at most ``STEEP_ROWS`` rows."""
        if Z is None:
            X = self.table.X[:STEEP_ROWS]
            Z, weights = X + 0.25 * (np.roll(X, 1, axis=0) - X), self.table.weights[:STEEP_ROWS]
        elif weights is not None:
            Z, weights = Z[:STEEP_ROWS], weights[:STEEP_ROWS]
        return super().steepness(solution, Z, weights)
