r"""The family of problems that sums over rows allow, when the rows themselves are gone.

:class:`~nablasso.spaces.SufficientStatistics` keep the moments of each fold. Two things are done
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
from scipy.linalg import eigh

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.paths.family import RIDGE_FLOOR, Formulation
from nablasso.paths.feature_family import FeatureFamily
from nablasso.problems import Problem
from nablasso.solvers import Solution, Solver
from nablasso.spaces import (
    FeatureSpace,
    FourierFeatures,
    FrozenSpace,
    Function,
    Moments,
    Refit,
    SufficientStatistics,
)
from nablasso.spaces.ridge import RIDGE_GRID
from nablasso.types import Array, Index, Mask


class FoldErrors(NamedTuple):
    """A ridge and the mean squared error on each fold (n_folds,) of the fit without it."""

    ridge: float
    errors: Array


class StatisticsFamily(FeatureFamily):
    """All problems (P) of one formulation on rows that were added up.

    Parameters
    ----------
    statistics : SufficientStatistics
        Of Fourier features.
    formulation : Formulation
    left_out : int, optional
        The fold whose rows take no part; all take part without it.
    """

    def __init__(
        self,
        statistics: SufficientStatistics,
        formulation: Formulation,
        left_out: int | None = None,
    ) -> None:
        space = statistics.space
        if not isinstance(space.features, FourierFeatures):
            raise InvalidParameterError(
                "Statistics of Fourier features are needed: others have no derivatives. Got "
                f"{type(space.features).__name__}."
            )
        self.statistics, self.formulation, self.points = statistics, formulation, None
        self.features = space.features
        moments = statistics.total() if left_out is None else statistics.without(left_out)
        self.moments = moments
        self.table = _empty_table(space, moments)
        self.loss = formulation.loss
        self.penalty = formulation.penalty(self.table.columns)
        d = len(space.columns)
        self.width = 1.0 if space.length_scale is None else float(space.length_scale)
        self.scales = np.full(d, 1 / self.width) if space.scales is None else space.scales
        self.metric = self.scales * self.width
        self.compressed = FeatureSpace(
            self.features, moments, fit_intercept=formulation.fit_intercept
        )
        self.space = self.compressed

    @property
    def y_scale(self) -> float:
        """Standard deviation of the target."""
        return float(np.sqrt(self.moments.y_variance)) or 1.0

    @cached_property
    def _folds(self) -> list[tuple[Moments, Moments]]:
        """(without the fold, the fold) for all folds."""
        statistics = self.statistics
        if statistics.n_folds < 2:
            raise InvalidParameterError(
                "A ridge can only be chosen by folds, and these statistics have one. Give ridge= "
                "and debias=False, or collect statistics with n_folds of at least 2."
            )
        return [(statistics.without(k), statistics.fold(k)) for k in range(statistics.n_folds)]

    def best_ridge(self) -> float:
        """Ridge of smallest cross-validated error of ridge regression on all features."""
        return self.fold_errors(np.arange(self.features.n_components), RIDGE_FLOOR).ridge

    def fold_errors(self, chosen: Index, floor: float = 0.0) -> FoldErrors:
        """Ridge regression on some features: the best ridge of a grid, and its errors."""
        unit = float(np.trace(self._second(self.moments)[np.ix_(chosen, chosen)])) or 1.0
        ridges = unit * RIDGE_GRID[floor <= RIDGE_GRID]
        errors = np.array([self._errors(*fold, chosen, ridges) for fold in self._folds])
        shares = np.array([fold.weight for _, fold in self._folds])
        mean = shares @ errors / shares.sum()
        best = int(np.flatnonzero(mean <= mean.min() * (1 + 1e-10))[-1])
        return FoldErrors(float(ridges[best]), errors[:, best])

    def usable(self, support: Mask) -> Index:
        """The features that depend on supported variables only."""
        usable = np.ones(self.features.n_components, dtype=bool)
        for a in np.flatnonzero(~support):
            usable[self.features.touching[a]] = False
        omega = np.tile(np.any(self.features.values != 0, axis=1), 2)
        return np.flatnonzero(usable & omega)

    def refit(self, support: Mask) -> Refit:
        """Ridge regression on the features of the supported variables; no residuals."""
        chosen, w = self.usable(support), np.zeros(self.features.n_components)
        ridge = 0.0
        if len(chosen):
            ridge = self.fold_errors(chosen).ridge
            w[chosen] = _coefficients(
                self._second(self.moments), self._cross(self.moments), chosen, np.array([ridge])
            )[:, 0]
        function = Function(self.compressed.intercept(w), self.table.columns, self.features, w)
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

    def _errors(self, train: Moments, test: Moments, chosen: Index, ridges: Array) -> Array:
        """Mean squared errors on ``test`` at each ridge."""
        W = _coefficients(self._second(train), self._cross(train), chosen, ridges)
        intercept = self.formulation.fit_intercept
        b = train.y_mean - train.mean[chosen] @ W if intercept else np.zeros(len(ridges))
        offset = test.y_mean - b - test.mean[chosen] @ W
        around = test.y_variance - 2 * test.c[chosen] @ W
        around = around + np.einsum("jr,jr->r", W, test.C[np.ix_(chosen, chosen)] @ W)
        return np.asarray(offset**2 + around)

    def _second(self, moments: Moments) -> Array:
        return moments.C if self.formulation.fit_intercept else moments.uncentred()[0]

    def _cross(self, moments: Moments) -> Array:
        return moments.c if self.formulation.fit_intercept else moments.uncentred()[1]


def _coefficients(second: Array, cross: Array, chosen: Index, ridges: Array) -> Array:
    """Ridge regression on some features at each ridge, shape (chosen, ridges)."""
    e, V = eigh(second[np.ix_(chosen, chosen)], driver="evd", check_finite=False)
    inverse = 1 / (np.maximum(e, 0.0)[:, None] + ridges)
    return np.asarray(V @ (inverse * (V.T @ cross[chosen])[:, None]))


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
