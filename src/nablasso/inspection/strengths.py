"""Which pairs of variables act together in what a fitted model predicts.

The numbers of :func:`nablasso.reading.interactions`, root mean squared cross derivatives, for any
fitted model: in deviations of the prediction (log-odds of a class as they are) per deviation of
both columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from nablasso.data.table import check_weights
from nablasso.estimators.validation import check_new_data, column_indices
from nablasso.inspection.dependence import sample_rows
from nablasso.inspection.response import Response, response_of
from nablasso.reading import Interaction, discrete_columns, interactions
from nablasso.reading.differences import moves, quotients
from nablasso.types import Array, Index

MAX_COLUMNS = 15


class _Standardised:
    """A response as a function of standardised columns."""

    def __init__(
        self, response: Response, scale: Array, unit: float, columns: Index, discrete: Any
    ) -> None:
        self.response, self.scale, self.unit = response, scale, unit
        self.columns, self.discrete = columns, discrete

    def values(self, Z: Array) -> Array:
        return np.asarray(self.response.values(Z * self.scale) / self.unit)

    def gradients(self, Z: Array) -> Array:
        if self.response.exact_gradients is not None:
            return np.asarray(
                self.response.exact_gradients(Z * self.scale) * self.scale / self.unit
            )
        out = np.zeros(Z.shape)
        for a in self.columns[~self.discrete[self.columns]]:
            out[:, a] = quotients(self.values, Z, moves(Z, int(a), discrete=False))[0]
        return out


def interaction_strengths(
    model: Any,
    X: Any,
    columns: Sequence[str | int] | None = None,
    *,
    target: Any = None,
    unit: float | None = None,
    sample_weight: Any = None,
    max_rows: int = 200,
) -> list[Interaction]:
    """Pairs of variables, the strongest interaction first.

    Parameters
    ----------
    model : estimator
        Fitted regressor or classifier.
    X : array-like, shape (n_samples, n_features)
        Rows to average over.
    columns : list of names or places, optional
        By default the selected variables, the 15 most important ones if there are more.
    target : label, optional
        One class; by default the largest strength over all of them.
    unit : float, optional
        What a regressor's predictions are divided by; their own deviation by default. With the
        deviation of ``y`` strengths are in the units of ``feature_importances_``.
    sample_weight : array-like, shape (n_samples,), optional
    max_rows : int, default=200

    Returns
    -------
    list of Interaction
        Tuples ``(a, b, strength)`` with ``a < b``; none for fewer than two columns.
    """
    chosen = (
        default_columns(model) if columns is None else column_indices(model, columns, "columns")
    )
    if len(chosen) < 2:
        return []
    X = check_new_data(model, X)
    discrete = discrete_columns(X)
    rows, weights = sample_rows(X, check_weights(sample_weight, len(X)), max_rows)
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    labels: list[Any] = [target]
    if is_classifier(model) and target is None and len(model.classes_) > 2:
        labels = model.classes_.tolist()
    strongest: dict[tuple[int, int], float] = {}
    for label in labels:
        response = response_of(model, label, "log-odds")
        function: Any = _Standardised(
            response, scale, _unit(model, response, rows, unit), chosen, discrete
        )
        for pair in interactions(function, rows / scale, weights, chosen, discrete):
            before = strongest.get((pair.a, pair.b), 0.0)
            strongest[pair.a, pair.b] = max(before, pair.strength)
    pairs = [Interaction(a, b, size) for (a, b), size in strongest.items()]
    return sorted(pairs, key=lambda pair: -pair.strength)


def _unit(model: Any, response: Response, rows: Array, given: float | None) -> float:
    if is_classifier(model):
        return 1.0
    return (float(response.values(rows).std()) or 1.0) if given is None else given


def default_columns(model: Any, most: int = MAX_COLUMNS) -> Index:
    """Selected columns, the most important ones where there are many; all of a model without."""
    support = getattr(model, "support_", None)
    chosen = np.arange(model.n_features_in_) if support is None else np.flatnonzero(support)
    strength = getattr(model, "feature_importances_", None)
    if len(chosen) > most and strength is not None:
        order = np.argsort(-np.asarray(strength)[chosen], kind="stable")
        chosen = chosen[order]
    return np.asarray(np.sort(chosen[:most]), dtype=np.intp)
