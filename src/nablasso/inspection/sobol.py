"""Sensitivity of any fitted model: Sobol' indices, Shapley effects, pairs that act together.

What the numbers are, how they are computed and how rows are drawn for them is said in
:mod:`nablasso.reading.shares`; what intervals hold in :mod:`nablasso.reading.explanation`. Of a
model that is not ours only the rows move, not the function: an interval then says nothing about how
well the model was fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import check_weights
from nablasso.errors import InvalidParameterError
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.explained import frame, player_names, table_columns, with_ends
from nablasso.estimators.validation import behind, check_new_data, feature_names, players
from nablasso.inspection.dependence import inspected_columns, response_of, sample_rows
from nablasso.reading.explanation import ROWS, Explanation
from nablasso.reading.shares import Statistics, law_of_ranges
from nablasso.types import Array, Index

Ranges = Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """Indices of the columns ``names``, in parts of the variance of the prediction.

    Shapley effect, first-order and total index (p,), with intervals (p, 2) of that ``level``; pairs
    are read from the ``explanation`` when they are asked for, ``places`` are its players' columns.
    """

    names: list[str]
    share: Array
    first_order: Array
    total: Array
    share_interval: Array
    first_order_interval: Array
    total_interval: Array
    level: float
    explanation: Explanation = field(repr=False)
    places: list[int] = field(repr=False)

    @property
    def table(self) -> Any:
        """One row for each ``column``, as in ``importances_``; a dict of arrays without pandas."""
        found = {
            name: np.column_stack([getattr(self, name), getattr(self, f"{name}_interval")])
            for name in Statistics._fields
        }
        return frame({"column": np.array(self.names, dtype=object), **with_ends(found)})

    @property
    def second_order(self) -> Array:
        """The term of each pair alone: symmetric, (p, p), not a number on the diagonal.

        Of the 15 largest columns where there are more; ``interactions_`` and
        :func:`interaction_shares` are with what the two do together with others.
        """
        return self._pairs[:, :, 0]

    @property
    def second_order_interval(self) -> Array:
        """The ends of its intervals, (p, p, 2)."""
        return self._pairs[:, :, 1:]

    @cached_property
    def _pairs(self) -> Array:
        p = len(self.names)
        out = np.zeros((p, p, 3))
        for (i, j), ends in self.explanation.second_order(self.level).items():
            a, b = self.places[i], self.places[j]
            out[a, b] = out[b, a] = ends
        out[np.arange(p), np.arange(p)] = np.nan
        return out


def sobol_indices(
    model: Any,
    X: Any = None,
    *,
    ranges: Ranges | None = None,
    target: Any = None,
    level: float = 0.9,
    sample_weight: Any = None,
) -> SobolIndices:
    """How much of the variance of a model's prediction each column carries, and each pair.

    Parameters
    ----------
    model : estimator
        Fitted regressor or classifier; of ours also the spread of the fitted function is in the
        intervals.
    X : array-like, shape (n_samples, n_features), optional
        Rows that the columns are distributed as. Of our models those of the fit by default, with
        the estimates and intervals of ``importances_``.
    ranges : sequence of (low, high), one per column, optional
        Instead of rows: independent columns, uniform between these.
    target : label, optional
        Of classifiers: the class whose log-odds are looked at.
    level : float, default=0.9
        Of the intervals.
    sample_weight : array-like, shape (n_samples,), optional

    Returns
    -------
    SobolIndices
        ``share`` (Shapley effect), ``first_order``, ``total`` and ``second_order`` indices, each
        with its intervals; ``table`` has the first three as in ``importances_``.

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
    if (X is None) == (ranges is None) and not (X is None and _is_ours(model, target)):
        raise InvalidParameterError(
            "Indices depend on how the columns are distributed: give rows X, or ranges of "
            f"independent columns; got {'neither' if X is None else 'both'}."
        )
    if not 0 < level < 1:
        raise InvalidParameterError(f"level must lie between 0 and 1; got {level!r}.")
    if ranges is not None and len(ranges) != model.n_features_in_:
        raise InvalidParameterError(
            f"ranges must hold one pair for each of the {model.n_features_in_} columns; got "
            f"{len(ranges)}."
        )
    law_of_ranges(ranges or ())  # says what is wrong with them
    if _is_ours(model, target):
        explanation = _of_ours(model, X, ranges, sample_weight)
        place = [int(columns[0]) for columns in table_columns(model)]
    else:
        chosen = np.flatnonzero([len(own) for own in players(model)])
        explanation = _of_others(model, X, ranges, target, sample_weight, chosen)
        place = chosen.tolist()
    found = dict[str, Array]()
    for name, own in explanation.intervals(level).items():
        values = np.zeros((model.n_features_in_, 3))
        values[place] = own
        found[name], found[f"{name}_interval"] = values[:, 0], values[:, 1:]
    return SobolIndices(
        names=feature_names(model), level=level, explanation=explanation, places=place, **found
    )


def _is_ours(model: Any, target: Any) -> bool:
    """Whether the function behind the model is known, with its spread."""
    return isinstance(model, AutomaticSelector) and target is None


def _rows(model: Any, X: Any, weights: Any) -> tuple[Array, Array]:
    """At most as many rows as an answer is read at, and their weights."""
    rows = check_new_data(model, X)
    return sample_rows(rows, check_weights(weights, len(rows)), ROWS)


def _of_ours(model: Any, X: Any, ranges: Ranges | None, weights: Any) -> Explanation:
    """The fitted functions with other rows, or between ranges, in standardised units."""
    own: Explanation = model._explanation
    scaler, chosen = model._scaler, own.chosen
    if X is not None:
        rows, p = _rows(model, X, weights)
        Z = scaler.transform(rows)[:, chosen]
        return replace(own, Z=Z, weights=p, left_out=None)
    if ranges is None:
        return own
    several = [name for name, p in zip(player_names(model), own.players, strict=True) if len(p) > 1]
    if several:
        raise InvalidParameterError(
            f"{several[0]} is no single number: ranges are for numbers. Give rows X."
        )
    places = [int(columns[0]) for columns in table_columns(model)]
    ends = np.array(ranges, dtype=float)[places] - scaler.centre[chosen, None]
    pairs = tuple((low, high) for low, high in (ends / scaler.scale[chosen, None]).tolist())
    Z, p = np.zeros((1, len(chosen))), np.ones(1)
    return replace(own, Z=Z, weights=p, left_out=None, ranges=pairs)


def _of_others(
    model: Any, X: Any, ranges: Ranges | None, target: Any, weights: Any, columns: Index
) -> Explanation:
    """What a model predicts, of some ``columns``.

    All other columns are one player: work and memory go by the number of players.
    """
    numbers, own = behind(model), players(model)
    d = int(numbers.n_features_in_)
    rows, p = np.zeros((1, d)), np.ones(1)
    if X is not None:
        rows, p = _rows(model, X, weights)
    labels = [target]
    if is_classifier(numbers) and target is None and len(numbers.classes_) > 2:
        labels = numbers.classes_.tolist()
    functions = [response_of(numbers, label, "log-odds") for label in labels]
    parts = [own[int(a)] for a in columns]
    rest = np.setdiff1d(np.arange(d), np.concatenate([np.empty(0, dtype=np.intp), *parts]))
    return Explanation(
        functions=tuple(functions),
        spreads=(None,) * len(functions),
        Z=rows,
        weights=p,
        chosen=np.arange(d),
        n_columns=d,
        players=(*parts, rest) if len(rest) else tuple(parts),
        ranges=tuple(ranges or ()),
    )


def interaction_shares(
    model: Any,
    X: Any,
    columns: Sequence[str | int] | None = None,
    *,
    target: Any = None,
    sample_weight: Any = None,
) -> list[tuple[int, int, float]]:
    """Pairs of variables by the share of the variance of the prediction they have together.

    As ``interactions_``, which is returned as it is of automatic estimators: two places and the
    share; none for fewer than two columns. The other parameters are those of :func:`sobol_indices`.

    Parameters
    ----------
    columns : list of names or places, optional
        By default the selected variables, the 15 with the largest shares if there are more.
    """
    chosen = np.sort(inspected_columns(model, columns))
    if _is_ours(model, target):
        inside, found = set(chosen.tolist()), model.interactions_
        return [pair for pair in found if columns is None or set(pair[:2]) <= inside]
    explanation = _of_others(model, X, None, target, sample_weight, chosen)
    pairs = explanation.pairs_among(range(len(chosen)))
    return [(int(chosen[a]), int(chosen[b]), share) for a, b, share in pairs]
