"""Random forest, ranked by permutation importance on held-out rows."""

from __future__ import annotations

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks.selection.contest import Array, Question
from benchmarks.selection.permutation import held_out_importance
from benchmarks.selection.ranking import Ranker


class Forest(Ranker):
    """300 trees, a third of the columns per split."""

    name = "forest"
    tuning = (
        "300 trees, max_features 1/3 (the usual choice for regression); permutation importance on "
        "the held-out rows of 5 folds; k and refit by the wrapper"
    )

    def scores(self, question: Question) -> Array:
        """Mean increase of the held-out squared error when a column is permuted."""
        return held_out_importance(question, self._model(question))

    def _model(self, question: Question) -> RandomForestRegressor | RandomForestClassifier:
        kind = (
            RandomForestClassifier if question.task == "classification" else RandomForestRegressor
        )
        return kind(300, max_features=1 / 3, random_state=question.seed, n_jobs=1)


CONTESTANTS = (Forest(),)
