"""Explainable boosting machine (interpret): boosted additive model with pairs."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.selection.contest import Array, Question, installed
from benchmarks.selection.ranking import Ranker


class ExplainableBoosting(Ranker):
    """Ranked by the largest importance among the terms of a column."""

    name = "ebm"
    tuning = (
        "the package's defaults (bags, interactions and stopping its own); a column's score is "
        "the largest importance among its terms; k and refit by the wrapper"
    )

    def missing(self) -> str | None:
        """interpret-core."""
        return installed("interpret")

    def source(self) -> str:
        """Version of the package."""
        from importlib.metadata import version

        return f"interpret-core {version('interpret-core')}"

    def scores(self, question: Question) -> Array:
        """Largest importance among the terms that hold the column."""
        from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

        classifies = question.task == "classification"
        kind = ExplainableBoostingClassifier if classifies else ExplainableBoostingRegressor
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(n_jobs=1, random_state=question.seed).fit(question.X, question.y)
        scores = np.zeros(question.X.shape[1])
        for columns, strength in zip(model.term_features_, model.term_importances(), strict=True):
            for a in columns:
                scores[a] = max(scores[a], strength)
        return scores


CONTESTANTS = (ExplainableBoosting(),)
