"""What a fitted model says about a row, as one number: the function that is inspected.

Regressors give their prediction. Classifiers give the probability of one class or, on the scale
``"log-odds"``, the decision function of it, in which variables act together only as they do in the
fitted f: a probability bends by itself wherever it comes near 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import canonical_order
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.validation import column_indices
from nablasso.types import Array, Index

Scale = Literal["probability", "log-odds"]

MAX_COLUMNS = 15
BLOCK = 2000  # rows evaluated at once: the kernel matrix with the training rows has to fit


@dataclass(frozen=True)
class InspectedFunction:
    """``values`` of rows (m, d) in blocks, and their ``unit``."""

    function: Callable[[Array], Array]
    unit: str

    def values(self, X: Array) -> Array:
        """One number per row."""
        parts = [self.function(X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
        return np.asarray(np.concatenate(parts), dtype=float)

    @property
    def is_probability(self) -> bool:
        """Whether values lie between 0 and 1."""
        return self.unit.startswith("probability")


def response_of(model: Any, target: Any = None, scale: Scale = "probability") -> InspectedFunction:
    """The function that a fitted model predicts.

    Parameters
    ----------
    model : estimator
        Fitted regressor or classifier.
    target : label, optional
        The class in question; the second one by default where there are two.
    scale : {"probability", "log-odds"}, default="probability"
        Of classifiers. Those without probabilities always give their decision function.

    Returns
    -------
    InspectedFunction
    """
    check_is_fitted(model)
    if not hasattr(model, "predict"):
        raise InvalidParameterError(
            f"{type(model).__name__} does not predict, so there is nothing to inspect. Use a "
            "regressor or a classifier."
        )
    plain = without_names(model)
    if is_classifier(model):
        return _class_response(plain, target, scale)
    if target is not None:
        raise InvalidParameterError(
            f"target names a class; {type(model).__name__} predicts a number. Leave it out."
        )
    return InspectedFunction(plain.predict, "prediction")


def without_names(model: Any) -> Any:
    """A shallow copy that takes plain arrays: names are checked once, by the caller."""
    plain = copy(model)
    vars(plain).pop("feature_names_in_", None)
    return plain


def _class_response(model: Any, target: Any, scale: Scale) -> InspectedFunction:
    code = class_code(model, target)
    label = model.classes_[code]
    if scale == "probability" and hasattr(model, "predict_proba"):
        return InspectedFunction(
            lambda X: model.predict_proba(X)[:, code], f"probability of {label}"
        )

    def odds(X: Array) -> Array:
        values = model.decision_function(X)
        if values.ndim > 1:
            return np.asarray(values[:, code])
        return np.asarray(values if code == 1 else -values)

    return InspectedFunction(odds, f"log-odds of {label}")


def class_code(model: Any, target: Any) -> int:
    """Place of a class among ``classes_``."""
    labels = model.classes_.tolist()
    if target is None:
        if len(labels) == 2:
            return 1
        raise InvalidParameterError(
            f"target must name one of the {len(labels)} classes {labels}; got None."
        )
    if target not in labels:
        raise InvalidParameterError(f"target must be one of the classes {labels}; got {target!r}.")
    return int(labels.index(target))


def sample_rows(X: Array, weights: Array, max_rows: int) -> tuple[Array, Array]:
    """At most ``max_rows`` rows of positive weight, and weights adding up to one."""
    kept = np.flatnonzero(weights > 0)
    if not kept.size or max_rows < 1:
        raise InvalidDataError(
            f"At least one row of positive weight and max_rows of at least 1 are needed; got "
            f"{kept.size} rows and max_rows={max_rows}."
        )
    if len(kept) > max_rows:
        order, _ = canonical_order(X[kept], np.zeros(len(kept)), weights[kept])
        kept = kept[order[:max_rows]]
    return X[kept], weights[kept] / weights[kept].sum()


def inspected_columns(model: Any, columns: Any = None, most: int = MAX_COLUMNS) -> Index:
    """Columns by name or place; without any the selected ones, the most important of many."""
    if columns is not None:
        return column_indices(model, columns, "columns")
    support = getattr(model, "support_", None)
    chosen = np.arange(model.n_features_in_) if support is None else np.flatnonzero(support)
    strength = getattr(model, "feature_importances_", None)
    if len(chosen) > most and strength is not None:
        order = np.argsort(-np.asarray(strength)[chosen], kind="stable")
        chosen = chosen[order]
    return np.asarray(np.sort(chosen[:most]), dtype=np.intp)
