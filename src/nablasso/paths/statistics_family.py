r"""The family of problems that sums over rows allow, when the rows themselves are gone.

:class:`~nablasso.streaming.SufficientStatistics` keep the moments of each fold. Two things are done
differently than with rows in memory:

* **Ridges** are chosen by cross-validation over the folds: ridge regression on the moments of all
  folds but one, judged by its mean squared error on the moments of that one. All exact, no row is
  needed.
* **The refit** keeps the frozen features: ridge regression on those that touch selected variables
  only. Where there are none (dense features, a variable left out) the penalised function stands.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.paths.family import Formulation, ProblemFamily
from nablasso.problems import Problem
from nablasso.regression.machine import Refit
from nablasso.regression.ridge import SMALLEST_RIDGE, MomentRidge, best_of, ridge_grid
from nablasso.solvers import Solution, Solver
from nablasso.spaces import FeatureSpace, FourierFeatures, Function, Moments, PseudoRows, slope_map
from nablasso.streaming import FrozenSpace, SufficientStatistics
from nablasso.types import Array, Index, Mask


class FoldErrors(NamedTuple):
    """A ridge and the mean squared error on each fold (n_folds,) of the fit without it."""

    ridge: float
    errors: Array


class FoldRidge:
    """Ridge regression on moments, its ridge chosen by cross-validation over the folds."""

    smallest = SMALLEST_RIDGE

    def __init__(
        self, statistics: SufficientStatistics, moments: Moments, *, fit_intercept: bool
    ) -> None:
        self.statistics, self.moments, self.fit_intercept = statistics, moments, fit_intercept

    @cached_property
    def _all(self) -> MomentRidge:
        return MomentRidge(self.moments, fit_intercept=self.fit_intercept)

    @property
    def trace(self) -> float:
        """Trace of the features' covariance: the natural unit of ``ridge``."""
        return self._all.trace

    @cached_property
    def folds(self) -> list[tuple[Moments, Moments]]:
        """(without the fold, the fold) for all folds."""
        statistics = self.statistics
        if statistics.n_folds < 2:
            raise InvalidParameterError(
                "A ridge can only be chosen by folds, and these statistics have one. Give ridge= "
                "and debias=False, or collect statistics with n_folds of at least 2."
            )
        return [(statistics.without(k), statistics.fold(k)) for k in range(statistics.n_folds)]

    def best_ridge(self, floor: float = 0.0) -> float:
        """Ridge of smallest cross-validated error on all features."""
        return self.fold_errors(None, floor).ridge

    def fold_errors(self, chosen: Index | None, floor: float = 0.0) -> FoldErrors:
        """Ridge regression on some features: the best ridge of a grid, and its errors."""
        ridges = ridge_grid(self.on(chosen).trace, floor)
        errors = np.array([self._errors(*fold, chosen, ridges) for fold in self.folds])
        shares = np.array([fold.weight for _, fold in self.folds])
        best = best_of(shares @ errors / shares.sum())
        return FoldErrors(float(ridges[best]), errors[:, best])

    def on(self, chosen: Index | None) -> MomentRidge:
        """Regression of all rows on some features."""
        if chosen is None:
            return self._all
        return MomentRidge(self.moments, fit_intercept=self.fit_intercept, chosen=chosen)

    def _errors(self, train: Moments, test: Moments, chosen: Index | None, ridges: Array) -> Array:
        """Mean squared errors on ``test`` at each ridge."""
        fit = MomentRidge(train, fit_intercept=self.fit_intercept, chosen=chosen)
        W, b = fit.coefficients(ridges)
        used = np.arange(len(test.mean)) if chosen is None else chosen
        offset = test.y_mean - b - test.mean[used] @ W
        around = test.y_variance - 2 * test.c[used] @ W
        around = around + np.einsum("jr,jr->r", W, test.C[np.ix_(used, used)] @ W)
        return np.asarray(offset**2 + around)


class StatisticsFamily(ProblemFamily):
    """All problems (P) of one formulation on rows that were added up.

    Parameters
    ----------
    statistics : SufficientStatistics
        Of Fourier features.
    formulation : Formulation
    left_out : int, optional
        The fold whose rows take no part; all take part without it.
    """

    regression: FoldRidge

    def __init__(
        self,
        statistics: SufficientStatistics,
        formulation: Formulation,
        left_out: int | None = None,
    ) -> None:
        space, intercept = statistics.space, formulation.fit_intercept
        if not isinstance(space.features, FourierFeatures):
            raise InvalidParameterError(
                "Statistics of Fourier features are needed: others have no derivatives. Got "
                f"{type(space.features).__name__}."
            )
        self.statistics, self.formulation, self.points = statistics, formulation, None
        self.features = space.features
        moments = statistics.total() if left_out is None else statistics.without(left_out)
        self.moments = moments
        self.table = self.whole = _empty_table(space, moments)
        self.loss = formulation.loss
        self.penalty = formulation.penalty(self.table.columns)
        d = len(space.columns)
        self.width = 1.0 if space.length_scale is None else float(space.length_scale)
        self.scales = np.full(d, 1 / self.width) if space.scales is None else space.scales
        self.metric = self.scales * self.width
        self.rows = PseudoRows(moments, fit_intercept=intercept)
        self.space = FeatureSpace(self.rows, slope_map(space.features, moments.S))
        self.regression = FoldRidge(statistics, moments, fit_intercept=intercept)

    @property
    def y_scale(self) -> float:
        """Standard deviation of the target."""
        return float(np.sqrt(self.moments.y_variance)) or 1.0

    def fold_errors(self, chosen: Index) -> FoldErrors:
        """Ridge regression on some features: the best ridge of a grid, and its errors."""
        return self.regression.fold_errors(chosen)

    def usable(self, support: Mask) -> Index:
        """The features that depend on supported variables only."""
        assert self.features is not None
        usable = np.ones(self.features.n_components, dtype=bool)
        for a in np.flatnonzero(~support):
            usable[self.features.touching[a]] = False
        omega = np.tile(np.any(self.features.values != 0, axis=1), 2)
        return np.flatnonzero(usable & omega)

    def refit(self, support: Mask) -> Refit:
        """Ridge regression on the features of the supported variables; no residuals."""
        assert self.features is not None
        chosen, w = self.usable(support), np.zeros(self.features.n_components)
        ridge = 0.0
        if len(chosen):
            ridge = self.fold_errors(chosen).ridge
            w[chosen] = self.regression.on(chosen).coefficients(np.array([ridge]))[0][:, 0]
        function = Function(self.rows.intercept(w), self.table.columns, self.features, w)
        return Refit(function, ridge, np.empty(0))

    def approximation_error(
        self,
        problem: Problem,  # noqa: ARG002 there are no rows to try it on
        support: Mask,  # noqa: ARG002
        solver: Solver[Any],  # noqa: ARG002
    ) -> float:
        """Not known without rows."""
        return float("nan")

    def steepness(
        self,
        solution: Solution,  # noqa: ARG002 there are no rows between which to look
        Z: Array | None = None,  # noqa: ARG002
        weights: Array | None = None,  # noqa: ARG002
    ) -> float:
        """Not known without rows."""
        return 1.0


def _empty_table(space: FrozenSpace, moments: Moments) -> Table:
    """The columns of a table without its rows; targets are raw, so their mean is not taken off."""
    d = len(space.columns)
    deviations = space.usual_deviation
    return Table(
        X=np.empty((0, d)),
        y=np.empty(0),
        weights=np.empty(0),
        columns=space.columns,
        rows=np.empty(0, dtype=np.intp),
        scaler=space.scaler,
        deviations=np.ones(d) if deviations is None else deviations,
        y_mean=0.0,
        total=moments.weight,
    )
