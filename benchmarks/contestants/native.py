"""Tools as people use them for prediction: no refit wrapper; how each is tuned stands beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn import ensemble
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - makes the next import work
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.contest import (
    LEVEL,
    Answer,
    Array,
    Contestant,
    Question,
    everything,
    one_against_rest,
)
from benchmarks.contestants.rankers import (
    BANDWIDTHS,
    REGULARISATIONS,
    ebm_importance,
    for_task,
    standardised,
    xrfm_diagonal,
    xrfm_model,
    xrfm_predict,
)
from benchmarks.contestants.ranking import Scaler, chosen_refit

Make = Callable[[Question], Any]  # an estimator, not yet fitted
Read = Callable[[Any], Any]  # an importance per column, of the fitted one
EARLY = 0.1  # share of the rows on which boosting decides when to stop
MOST_TREES = 100


class Native(Contestant):
    """An estimator in scikit-learn's manner.

    ``importance`` ranks the columns. The support is everything unless ``sparse``: then it is where
    the importance is not zero. Where ``spread`` is set and intervals are asked for, they come from
    the deviations of held-out rows, off the clock.
    """

    def __init__(
        self,
        name: str,
        package: str,
        make: Make,
        tuning: str,
        importance: Read | None = None,
        *,
        sparse: bool = False,
        spread: bool = False,
    ) -> None:
        self.name, self.package, self.tuning = name, package, tuning
        self._make, self._importance, self._sparse = make, importance, sparse
        self._spread = spread
        if spread:
            self.tuning += "; 90 % intervals from the deviations of a tenth of the rows held out"

    def fit(self, question: Question) -> Answer:
        """Tune and fit."""
        y = question.y.astype(int) if question.classifies else question.y
        model = self._make(question).fit(question.X, y)
        scores = None if self._importance is None else np.asarray(self._importance(model))
        support = scores != 0 if self._sparse and scores is not None else everything(question)

        def predict(new: Array) -> Array:
            return np.asarray(model.predict(new), dtype=float).reshape(-1)

        classifies = question.classifies and hasattr(model, "predict_proba")
        answer = Answer(
            support,
            predict,
            scores=scores,
            probability=model.predict_proba if classifies else None,
        )
        if not (self._spread and question.intervals):
            return answer
        deviations = cache(lambda: self._deviations(question))
        ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
        return answer._replace(
            interval=lambda new: predict(new)[:, None] + np.quantile(deviations(), ends),
            deviation=lambda new: np.full(len(new), float(deviations().std())),
        )

    def _deviations(self, question: Question) -> Array:
        """y minus its prediction, on a tenth of the rows."""
        X, X_out, y, y_out = train_test_split(
            question.X, question.y, test_size=EARLY, random_state=question.seed
        )
        part = Question(X, y, question.task, question.seed)
        return np.asarray(y_out - np.asarray(self._make(part).fit(X, y).predict(X_out)).reshape(-1))


class Early:
    """Boosting that stops by itself on a tenth of the rows; ``fit`` as in scikit-learn."""

    def __init__(self, model: Any, question: Question, **options: Any) -> None:
        self._model, self._question, self._options = model, question, options

    def fit(self, X: Array, y: Any) -> Any:
        """Hold a tenth of the rows out to stop."""
        strata = y if self._question.classifies and np.bincount(y).min() > 1 else None
        X, X_out, y, y_out = train_test_split(
            X, y, test_size=EARLY, random_state=self._question.seed, stratify=strata
        )
        return self._model.fit(X, y, eval_set=[(X_out, y_out)], **self._options)


def _lightgbm(question: Question) -> Any:
    import lightgbm

    kind = for_task(question, "LGBM", lightgbm)
    few = len(question.y) < 400  # its leaves of 20 rows starve short tables
    model = kind(
        n_estimators=2000,
        learning_rate=0.05,
        min_child_samples=5 if few else 20,
        n_jobs=1,
        random_state=question.seed,
        verbose=-1,
    )
    return Early(model, question, callbacks=[lightgbm.early_stopping(50, verbose=False)])


def _xgboost(question: Question) -> Any:
    import xgboost

    kind = for_task(question, "XGB", xgboost)
    model = kind(
        n_estimators=2000,
        learning_rate=0.05,
        max_depth=6,
        subsample=0.8,
        early_stopping_rounds=50,
        n_jobs=1,
        random_state=question.seed,
        verbosity=0,
    )
    return Early(model, question, verbose=False)


def _catboost(question: Question) -> Any:
    import catboost

    kind = for_task(question, "CatBoost", catboost)
    model = kind(
        iterations=2000,
        early_stopping_rounds=50,
        thread_count=1,
        random_seed=question.seed,
        verbose=False,
        allow_writing_files=False,
    )
    return Early(model, question)


def _ebm(question: Question) -> Any:
    from interpret import glassbox

    return for_task(question, "ExplainableBoosting", glassbox)(n_jobs=1, random_state=question.seed)


def _folds(question: Question) -> KFold:
    return KFold(5, shuffle=True, random_state=question.seed)


def _boosting(question: Question) -> Any:
    kind = for_task(question, "HistGradientBoosting", ensemble)
    grid = {
        "learning_rate": [0.05, 0.1],
        "max_iter": [100, 300],
        "min_samples_leaf": [5, 20],
        "max_leaf_nodes": [8, 31],
    }
    model = kind(early_stopping=False, random_state=question.seed)
    return GridSearchCV(model, grid, cv=_folds(question))


def _boosting_default(question: Question) -> Any:
    return for_task(question, "HistGradientBoosting", ensemble)(random_state=question.seed)


def _forest(question: Question) -> Any:
    model = for_task(question, "RandomForest", ensemble)(300, random_state=question.seed)
    grid = {"max_features": [1 / 3, 0.7, 1.0], "min_samples_leaf": [1, 5]}
    return GridSearchCV(model, grid, cv=_folds(question))


def _halved(question: Question, model: Any, grid: dict[str, list[Any]]) -> Any:
    """SRBench's tuning: successive halving of the grid, 5 folds of few rows in the first rounds."""
    return HalvingGridSearchCV(
        model, grid, cv=_folds(question), scoring="r2", error_score=0.0, random_state=question.seed
    )


def _srbench_forest(question: Question) -> Any:
    grid: dict[str, list[Any]] = {
        "n_estimators": [10, 100, MOST_TREES],  # the third stands for 1000
        "min_weight_fraction_leaf": [0.0, 0.25, 0.5],
        "max_features": ["sqrt", "log2", None],
    }
    return _halved(question, ensemble.RandomForestRegressor(random_state=question.seed), grid)


def _srbench_kernel_ridge(question: Question) -> Any:
    grid: dict[str, list[Any]] = {
        "kernel": ["linear", "poly", "rbf", "sigmoid"],
        "alpha": [1e-4, 1e-2, 0.1, 1],
        "gamma": [0.01, 0.1, 1, 10],
    }
    return _halved(question, KernelRidge(), grid)


def _lasso(question: Question) -> Any:
    if question.classifies:
        model = LogisticRegressionCV(
            cv=5, penalty="l1", solver="saga", max_iter=2000, scoring="neg_log_loss"
        )
    else:
        model = LassoCV(cv=_folds(question), max_iter=10_000)
    return make_pipeline(StandardScaler(), model)


def _lasso_importance(model: Any) -> Array:
    return np.abs(np.atleast_2d(model[-1].coef_)).max(axis=0)


def _linear(question: Question) -> Any:
    model = LogisticRegression(max_iter=2000) if question.classifies else LinearRegression()
    return make_pipeline(StandardScaler(), model)


def _gam(question: Question) -> Any:
    import pygam

    return pygam.LogisticGAM() if question.classifies else pygam.LinearGAM()


class KernelRidgeOnAll(Contestant):
    """On all columns: what selection has to beat."""

    name = "kernel_ridge"
    tuning = (
        "all columns; kernel (three Gaussian widths, degrees 2 and 3) by 5-fold cross-validation, "
        "ridge by closed-form leave-one-out; at most 2000 rows, drawn by the seed; classes by "
        "regression, more than two by one against the rest"
    )

    def fit(self, question: Question) -> Answer:
        """Choose the kernel, fit on all columns."""
        if question.many_classes:
            return one_against_rest(self.fit, question)
        return chosen_refit(question, everything(question))


class XRFM(Contestant):
    """Recursive feature machine, its own predictions."""

    name = "xrfm_native"
    package = "xrfm"
    tuning = (
        "kernel l2 with a diagonal metric, 5 iterations with early stopping; bandwidth 3, 10, 30 "
        "and reg 1e-4, 1e-2, 1 by the rows held out (a fifth, at most 2000; xRFM needs them "
        "anyway); two classes by regression on -1 and 1, more by one against the rest"
    )

    def fit(self, question: Question) -> Answer:
        """Best of the grid on the rows held out."""
        if question.many_classes:
            return one_against_rest(self.fit, question)
        X, y = standardised(question)
        rows = np.random.default_rng(question.seed).permutation(len(X))
        cut = min(len(X) // 5, 2000)
        out, train = rows[:cut], rows[cut:]
        parts = X[train], y[train], X[out], y[out]
        best, kept = np.inf, None
        for bandwidth in BANDWIDTHS:
            for reg in REGULARISATIONS:
                model = xrfm_model(*parts, bandwidth, reg, question.seed)
                error = float(np.mean((xrfm_predict(model, X[out]) - y[out, 0]) ** 2))
                if error < best:
                    best, kept = error, model
        inputs, target = Scaler.of(question.X), Scaler.of(question.signed[:, None])

        def predict(new: Array) -> Array:
            values = xrfm_predict(kept, inputs(new).astype(np.float32))
            return question.decode(target.mean[0] + target.scale[0] * values)

        return Answer(everything(question), predict, scores=xrfm_diagonal(kept))


_STOPS = "learning rate .05, up to 2000 trees, stopped on a tenth of the rows; else its defaults"
_TREES: Read = lambda model: model.feature_importances_  # noqa: E731 - one attribute, one word

CONTESTANTS = (
    KernelRidgeOnAll(),
    XRFM(),
    Native(
        "lightgbm",
        "lightgbm",
        _lightgbm,
        _STOPS + " (leaves of 5 rows below 400)",
        _TREES,
        spread=True,
    ),
    Native(
        "xgboost",
        "xgboost",
        _xgboost,
        _STOPS + ", 80 % of the rows per tree",
        _TREES,
        spread=True,
    ),
    Native(
        "catboost",
        "catboost",
        _catboost,
        "up to 2000 trees, stopped on a tenth of the rows; else its defaults",
        _TREES,
        spread=True,
    ),
    Native(
        "ebm_native",
        "interpret",
        _ebm,
        "its defaults (bags, pairs and stopping its own)",
        ebm_importance,
        spread=True,
    ),
    Native("gam", "pygam", _gam, "its defaults: 20 splines a column, no interactions"),
    Native(
        "boosting_native",
        "scikit-learn",
        _boosting,
        "histogram gradient boosting; learning rate .05 or .1, 100 or 300 trees, leaves of 5 or "
        "20 rows, 8 or 31 leaves by 5-fold cross-validation",
    ),
    Native(
        "boosting_default",
        "scikit-learn",
        _boosting_default,
        "none: HistGradientBoosting's defaults",
    ),
    Native(
        "forest_native",
        "scikit-learn",
        _forest,
        "300 trees; a third, 70 % or all columns per split, leaves of 1 or 5 rows by 5-fold "
        "cross-validation",
        lambda model: model.best_estimator_.feature_importances_,
    ),
    Native(
        "srbench_forest",
        "scikit-learn",
        _srbench_forest,
        "SRBench's grid by its successive halving (which may choose 10 trees, or leaves of a half "
        f"of the rows), with {MOST_TREES} trees for its 1000",
    ),
    Native(
        "srbench_kernel_ridge",
        "scikit-learn",
        _srbench_kernel_ridge,
        "SRBench's grid of kernels, ridges and gammas by its successive halving",
    ),
    Native(
        "lasso_native",
        "scikit-learn",
        _lasso,
        "LassoCV on standardised columns (classes: logistic, l1)",
        _lasso_importance,
        sparse=True,
    ),
    Native("linear", "scikit-learn", _linear, "none: least squares (classes: logistic)"),
)
