"""What a fitted selector says of its columns, as tables in the units of the input.

The numbers are those of :mod:`nablasso.reading.explanation`; here they get names, units and places
among all columns of the input. Tables are data frames where pandas is installed, else dictionaries
of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Scaler, Table, discrete_columns
from nablasso.estimators.base import class_shares
from nablasso.estimators.tables import players
from nablasso.estimators.validation import (
    check_new_data,
    column_indices,
    feature_names,
    group_labels,
)
from nablasso.reading.explanation import Explanation, LeftOut
from nablasso.reading.shares import players_of, quotients
from nablasso.search.predictor import Predictor, Spread
from nablasso.types import Array, Index, Mask

ONE_WAY = 0.9  # of the mean absolute slope that the mean slope must be, to rise or to fall
SLOPE_ROWS = 300  # rows that slopes are averaged over
OTHERS = "(others)"  # what faint columns add


def explanation_of(
    selector: Any, table: Table, functions: list[Any], spreads: list[Spread | None], n: int
) -> Explanation:
    """Of what predicts, at the rows of the table, of which the first ``n`` were searched."""
    chosen = np.flatnonzero(selector.support_)
    place = {int(a): k for k, a in enumerate(chosen)}
    together = [
        np.array([place[int(a)] for a in player], dtype=np.intp)
        for player in players_of(_player_labels(selector), chosen)
    ]
    order = np.argsort(table.columns)
    own = order[np.searchsorted(table.columns[order], chosen)]
    return Explanation(
        functions=tuple(functions),
        spreads=tuple(spreads),
        Z=table.X[:, own],
        weights=table.weights,
        chosen=chosen,
        n_columns=len(selector.support_),
        players=tuple(together),
        left_out=_left_out(functions[0], table.X[:, own], n),
    )


def _player_labels(selector: Any) -> Index:
    """One label for the columns of a group, and for the numbers of one column of a table."""
    labels = group_labels(selector, selector.feature_groups).copy()
    for numbers in players(selector):
        for label in np.unique(labels[numbers])[1:]:
            labels[labels == label] = labels[numbers].min()
    return labels


def _left_out(function: Any, Z: Array, n: int) -> LeftOut | None:
    """The rows behind a predictor's left-out errors: those searched, or the next ones."""
    if not isinstance(function, Predictor) or not len(function.observed):
        return None
    first = 0 if n == len(Z) else n
    rows = Z[first : first + len(function.observed)]
    errors = function.observed - function.left_out
    return LeftOut(rows, errors, function.observed, function.weights)


def table_columns(selector: Any) -> list[Index]:
    """The columns of the table that each player stands for."""
    explanation: Explanation = selector._explanation
    encoding = getattr(selector, "_encoding", None)
    origin = np.arange(explanation.n_columns) if encoding is None else encoding.origin
    return [np.unique(origin[explanation.chosen[player]]) for player in explanation.players]


def share_of_columns(selector: Any) -> Array:
    """Shares of all columns of the table; several columns of one player have equal parts."""
    shares = np.zeros(selector.n_features_in_)
    each = zip(table_columns(selector), selector._explanation.shares, strict=True)
    for columns, share in each:
        shares[columns] = share / len(columns)
    return shares


def together_of(selector: Any, found: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Pairs or triples of players as columns of the table, with the share they have together."""
    first = [int(columns[0]) for columns in table_columns(selector)]
    return [(*sorted(first[a] for a in some), share) for *some, share in found]


def importance_table(selector: Any, level: float = 0.9) -> Any:
    """One row for each selected column or group, the largest share first."""
    explanation: Explanation = selector._explanation
    share, columns, names = explanation.shares, table_columns(selector), player_names(selector)
    (slope, direction), none = slopes_of(selector), np.empty((0, 2))
    ends, (_, first, total) = {}, (np.empty((0, 1)),) * 3
    if explanation.players:
        ends, (_, first, total) = explanation.intervals(level), explanation.indices
    made: dict[str, Any] = {
        "column": np.array(names, dtype=object),
        "share": share,
        **_ends("", ends.get("share", none)),
        "of_y": share * max(float(selector.loo_r2_), 0.0),
        "first_order": first[:, 0],
        **_ends("first_order_", ends.get("first", none)),
        "total": total[:, 0],
        **_ends("total_", ends.get("total", none)),
        "slope": slope,
        "direction": np.array(direction, dtype=object),
        "degrees": explanation.degrees,
    }
    shuffled = explanation.shuffled
    if shuffled is not None:
        made["shuffled"] = shuffled
    if selector.p_values_ is not None:
        made["p_value"] = np.array([selector.p_values_[own].min() for own in columns])
    order = sorted(range(len(columns)), key=lambda a: (-share[a], names[a]))
    return frame({name: values[order] for name, values in made.items()})


def _ends(name: str, ends: Array) -> dict[str, Array]:
    return {f"{name}low": ends[:, 0], f"{name}high": ends[:, 1]}


def facts_of_columns(selector: Any, level: float = 0.9) -> dict[int, dict[str, Any]]:
    """Share, its interval, first order, slope and direction by column of the table.

    Several columns of one player have equal parts of its share.
    """
    explanation: Explanation = selector._explanation
    if not explanation.players:
        return {}
    ends, (slopes, words) = explanation.intervals(level)["share"], slopes_of(selector)
    found = {}
    for a, columns in enumerate(table_columns(selector)):
        parts = len(columns)
        for column in columns:
            found[int(column)] = {
                "share": float(explanation.shares[a]) / parts,
                "low": float(ends[a, 0]) / parts,
                "high": float(ends[a, 1]) / parts,
                "first_order": float(explanation.indices.first[a, 0]),
                "slope": None if np.isnan(slopes[a]) else float(slopes[a]),
                "direction": words[a],
            }
    return found


def slopes_of(selector: Any) -> tuple[Array, list[str]]:
    """Root mean squared slope in the units of the table, and the way each column goes.

    Of a number with gaps where it is observed; of several columns and of several classes there is
    no one slope.
    """
    explanation: Explanation = selector._explanation
    if "slopes" in explanation.kept:
        slope, words = explanation.kept["slopes"]
        return slope, words
    scale = selector._scaler.scale[explanation.chosen]
    Z = explanation.Z[:SLOPE_ROWS]
    p = explanation.weights[: len(Z)] / explanation.weights[: len(Z)].sum()
    slope, words = np.full(len(explanation.players), np.nan), []
    for a, player in enumerate(explanation.players):
        column, seen = _number(selector, explanation, player)
        if column is None or len(explanation.functions) > 1 or not seen[: len(Z)].any():
            words.append("differs")
            continue
        rows, q = Z[seen[: len(Z)]], p[seen[: len(Z)]] / p[seen[: len(Z)]].sum()
        few = bool(discrete_columns(explanation.Z[seen])[column])
        found, part = quotients(explanation.values, rows, column, discrete=few)
        steps = found[:, :, 0, 0]
        slope[a] = np.sqrt(q @ np.sum(part * steps**2, axis=0)) / scale[column]
        mean, size = (q @ np.sum(part * g, axis=0) for g in (steps, np.abs(steps)))
        way = mean / size if size > 0 else 0.0
        words.append("rises" if way > ONE_WAY else "falls" if way < -ONE_WAY else "bends")
    explanation.kept["slopes"] = slope, words
    return slope, words


def _number(selector: Any, explanation: Explanation, player: Index) -> tuple[int | None, Mask]:
    """The column of a player that is a number, and the rows where it is observed."""
    seen = np.ones(len(explanation.Z), dtype=bool)
    if len(player) == 1:
        return int(player[0]), seen
    names = encoded_names(selector)
    own = [names[a] for a in explanation.chosen[player]]
    if len(own) == 2 and own[1] == f"{own[0]}: missing":
        return int(player[0]), explanation.Z[:, player[1]] < explanation.Z[:, player[1]].mean()
    return None, seen


def encoded_names(selector: Any) -> list[str]:
    """Names of the numbers that the columns of a table became."""
    encoding = getattr(selector, "_encoding", None)
    return feature_names(selector) if encoding is None else [str(name) for name in encoding.names]


def player_names(selector: Any) -> list[str]:
    """A column's name, or that of its group: given, or its columns joined."""
    names = feature_names(selector)
    labels = group_labels(selector, selector.feature_groups)
    given: dict[int, str] = {}
    if isinstance(selector.feature_groups, Mapping):
        for name, members in selector.feature_groups.items():
            own = [members] if isinstance(members, str) else list(members)
            for a in column_indices(selector, own, "feature_groups"):
                given[int(labels[a])] = str(name)
    found = []
    for columns in table_columns(selector):
        joined = " + ".join(names[a] for a in columns)
        found.append(given.get(int(labels[columns[0]]), joined))
    return found


def shape_table(selector: Any, level: float = 0.9) -> Any:
    """Curves of all selected columns, one after the other, with their bands."""
    explanation: Explanation = selector._explanation
    names = player_names(selector)
    classes = getattr(selector, "classes_", None)
    parts: dict[str, list[Any]] = {}

    def put(name: str, values: Any) -> None:
        parts.setdefault(name, []).append(np.atleast_1d(values))

    for k, curves in enumerate(explanation.curves(level) if explanation.players else []):
        for curve in curves:
            n = len(curve.value)
            if classes is not None:
                label = classes[k if len(explanation.functions) > 1 else 1]
                put("class", np.full(n, label, dtype=object))
            put("column", np.full(n, names[curve.player], dtype=object))
            columns = explanation.chosen[explanation.players[curve.player]]
            put("x", _in_units(selector, names[curve.player], columns, curve.x))
            for name in ("value", "low", "high", "low_simultaneous", "high_simultaneous"):
                put(name, getattr(curve, name))
    return frame({name: np.concatenate(values) for name, values in parts.items()})


def _in_units(selector: Any, column: str, columns: Index, x: Array) -> Any:
    """Values in the units of the table; of several numbers in words: a level, or all of them."""
    scaler, names = selector._scaler, encoded_names(selector)
    values = x.reshape(len(x), -1) * scaler.scale[columns] + scaler.centre[columns]
    if len(columns) == 1:
        return values[:, 0]
    own = [names[a] for a in columns]
    words = [_in_words(str(column), own, row) for row in np.round(values, 9)]
    return np.array(words, dtype=object)


def _in_words(column: str, names: list[str], row: Array) -> str:
    """The level that is one, "missing", the number of a column with gaps, or all numbers."""
    cells = dict(zip(names, row, strict=True))
    if cells.pop(f"{column}: missing", 0) == 1:
        return "missing"
    level = [name for name, value in cells.items() if value == 1]
    if len(level) == 1 and level[0].startswith(f"{column}=") and set(row) <= {0.0, 1.0}:
        return level[0].removeprefix(f"{column}=")
    if len(cells) == 1:
        return f"{next(iter(cells.values())):.6g}"
    return " ".join(f"{name}={value:.6g}" for name, value in cells.items())


def contribution_table(selector: Any, Z: Array) -> Any:
    """What every selected column adds to every prediction; ``bias`` is what it starts from.

    What faint columns add is one column more. Of several classes one table for each.
    """
    explanation: Explanation = selector._explanation
    parts = explanation.contributions(Z[:, explanation.chosen])
    parts[:, 0] += getattr(selector, "_y_mean", 0.0)
    names = ["bias", *player_names(selector)]
    if selector.faint_.any():
        names.append(OTHERS)
        parts = np.concatenate([parts, explanation.of_others(Z)[:, None]], axis=1)
    tables = [
        frame({name: parts[:, i, k] for i, name in enumerate(names)}) for k in range(parts.shape[2])
    ]
    if len(tables) == 1:
        return tables[0]
    return dict(zip(selector.classes_.tolist(), tables, strict=True))


def drawn_predictions(selector: Any, X: Array, count: int, code: int = 0) -> Array:
    """Draws (m, count) of predictions at rows of numbers; of classes, of the probability of one."""
    explanation: Explanation = selector._explanation
    Z = selector._scaler.transform(X)
    drawn = explanation.drawn(count)(Z[:, explanation.chosen]) + explanation.of_others(Z)[..., None]
    if not hasattr(selector, "classes_"):
        return np.asarray(drawn[:, 0] + selector._y_mean)
    odds = np.moveaxis(drawn, 1, 2).reshape(-1, drawn.shape[1])
    shares = class_shares(odds[:, 0] if odds.shape[1] == 1 else odds)
    return np.asarray(shares[:, code].reshape(len(X), count))


def frame(columns: dict[str, Any]) -> Any:
    """A data frame where pandas is installed, else the columns."""
    if find_spec("pandas") is None:
        return columns
    import pandas

    return pandas.DataFrame(columns)


class Explains:
    """How much columns carry, and how: read from what predicts when asked for."""

    _scaler: Scaler
    _explanation: Explanation

    @property
    def feature_importances_(self) -> Array:
        """Shares of the variance of the prediction, adding up to one."""
        check_is_fitted(self)
        return share_of_columns(self)

    @property
    def importances_(self) -> Any:
        """How much each selected column matters, with intervals."""
        check_is_fitted(self)
        return importance_table(self)

    @property
    def interactions_(self) -> list[tuple[int, int, float]]:
        """Pairs that act together."""
        check_is_fitted(self)
        return together_of(self, self._explanation.pairs)

    @property
    def triples_(self) -> list[tuple[int, int, int, float]]:
        """Triples that act together."""
        check_is_fitted(self)
        return together_of(self, self._explanation.triples)

    def shapes(self, level: float = 0.9) -> Any:
        """How the prediction (for classes: the log-odds) depends on each selected column.

        Parameters
        ----------
        level : float, default=0.9
            Of the bands: ``low`` and ``high`` hold the function at one point with this
            probability, ``low_simultaneous`` and ``high_simultaneous`` at all points at once.

        Returns
        -------
        DataFrame, or dict of arrays without pandas
            ``column``, ``x``, ``value`` (mean zero over the rows) and the bands; for classes
            ``class`` too.
        """
        check_is_fitted(self)
        return shape_table(self, level)

    def contributions(self, X: Any) -> Any:
        """What each selected column adds to each prediction (for classes: to the log-odds).

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        DataFrame, or dict of arrays without pandas
            ``bias`` and one column for each selected one, and "(others)" where faint columns
            predict too; rows add up to the predictions. A dict of them by class where there are
            more than two.
        """
        check_is_fitted(self)
        return contribution_table(self, self._scaler.transform(check_new_data(self, X)))
