"""Held-out predictions judged by a scikit-learn scorer instead of absolute errors."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring

from nablasso.data.table import Table
from nablasso.errors import InvalidDataError
from nablasso.search.few import FewRows
from nablasso.types import Array, Index


class HeldOutRegressor(RegressorMixin, BaseEstimator):
    """Predictions already made, behind the face of a model."""

    def __init__(self, outputs: Array) -> None:
        self.outputs = outputs

    def fit(self, X: Any, y: Any) -> HeldOutRegressor:
        """Do nothing."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Array:
        """The predictions."""
        return self.outputs[:, 0]


class HeldOutClassifier(ClassifierMixin, BaseEstimator):
    """Least-squares outputs already made, behind the face of a classifier."""

    def __init__(self, outputs: Array, classes: NDArray[Any]) -> None:
        self.outputs = outputs
        self.classes = classes
        self.classes_ = classes

    def fit(self, X: Any, y: Any) -> HeldOutClassifier:
        """Do nothing."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> Array:
        """Outputs, one column for two classes."""
        return self.outputs[:, 0] if len(self.classes_) == 2 else self.outputs

    def predict_proba(self, X: Any) -> Array:
        """Outputs from [-1, 1] as shares."""
        share = np.clip((1 + self.outputs) / 2, 1e-6, 1 - 1e-6)
        if len(self.classes_) == 2:
            return np.column_stack([1 - share[:, 0], share[:, 0]])
        return np.asarray(share / share.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of the largest share."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def fold_score(selector: Any, table: Table, rows: FewRows, residuals: Array, fold: Index) -> float:
    """The score of left-out predictions, given by their residuals in units of ``rows.Y``.

    ``rows`` are the first ones of the table.
    """
    mean, deviation = rows.unit
    outputs = mean + deviation * (rows.Y[fold] - residuals)
    if rows.assumption.warp is not None:
        outputs = rows.assumption.warp.back(outputs)
    classes = getattr(selector, "classes_", None)
    model: Any = HeldOutRegressor(table.y_mean + outputs)
    y: NDArray[Any] = table.y_mean + table.y[fold]
    if classes is not None:
        model, y = HeldOutClassifier(outputs, classes), classes[table.y[fold].astype(np.intp)]
    scorer = check_scoring(model, scoring=selector.scoring)
    score = float(scorer(model, _inputs(table, fold), y, **_weights(scorer, rows.weights[fold])))
    if not np.isfinite(score):
        raise InvalidDataError(
            f"scoring={selector.scoring!r} gave a score that is not a number on a fold of "
            f"{len(fold)} rows. Use fewer folds (cv) or another score."
        )
    return score


def _inputs(table: Table, fold: Index) -> Array:
    """The rows as the user gave them: all columns, in their order and units."""
    centre, scale, columns = table.scaler.centre, table.scaler.scale, table.columns
    X = np.tile(centre, (len(fold), 1))
    X[:, columns] += table.X[fold] * scale[columns]
    return X


def _weights(scorer: Any, weights: Array) -> dict[str, Array]:
    """``sample_weight`` for a scorer that takes it, where the weights differ."""
    takes = inspect.signature(scorer).parameters
    known = "sample_weight" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
    return {"sample_weight": weights} if known and np.ptp(weights) > 0 else {}
