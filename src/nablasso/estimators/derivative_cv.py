"""The derivative estimators with ``alpha``, ``ridge`` and width chosen by cross-validation.

Scores are those of what ``predict`` returns: debiased inside each training fold. The grid, the
folds and the canonical order are fixed before any fold is fitted.
"""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.estimators.base import DerivativeEstimator
from nablasso.estimators.cross_validation import (
    by_name,
    check_rule,
    choose,
    on_folds,
    positive_list,
)
from nablasso.estimators.docs import document
from nablasso.estimators.fold_scores import Cell, Data, Outcome, score_fold
from nablasso.estimators.folds import Fold, draw_folds
from nablasso.estimators.forms import ElasticNetForm, GroupLassoForm, LassoForm
from nablasso.estimators.from_statistics import StatisticsRegressor, judge_folds
from nablasso.paths import Family, StatisticsFamily, alpha_grid
from nablasso.solvers import as_solver
from nablasso.spaces import PenaltyPoints, SufficientStatistics
from nablasso.types import Array

DEFAULT_RIDGES = (1.0, 10.0, 100.0)  # times the leave-one-out choice
RIDGE_FRACTION = 1e-4  # of the kernel's trace, at least
SMALLEST_FRACTION = 1e-3  # of alpha_max
STEEPNESS_LIMIT = 2.0  # mean over the folds; steeper candidates are not chosen
FOLD_TOL = 1e-5  # a fold's fit need not be more exact than its score


@dataclass(eq=False, repr=False)
class CrossValidated(DerivativeEstimator):
    """Choose by cross-validation, then fit on all rows."""

    _: KW_ONLY
    alphas: Any = 30
    ridges: Any = None
    widths: Any = None
    cv: Any = 5
    scoring: Any = None
    selection_rule: str = "1se"
    n_jobs: int | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        X_unlabeled: Any = None,
    ) -> Self:
        """Choose the parameters, select variables and fit the function.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row; scores are weighted too.
        groups : array-like, shape (n_samples,), optional
            Groups of rows for the splitter.
        X_unlabeled : array-like, shape (n_unlabeled, n_features), optional
            Rows without a target at which derivatives are penalised too.

        Returns
        -------
        self
        """
        check_rule(self.selection_rule)
        X, y, weights = self._validate(X, y, sample_weight)
        table = self._prepare(X, y, weights)
        data = Data(X, y, weights, self._check_unlabeled(X_unlabeled))
        points = self._points(table, weights, data.unlabelled)
        cells = self._grid(table, points)
        stratify = isinstance(self, ClassifierMixin)
        folds = draw_folds(self.cv, X, y, groups, table, self.random_state, stratify=stratify)
        judge = copy(self)
        judge.space = self._choose_space(table, points).name  # folds have fewer rows
        self._store(cells, self._outcomes(judge, data, cells, folds))
        best = self.best_params_
        return self._fit_table(X, table, best["alpha"], best["ridge"], best["width"], points)

    def _grid(self, table: Table, points: PenaltyPoints | None) -> list[Cell]:
        cells = []
        for width in positive_list((1.0,) if self.widths is None else self.widths, "widths"):
            families = self._families(table, width, points)
            self.loss_ = families[0].loss
            cells += self._cells(families, float(width))
        return cells

    def _cells(self, families: list[Family], width: float) -> list[Cell]:
        """The cells of one width."""
        ridges = positive_list(DEFAULT_RIDGES if self.ridges is None else self.ridges, "ridges")
        unit = 1.0 if self.ridges is not None else max(map(_smallest_ridge, families))
        null_first = self.debias and isinstance(self.alphas, int | np.integer)
        return [
            Cell(width, unit * ridge, self._alphas(families, unit * ridge), null_first)
            for ridge in ridges
        ]

    def _alphas(self, families: list[Family], ridge: float) -> Array:
        if not isinstance(self.alphas, int | np.integer):
            return np.sort(positive_list(self.alphas, "alphas"))[::-1]
        if self.alphas < 1:
            raise InvalidParameterError(
                f"alphas must be a positive number or a list; got {self.alphas!r}."
            )
        tops = [family.problem(ridge).alpha_max_and_scale() for family in families]
        grid = alpha_grid(max(scale for _, scale in tops), int(self.alphas), SMALLEST_FRACTION)
        grid[0] = max(top for top, _ in tops)  # the null model, in the folds as on all rows
        return grid

    def _outcomes(
        self, judge: Self, data: Data, cells: list[Cell], folds: list[Fold]
    ) -> dict[str, Array]:
        """What the folds say, each (n_folds, n_candidates); ``judge`` has its space chosen."""
        tol = max(self.tol, FOLD_TOL)
        solver = as_solver(self.solver, tol, self.max_iter, self._loss())
        return by_name(Outcome, on_folds(self, score_fold, folds, judge, solver, data, cells))

    def _store(self, cells: list[Cell], outcomes: dict[str, Array]) -> None:
        params = [
            {"alpha": float(alpha), "ridge": float(cell.ridge), "width": float(cell.width)}
            for cell in cells
            for alpha in cell.alphas
        ]
        steepness = outcomes["steepness"].mean(axis=0)
        choice = choose(
            params,
            outcomes,
            rule=self.selection_rule,
            scoring=self.scoring,
            allowed=steepness <= STEEPNESS_LIMIT,
            ties=np.array([p["alpha"] for p in params]),  # the least shrunk among equals
            steepness=steepness,
        )
        self.cv_results_, self.best_index_ = choice
        self.best_params_, self.best_score_ = choice.params, choice.score


def _smallest_ridge(family: Family) -> float:
    """Leave-one-out choice, but large enough for the folds' problems to be well-posed."""
    return max(family.best_ridge(), RIDGE_FRACTION * family.trace)


@dataclass(eq=False, repr=False)
class _CrossValidatedRegressor(CrossValidated, StatisticsRegressor):
    """A regressor with its parameters chosen by cross-validation."""

    def fit_statistics(self, statistics: SufficientStatistics) -> Self:
        """Choose the parameters by the folds of sums over rows, and fit from the sums.

        Parameters
        ----------
        statistics : SufficientStatistics
            Of a space that :meth:`freeze` made, with two folds or more. The width is that of the
            space, the score the mean squared error.

        Returns
        -------
        self
        """
        check_rule(self.selection_rule)
        if self.widths is not None or self.scoring is not None:
            raise InvalidParameterError(
                "Statistics have one width and one score, the mean squared error; got "
                f"widths={self.widths!r}, scoring={self.scoring!r}. Leave both at None."
            )
        formulation = self._from(statistics)
        family = StatisticsFamily(statistics, formulation)
        cells = self._cells([family], 1.0)
        solver = as_solver(self.solver, max(self.tol, FOLD_TOL), self.max_iter, formulation.loss)
        judged = judge_folds(statistics, formulation, cells, solver, debias=self.debias)
        self._store(cells, by_name(Outcome, judged))
        return self._fit_family(family, self.best_params_["alpha"], self.best_params_["ridge"])


@document
@dataclass(eq=False, repr=False)
class DerivativeLassoCV(LassoForm, _CrossValidatedRegressor):
    """:class:`DerivativeLasso` with ``alpha``, ``ridge`` and width by cross-validation.

    Parameters
    ----------
    {cv}
    {loss}
    {common}

    Attributes
    ----------
    {cv_attributes}
    {attributes}
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeGroupLassoCV(GroupLassoForm, _CrossValidatedRegressor):
    """:class:`DerivativeGroupLasso` with ``alpha``, ``ridge`` and width by cross-validation.

    Parameters
    ----------
    {cv}
    {loss}
    group_weights : {"size", "sqrt"} or array-like, default="size"
        As in :class:`DerivativeGroupLasso`.
    {common}

    Attributes
    ----------
    {cv_attributes}
    {attributes}
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeElasticNetCV(ElasticNetForm, _CrossValidatedRegressor):
    """:class:`DerivativeElasticNet` with ``alpha``, ``ridge`` and width by cross-validation.

    Parameters
    ----------
    {cv}
    {loss}
    l1_ratio : float, default=0.5
        Strictly between 0 and 1.
    {common}

    Attributes
    ----------
    {cv_attributes}
    {attributes}
    """
