"""Tools as people use them for prediction: no refit wrapper, each tuned by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LassoCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.selection.contest import Answer, Contestant, Question
from benchmarks.selection.contestants import CONTESTANTS as SELECTORS
from benchmarks.selection.ranking import KERNELS, cross_validated_errors, refit

FOLDS = 5


class Native(Contestant):
    """A scikit-learn regressor with its grid; ``used`` tells which columns it keeps."""

    def __init__(
        self,
        name: str,
        tuning: str,
        make: Callable[[Question], Any],
        used: Callable[[Any], Any] | None = None,
    ) -> None:
        self.name, self.tuning = name, tuning  # type: ignore[misc]
        self._make, self._used = make, used

    def fit(self, question: Question) -> Answer:
        """Tune and fit."""
        model = self._make(question).fit(question.X, question.y)
        everything = np.ones(question.X.shape[1], dtype=bool)
        support = everything if self._used is None else np.asarray(self._used(model), dtype=bool)
        return Answer(support, lambda new: np.asarray(model.predict(new), dtype=float))


class KernelRidge(Contestant):
    """On all columns: what selection has to beat."""

    name = "kernel_ridge"
    tuning = (
        "all columns; kernel (three Gaussian widths, degrees 2 and 3) by 5-fold cross-validation, "
        "ridge by closed-form leave-one-out"
    )

    def fit(self, question: Question) -> Answer:
        """Choose the kernel, fit on all rows."""
        errors = cross_validated_errors(question.X, question.y, question.seed)
        predict = refit(question.X, question.y, KERNELS[int(np.argmin(errors))])
        return Answer(np.ones(question.X.shape[1], dtype=bool), predict)


def _folds(question: Question) -> KFold:
    return KFold(FOLDS, shuffle=True, random_state=question.seed)


def _boosting(question: Question) -> Any:
    model = HistGradientBoostingRegressor(early_stopping=False, random_state=question.seed)
    grid = {
        "learning_rate": [0.05, 0.1],
        "max_iter": [100, 300],
        "min_samples_leaf": [5, 20],
        "max_leaf_nodes": [8, 31],
    }
    return GridSearchCV(model, grid, cv=_folds(question))


def _forest(question: Question) -> Any:
    model = RandomForestRegressor(300, random_state=question.seed)
    grid = {"max_features": [1 / 3, 0.7, 1.0], "min_samples_leaf": [1, 5]}
    return GridSearchCV(model, grid, cv=_folds(question))


def _lasso(question: Question) -> Any:
    return make_pipeline(StandardScaler(), LassoCV(cv=_folds(question), max_iter=10_000))


_NATIVE = (
    KernelRidge(),
    Native(
        "boosting_native",
        "histogram gradient boosting; learning rate .05 or .1, 100 or 300 trees, leaves of 5 or "
        "20 rows, 8 or 31 leaves by 5-fold cross-validation",
        _boosting,
    ),
    Native(
        "forest_native",
        "300 trees; a third, 70 % or all columns per split, leaves of 1 or 5 rows by 5-fold "
        "cross-validation",
        _forest,
    ),
    Native(
        "lasso_native",
        "LassoCV on standardised columns",
        _lasso,
        lambda model: model[-1].coef_ != 0,
    ),
)

# Of the selection benchmark those that predict by themselves.
_SELECTORS = (
    "nablasso",
    "derivative_lasso",
    "derivative_elastic_net",
    "hierarchical_kernels",
    "multiple_kernels",
    "sparse_gradients",
    "gaussian_process_native",
    "mars_native",
)

CONTESTANTS: dict[str, Contestant] = {
    **{name: SELECTORS[name] for name in _SELECTORS},
    **{contestant.name: contestant for contestant in _NATIVE},
}
