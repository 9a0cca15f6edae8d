"""The lasso on the columns themselves: linear, for comparison."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold

from benchmarks.selection.contest import Array, Question
from benchmarks.selection.ranking import Ranker, Scaler


class LinearLasso(Ranker):
    """LassoCV."""

    name = "lasso"
    tuning = "penalty by 5-fold cross-validation (LassoCV); k and refit by the wrapper"

    def scores(self, question: Question) -> Array:
        """|coefficient| on standardised columns; columns at zero are never taken."""
        folds = KFold(5, shuffle=True, random_state=question.seed)
        model = LassoCV(cv=folds).fit(Scaler.of(question.X)(question.X), question.signed)
        scores = np.abs(model.coef_)
        return np.where(scores > 0, scores, -np.inf)


CONTESTANTS = (LinearLasso(),)
