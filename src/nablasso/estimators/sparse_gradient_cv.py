"""The sparse gradient estimators with ``alpha`` chosen by cross-validation.

Scores are those of what ``predict`` returns: the refit on the directions or selected variables of
each training fold, f0 for classes. The grid, the folds and the canonical order are fixed before any
fold is fitted; along the grid, from large alpha to small, each fit starts from the one before.
"""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from time import perf_counter
from typing import Any, NamedTuple, Self

from threadpoolctl import threadpool_limits

from nablasso.estimators.cross_validation import (
    Fold,
    by_name,
    check_rule,
    choose,
    draw_folds,
    held_out_scorer,
    on_folds,
)
from nablasso.estimators.docs import document
from nablasso.estimators.sparse_gradient import GradientClassification, GradientRegression
from nablasso.estimators.sparse_gradient_base import SparseGradientEstimator
from nablasso.estimators.sparse_gradient_path import gradient_grid
from nablasso.estimators.validation import check_new_data
from nablasso.gradients import union_of
from nablasso.types import Array

FOLD_TOL = 1e-4  # a fold's fit need not be more exact than its score


class Data(NamedTuple):
    """What the folds are cut from: validated arrays."""

    X: Array
    y: Array
    weights: Array
    unlabelled: Array | None


class Outcome(NamedTuple):
    """What one fold says of one alpha."""

    score: float
    size: float
    fit_time: float
    score_time: float


@dataclass(eq=False, repr=False)
class CrossValidatedGradients(SparseGradientEstimator):
    """Choose alpha by cross-validation, then fit on all rows."""

    _: KW_ONLY
    alphas: Any = 30
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
        """Choose alpha, learn the gradients, select variables and find directions.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row; scores are weighted too.
        groups : array-like, shape (n_samples,), optional
            Groups of rows for the splitter.
        X_unlabeled : array-like, shape (n_unlabeled, n_features), optional
            Rows without a target, for the smoothness term.

        Returns
        -------
        self
        """
        check_rule(self.selection_rule)
        X, y, weights = self._validate(X, y, sample_weight)
        table = self._prepare(X, y, weights)
        unlabelled = None if X_unlabeled is None else check_new_data(self, X_unlabeled)
        data = Data(X, y, weights, unlabelled)
        learner = self._learner(table, self._points(table, weights, unlabelled), self.tol)
        alphas = gradient_grid(self.alphas, learner, self.penalty)
        folds = draw_folds(
            self.cv, X, y, groups, table, self.random_state, stratify=self._is_classifier
        )
        outcomes = by_name(Outcome, on_folds(self, score_fold, folds, self, data, alphas))
        choice = choose(
            [{"alpha": float(alpha)} for alpha in alphas],
            outcomes,
            rule=self.selection_rule,
            scoring=self.scoring,
            ties=alphas,
        )
        self.cv_results_, self.best_index_ = choice
        self.best_params_, self.best_score_ = choice.params, choice.score
        self._fit_table(X, table, learner, self.best_params_["alpha"], weights)
        return self


def score_fold(selector: Any, data: Data, alphas: Array, fold: Fold) -> list[Outcome]:
    """Every alpha on one fold."""
    X, y, weights, unlabelled = data
    train, test = fold
    test = test[weights[test] > 0]
    scorer = held_out_scorer(selector, weights, test)
    targets = selector._targets(y[test])
    results = []
    with threadpool_limits(limits=1):  # small matrices: more threads wait for each other
        table = selector._prepare(X[train], y[train], weights[train])
        points = selector._points(table, weights[train], unlabelled)
        selector = copy(selector)
        if selector.n_neighbors is not None:  # a fold may have fewer distinct rows
            selector.n_neighbors = min(selector.n_neighbors, len(table.X) - 1)
        start = perf_counter()
        learner = selector._learner(table, points, max(selector.tol, FOLD_TOL))
        for fits in selector._walk(learner, alphas):
            model = copy(selector)
            vars(model).pop("feature_names_in_", None)  # folds are arrays without names
            model._finish(learner.refitted(fits) if model.two_step else fits, table)
            fitted = perf_counter()
            score = scorer(model, X[test], targets)
            now = perf_counter()
            size = float(union_of(fits).sum())
            results.append(Outcome(score, size, fitted - start, now - fitted))
            start = now
    if len(results) < len(alphas):
        raise KeyboardInterrupt
    return results


@document
@dataclass(eq=False, repr=False)
class SparseGradientRegressorCV(CrossValidatedGradients, GradientRegression):
    """:class:`SparseGradientRegressor` with ``alpha`` by cross-validation.

    Parameters
    ----------
    {gradient_cv}
    {gradient_common}
    {gradient_predictor}
    {gradient_rest}

    Attributes
    ----------
    {gradient_cv_attributes}
    {gradient_attributes}
    """


@document
@dataclass(eq=False, repr=False)
class SparseGradientClassifierCV(CrossValidatedGradients, GradientClassification):
    """:class:`SparseGradientClassifier` with ``alpha`` by cross-validation.

    Parameters
    ----------
    {gradient_cv}
    {gradient_common}
    {gradient_class_weight}
    {gradient_rest}

    Attributes
    ----------
    {gradient_cv_attributes}
    {gradient_classes}
    {gradient_attributes}
    """
