"""The library itself: its automatic estimators with default settings, oracles, the papers' methods.

``oracle`` is the library's own estimator made to keep every column, so that it differs from the
contestant ``nablasso`` in knowing the support and in nothing else. ``oracle_refit`` is the refit of
the rankers' wrapper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

import nablasso
from benchmarks.contest import LEVEL, Answer, Array, Contestant, Question, everything
from benchmarks.contestants.ranking import chosen_refit
from benchmarks.provenance import digest


def labels(question: Question) -> Any:
    """y as the estimators expect it."""
    return question.y.astype(int) if question.classifies else question.y


class Ours(Contestant):
    """An estimator of this library; ``kind`` is the beginning of its class's name.

    ``options`` are its only settings; ``random_state`` is the seed.
    """

    version = nablasso.__version__

    def __init__(self, name: str, kind: str, tuning: str, suffix: str = "", **options: Any) -> None:
        self.name, self.tuning = name, tuning
        self._kind, self._suffix, self._options = kind, suffix, options

    def missing(self) -> str | None:
        """The estimators exist."""
        names = (self._class(task) for task in ("regression", "classification"))
        absent = [name for name in names if not hasattr(nablasso, name)]
        return f"this version of nablasso has no {absent[0]}" if absent else None

    def source(self) -> str:
        """Version and digest of the source files."""
        return f"nablasso {nablasso.__version__} {digest()}"

    def fit(self, question: Question) -> Answer:
        """Select and fit."""
        options = {"random_state": question.seed, **self._options, **self._more(question)}
        model = getattr(nablasso, self._class(question.task))(**options)
        model.fit(form(question)(question.X), labels(question))
        return answer_of(model, question)

    def _class(self, task: str) -> str:
        role = "Classifier" if task == "classification" else "Regressor"
        plain = role == "Regressor" and self._kind in NO_ROLE
        return f"{self._kind}{'' if plain else role}{self._suffix}"

    def _more(self, question: Question) -> dict[str, Any]:  # noqa: ARG002 - the oracle's
        return {}


NO_ROLE = ("DerivativeLasso",)  # regressors by their name alone


def form(question: Question) -> Callable[[Array], Any]:
    """How columns are given: as an array, or as a frame where cells are missing."""
    return pd.DataFrame if np.isnan(question.X).any() else np.asarray


def answer_of(model: Any, question: Question) -> Answer:
    """What a fitted estimator offers."""
    given, classifies = form(question), question.classifies
    predicts = hasattr(model, "selection_status_") and not classifies

    def interval(new: Array) -> Array:
        return np.asarray(model.predict(given(new), return_interval=LEVEL)[1], dtype=float)

    def deviation(new: Array) -> Array:  # of the normal that has these intervals
        return np.diff(interval(new), axis=1)[:, 0] / (2 * float(norm.ppf((1 + LEVEL) / 2)))

    return Answer(
        np.asarray(model.support_, dtype=bool),
        lambda new: np.asarray(model.predict(given(new)), dtype=float),
        str(getattr(model, "selection_status_", "")),
        probability=(lambda new: model.predict_proba(given(new))) if classifies else None,
        interval=interval if predicts else None,
        deviation=deviation if predicts else None,
    )


def mean_answer(question: Question) -> Answer:
    """No columns: the mean, or the label in the majority."""
    mean = float(question.signed.mean())
    return Answer(np.zeros(0, dtype=bool), lambda new: question.decode(np.full(len(new), mean)))


class Oracle(Ours):
    """The default estimator on the true columns, all of them kept."""

    true_columns_only = True

    def fit(self, question: Question) -> Answer:
        """Fit with ``always_keep`` naming every column."""
        return super().fit(question) if question.X.shape[1] else mean_answer(question)

    def _more(self, question: Question) -> dict[str, Any]:
        return {"always_keep": list(range(question.X.shape[1]))}


class RefitOracle(Contestant):
    """The wrapper's kernel ridge regression on the true columns."""

    name = "oracle_refit"
    tuning = "kernel by 5-fold cross-validation, ridge by closed-form leave-one-out"
    true_columns_only = True

    def fit(self, question: Question) -> Answer:
        """Choose the kernel and fit."""
        if question.X.shape[1] == 0:
            return mean_answer(question)
        return chosen_refit(question, everything(question))


def _paper(name: str, kind: str, **parameters: Any) -> Ours:
    shown = "".join(f", {key}={value}" for key, value in parameters.items())
    tuning = f"{kind} with its own cross-validation, default grids{shown}"
    return Ours(name, kind, tuning, suffix="CV", **parameters)


CONTESTANTS = (
    Ours("nablasso", "Nablasso", "none: default settings"),
    Ours("nablasso_fdr", "Nablasso", "none: default settings with fdr=0.1", fdr=0.1),
    Oracle("oracle", "Nablasso", "as nablasso"),
    RefitOracle(),
    _paper("derivative_lasso", "DerivativeLasso"),
    _paper("derivative_elastic_net", "DerivativeLasso", l1_ratio=0.5),
    _paper("hierarchical_kernels", "HierarchicalKernel"),
    _paper("multiple_kernels", "HierarchicalKernel", interactions=False),
    _paper("sparse_gradients", "SparseGradient"),
)
