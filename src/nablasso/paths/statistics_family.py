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

from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.paths.family import Formulation, ProblemFamily
from nablasso.regression.machine import Refit
from nablasso.regression.ridge import SMALLEST_RIDGE, MomentRidge, best_of, ridge_grid
from nablasso.solvers import Solution
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

    def __init__(self, statistics: SufficientStatistics, *, fit_intercept: bool) -> None:
        self.statistics, self.fit_intercept = statistics, fit_intercept
        self._known: dict[bytes, FoldErrors] = {}

    @cached_property
    def _all(self) -> MomentRidge:
        return MomentRidge(self.statistics.total(), fit_intercept=self.fit_intercept)

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
        return self._chosen(np.arange(len(self._all.e)), self.trace, floor).ridge

    def fold_errors(self, chosen: Index) -> FoldErrors:
        """Ridge regression on some features: the best ridge of a grid, and its errors."""
        key = chosen.tobytes()
        if key not in self._known:
            trace = float(np.trace(self._all.C[np.ix_(chosen, chosen)]))
            self._known[key] = self._chosen(chosen, trace)
        return self._known[key]

    def _chosen(self, chosen: Index, trace: float, floor: float = 0.0) -> FoldErrors:
        ridges = ridge_grid(trace, floor)
        errors = np.array([self._errors(*fold, chosen, ridges) for fold in self.folds])
        shares = np.array([fold.weight for _, fold in self.folds])
        best = best_of(shares @ errors / shares.sum())
        return FoldErrors(float(ridges[best]), errors[:, best])

    def _errors(self, train: Moments, test: Moments, chosen: Index, ridges: Array) -> Array:
        """Mean squared errors on ``test`` at each ridge."""
        fit = MomentRidge(train, fit_intercept=self.fit_intercept, chosen=chosen)
        W, b = fit.coefficients(ridges)
        offset = test.y_mean - b - test.mean[chosen] @ W
        around = test.y_variance - 2 * test.c[chosen] @ W
        around = around + np.einsum("jr,jr->r", W, test.C[np.ix_(chosen, chosen)] @ W)
        return np.asarray(offset**2 + around)


class StatisticsFamily(ProblemFamily):
    """All problems (P) of one formulation on rows that were added up.

    Parameters
    ----------
    statistics : SufficientStatistics
        Of Fourier features.
    formulation : Formulation
    """

    regression: FoldRidge

    def __init__(self, statistics: SufficientStatistics, formulation: Formulation) -> None:
        space = statistics.space
        if not isinstance(space.features, FourierFeatures):
            raise InvalidParameterError(
                "Statistics of Fourier features are needed: others have no derivatives. Got "
                f"{type(space.features).__name__}."
            )
        self.statistics, self.formulation, self.points = statistics, formulation, None
        self.features, self.loss = space.features, formulation.loss
        self.penalty = formulation.penalty(space.columns)
        self.width = 1.0 if space.length_scale is None else float(space.length_scale)
        even = np.full(len(space.columns), 1 / self.width)
        self.scales = even if space.scales is None else space.scales
        self.metric = self.scales * self.width
        self.regression = FoldRidge(statistics, fit_intercept=formulation.fit_intercept)
        self._take(statistics.total())

    def _take(self, moments: Moments) -> None:
        """The problem that these moments pose."""
        assert self.features is not None
        self.moments, frozen = moments, self.statistics.space
        self.table = self.whole = _empty_table(frozen, moments)
        self.rows = PseudoRows(moments, fit_intercept=self.formulation.fit_intercept)
        self.space = FeatureSpace(self.rows, slope_map(self.features, moments.S))

    def without(self, k: int) -> StatisticsFamily:
        """The same without the rows of fold ``k``; ridges of refits stay those of all folds."""
        other = copy(self)
        other._take(self.statistics.without(k))
        return other

    @property
    def y_scale(self) -> float:
        """Standard deviation of the target."""
        return float(np.sqrt(self.moments.y_variance)) or 1.0

    def usable(self, support: Mask) -> Index:
        """The features that depend on supported variables only."""
        assert self.features is not None
        usable = np.ones(self.features.n_components, dtype=bool)
        for a in np.flatnonzero(~support):
            usable[self.features.touching[a]] = False
        omega = np.tile(np.any(self.features.values != 0, axis=1), 2)
        return np.flatnonzero(usable & omega)

    def can_refit(self, support: Mask) -> bool:
        """Whether there are features of the supported variables alone."""
        return len(self.usable(support)) > 0 or not support.any()

    def refit(self, support: Mask) -> Refit:
        """Ridge regression on the features of the supported variables; no residuals."""
        assert self.features is not None
        chosen, w = self.usable(support), np.zeros(self.features.n_components)
        ridge = 0.0
        if len(chosen):
            ridge, intercept = self.regression.fold_errors(chosen).ridge, self.rows.fit_intercept
            fit = MomentRidge(self.moments, fit_intercept=intercept, chosen=chosen)
            w[chosen] = fit.coefficients(np.array([ridge]))[0][:, 0]
        function = Function(self.rows.intercept(w), self.table.columns, self.features, w)
        return Refit(function, ridge, np.empty(0))

    def fold_gain(self, support: Mask) -> tuple[float, float]:
        """R2 of the refit over the folds, and its gain in units of its standard error."""
        if self.statistics.n_folds < 2:
            return float("nan"), float("inf")
        chosen = self.usable(support)
        folds = [fold for _, fold in self.regression.folds]
        shares = np.array([fold.weight for fold in folds])
        centre = self.moments.y_mean if self.formulation.fit_intercept else 0.0
        null = np.array([fold.y_variance + (fold.y_mean - centre) ** 2 for fold in folds])
        gain = null - self.regression.fold_errors(chosen).errors if len(chosen) else 0 * null
        mean = float(np.average(gain, weights=shares))
        error = float(np.std(gain, ddof=1)) / np.sqrt(len(gain))
        size = float(np.average(null, weights=shares))
        return (mean / size if size > 0 else 0.0), (mean / error if error > 0 else 0.0)

    def approximation_error(self, support: Mask) -> float:  # noqa: ARG002 there are no rows
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
