"""Tables straight into ``fit``: every estimator takes data frames with columns of any kind.

``@estimator`` wraps ``fit`` in :func:`takes_tables`. Arrays, and frames whose columns are all
finite numbers, go to ``fit`` as they are. Any other frame is encoded
(:mod:`nablasso.data.encoding`), a clone of the estimator, with the columns of numbers of a category
in one group, is fitted to the numbers, and the estimator takes over what the clone found, said of
the columns of the table: a column is selected if any of its numbers is, and so on by
:data:`PER_COLUMN`. ``predict`` and the like encode their rows by
:func:`nablasso.estimators.validation.check_new_data`.

A fit that fails leaves no fitted attributes behind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from nablasso.data.cells import LARGEST, as_pandas, name_problems, read_cells
from nablasso.data.encoding import Encoding, plain_encoding
from nablasso.data.roles import named_roles, target_problems
from nablasso.data.table import check_weights, is_frame, is_in_blocks
from nablasso.errors import InvalidParameterError, NotNumbersError, Problem, TableProblems
from nablasso.estimators.validation import column_indices, group_labels
from nablasso.streaming import open_table
from nablasso.streaming.sample import encoded
from nablasso.types import Array, Index, Mask

Gather = Callable[[Any, Encoding], Any]


def takes_tables(fit: Any) -> Any:
    """``fit`` for tables too."""
    signature = inspect.signature(fit)

    @wraps(fit)
    def fit_table(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = signature.bind(self, *args, **kwargs).arguments
        given = {name: value for name, value in call.items() if name != "self"}
        try:
            for name in ("_encoding", "_numbers"):
                vars(self).pop(name, None)
            X = given["X"]
            if is_in_blocks(X) and hasattr(self, "_fit_blocks"):
                _fit_blocks(self, fit, given)
            elif is_frame(X) and getattr(self, "takes_tables", True):
                _fit_frame(self, fit, given)
            elif _has_gaps(X) and get_tags(self).input_tags.allow_nan:
                frame = as_pandas(X, [f"x{a}" for a in range(X.shape[1])])
                _fit_frame(self, fit, given | {"X": frame})
                del self.feature_names_in_
            else:
                _check_not_named(given)
                return fit(self, **_in_time(given))
        except BaseException:
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
            raise
        return self

    return fit_table


def takes_names(score: Any) -> Any:
    """``score`` for a data frame that holds the target too: ``score(df, "price")``."""
    signature = inspect.signature(score)

    @wraps(score)
    def score_table(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(self, *args, **kwargs).arguments)
        if is_frame(given["X"]):
            given, problems = named_roles(given)
            if problems:
                raise TableProblems(problems)
        return score(**given)

    return score_table


def _fit_frame(model: Any, fit: Any, given: dict[str, Any]) -> None:
    """Fit to a data frame: as it is if all of it is numbers, else encoded."""
    given, problems = named_roles(given)
    given = _in_time(given)
    X, y = given["X"], given.get("y")
    problems += name_problems(X)
    if "y" in given:
        problems += target_problems(y, len(X), classes=is_classifier(model))
    numbers = None if problems else _finite_numbers(X)
    if numbers is not None:
        fit(model, **given)
        if hasattr(model, "feature_names_in_"):
            names = [str(name) for name in X.columns]
            model._encoding = plain_encoding(names, np.median(numbers, axis=0).tolist())
        return
    typed, faults = read_cells(as_pandas(X).reset_index(drop=True))
    if problems or faults:
        raise TableProblems([*problems, *faults])
    typed = typed.set_axis([str(name) for name in typed.columns], axis=1)
    encoding = Encoding.learn(typed, check_weights(given.get("sample_weight"), len(typed)))
    if not encoding.names:
        what = f"none of the {typed.shape[1]} columns varies"
        raise TableProblems([Problem((), what, "Add columns that could explain the target")])
    given["X"] = encoding.encode(typed)
    if given.get("X_unlabeled") is not None:
        given["X_unlabeled"] = encoding.encode(given["X_unlabeled"])
    _adopt(model, _fitted_clone(model, encoding, given), encoding)


def _fit_blocks(model: Any, fit: Any, given: dict[str, Any]) -> None:
    """Fit to a table in blocks: as it is if all of it is finite numbers, else encoded."""
    source = open_table(given["X"], given.get("y"), given.get("sample_weight"))
    given = given | {"X": source, "y": source.target, "sample_weight": None}
    if source.reading.encoding is None or hasattr(model, "_encoded_by"):
        try:
            fit(model, **given)
            return
        except NotNumbersError:
            source = given["X"] = encoded(source)
    encoding = source.reading.encoding
    assert encoding is not None
    _adopt(model, _fitted_clone(model, encoding, given), encoding)
    if not source.named:
        del model.feature_names_in_


def _fitted_clone(model: Any, encoding: Encoding, given: dict[str, Any]) -> Any:
    """A clone, fitted to the numbers."""
    model.n_features_in_ = len(encoding.columns)
    model.feature_names_in_ = np.array([c.name for c in encoding.columns], dtype=object)
    numbers, known = clone(model), model.get_params()
    numbers._encoded_by = encoding
    for prefix in ("", "estimator__"):
        if f"{prefix}feature_groups" in known:
            groups = group_labels(model, known[f"{prefix}feature_groups"])
            numbers.set_params(**{f"{prefix}feature_groups": _encoded_labels(encoding, groups)})
        kept = known.get(f"{prefix}always_keep")
        if kept is not None:
            places = column_indices(model, kept, "always_keep")
            inside = np.flatnonzero(np.isin(encoding.origin, places)).tolist()
            numbers.set_params(**{f"{prefix}always_keep": inside})
    return numbers.fit(**given)


def _encoded_labels(encoding: Encoding, groups: Index) -> list[int]:
    """Groups of the columns of numbers: those given, parts of a column that is alone in its own."""
    origin, alone = encoding.origin, np.bincount(groups)[groups] == 1
    parts = np.where(alone[origin], 1 + encoding.labels, 0)
    pairs = np.column_stack([groups[origin], parts])
    return [int(k) for k in np.unique(pairs, axis=0, return_inverse=True)[1].ravel()]


def _adopt(model: Any, numbers: Any, encoding: Encoding) -> None:
    """Take over what the model of the numbers found, said of the columns of the table."""
    own = {*model.get_params(deep=False), "n_features_in_", "feature_names_in_", "_encoded_by"}
    for name, value in vars(numbers).items():
        if name not in own:
            gather = PER_COLUMN.get(name)
            setattr(model, name, value if gather is None else gather(value, encoding))
    model._encoding, model._numbers = encoding, numbers
    stand_ins = [getattr(model, n, ()) for n in ("twins_", "alternatives_", "replaceable_")]
    if getattr(model, "selection_status_", "") == "replaceable" and not any(stand_ins):
        model.selection_status_ = "clear"  # parts of one column stood for each other
    model.table_notes_ = encoding.remarks


def behind(model: Any) -> Any:
    """The model of numbers: itself, unless it was fitted to a table that had to be encoded."""
    return getattr(model, "_numbers", model)


def players(model: Any) -> list[Index]:
    """The columns of ``behind(model)`` that each column of the table is, one by one if plain.

    Inside ``fit`` too, where the model is the one of numbers.
    """
    encoding = getattr(model, "_encoded_by", None) or getattr(model, "_encoding", None)
    if encoding is None:
        return [np.array([a]) for a in range(int(model.n_features_in_))]
    return list(encoding.players)


class Selects(SelectorMixin):
    """Selected columns of arrays as scikit-learn gives them, of encoded tables as a table."""

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def transform(self, X: Any) -> Any:
        """The selected columns.

        Returns
        -------
        array, or a frame if the estimator was fitted to one that is not all numbers
        """
        encoding = getattr(self, "_encoding", None)
        if encoding is None or encoding.is_plain or not is_frame(X):
            return super().transform(X)
        chosen = self.get_support()
        return X[[c.name for c, inside in zip(encoding.columns, chosen, strict=True) if inside]]


def _check_not_named(given: dict[str, Any]) -> None:
    for role in ("y", "sample_weight"):
        if isinstance(given.get(role), str):
            raise InvalidParameterError(
                f"{role} is the name of a column, {given[role]!r}, so X must be a data frame, "
                f"files or a dask.dataframe; got {type(given['X']).__name__}."
            )


def _has_gaps(X: Any) -> bool:
    """Whether X is an array of numbers some of which are missing."""
    is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    return is_table and bool(np.isnan(X).any())


def _finite_numbers(X: Any) -> Array | None:
    """The numbers of a frame that holds finite ones only; None for any other."""
    numeric = (
        all(getattr(kind, "kind", "O") in "biuf" for kind in X.dtypes)
        if hasattr(X, "iloc")
        else all(kind.is_numeric() for kind in X.dtypes)
    )
    if not numeric or not len(X) or not len(X.columns):
        return None
    numbers = np.asarray(X.to_numpy(), dtype=float)
    return numbers if (np.abs(numbers) <= LARGEST).all() else None


def _in_time(given: dict[str, Any]) -> dict[str, Any]:
    """The rows sorted by ``time``, if that was given."""
    time = given.pop("time", None)
    if time is None:
        return given
    order = np.argsort(np.asarray(time), kind="stable")
    rows = {"X", "y", "sample_weight", "groups"}
    return {
        name: value if name not in rows or value is None else _rows(value, order)
        for name, value in given.items()
    }


def _rows(values: Any, order: Index) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[order]
    return values[order] if is_frame(values) else np.asarray(values)[order]


def _each(reduce: Callable[[Any], Any], nothing: Any) -> Gather:
    """Reduce the rows of an array that belong to one column of the table."""

    def gather(values: Any, encoding: Encoding) -> NDArray[Any] | None:
        if values is None:
            return None
        array = np.asarray(values)
        empty = np.full(array.shape[1:], nothing)
        parts = [reduce(array[own]) if len(own) else empty for own in encoding.players]
        return np.array(parts, dtype=array.dtype)

    return gather


def _size(values: Any) -> Any:
    """One number as it is; those of several columns by the norm that the penalty gives a group."""
    return values[0] if len(values) == 1 else np.sqrt(np.sum(np.square(values), axis=0))


def _by_class(values: Any, encoding: Encoding) -> Any:
    return gather_sizes(np.asarray(values).T, encoding).T


def _pairs(values: Any, encoding: Encoding) -> list[tuple[int, int]]:
    """Copies: all numbers of one of the two columns; gaps in the same rows make no copy."""
    inside: dict[tuple[int, int], set[int]] = {}
    for a, b in values:
        pair = int(encoding.origin[a]), int(encoding.origin[b])
        if pair[0] != pair[1]:
            inside.setdefault(pair, set()).update((int(a), int(b)))
    whole = [{int(a) for a in own} for own in encoding.players]
    return [(a, b) for (a, b), own in inside.items() if whole[a] <= own or whole[b] <= own]


def _replaceable(values: Any, encoding: Encoding) -> list[tuple[int, list[int], float]]:
    """Columns that others explain together; parts of one column do not explain it."""
    found: dict[int, tuple[int, list[int], float]] = {}
    for a, by, r2 in values:
        own, others = int(encoding.origin[a]), _set(by, encoding)
        if own not in others:
            found.setdefault(own, (own, others, r2))
    return list(found.values())


def _swaps(values: Any, encoding: Encoding) -> list[Any]:
    """Pairs with scores, one for each pair of columns of the table."""
    found: dict[tuple[int, int], Any] = {}
    for pair in values:
        a, b = int(encoding.origin[pair.a]), int(encoding.origin[pair.b])
        if a != b:
            found.setdefault((a, b), pair._replace(a=a, b=b))
    return list(found.values())


def _dropped(values: dict[int, Any], encoding: Encoding) -> dict[int, Any]:
    """What a column of the table would add: the most that one of its numbers would."""
    found: dict[int, Any] = {}
    for a, facts in values.items():
        own = int(encoding.origin[a])
        found[own] = max(found.get(own, facts), facts, key=lambda one: one[0])
    return found


def _strengths(values: Any, encoding: Encoding) -> Any:
    """Interactions of columns of the table; those of their numbers add up by squares."""
    if not all(isinstance(one, tuple) and len(one) == 3 for one in values):
        return values
    squares: dict[tuple[int, int], float] = {}
    for a, b, strength in values:
        one, other = sorted((int(encoding.origin[a]), int(encoding.origin[b])))
        if one != other:
            squares[one, other] = squares.get((one, other), 0.0) + float(strength) ** 2
    found = [(a, b, float(np.sqrt(square))) for (a, b), square in squares.items()]
    return sorted(found, key=lambda one: -one[2])


def _set(places: Iterable[int], encoding: Encoding) -> list[int]:
    return sorted({int(encoding.origin[a]) for a in places})


def _runner_up(value: Any, encoding: Encoding) -> Any:
    return None if value is None else (_set(value[0], encoding), value[1])


def _tried(values: Sequence[dict[str, Any]], encoding: Encoding) -> list[dict[str, Any]]:
    return [one | {"columns": _set(one["columns"], encoding)} for one in values]


def _kinds(values: Any, encoding: Encoding) -> NDArray[np.str_]:
    kinds = []
    for column, own in zip(encoding.columns, encoding.players, strict=True):
        one = {"number": str(values[own[0]]) if len(own) else "", "empty": "constant"}
        kinds.append(one.get(column.kind, column.kind))
    return np.array(kinds)


gather_sizes = _each(_size, 0.0)
any_of, all_of = _each(lambda v: v.any(axis=0), False), _each(lambda v: v.all(axis=0), True)
largest, least = _each(lambda v: v.max(axis=0), 0.0), _each(lambda v: v.min(axis=0), 1.0)
PER_COLUMN: dict[str, Gather] = {
    **dict.fromkeys(("support_", "clear_", "faint_"), any_of),
    "screened_": _each(lambda v: v.any(axis=0), True),
    "support_certified_": all_of,
    **dict.fromkeys(
        ("feature_importances_", "slopes_", "importance_bounds_", "scales_"), gather_sizes
    ),
    "class_importances_": _by_class,
    **dict.fromkeys(("evidence_", "selection_probabilities_", "scores_"), largest),
    "knockoff_statistics_": largest,
    "clear_by_": _each(lambda v: v.max(axis=0), np.nan),
    **dict.fromkeys(("p_values_", "adjusted_p_values_"), least),
    "twins_": _pairs,
    "alternatives_": _swaps,
    "_dropped": _dropped,
    "replaceable_": _replaceable,
    "interactions_": _strengths,
    "runner_up_": _runner_up,
    "tried_": _tried,
    "feature_kinds_": _kinds,
}
