"""Histogram gradient boosting, ranked by permutation importance on held-out rows."""

from __future__ import annotations

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV

from benchmarks.selection.contest import Array, Question
from benchmarks.selection.permutation import held_out_importance
from benchmarks.selection.ranking import Ranker

GRID = {"min_samples_leaf": [5, 20], "max_iter": [50, 200]}


class Boosting(Ranker):
    """Leaf size and number of trees by cross-validation."""

    name = "boosting"
    tuning = (
        "min_samples_leaf 5 or 20 and 50 or 200 trees by 5-fold cross-validation, the rest "
        "scikit-learn's defaults; permutation importance on the held-out rows of 5 folds; k and "
        "refit by the wrapper"
    )

    def scores(self, question: Question) -> Array:
        """Mean increase of the held-out squared error when a column is permuted."""
        classifies = question.task == "classification"
        kind = HistGradientBoostingClassifier if classifies else HistGradientBoostingRegressor
        model = kind(early_stopping=False, random_state=question.seed)
        search = GridSearchCV(model, GRID, cv=5).fit(question.X, question.y)
        return held_out_importance(question, model.set_params(**search.best_params_))


CONTESTANTS = (Boosting(),)
