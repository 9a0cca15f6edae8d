"""Hierarchical kernel learning for numbers and classes, ``alpha`` given or cross-validated.

Along each fold's path of alphas, with warm starts, what is scored is what ``predict`` would return:
the refit on what was selected inside the fold. Candidates with the same hull share their refit. The
folds need no certificate; the final fit on all rows has one. Where the budget ends a path, smaller
alphas are no candidates: what it was cut to is the solution at none of them.

The rule "ebic" draws no folds: it prunes the hulls of all candidates on all rows and takes the one
of smallest criterion (:mod:`nablasso.hierarchy.refit`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError, warn
from nablasso.estimators.alpha_path import Path
from nablasso.estimators.cross_validation import (
    RULES,
    Candidate,
    Cell,
    CrossValidated,
    as_fitted,
    choose,
    decreasing,
    grid_points,
    positive_list,
)
from nablasso.estimators.hierarchical_base import KernelSelector
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.target import Data, PredictsClasses, PredictsNumbers
from nablasso.estimators.validation import feature_names
from nablasso.hierarchy import Found, HullLearner, Pruner, largest_alpha
from nablasso.hierarchy.refit import has_likelihood
from nablasso.losses import (
    REGRESSION_LOSSES,
    Logistic,
    Loss,
    SmoothedEpsilonInsensitive,
    SmoothedHinge,
    SquaredHinge,
    as_loss,
)
from nablasso.progress import track
from nablasso.types import Array

SMALLEST_FRACTION = 1e-5  # of alpha_max
EQUAL = 1e-9  # criteria of the same hull, found on different paths
NUMBER_LOSSES: dict[str, type[Loss]] = {
    **REGRESSION_LOSSES,
    "epsilon_insensitive": SmoothedEpsilonInsensitive,
}
CLASS_LOSSES = {"logistic": Logistic, "squared_hinge": SquaredHinge, "hinge": SmoothedHinge}
DEFAULT_BETAS = (1.2, 2.5, 6.0)  # from hardly any preference for shallow nodes to a strong one


@estimator
class KernelNumbers(PredictsNumbers, KernelSelector):
    """Shared by the regressors over a hierarchy of kernels."""

    _: KW_ONLY
    loss: Any = parameter(
        "squared",
        "str or Loss",
        '``"squared"``, ``"huber"``, ``"epsilon_insensitive_squared"``, '
        '``"epsilon_insensitive"`` (smoothed), ``"poisson"``, or an object of '
        ":mod:`nablasso.losses`, whose thresholds are in units of a robust deviation of ``y``.",
    )

    def _loss(self) -> Loss:
        return as_loss(self.loss, NUMBER_LOSSES)


def _has_probabilities(model: Any) -> bool:
    return isinstance(model._loss(), Logistic)


@estimator
class KernelClasses(PredictsClasses, KernelSelector):
    """Shared by the classifiers over a hierarchy of kernels.

    Attributes
    ----------
    class_importances_ : array, shape (n_classes, n_features)
        ``feature_importances_`` of each class against the rest; one row, that of the second class,
        where there are two.
    """

    _: KW_ONLY
    loss: Any = parameter(
        "logistic",
        "str or Loss",
        '``"logistic"``, ``"squared_hinge"`` or ``"hinge"`` (smoothed). Probabilities need the '
        "logistic loss.",
    )

    predict_proba = available_if(_has_probabilities)(PredictsClasses.predict_proba)

    @property
    def class_importances_(self) -> Array:
        """``feature_importances_`` of each class against the rest."""
        check_is_fitted(self)
        return np.asarray(self._class_importances)

    def _loss(self) -> Loss:
        return as_loss(self.loss, CLASS_LOSSES)


@estimator
class KernelsAtAlpha(KernelSelector):
    """Fit at one ``alpha``."""

    alpha: float | None = parameter(
        None, "float", "Weight of half the squared norm; by default a tenth of ``alpha_max_``."
    )
    _: KW_ONLY
    beta: float = parameter(
        2.0,
        "float",
        "Weight of a node relative to its parents', above 1: the larger, the more are shallow "
        "nodes (main effects, low degrees) preferred, and the easier is the certificate.",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select kernels and fit the function."""
        data = self._read(X, y, sample_weight)
        self._warn_of_beta(self.beta)
        return self._fit_table(data, self._table(data), self.alpha, self.beta)

    def _path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        n_alphas: int = 30,
        eps: float = SMALLEST_FRACTION,
        alphas: Any = None,
    ) -> Path:
        """Search along ``alpha``, with warm starts and a certificate at every alpha."""
        data = self._read(X, y, sample_weight)
        self._warn_of_beta(self.beta)
        table = self._table(data)
        learner = self._learner(table, self.beta)
        search, *others = learner.searches
        if others:
            raise InvalidParameterError(
                f"A path belongs to one function; {self!r} fits {1 + len(others)} on these "
                "classes. Give the labels of one class against the rest."
            )
        top = largest_alpha(search)
        grid = decreasing(n_alphas if alphas is None else alphas, top, eps)
        steps = learner.walk(grid, beyond=True)
        finds: list[Found] = []
        try:
            for (found,) in track(steps, len(grid), "path", verbose=self.verbose):
                finds.append(found)
        except KeyboardInterrupt:
            if not finds:
                raise
            warn(
                f"The path was interrupted after {len(finds)} of {len(grid)} alphas.",
                ConvergenceWarning,
            )
        return Path(
            grid[: len(finds)],
            np.array([self._support(table, learner, found) for found in finds]),
            None,
            feature_names(self),
            top,
            hulls=[list(self._named(learner.hierarchy, table, f.hull).values()) for f in finds],
            dual_gaps=np.array([found.gap for found in finds]),
            certified=np.array([found.certified for found in finds]),
            objectives=np.array([found.primal for found in finds]),
            rules=[found.rule for found in finds],
            reasons=[found.reason for found in finds],
        )


@estimator
class KernelsByFolds(CrossValidated, KernelSelector):
    """Choose ``alpha`` and ``beta`` by cross-validation, then fit on all rows.

    Attributes
    ----------
    best_params_ : dict
        ``alpha`` and ``beta`` of the refit.
    """

    _: KW_ONLY
    alphas: Any = parameter(
        30,
        "int or array-like",
        "Values to try; a number asks for that many from ``alpha_max_`` down to 1e-5 of it (the "
        "norm is squared).",
    )
    betas: Any = parameter(
        None,
        "array-like",
        "Values of ``beta`` to try, the weight of a node relative to its parents'; by default "
        "1.2, 2.5 and 6.",
    )
    selection_rule: str = parameter(
        "1se",
        '{"1se", "min", "ebic"}',
        "Take the candidate that selects the fewest variables among those whose score is within "
        'one standard error of the best, or the best itself. ``"ebic"`` prunes the hulls of all '
        "candidates on all rows and takes the one of smallest criterion (see ``prune``): no folds "
        "are drawn, ``cv``, ``scoring`` and ``n_jobs`` are not used, ``cv_results_`` has "
        '``"ebic"`` and ``"rank_ebic"`` in place of scores, and ``best_score_`` is minus the '
        "criterion. It selects better and costs less; among equals it takes the largest ``beta``, "
        "then the largest ``alpha``.",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose the parameters, select kernels and fit the function."""
        if self.selection_rule not in (*RULES, "ebic"):
            raise InvalidParameterError(
                f'selection_rule must be "1se", "min" or "ebic"; got {self.selection_rule!r}.'
            )
        data = self._read(X, y, sample_weight)
        table = self._table(data)
        cells = self._grid(table)
        if self.selection_rule == "ebic":
            self._choose_by_criterion(table, cells)
        else:
            judge = copy(self)
            loss = self._loss().fitted(self._target.functions(table.y)[:, 0], table.weights)
            judge._target = self._target.fitted(loss)
            outcomes = judge._judged(data, table, groups, cells)
            sizes = outcomes["size"]
            self._warn_of_paths_cut(int(np.isnan(sizes).any(axis=0).sum()), sizes.shape[1])
            rule, params = self.selection_rule, grid_points(cells)
            self._keep_choice(choose(params, outcomes, rule=rule, scoring=self.scoring))
        alpha, beta = self.best_params_["alpha"], self.best_params_.get("beta")
        way = next(cell.alphas for cell in cells if cell.fixed.get("beta") == beta)
        return self._fit_table(data, table, alpha, beta, way[way >= alpha])

    def _prunes(self) -> bool:
        if self.selection_rule == "ebic":
            return True
        return has_likelihood(self._loss()) if self.prune is None else bool(self.prune)

    def _grid(self, table: Table) -> list[Cell]:
        """One path of alphas for each ``beta``."""
        betas: Iterable[float | None] = (None,)
        if self.interactions:
            betas = DEFAULT_BETAS if self.betas is None else positive_list(self.betas, "betas")
        cells = []
        for beta in betas:
            self._warn_of_beta(beta)
            top = max(map(largest_alpha, self._learner(table, beta).searches))
            fixed = {} if beta is None else {"beta": float(beta)}
            cells.append(Cell(decreasing(self.alphas, top, SMALLEST_FRACTION), fixed))
        return cells

    def _paths(self, table: Table, cells: Iterable[Cell]) -> Iterator[tuple[HullLearner, Any]]:
        """For each candidate its learner and solutions; None beyond the end of a path."""
        pruners: list[Pruner] | None = None
        for cell in cells:
            beta, count = cell.fixed.get("beta"), 0
            learner = self._learner(table, beta, certify=False, pruners=pruners)
            pruners = learner.pruners
            for finds in learner.walk(cell.alphas):
                count += 1
                yield learner, finds
            yield from ((learner, None) for _ in cell.alphas[count:])

    def _candidates(self, train: Data, held_out: Data, grid: list[Cell]) -> Iterator[Candidate]:
        table = self._table(train)
        for learner, finds in self._paths(table, grid):
            if finds is None:
                yield Candidate(None, seconds=0.0)
                continue
            chosen = learner.pruned(finds)
            supports = [self._support(table, learner, found) for found in chosen]
            refits = self._predictors(learner, chosen, supports)
            model = as_fitted(self, [made.function for made in refits], table)
            yield Candidate(model, float(np.any(supports, axis=0).sum()))

    def _choose_by_criterion(self, table: Table, cells: list[Cell]) -> None:
        """The pruned hull of smallest criterion; among equals the largest beta, then alpha."""
        values = np.array(self._criteria(table, cells))
        params = grid_points(cells)[: len(values)]
        self._warn_of_paths_cut(int(np.isnan(values).sum()), len(values))
        equal = values <= np.nanmin(values) + EQUAL * np.nanmin(np.abs(values))
        betas = np.array([each.get("beta", 0.0) for each in params])
        alphas = np.array([each["alpha"] for each in params])
        best = int(np.lexsort((-alphas, -betas, ~equal))[0])
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
        try:
            paths = track(cells, len(cells), f"{name} paths", verbose=self.verbose)
            for learner, finds in self._paths(table, paths):
                values.append(np.nan if finds is None else learner.criterion(finds))
        except KeyboardInterrupt:
            if not values:
                raise
            warn(
                f"{name} was interrupted after {len(values)} candidates; it chooses among these.",
                ConvergenceWarning,
            )
        return values

    def _warn_of_paths_cut(self, missing: int, candidates: int) -> None:
        if missing:
            warn(
                f"The budget (max_kernels, max_memory, max_work) ended paths of "
                f"{type(self).__name__}: {missing} of {candidates} candidates, those of the "
                "smallest alphas, were not solved and are not chosen from. Raise the budget to "
                "have them.",
                ConvergenceWarning,
            )


@estimator
class HierarchicalKernelRegressor(KernelsAtAlpha, KernelNumbers):
    r"""Hierarchical kernel learning: variables and their interactions, with a certificate.

    A function that is a sum of products of functions of single variables, over all
    ``(q + 1)^p`` products of levels. A product is selected only after all products of its parts.
    ``interactions=False`` is multiple kernel learning: a sum of functions of single variables.

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import HierarchicalKernelRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> y = X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1]
    >>> model = HierarchicalKernelRegressor(alpha=0.02).fit(X, y)
    >>> model.interactions_
    ['x0 * x1 (order 2)']
    """


@estimator
class HierarchicalKernelClassifier(KernelsAtAlpha, KernelClasses):
    """:class:`HierarchicalKernelRegressor` for classes, one against the rest."""


@estimator
class HierarchicalKernelRegressorCV(KernelsByFolds, KernelNumbers):
    """:class:`HierarchicalKernelRegressor` with ``alpha`` and ``beta`` by cross-validation.

    The setting of the paper (Bach, 2009) with the weights of its author's demonstrations is
    ``betas=[4], root_weight=0.1, cv=10, selection_rule="min", prune=False, debias=False``: the
    penalised function that predicts best, without pruning or refit.
    """


@estimator
class HierarchicalKernelClassifierCV(KernelsByFolds, KernelClasses):
    """:class:`HierarchicalKernelClassifier` with ``alpha`` and ``beta`` by cross-validation."""
