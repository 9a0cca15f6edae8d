"""Boruta: a column is kept when its forest importance beats that of shuffled copies."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks.selection.contest import Answer, Contestant, Question, installed
from benchmarks.selection.ranking import KERNELS, cross_validated_errors, refit


class Boruta(Contestant):
    """Selects by itself; the wrapper's refit predicts."""

    name = "boruta"
    tuning = (
        "as its documentation shows: forests of depth 5, number of trees automatic, 100 rounds; "
        "its confirmed columns are the support, the wrapper's kernel ridge refit predicts"
    )

    def missing(self) -> str | None:
        """boruta."""
        return installed("boruta")

    def source(self) -> str:
        """Version of the package."""
        from importlib.metadata import version

        return f"Boruta {version('Boruta')}"

    def fit(self, question: Question) -> Answer:
        """Confirm columns, refit on them."""
        from boruta import BorutaPy

        classifies = question.task == "classification"
        kind = RandomForestClassifier if classifies else RandomForestRegressor
        forest = kind(max_depth=5, n_jobs=1, random_state=question.seed)
        model = BorutaPy(forest, n_estimators="auto", random_state=question.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            support = np.asarray(model.fit(question.X, question.y).support_, dtype=bool)
        chosen = question.X[:, support]
        errors = cross_validated_errors(chosen, question.signed, question.seed)
        predict = refit(chosen, question.signed, KERNELS[int(np.argmin(errors))])
        return Answer(support, lambda new: question.decode(predict(new[:, support])))


CONTESTANTS = (Boruta(),)
