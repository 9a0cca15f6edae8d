"""Estimators over a hierarchy of kernels with ``alpha`` and ``beta`` by cross-validation.

Along each fold's path of alphas, with warm starts, what is scored is what ``predict`` would return:
the refit on what was selected inside the fold. Candidates with the same hull share their refit. The
folds need no certificate; the final fit on all rows has one. Where the budget ends a path, smaller
alphas are no candidates: what it was cut to is the solution at none of them.

The rule "ebic" draws no folds: it prunes the hulls of all candidates on all rows and takes the one
of smallest criterion (:mod:`nablasso.hierarchy.refit`).
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import KW_ONLY, dataclass
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.estimators.cross_validation import (
    RULES,
    Fold,
    by_name,
    choose,
    draw_folds,
    held_out_scorer,
    on_folds,
    positive_list,
)
from nablasso.estimators.docs import document
from nablasso.estimators.hierarchical import (
    GridForm,
    KernelClassifierBase,
    KernelRegressorBase,
)
from nablasso.estimators.hierarchical_base import KernelSelector, selected
from nablasso.hierarchy import (
    Found,
    Node,
    Pruner,
    Search,
    function_of,
    has_likelihood,
    largest_alpha,
)
from nablasso.paths import alpha_grid
from nablasso.progress import track
from nablasso.types import Array

SMALLEST_FRACTION = 1e-5  # of alpha_max
EQUAL = 1e-9  # criteria of the same hull, found on different paths
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


UNSOLVED = Outcome(np.nan, np.nan, 0.0, 0.0)


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
        if self.selection_rule not in (*RULES, "ebic"):
            raise InvalidParameterError(
                f'selection_rule must be "1se", "min" or "ebic"; got {self.selection_rule!r}.'
            )
        X, y, weights = self._validate(X, y, sample_weight)
        table = self._prepare(X, y, weights)
        cells = self._grid(table)
        if self.selection_rule == "ebic":
            self._choose_by_criterion(table, cells)
        else:
            self._choose_by_folds(X, y, weights, groups, table, cells)
        alpha, beta = self.best_params_["alpha"], self.best_params_.get("beta")
        way = next(cell.alphas for cell in cells if cell.beta == beta)
        return self._fit_table(X, table, alpha, beta, way[way >= alpha])

    def _choose_by_folds(
        self,
        X: Array,
        y: Array,
        weights: Array,
        groups: Any,
        table: Table,
        cells: list[Cell],
    ) -> None:
        """The candidate that predicts left-out rows best, or nearly so with fewer variables."""
        stratify = isinstance(self, ClassifierMixin)
        folds = draw_folds(self.cv, X, y, groups, table, self.random_state, stratify=stratify)
        done = on_folds(self, score_fold, folds, self, (X, y, weights), cells)
        outcomes = by_name(Outcome, done)
        cut = int(np.isnan(outcomes["size"]).any(axis=0).sum())
        self._warn_of_paths_cut(cut, outcomes["size"].shape[1])
        choice = choose(
            _parameters(cells),
            outcomes,
            rule=self.selection_rule,
            scoring=self.scoring,
        )
        self.cv_results_, self.best_index_ = choice
        self.best_params_, self.best_score_ = choice.params, choice.score

    def _choose_by_criterion(self, table: Table, cells: list[Cell]) -> None:
        """The pruned hull of smallest criterion; among equals the largest beta, then alpha."""
        values = np.array(self._criteria(table, cells))
        params = _parameters(cells)[: len(values)]
        self._warn_of_paths_cut(int(np.isnan(values).sum()), len(values))
        equal = values <= np.nanmin(values) + EQUAL * np.nanmin(np.abs(values))
        betas = [each.get("beta", 0.0) for each in params]
        alphas = [each["alpha"] for each in params]
        best = int(np.lexsort((-np.array(alphas), -np.array(betas), ~equal))[0])
        self.cv_results_ = {
            "params": params,
            **{f"param_{key}": np.array([p[key] for p in params]) for key in params[0]},
            "ebic": values,
            "rank_ebic": (np.argsort(np.argsort(values, kind="stable")) + 1).astype(np.int32),
        }
        self.best_index_, self.best_params_ = best, params[best]
        self.best_score_ = -float(values[best])

    def _criteria(self, table: Table, cells: list[Cell]) -> list[float]:
        """Criterion of each candidate's pruned hull; not a number beyond the end of a path.

        With several functions it is the sum of theirs. An interrupt keeps what is done.
        """
        values: list[float] = []
        name = type(self).__name__
        pruners: list[Pruner] = []
        try:
            for cell in track(cells, len(cells), f"{name} paths", verbose=self.verbose):
                searches = self._searches(table, cell.beta, certify=False)
                made = (self._pruner(table, search) for search in searches)
                pruners = pruners or [pruner for pruner in made if pruner is not None]
                kept = self._kept_nodes(searches[0].hierarchy, table)
                values += _path_criteria(searches, pruners, cell.alphas, kept)
        except KeyboardInterrupt:
            if not values:
                raise
            warnings.warn(
                f"{name} was interrupted after {len(values)} candidates; it chooses among these.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return values

    def _warn_of_paths_cut(self, missing: int, candidates: int) -> None:
        if missing:
            warnings.warn(
                f"The budget (max_kernels, max_memory, max_work) ended paths of "
                f"{type(self).__name__}: {missing} of {candidates} candidates, those of the "
                "smallest alphas, were not solved and are not chosen from. Raise the budget to "
                "have them.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _prunes(self) -> bool:
        if self.selection_rule == "ebic":
            return True
        return has_likelihood(self._loss()) if self.prune is None else bool(self.prune)

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
            searches = self._searches(table, beta, certify=False)
            top = max(largest_alpha(search) for search in searches)
            cells.append(Cell(beta, alpha_grid(top, int(self.alphas), SMALLEST_FRACTION)))
        self.loss_ = self._loss().fitted(self._problem_targets(table)[0], table.weights)
        return cells

    def _betas(self) -> list[float | None]:
        return [None]


@dataclass(eq=False, repr=False)
class CrossValidatedGrid(CrossValidatedAlpha, GridForm):
    """Choose ``beta`` too."""

    _: KW_ONLY
    betas: Any = None

    def _betas(self) -> list[float | None]:
        return list(DEFAULT_BETAS if self.betas is None else positive_list(self.betas, "betas"))


def _parameters(cells: list[Cell]) -> list[dict[str, float]]:
    """Parameters of every candidate."""
    return [
        {"alpha": float(alpha), **({} if cell.beta is None else {"beta": float(cell.beta)})}
        for cell in cells
        for alpha in cell.alphas
    ]


def _path_criteria(
    searches: list[Search], pruners: list[Pruner], alphas: Array, kept: list[Node]
) -> list[float]:
    """Criterion of the pruned hulls at each alpha; not a number beyond the budget.

    The first alpha's stands in any case.
    """
    last: list[Found] | list[None] = [None] * len(searches)
    values: list[float] = []
    for alpha in alphas:
        last = [s.run(float(alpha), f, kept) for s, f in zip(searches, last, strict=True)]
        if values and any(found.is_cut for found in last):
            break
        pruned = [pruner.prune(f.hull) for pruner, f in zip(pruners, last, strict=True)]
        values.append(sum(each.criterion for each in pruned))
    return values + [np.nan] * (len(alphas) - len(values))


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
        pruners: list[Pruner | None] = []
        for cell in cells:
            searches = selector._searches(table, cell.beta, certify=False)
            pruners = pruners or [selector._pruner(table, search) for search in searches]
            found = _candidates(selector, table, searches, pruners, cell.alphas, X.shape[1])
            for functions, size, seconds in found:
                start = perf_counter()
                model = copy(selector)
                vars(model).pop("feature_names_in_", None)
                model._keep(functions, table)
                score = scorer(model, X[test], targets)
                results.append(Outcome(score, size, seconds, perf_counter() - start))
            results += [UNSOLVED] * (len(cell.alphas) - len(found))
    return results


def _candidates(
    selector: Any,
    table: Table,
    searches: list[Search],
    pruners: list[Pruner | None],
    alphas: Array,
    d: int,
) -> list[tuple[list[Any], float, float]]:
    """Functions, number of variables and seconds at each alpha that the budget allows.

    The first alpha's stand in any case.
    """
    hierarchy = searches[0].hierarchy
    kept = selector._kept_nodes(hierarchy, table)
    refitters = [selector._refitter(table, search, d) for search in searches]
    origin = selector._origin(table, d)
    last: list[Found] | list[None] = [None] * len(searches)
    found: list[tuple[list[Any], float, float]] = []
    for alpha in alphas:
        start = perf_counter()
        last = [s.run(float(alpha), f, kept) for s, f in zip(searches, last, strict=True)]
        if found and any(here.is_cut for here in last):
            break
        functions, union = [], np.zeros(d, dtype=bool)
        for k, search in enumerate(searches):
            here = selected(search, last[k], pruners[k])
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

    The setting of the paper (Bach, 2009) with the weights of its author's demonstrations is
    ``betas=[4], root_weight=0.1, cv=10, selection_rule="min", prune=False, debias=False``: the
    penalised function that predicts best, without pruning or refit.

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
