"""Mutual information of each column with y: one column at a time, blind to pure interactions."""

from __future__ import annotations

import numpy as np
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from benchmarks.selection.contest import Array, Question
from benchmarks.selection.ranking import Ranker


class MutualInformation(Ranker):
    """Nearest-neighbour estimate."""

    name = "mutual_information"
    tuning = "scikit-learn's defaults (3 neighbours); k and refit by the wrapper"

    def scores(self, question: Question) -> Array:
        """Estimated mutual information."""
        if question.task == "classification":
            return np.asarray(
                mutual_info_classif(question.X, question.y, random_state=question.seed)
            )
        return np.asarray(
            mutual_info_regression(question.X, question.y, random_state=question.seed)
        )


CONTESTANTS = (MutualInformation(),)
