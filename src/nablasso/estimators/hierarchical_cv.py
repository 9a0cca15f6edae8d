"""Estimators over a hierarchy of kernels with ``alpha`` and ``beta`` by cross-validation.

Along each fold's path of alphas, with warm starts, what is scored is what ``predict`` would return:
the refit on what was selected inside the fold. Candidates with the same hull share their refit. The
folds need no certificate; the final fit on all rows has one.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import KW_ONLY, dataclass
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from threadpoolctl import threadpool_limits

from nablasso.estimators.cross_validation import (
    by_name,
    check_rule,
    choose,
    held_out_scorer,
    on_folds,
    positive_list,
)
from nablasso.estimators.docs import document
from nablasso.estimators.folds import Fold, draw_folds
from nablasso.estimators.hierarchical import (
    GridForm,
    KernelClassifierBase,
    KernelRegressorBase,
)
from nablasso.estimators.hierarchical_base import KernelSelector
from nablasso.exceptions import InvalidParameterError
from nablasso.hierarchy import Found, Search, function_of, largest_alpha
from nablasso.paths import alpha_grid
from nablasso.preparation import Table

Array = NDArray[np.float64]

SMALLEST_FRACTION = 1e-5  # of alpha_max
DEFAULT_BETAS = (1.2, 2.5, 6.0)  # from hardly any preference for shallow nodes to a strong one


class Cell(NamedTuple):
    """One ``beta`` with its alphas from the largest down."""

    beta: float | None
    alphas: Array


class Outcome(NamedTuple):
    """What one fold says of one candidate."""

    score: float
    size: float
    fit_time: float
    score_time: float


@dataclass(eq=False, repr=False)
class CrossValidatedAlpha(KernelSelector):
    """Choose by cross-validation, then fit on all rows."""

    _: KW_ONLY
    alphas: Any = 30
    cv: Any = 5
    scoring: Any = None
    selection_rule: str = "1se"
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose the parameters, select kernels and fit the function.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row; scores are weighted too.
        groups : array-like, shape (n_samples,), optional
            Groups of rows for the splitter.

        Returns
        -------
        self
        """
        check_rule(self.selection_rule)
        X, y, weights = self._validate(X, y, sample_weight)
        table = self._prepare(X, y, weights)
        cells = self._grid(table)
        stratify = isinstance(self, ClassifierMixin)
        folds = draw_folds(self.cv, X, y, groups, table, self.random_state, stratify=stratify)
        done = on_folds(self, score_fold, folds, self, (X, y, weights), cells)
        choice = choose(
            [
                {"alpha": float(alpha), **({} if cell.beta is None else {"beta": float(cell.beta)})}
                for cell in cells
                for alpha in cell.alphas
            ],
            by_name(Outcome, done),
            rule=self.selection_rule,
            scoring=self.scoring,
        )
        self.cv_results_, self.best_index_ = choice
        self.best_params_, self.best_score_ = choice.params, choice.score
        alpha, beta = self.best_params_["alpha"], self.best_params_.get("beta")
        way = next(cell.alphas for cell in cells if cell.beta == beta)
        return self._fit_table(X, table, alpha, beta, way[way >= alpha])

    def _grid(self, table: Table) -> list[Cell]:
        cells = []
        for beta in self._betas():
            if isinstance(self.alphas, bool) or not isinstance(self.alphas, int | np.integer):
                cells.append(Cell(beta, np.sort(positive_list(self.alphas, "alphas"))[::-1]))
                continue
            if self.alphas < 1:
                raise InvalidParameterError(
                    f"alphas must be a positive whole number or a list; got {self.alphas!r}."
                )
            searches = self._searches(table, beta)
            top = max(largest_alpha(search) for search in searches)
            cells.append(Cell(beta, alpha_grid(top, int(self.alphas), SMALLEST_FRACTION)))
        self.loss_ = self._loss().fitted(self._problem_targets(table)[0], table.weights)
        return cells

    def _betas(self) -> list[float | None]:
        return [None]

    def _searches(self, table: Table, beta: float | None) -> list[Search]:
        hierarchy = self._hierarchy(table, beta)
        settings = self._fold_settings(table, certify=False)
        return [
            Search(hierarchy, self._sample(table, target), settings)
            for target in self._problem_targets(table)
        ]


@dataclass(eq=False, repr=False)
class CrossValidatedGrid(CrossValidatedAlpha, GridForm):
    """Choose ``beta`` too."""

    _: KW_ONLY
    betas: Any = None

    def _betas(self) -> list[float | None]:
        return list(DEFAULT_BETAS if self.betas is None else positive_list(self.betas, "betas"))


def score_fold(
    selector: Any, data: tuple[Array, Array, Array], cells: list[Cell], fold: Fold
) -> list[Outcome]:
    """Every candidate on one fold."""
    X, y, weights = data
    train, test = fold
    table = selector._prepare(X[train], y[train], weights[train])
    test = test[weights[test] > 0]
    scorer = held_out_scorer(selector, weights, test)
    targets = selector._targets(y[test])
    results = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # said once, on all rows
        for cell in cells:
            for functions, size, seconds in _candidates(selector, table, cell, X.shape[1]):
                start = perf_counter()
                model = copy(selector)
                vars(model).pop("feature_names_in_", None)
                model._keep(functions, table)
                score = scorer(model, X[test], targets)
                results.append(Outcome(score, size, seconds, perf_counter() - start))
    return results


def _candidates(
    selector: Any, table: Table, cell: Cell, d: int
) -> list[tuple[list[Any], float, float]]:
    """Functions, number of variables and seconds at each alpha of a cell."""
    searches = selector._searches(table, cell.beta)
    hierarchy = searches[0].hierarchy
    kept = selector._kept_nodes(hierarchy, table)
    refitters = [selector._refitter(table, search, d) for search in searches]
    origin = selector._origin(table, d)
    last: list[Found | None] = [None] * len(searches)
    found: list[tuple[list[Any], float, float]] = []
    for alpha in cell.alphas:
        start = perf_counter()
        if found and any(f is not None and f.reason == "max_kernels" for f in last):
            found.append(found[-1])  # smaller alphas would only be cut off elsewhere
            continue
        functions, union = [], np.zeros(d, dtype=bool)
        for k, search in enumerate(searches):
            here = search.run(float(alpha), last[k], kept)
            last[k] = here
            support = selector._support(table, hierarchy, here, d)
            union |= support
            if selector.debias:
                functions.append(refitters[k].fit(here.hull, support[origin]).function)
            else:
                functions.append(function_of(hierarchy, here, origin))
        found.append((functions, float(union.sum()), perf_counter() - start))
    return found


@document
@dataclass(eq=False, repr=False)
class HierarchicalKernelRegressorCV(CrossValidatedGrid, KernelRegressorBase):
    """:class:`HierarchicalKernelRegressor` with ``alpha`` and ``beta`` by cross-validation.

    Parameters
    ----------
    {hierarchical_cv}
    {betas}
    {hierarchical}
    {hierarchical_loss}
    {kernel_selection}

    Attributes
    ----------
    {cv_attributes}
    {hierarchical_attributes}
    """


@document
@dataclass(eq=False, repr=False)
class HierarchicalKernelClassifierCV(CrossValidatedGrid, KernelClassifierBase):
    """:class:`HierarchicalKernelClassifier` with ``alpha`` and ``beta`` by cross-validation.

    Parameters
    ----------
    {hierarchical_cv}
    {betas}
    {hierarchical}
    {hierarchical_class_loss}
    {class_weight}
    {kernel_selection}

    Attributes
    ----------
    {cv_attributes}
    {classes}
    {hierarchical_attributes}
    """
