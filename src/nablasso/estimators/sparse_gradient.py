"""Sparse gradient learning for numbers and classes, ``alpha`` given or cross-validated.

Scores are those of what ``predict`` returns: the refit on the directions of each training fold, f0
for classes. The grid, the folds and the canonical order are fixed before any fold is fitted; along
the grid, from large alpha to small, each fit starts from the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from nablasso.data.table import Table
from nablasso.estimators.alpha_path import Path
from nablasso.estimators.cross_validation import (
    Candidate,
    Cell,
    CrossValidated,
    as_fitted,
    check_rule,
    choose,
    grid_points,
)
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.sparse_gradient_base import (
    SMALLEST_FRACTION,
    SparseGradientEstimator,
    ridge_on,
)
from nablasso.estimators.target import Data, PredictsClasses, PredictsNumbers
from nablasso.estimators.validation import feature_names
from nablasso.gradients import GradientFit, Learner, union_of
from nablasso.losses import Logistic, Loss, Squared
from nablasso.progress import track
from nablasso.types import Array

FOLD_TOL = 1e-4  # a fold's fit need not be more exact than its score


@estimator
class GradientNumbers(PredictsNumbers, SparseGradientEstimator):
    """Shared by the regressors: the squared loss; kernel ridge regression on the directions."""

    def _loss(self) -> Loss:
        return Squared()

    def _keep(self, final: list[GradientFit], table: Table) -> None:
        super()._keep(final, table)
        features = np.asarray(table.X @ self.components_[:, table.columns].T)
        self._predictor = ridge_on(features, table).function

    def _link(self, X: Array) -> Array:
        return np.asarray(self._y_mean + self._predictor.values(self._project(X)))


@estimator
class GradientClasses(PredictsClasses, SparseGradientEstimator):
    """Shared by the classifiers: the logistic loss with f0, which predicts."""

    def _loss(self) -> Loss:
        return Logistic()


@estimator
class GradientsAtAlpha(SparseGradientEstimator):
    """Fit at one ``alpha``."""

    alpha: float | None = parameter(
        None,
        "float",
        "Sparsity weight; by default a tenth of ``alpha_max``, the smallest value that selects "
        "nothing. The squared and ridge forms have no such value: a tenth of their natural unit "
        "(:mod:`nablasso.gradients.solvers`).",
    )

    def _alpha(self, data: Data, table: Table, learner: Learner, groups: Any) -> float | None:
        return self.alpha

    def _path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        X_unlabeled: Any = None,
        n_alphas: int = 40,
        eps: float = SMALLEST_FRACTION,
        alphas: Any = None,
    ) -> Path:
        """Learn along ``alpha``, with warm starts.

        An interrupted path ends where it was; points that did not reach ``tol`` give a
        :class:`~sklearn.exceptions.ConvergenceWarning`.
        """
        data = self._data(X, y, sample_weight, X_unlabeled)
        table = self._table(data)
        learner = self._learner(data, table, float(self.tol))
        self._warn_of_isolated(learner.data)
        grid = self._grid(learner, n_alphas if alphas is None else alphas, eps)
        found = list(track(self._walk(learner, grid), len(grid), "path", verbose=self.verbose))
        for fits in found:
            for fit in fits:
                self._warn_unless_converged(fit)
        supports, importances = zip(*(self._selected(fits, table) for fits in found), strict=True)
        gaps = np.array([[fit.solution.gap for fit in fits] for fits in found])
        references = np.array([[fit.problem.reference for fit in fits] for fits in found])
        solved = [[fit.solution for fit in fits] for fits in found]
        return Path(
            grid[: len(found)],
            np.array(supports),
            np.array(importances),
            feature_names(self),
            learner.alpha_max,
            objectives=np.array([sum(one.certificate.primal for one in each) for each in solved]),
            dual_gaps=np.sum(gaps, axis=1),
            relative_gaps=np.max(gaps / references, axis=1),
            n_iter=np.array([max(one.n_iter for one in each) for each in solved]),
        )


@estimator
class GradientsByFolds(CrossValidated, SparseGradientEstimator):
    """Choose ``alpha`` by cross-validation, then fit on all rows.

    Attributes
    ----------
    best_params_ : dict
        ``alpha`` of the refit.
    """

    _: KW_ONLY
    alphas: Any = parameter(
        30,
        "int or array-like",
        "Values to try; a number asks for that many from ``alpha_max`` (of the other forms: ten "
        "times their natural unit) down to a hundredth (thousandth) of it.",
    )

    def _alpha(self, data: Data, table: Table, learner: Learner, groups: Any) -> float | None:
        check_rule(self.selection_rule)
        cell = Cell(self._grid(learner, self.alphas))
        choice = choose(
            grid_points([cell]),
            self._judged(data, table, groups, cell),
            rule=self.selection_rule,
            scoring=self.scoring,
            ties=cell.alphas,
        )
        return self._keep_choice(choice)["alpha"]

    def _candidates(self, train: Data, held_out: Data, grid: Cell) -> Iterator[Candidate]:
        table, model = self._table(train), copy(self)
        if self.n_neighbors is not None:  # a fold may have fewer distinct rows
            model.n_neighbors = min(self.n_neighbors, len(table.X) - 1)
        learner = model._learner(train, table, max(self.tol, FOLD_TOL))
        done = 0
        for fits in model._walk(learner, grid.alphas):
            final = learner.refitted(fits) if self.two_step else fits
            yield Candidate(as_fitted(model, final, table), float(union_of(fits).sum()))
            done += 1
        if done < len(grid.alphas):
            raise KeyboardInterrupt


@estimator
class SparseGradientRegressor(GradientsAtAlpha, GradientNumbers):
    """Sparse gradient learning for regression.

    Learns the gradient of the regression function from pairs of rows, most of its components
    exactly zero. Select variables by the components that are not, reduce the dimension by the
    eigenvectors of their covariance.

    Examples
    --------
    >>> from nablasso import SparseGradientRegressor
    >>> from nablasso.datasets import make_turlach
    >>> from nablasso.kernels import Polynomial
    >>> data = make_turlach(100, 10, random_state=0)
    >>> model = SparseGradientRegressor(0.001, kernel=Polynomial(1), n_neighbors=10)
    >>> model.fit(data.X, data.y).get_support(indices=True).tolist()
    [0, 1, 2, 3, 4]
    """


@estimator
class SparseGradientClassifier(GradientsAtAlpha, GradientClasses):
    """Sparse gradient learning for classes: gradients of the log-odds.

    Two classes need one function, more need one per class ("this class or not"). Predictions come
    from f0, the log-odds themselves, which is learned along with the gradients.

    Examples
    --------
    >>> from nablasso import SparseGradientClassifier
    >>> from nablasso.datasets import make_rings
    >>> data = make_rings(40, 10, random_state=0)
    >>> model = SparseGradientClassifier(0.02, standardize=False).fit(data.X, data.y)
    >>> model.get_support(indices=True).tolist()
    [0, 1]
    >>> model.transform(data.X).shape
    (40, 2)
    """


@estimator
class SparseGradientRegressorCV(GradientsByFolds, GradientNumbers):
    """:class:`SparseGradientRegressor` with ``alpha`` by cross-validation."""


@estimator
class SparseGradientClassifierCV(GradientsByFolds, GradientClasses):
    """:class:`SparseGradientClassifier` with ``alpha`` by cross-validation."""
