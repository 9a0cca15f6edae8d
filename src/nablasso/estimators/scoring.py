"""Held-out predictions judged by a scikit-learn scorer instead of absolute errors."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring

from nablasso.exceptions import InvalidDataError
from nablasso.metric.cross_fit import FoldFits
from nablasso.metric.sample import Sample
from nablasso.preparation import Table

Array = NDArray[np.float64]


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


def scored_errors(
    selector: Any, table: Table, sample: Sample, folds: Sequence[FoldFits]
) -> tuple[Array, Array]:
    """Minus the score of every size in every fold, and the weights of the folds."""
    classes = getattr(selector, "classes_", None)
    unit = 1.0 if classes is not None else table.y_scale
    errors = np.empty((len(folds[0].fits), len(folds)))
    rows = [sample.weights[fold.test] for fold in folds]
    weights = np.array([weights.sum() for weights in rows])
    inputs = _inputs(sample, table)
    for j, fold in enumerate(folds):
        if classes is None:
            y: NDArray[Any] = table.y_mean + table.y[fold.test]
        else:
            y = classes[table.y[fold.test].astype(np.intp)]
        for k, outputs in enumerate(fold.predictions):
            model: Any
            if classes is None:
                model = HeldOutRegressor(table.y_mean + unit * outputs)
            else:
                model = HeldOutClassifier(outputs, classes)
            scorer = check_scoring(model, scoring=selector.scoring)
            errors[k, j] = -scorer(model, inputs[fold.test], y, **_weights(scorer, rows[j]))
    if not np.isfinite(errors).all():
        raise InvalidDataError(
            f"scoring={selector.scoring!r} gave a score that is not a number on a fold of "
            f"{min(len(fold.test) for fold in folds)} rows. Use fewer folds (cv) or another score."
        )
    return errors, weights


def _inputs(sample: Sample, table: Table) -> Array:
    """The rows as the user gave them: all columns, in their order and units."""
    centre, scale, columns = table.scaler.centre, table.scaler.scale, table.columns
    X = np.tile(centre, (len(sample.X), 1))
    X[:, columns] += sample.X * scale[columns]
    return X


def _weights(scorer: Any, weights: Array) -> dict[str, Array]:
    """``sample_weight`` for a scorer that takes it, where the weights differ."""
    takes = inspect.signature(scorer).parameters
    known = "sample_weight" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
    return {"sample_weight": weights} if known and np.ptp(weights) > 0 else {}
