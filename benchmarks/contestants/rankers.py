"""Tools that rank the columns; the wrapper chooses how many and predicts (``ranking.py``)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn import ensemble
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.linear_model import LassoCV
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.contest import Array, Question
from benchmarks.contestants.permutation import held_out_importance
from benchmarks.contestants.ranking import Ranker, Scaler

WRAPPED = "; k and refit by the wrapper"


class Ranked(Ranker):
    """A function that scores the columns, with its tuning and package."""

    def __init__(
        self, name: str, package: str, scores: Callable[[Question], Array], tuning: str
    ) -> None:
        self.name, self.package, self.tuning = name, package, tuning + WRAPPED
        self._scores = scores

    def scores(self, question: Question) -> Array:
        """By the function."""
        return np.asarray(self._scores(question), dtype=float)


def for_task(question: Question, stem: str, module: Any) -> Any:
    """The classifier or the regressor of a pair of classes."""
    return getattr(module, stem + ("Classifier" if question.classifies else "Regressor"))


def standardised(question: Question) -> tuple[Any, Any]:
    """Columns and target of zero mean and unit deviation, single precision, the target a column."""
    X, y = question.X, question.signed[:, None]
    return (Scaler.of(X)(X).astype(np.float32), Scaler.of(y)(y).astype(np.float32))


def _forest(question: Question) -> Array:
    model = for_task(question, "RandomForest", ensemble)
    return held_out_importance(
        question, model(300, max_features=1 / 3, random_state=question.seed, n_jobs=1)
    )


def _boosting(question: Question) -> Array:
    kind = for_task(question, "HistGradientBoosting", ensemble)
    model = kind(early_stopping=False, random_state=question.seed)
    grid = {"min_samples_leaf": [5, 20], "max_iter": [50, 200]}
    search = GridSearchCV(model, grid, cv=5).fit(question.X, question.y)
    return held_out_importance(question, model.set_params(**search.best_params_))


def _mutual_information(question: Question) -> Array:
    information = mutual_info_classif if question.classifies else mutual_info_regression
    return np.asarray(information(question.X, question.y, random_state=question.seed))


def _lasso(question: Question) -> Array:
    folds = KFold(5, shuffle=True, random_state=question.seed)
    model = LassoCV(cv=folds).fit(Scaler.of(question.X)(question.X), question.signed)
    scores = np.abs(model.coef_)
    return np.where(scores > 0, scores, -np.inf)


def _ebm(question: Question) -> Array:
    from interpret import glassbox

    kind = for_task(question, "ExplainableBoosting", glassbox)
    return ebm_importance(kind(n_jobs=1, random_state=question.seed).fit(question.X, question.y))


def ebm_importance(model: Any) -> Array:
    """Largest importance among the terms that hold a column."""
    scores = np.zeros(model.n_features_in_)
    for columns, strength in zip(model.term_features_, model.term_importances(), strict=True):
        for a in columns:
            scores[a] = max(scores[a], strength)
    return scores


def _hsic_lasso(question: Question) -> Array:
    from pyHSICLasso import HSICLasso

    n, d = question.X.shape
    model = HSICLasso()
    np.random.seed(question.seed)  # noqa: NPY002 - the package draws from the global source
    model.input(question.X, question.y)
    scores = np.full(d, -np.inf)
    try:
        getattr(model, question.task)(min(30, d), B=min(20, n // 2), M=3, n_jobs=1)
    except ValueError as error:
        if "empty sequence" not in str(error):
            raise
        return scores  # no column depends on y by itself: how the package says it
    scores[model.get_index()] = model.get_index_score()
    return scores


def _lassonet(question: Question) -> Array:
    import torch
    from lassonet import LassoNetRegressor

    torch.set_num_threads(1)
    model = LassoNetRegressor(random_state=question.seed, torch_seed=question.seed, verbose=0)
    model.path(*standardised(question))
    left = np.asarray(model.feature_importances_, dtype=float)
    return np.where(np.isfinite(left), left, np.nanmax(left[np.isfinite(left)], initial=0) + 1)


BANDWIDTHS, REGULARISATIONS, FOLDS = (3.0, 10.0, 30.0), (1e-4, 1e-2, 1.0), 4


def _xrfm(question: Question) -> Array:
    """Mean diagonal at the grid point of the smallest held-out error."""
    X, y = standardised(question)
    splits = list(KFold(FOLDS, shuffle=True, random_state=question.seed).split(X))
    best, scores = np.inf, np.zeros(X.shape[1])
    for bandwidth, reg in product(BANDWIDTHS, REGULARISATIONS):
        error, diagonal = 0.0, np.zeros(X.shape[1])
        for train, held_out in splits:
            parts = X[train], y[train], X[held_out], y[held_out]
            model = xrfm_model(*parts, bandwidth, reg, question.seed)
            error += float(np.sum((xrfm_predict(model, X[held_out]) - y[held_out, 0]) ** 2))
            diagonal += xrfm_diagonal(model) / FOLDS
        if error < best:
            best, scores = error, diagonal
    return scores


def xrfm_model(
    X: Any, y: Any, X_val: Any, y_val: Any, bandwidth: float, reg: float, seed: int
) -> Any:
    """xRFM with the kernel l2 and a diagonal metric, five iterations with early stopping."""
    import torch
    from xrfm import xRFM

    torch.set_num_threads(1)
    metric = {"kernel": "l2", "bandwidth": bandwidth, "exponent": 1.0, "diag": True}
    stop = {"iters": 5, "verbose": False, "early_stop_rfm": True, "get_agop_best_model": True}
    params = {"model": {**metric, "bandwidth_mode": "constant"}, "fit": {"reg": reg, **stop}}
    model = xRFM(
        params, device=torch.device("cpu"), tuning_metric="mse", random_state=seed, verbose=False
    )
    model.fit(*(torch.from_numpy(part) for part in (X, y, X_val, y_val)))
    return model


def xrfm_predict(model: Any, X: Any) -> Array:
    """Values at new rows."""
    import torch

    return np.asarray(model.predict(torch.from_numpy(X)), dtype=float).reshape(-1)


def xrfm_diagonal(model: Any) -> Array:
    """Diagonal of the average gradient outer product, scaled to sum one."""
    agop = model.collect_best_agops()[0].detach().cpu().numpy().astype(float)
    diagonal = np.diag(agop) if agop.ndim == 2 else agop
    return np.asarray(diagonal / (float(diagonal.sum()) or 1.0))


CONTESTANTS = (
    Ranked(
        "forest",
        "scikit-learn",
        _forest,
        "300 trees, max_features 1/3 (the usual choice for regression); permutation importance on "
        "the held-out rows of 5 folds",
    ),
    Ranked(
        "boosting",
        "scikit-learn",
        _boosting,
        "min_samples_leaf 5 or 20 and 50 or 200 trees by 5-fold cross-validation, the rest "
        "scikit-learn's defaults; permutation importance on the held-out rows of 5 folds",
    ),
    Ranked(
        "xrfm",
        "xrfm",
        _xrfm,
        "kernel l2 with a diagonal metric, 5 iterations with early stopping; bandwidth 3, 10, 30 "
        "and reg 1e-4, 1e-2, 1 by 4-fold cross-validation (xRFM needs a validation part anyway); "
        "ranked by the gradient outer product's diagonal averaged over the folds",
    ),
    Ranked(
        "hsic_lasso",
        "pyHSICLasso",
        _hsic_lasso,
        "block HSIC lasso as its documentation recommends (B=20, M=3), up to 30 columns; ranked by "
        "its scores",
    ),
    Ranked(
        "lassonet",
        "lassonet",
        _lassonet,
        "the package's defaults (one hidden layer of 100, M = 10, its own path and early "
        "stopping on 10 % of the rows); ranked by the penalty at which a column leaves",
    ),
    Ranked(
        "ebm",
        "interpret",
        _ebm,
        "the package's defaults (bags, interactions and stopping its own); a column's score is "
        "the largest importance among its terms",
    ),
    Ranked("lasso", "scikit-learn", _lasso, "penalty by 5-fold cross-validation (LassoCV), linear"),
    Ranked(
        "mutual_information",
        "scikit-learn",
        _mutual_information,
        "scikit-learn's defaults (3 neighbours), one column at a time",
    ),
)
