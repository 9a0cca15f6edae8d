"""Sensitivity of any fitted model: Sobol' indices, Shapley effects, pairs that act together.

What the numbers are and how they are computed is said in :mod:`nablasso.reading.shares`; how rows
are drawn given some of their columns in :mod:`nablasso.reading.law`; what intervals hold in
:mod:`nablasso.reading.explanation`. Of a model that is not ours only the rows move, not the
function: an interval then says nothing about how well the model was fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import check_weights
from nablasso.errors import InvalidParameterError
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.explained import frame, player_names, table_columns
from nablasso.estimators.validation import check_new_data, column_indices, feature_names
from nablasso.inspection.response import inspected_columns, response_of, sample_rows
from nablasso.reading.explanation import ROWS, Explanation
from nablasso.reading.law import law_of_ranges
from nablasso.types import Array, Index

Ranges = Mapping[Any, tuple[float, float]] | Sequence[tuple[float, float]]


@dataclass(frozen=True)
class SobolIndices:
    """Indices of the columns ``names``, in parts of the variance of the prediction.

    Parameters
    ----------
    names : list of str
    share, first_order, total : arrays, shape (p,)
        Shapley effect, first-order and total index.
    second_order : array, shape (p, p)
        Symmetric: the term of each pair alone; not a number on the diagonal.
    share_interval, first_order_interval, total_interval : arrays, shape (p, 2)
    second_order_interval : array, shape (p, p, 2)
    """

    names: list[str]
    share: Array
    first_order: Array
    total: Array
    second_order: Array
    share_interval: Array
    first_order_interval: Array
    total_interval: Array
    second_order_interval: Array

    def to_frame(self) -> Any:
        """One row per column: a data frame where pandas is installed, else a dict of arrays."""
        columns: dict[str, Any] = {"column": np.array(self.names, dtype=object)}
        for name in ("share", "first_order", "total"):
            columns[name] = getattr(self, name)
            columns[f"{name}_low"], columns[f"{name}_high"] = getattr(self, f"{name}_interval").T
        return frame(columns)


def sobol_indices(
    model: Any,
    X: Any = None,
    *,
    ranges: Ranges | None = None,
    dependent: bool | None = None,
    target: Any = None,
    level: float = 0.9,
    sample_weight: Any = None,
) -> SobolIndices:
    """How much of the variance of a model's prediction each column carries.

    Parameters
    ----------
    model : estimator
        Fitted regressor or classifier; of ours also the spread of the fitted function is in the
        intervals.
    X : array-like, shape (n_samples, n_features), optional
        Rows that the columns are distributed as. Of our models those of the fit by default, with
        the estimates and intervals of ``importances_``.
    ranges : mapping of columns to (low, high), or a sequence of one per column, optional
        Instead of rows: independent columns, uniform between these. Columns that a mapping leaves
        out are distributed as in ``X``, which is then needed too.
    dependent : bool, optional
        Whether columns are drawn given one another, as rows have them; by default for rows
        without ranges.
    target : label, optional
        Of classifiers: the class whose log-odds are looked at.
    level : float, default=0.9
        Of the intervals.
    sample_weight : array-like, shape (n_samples,), optional

    Returns
    -------
    SobolIndices

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import NablassoRegressor
    >>> from nablasso.inspection import sobol_indices
    >>> X = np.random.default_rng(0).uniform(size=(60, 2))
    >>> model = NablassoRegressor().fit(X, X[:, 0] + X[:, 1])
    >>> sobol_indices(model, ranges=[(0, 1), (0, 1)]).total.round(2).tolist()
    [0.5, 0.5]
    """
    check_is_fitted(model)
    if X is None and ranges is None and not _is_ours(model, target):
        raise InvalidParameterError(
            "Indices depend on how the columns are distributed: give rows X, or ranges of "
            "independent columns; got neither."
        )
    if not 0 < level < 1:
        raise InvalidParameterError(f"level must lie between 0 and 1; got {level!r}.")
    explanation = _explanation(model, X, ranges, dependent, target, sample_weight)
    d = model.n_features_in_
    place = [int(a) for a in explanation.chosen]
    if _is_ours(model, target):
        place = [int(columns[0]) for columns in table_columns(model)]
    ends = explanation.intervals(level)
    pairs = explanation.second_order(level)

    def spread(values: Array) -> Array:
        out = np.zeros((d, *values.shape[1:]))
        out[place] = values
        return out

    second, second_ends = np.zeros((d, d)), np.zeros((d, d, 2))
    for (a, b), (value, low, high) in pairs.items():
        for i, j in ((place[a], place[b]), (place[b], place[a])):
            second[i, j], second_ends[i, j] = value, (low, high)
    second[np.arange(d), np.arange(d)] = np.nan
    second_ends[np.arange(d), np.arange(d)] = np.nan
    own = explanation.indices
    return SobolIndices(
        names=feature_names(model),
        share=spread(own.share[:, 0]),
        first_order=spread(own.first[:, 0]),
        total=spread(own.total[:, 0]),
        second_order=second,
        share_interval=spread(ends["share"]),
        first_order_interval=spread(ends["first"]),
        total_interval=spread(ends["total"]),
        second_order_interval=second_ends,
    )


def _is_ours(model: Any, target: Any) -> bool:
    """Whether the function behind the model is known, with its spread."""
    return isinstance(model, AutomaticSelector) and target is None


def _explanation(
    model: Any,
    X: Any,
    ranges: Ranges | None,
    dependent: bool | None,
    target: Any,
    weights: Any,
    columns: Index | None = None,
) -> Explanation:
    """The model's own functions and columns where they are ours, else what it predicts.

    Of some ``columns`` all others are one player: work and memory go by the number of players.
    """
    d = model.n_features_in_
    given = _given_ranges(model, ranges)
    if X is None and ranges is None:
        return model._explanation  # type: ignore[no-any-return]
    if X is None and len(given) < d:
        missing = [feature_names(model)[a] for a in range(d) if a not in given]
        raise InvalidParameterError(
            f"ranges must hold all {d} columns where there are no rows X; missing: "
            f"{', '.join(missing[:5])}."
        )
    rows, p = np.zeros((1, d)), np.ones(1)
    if X is not None:
        rows = check_new_data(model, X)
        rows, p = sample_rows(rows, check_weights(weights, len(rows)), ROWS)
    dependent = not given if dependent is None else dependent
    if _is_ours(model, target):
        return _of_ours(model, rows, p, given, dependent=dependent)
    functions = _functions(model, target)
    columns = np.arange(d) if columns is None else columns
    players = [np.array([a], dtype=np.intp) for a in columns]
    if len(rest := np.setdiff1d(np.arange(d), columns)):
        players.append(rest)
    return Explanation(
        functions=tuple(functions),
        spreads=(None,) * len(functions),
        Z=rows,
        weights=p,
        chosen=np.arange(d),
        n_columns=d,
        players=tuple(players),
        dependent=dependent,
        ranges=given,
    )


def _of_ours(
    model: Any, rows: Array, p: Array, given: dict[int, tuple[float, float]], *, dependent: bool
) -> Explanation:
    """The fitted functions with other rows, or between ranges, in standardised units."""
    own: Explanation = model._explanation
    scaler, ranges = model._scaler, {}
    for k, (player, columns) in enumerate(zip(own.players, table_columns(model), strict=True)):
        if any(int(a) in given for a in columns):
            a = int(own.chosen[player[0]])
            if len(player) > 1:
                raise InvalidParameterError(
                    f"{player_names(model)[k]} is no single number: ranges are for numbers. Leave "
                    "it out, and give rows X."
                )
            low, high = given[int(columns[0])]
            centre, scale = float(scaler.centre[a]), float(scaler.scale[a])
            ranges[k] = (low - centre) / scale, (high - centre) / scale
    if rows.shape[1] != own.n_columns:  # there are ranges only
        rows = np.zeros((1, own.n_columns))
    Z = scaler.transform(rows)[:, own.chosen]
    if dependent and not ranges and _same_rows(Z, p, own):
        return own
    return replace(own, Z=Z, weights=p, left_out=None, dependent=dependent, ranges=ranges, kept={})


def _same_rows(Z: Array, p: Array, own: Explanation) -> bool:
    """Whether rows are those of an explanation, in any order."""
    found = []
    for rows, weights in ((Z, p), (own.Z, own.weights)):
        values, at = np.unique(np.round(rows, 9), axis=0, return_inverse=True)
        found.append(np.column_stack([values, np.bincount(at.ravel(), weights / weights.sum())]))
    return found[0].shape == found[1].shape and np.allclose(found[0], found[1])


def _given_ranges(model: Any, ranges: Ranges | None) -> dict[int, tuple[float, float]]:
    if ranges is None:
        return {}
    if isinstance(ranges, Mapping):
        places = column_indices(model, list(ranges), "ranges")
        ends = list(ranges.values())
    else:
        places, ends = np.arange(len(ranges)), list(ranges)
        if len(ends) != model.n_features_in_:
            raise InvalidParameterError(
                f"ranges must be a mapping, or one pair for each of the {model.n_features_in_} "
                f"columns; got {len(ends)}."
            )
    law_of_ranges(ends)  # says what is wrong with them
    return {int(a): (float(low), float(high)) for a, (low, high) in zip(places, ends, strict=True)}


def _functions(model: Any, target: Any) -> list[Any]:
    labels = [target]
    if is_classifier(model) and target is None and len(model.classes_) > 2:
        labels = model.classes_.tolist()
    return [response_of(model, label, "log-odds") for label in labels]


class Interaction(NamedTuple):
    """Columns ``a < b`` and the share of the variance in which they act together."""

    a: int
    b: int
    share: float


def interaction_shares(
    model: Any,
    X: Any,
    columns: Sequence[str | int] | None = None,
    *,
    target: Any = None,
    sample_weight: Any = None,
) -> list[Interaction]:
    """Pairs of variables by the share of the variance of the prediction they have together.

    Parameters
    ----------
    model : estimator
        Fitted regressor or classifier; what the automatic estimators list as ``interactions_`` is
        returned as it is.
    X : array-like, shape (n_samples, n_features)
        Rows that the columns are distributed as.
    columns : list of names or places, optional
        By default the selected variables, the 15 with the largest shares if there are more.
    target : label, optional
        One class; by default all of them together.
    sample_weight : array-like, shape (n_samples,), optional

    Returns
    -------
    list of Interaction
        Tuples ``(a, b, share)``; none for fewer than two columns.
    """
    chosen = np.sort(inspected_columns(model, columns))
    if _is_ours(model, target):
        inside = set(chosen.tolist())
        found = [Interaction(*pair) for pair in model.interactions_]
        return [p for p in found if columns is None or {p.a, p.b} <= inside]
    if len(chosen) < 2:
        return []
    explanation = _explanation(model, X, None, None, target, sample_weight, chosen)
    pairs = explanation.pairs_among(range(len(chosen)))
    return [Interaction(int(chosen[a]), int(chosen[b]), share) for a, b, share in pairs]
