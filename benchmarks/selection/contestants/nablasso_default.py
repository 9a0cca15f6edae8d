"""The library's automatic estimators, with nothing given but the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

import nablasso
from benchmarks.provenance import digest
from benchmarks.selection.contest import Answer, Contestant, Question


def automatic(question: Question, **options: Any) -> Any:
    """Unfitted estimator for the task of the question."""
    kind = "NablassoClassifier" if question.task == "classification" else "NablassoRegressor"
    return getattr(nablasso, kind)(**options)


def labels(question: Question) -> Any:
    """y as the estimator expects it."""
    return question.y.astype(int) if question.task == "classification" else question.y


class Ours(Contestant):
    """What both contestants of this library share."""

    version = nablasso.__version__

    def missing(self) -> str | None:
        """The estimators exist."""
        if hasattr(nablasso, "NablassoRegressor"):
            return None
        return "this version of nablasso has no NablassoRegressor"

    def source(self) -> str:
        """Version and digest of the source files."""
        return f"nablasso {nablasso.__version__} {digest()}"


class Default(Ours):
    """Default settings only; ``random_state`` is the seed."""

    name = "nablasso"
    tuning = "none: default settings"

    def fit(self, question: Question) -> Answer:
        """Select and fit."""
        model = automatic(question, random_state=question.seed)
        model.fit(question.X, labels(question))
        status = str(getattr(model, "selection_status_", ""))
        support = np.asarray(model.support_, dtype=bool)
        return Answer(support, lambda new: np.asarray(model.predict(new), dtype=float), status)


CONTESTANTS = (Default(),)
