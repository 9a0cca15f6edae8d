"""Tools that select by themselves; the wrapper's kernel ridge refit predicts on their columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble
from sklearn.linear_model import LassoCV

from benchmarks.contest import Answer, Contestant, Question
from benchmarks.contestants.rankers import for_task
from benchmarks.contestants.ranking import Scaler, chosen_refit

Q = 0.1  # false discovery rate asked for
Q_KNOCKOFFS = 0.2  # at .1 they cannot select fewer than ten columns, and here five matter
Chosen = Callable[[Question], Any]  # a mask of the columns


class Selector(Contestant):
    """A function that selects columns, with its tuning and package."""

    def __init__(self, name: str, package: str, chosen: Chosen, tuning: str) -> None:
        self.name, self.package = name, package
        self.tuning = f"{tuning}; the wrapper's kernel ridge refit predicts"
        self._chosen = chosen

    def fit(self, question: Question) -> Answer:
        """Select, refit on what was selected."""
        support: NDArray[np.bool_] = np.asarray(self._chosen(question), dtype=bool)
        return chosen_refit(question, support)


class Relief(Contestant):
    """Neighbours vote for the columns in which they differ as their targets do (skrebate).

    It does not predict: the wrapper's refit is made when somebody asks, off the clock.
    """

    package = "skrebate"

    def __init__(self, name: str, kind: str) -> None:
        self.name, self._kind = name, kind
        self.tuning = (
            f"{kind} with the package's defaults; columns of weight above zero (Kira and Rendell's "
            "threshold at its lowest) are its support; the wrapper's kernel ridge refit predicts"
        )

    def fit(self, question: Question) -> Answer:
        """Weigh the columns."""
        import skrebate

        model = getattr(skrebate, self._kind)(n_jobs=1).fit(question.X, question.y)
        scores = np.asarray(model.feature_importances_, dtype=float)
        refit = cache(lambda: chosen_refit(question, scores > 0))
        return Answer(scores > 0, lambda new: refit().predict(new), scores=scores)


def _boruta(question: Question) -> Any:
    from boruta import BorutaPy

    forest = for_task(question, "RandomForest", ensemble)(
        max_depth=5, n_jobs=1, random_state=question.seed
    )
    model = BorutaPy(forest, n_estimators="auto", random_state=question.seed)
    return model.fit(question.X, question.y).support_


def _knockoffs(question: Question) -> Any:
    from knockpy import KnockoffFilter

    np.random.seed(question.seed)  # noqa: NPY002 - the package draws from the global source
    Z = Scaler.of(question.X)(question.X)
    model = KnockoffFilter(ksampler="gaussian", fstat="randomforest")
    return model.forward(X=Z, y=question.signed, fdr=Q_KNOCKOFFS)


def _desparsified(question: Question) -> Any:
    from hidimstat import DesparsifiedLasso

    Z = Scaler.of(question.X)(question.X)
    model = DesparsifiedLasso(random_state=question.seed)
    model.fit_importance(Z, question.signed)
    return np.asarray(model.fdr_selection(fdr=Q)) != 0


def _lasso(question: Question) -> Any:
    Z = Scaler.of(question.X)(question.X)
    return LassoCV(max_iter=10_000).fit(Z, question.signed).coef_ != 0


CONTESTANTS = (
    Relief("multisurf", "MultiSURF"),
    Relief("relief", "ReliefF"),
    Selector(
        "boruta",
        "Boruta",
        _boruta,
        "as its documentation shows: forests of depth 5, number of trees automatic, 100 rounds; "
        "its confirmed columns are the support",
    ),
    Selector(
        "knockoffs",
        "knockpy",
        _knockoffs,
        "Gaussian model-X knockoffs, covariance estimated by the package, random forest statistic, "
        f"false discovery rate {Q_KNOCKOFFS:g} (at .1 fewer than ten columns are never selected)",
    ),
    Selector(
        "desparsified_lasso",
        "hidimstat",
        _desparsified,
        "the package's defaults, false discovery rate .1; linear",
    ),
    Selector("lasso_support", "scikit-learn", _lasso, "LassoCV's own support; linear"),
)
