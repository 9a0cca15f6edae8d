r"""(P) exactly on landmark rows, the refit on all rows in their Nystrom space.

For kernels whose features cannot select (:mod:`nablasso.spaces.nystrom`) and tables too large for
the exact space. The rows of a table are in an arbitrary but fixed order, so the first
``n_components`` are a fair sample: (P) on them, with their weights, is (P) with a sample in place
of the table, and the certificate is for it. The refit on the selected columns sees all rows: ridge
regression on Nystrom features, O(n m^2). For other losses than the squared one the refit stays on
the landmark rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from nablasso.data.table import MIN_ROWS, Table, first_rows
from nablasso.paths.family import Family, Formulation
from nablasso.problems import Problem
from nablasso.solvers import Solver
from nablasso.spaces import (
    FeatureRidge,
    PenaltyPoints,
    Refit,
    RepresenterSpace,
    RidgeInverse,
    draw_nystrom,
)
from nablasso.types import Array, Mask

PROBED = 1024  # rows on which the refit is compared with the exact one


class LandmarkFamily(Family):
    """All problems (P) of one formulation on the first rows of a table."""

    def __init__(
        self,
        table: Table,
        formulation: Formulation,
        multiplier: float = 1.0,
        points: PenaltyPoints | None = None,
        metric: Array | None = None,
        *,
        n_components: int = 512,
        landmarks: str = "uniform",
        random_state: Any = None,
    ) -> None:
        self.whole, self.n_components = table, n_components
        self.landmarks, self.random_state = landmarks, random_state
        n = min(max(n_components, MIN_ROWS), len(table.X))
        sample = first_rows(table, n)
        super().__init__(sample, formulation, multiplier, _thinned(points, table, n), metric)

    def with_target(self, y: Array) -> Self:
        """The same family with another target of all rows."""
        other = super().with_target(y[: len(self.table.y)])
        other.whole = replace(self.whole, y=y)
        return other

    def refit(self, support: Mask) -> Refit:
        """Ridge regression on all rows; leave-one-out residuals of the landmark rows."""
        if not self.is_squared or not support.any():
            return super().refit(support)
        found = self._on_features(self.whole, support).refit(self.whole.columns[support])
        return found._replace(loo_residuals=found.loo_residuals[: len(self.table.y)])

    def approximation_error(
        self,
        problem: Problem,  # noqa: ARG002 (P) is exact on the landmark rows
        support: Mask,
        solver: Solver[Any],  # noqa: ARG002
    ) -> float:
        """Of the refit: Nystrom features against the kernel itself, fitted to the same rows.

        Root mean squared difference at the rows after them, in deviations of ``y``, at one ridge;
        on twice as many rows as there are landmarks, at most ``PROBED``.
        """
        if not self.is_squared or not support.any():
            return 0.0
        n = min(len(self.whole.X), 2 * self.n_components, PROBED)
        table, intercept = first_rows(self.whole, n), self.formulation.fit_intercept
        ours = self._on_features(table, support)
        ridge = ours.best_ridge()
        w, b = ours.coefficients(ridge)
        exact = RepresenterSpace(
            self.formulation.kernel, table.X[:, support], self._scales_of(support)
        )
        inverse = RidgeInverse(exact.gram, table.weights, fit_intercept=intercept)
        u = inverse.coefficients(table.y, ridge)
        offset = float(table.weights @ (table.y - exact.gram @ u)) if intercept else 0.0
        others = slice(n, 2 * n) if len(self.whole.X) > n else slice(n)
        Z = self.whole.X[others][:, support]
        difference = ours.features.evaluate(Z, w) + b - exact.evaluate(Z, u) - offset
        return float(np.sqrt(np.mean(difference**2))) / self.whole.y_scale

    def _on_features(self, table: Table, support: Mask) -> FeatureRidge:
        """Ridge regression on Nystrom features of the supported columns."""
        X, scales = table.X[:, support], self._scales_of(support)
        features = draw_nystrom(
            self.formulation.kernel,
            scales,
            X,
            table.weights,
            self.n_components,
            self.landmarks,
            self.random_state,
        )
        intercept = self.formulation.fit_intercept
        return FeatureRidge(features, X, table.y, table.weights, fit_intercept=intercept)


def _thinned(points: PenaltyPoints | None, table: Table, n: int) -> PenaltyPoints | None:
    """As many of the further points, evenly taken, for each landmark row as for each row."""
    if points is None or n == len(table.X):
        return points
    extra = points.extra
    count = -(-len(extra) * n // len(table.X))
    kept = np.linspace(0, len(extra) - 1, count).astype(int)
    own, theirs = points.weights[:n], points.weights[len(table.X) :][kept]
    own = own * (points.weights[: len(table.X)].sum() / own.sum())
    theirs = theirs * (points.weights[len(table.X) :].sum() / theirs.sum())
    return PenaltyPoints(extra[kept], np.concatenate([own, theirs]))
