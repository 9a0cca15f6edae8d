r"""Families of problems with other losses than the squared one, in a space of Fourier features.

Sums over rows do not say how such a loss looks from elsewhere, so the rows stay in memory: each
Newton step makes one pass over them, O(n m^2), and solves (P) on pseudo-rows
(:mod:`nablasso.problems.feature_smooth`). Ridges are chosen by the leave-one-out loss of machines
on the features (:mod:`nablasso.spaces.feature_machine`), and the refit is one on features of the
selected columns.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from nablasso.paths.family import RIDGE_FLOOR
from nablasso.paths.feature_family import PROBED, FeatureFamily
from nablasso.problems import FeatureSmoothProblem, Problem
from nablasso.solvers import Solution, Solver
from nablasso.spaces import (
    SMALLEST_MACHINE,
    FeatureRows,
    Function,
    MachineData,
    Refit,
    best_feature_machine,
    feature_refit,
    machine_refit,
    row_moments,
    slope_moments,
)
from nablasso.types import Mask


class SmoothFeatureFamily(FeatureFamily):
    """All problems (P) of one formulation, its loss not the squared one, on one table."""

    rows: FeatureRows

    def _build(self) -> None:
        self.features = self._draw(self.scales, self.table.X)
        self._compress()

    def _compress(self) -> None:
        """Features of the rows and moments of the slopes; another target needs neither anew."""
        table = self.table
        if getattr(self, "rows", None) is not None and self.rows.Z is table.X:
            return
        vars(self).pop("trace", None)
        S = self._slopes()
        if S is None:
            moments = row_moments(self.features, table.X, table.y, table.weights)
            S = slope_moments(moments.uncentred()[0])
        self.rows = FeatureRows(self.features, table.X, S)
        self.space = self.rows

    @property
    def _data(self) -> MachineData:
        table, intercept = self.table, self.formulation.fit_intercept
        return MachineData(self.loss, self.rows, table.y, table.weights, intercept)

    @cached_property
    def trace(self) -> float:
        """Trace of the features' covariance: the natural unit of ``ridge``."""
        return self._data.trace

    @property
    def smallest_ridge(self) -> float:
        """Below this, rounding decides the solution."""
        return SMALLEST_MACHINE * (self.trace or 1.0)

    def best_ridge(self) -> float:
        """Ridge of smallest leave-one-out loss of a machine on the features."""
        return best_feature_machine(self._data, RIDGE_FLOOR).ridge

    def problem(self, ridge: float, alpha: float = 0.0) -> Problem:
        """The problem at one ridge and alpha."""
        ridge = self.usable_ridge(ridge)
        return FeatureSmoothProblem(
            loss=self.loss,
            penalty=self.penalty,
            space=self.rows,
            rows=self.rows,
            y=self.table.y,
            weights=self.table.weights,
            alpha=alpha,
            ridge=ridge,
            fit_intercept=self.formulation.fit_intercept,
            penalty_weights=np.ones(len(self.rows.points)),
        )

    def refit(self, support: Mask) -> Refit:
        """A machine with the same loss on features of the supported columns."""
        table, intercept = self.table, self.formulation.fit_intercept
        X, columns, scales = table.X[:, support], table.columns[support], self._scales_of(support)
        if not support.any():
            data = (self.formulation.kernel, X, table.y, table.weights, columns)
            return machine_refit(self.loss, *data, scales=scales, fit_intercept=intercept)
        features = self._draw(scales, X)
        nothing = np.zeros((features.n_components, features.n_components))
        rows = FeatureRows(features, X, nothing)  # a refit has no penalty on slopes
        found = MachineData(self.loss, rows, table.y, table.weights, intercept)
        return feature_refit(found, features, columns)

    def function(self, solution: Solution) -> Function:
        """The penalised function of a solution."""
        coef = solution.coef
        w = self.rows.coefficients(coef.u, coef.v)
        return Function(coef.intercept, self.table.columns, self.features, w)

    def approximation_error(self, problem: Problem, support: Mask, solver: Solver[Any]) -> float:
        """As for the squared loss; not known where the rows it looks at are all alike."""
        if np.ptp(self.table.y[:PROBED]) == 0:
            return float("nan")
        return super().approximation_error(problem, support, solver)
