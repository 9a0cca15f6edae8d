"""What comes into an estimator: its parameters, rows and columns, and tables of any kind.

``@estimator`` wraps ``fit`` in :func:`takes_tables`. Arrays, and frames whose columns are all
finite numbers, go to ``fit`` as they are. Any other frame is encoded
(:mod:`nablasso.data.encoding`), a clone of the estimator, with the columns of numbers of a category
in one group, is fitted to the numbers, and the estimator takes over what the clone found, said of
the columns of the table: a column is selected if any of its numbers is, and so on by
:data:`PER_COLUMN`. ``predict`` and the like encode their rows by :func:`check_new_data`. A fit that
fails leaves no fitted attributes behind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from nablasso.data.cells import LARGEST, as_pandas, listed, name_problems, read_cells
from nablasso.data.encoding import Encoding, plain_encoding
from nablasso.data.roles import named_roles, target_problems
from nablasso.data.table import (
    MIN_ROWS,
    Table,
    check_weights,
    correlated_columns,
    discrete_columns,
    is_frame,
    is_in_blocks,
)
from nablasso.errors import InvalidDataError, InvalidParameterError, NotNumbersError, TableProblems
from nablasso.kernels import WIDTH_RULES
from nablasso.streaming import open_table
from nablasso.streaming.sample import encoded
from nablasso.types import Array, Index

TWIN_CORRELATION = 0.95
Gather = Callable[[Any, Encoding], Any]

# ------------------------------------------------------------------ rows and columns


def check_training_data(
    estimator: BaseEstimator, X: Any, y: Any, *, multi_output: bool = False
) -> tuple[Array, Array]:
    """``X`` (n, d) and ``y`` (n,) as finite floats, or an error that says what to do."""
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1 and not multi_output:
        raise InvalidDataError(
            f"y should be a 1d array of one target; got shape {shape}. Fit one model per "
            "column, for example with sklearn.multioutput.MultiOutputRegressor."
        )
    if y is not None:
        _check_finite_target(y)
    X, y = check_rows(estimator, X, y, y_numeric=True, multi_output=multi_output)
    return X, np.asarray(y, dtype=np.float64)


def check_rows(estimator: BaseEstimator, X: Any, *y: Any, **options: Any) -> Any:
    """``X`` as scikit-learn checks it, and ``y`` if given; finite columns, and rows enough.

    The estimator's parameters are checked before.
    """
    check_parameters(estimator)
    checked = validate_data(estimator, X, *y, dtype=np.float64, ensure_all_finite=False, **options)
    X = checked[0] if y else checked
    check_finite_columns(estimator, X)
    if len(X) < MIN_ROWS:
        raise InvalidDataError(f"At least {MIN_ROWS} rows are needed; got n_samples={len(X)}.")
    return checked


def check_new_data(estimator: BaseEstimator, X: Any) -> Array:
    """``X`` of the shape and names seen in ``fit``, which must have been; of a table, its numbers.

    Columns of a data frame may be in any order, and those that predictions do not depend on absent.
    """
    check_is_fitted(estimator)
    encoding = getattr(estimator, "_encoding", None)
    if encoding is not None and (is_frame(X) or not encoding.is_plain):
        return _encoded_rows(estimator, X, encoding)
    X = validate_data(estimator, X, reset=False, dtype=np.float64, ensure_all_finite=False)
    check_finite_columns(estimator, X)
    return np.asarray(X)


def standardised(estimator: Any, X: Any) -> Array:
    """New rows in the units of the fitted functions."""
    X = check_new_data(estimator, X)
    return np.asarray(estimator._scaler.transform(X))


def _encoded_rows(estimator: BaseEstimator, X: Any, encoding: Encoding) -> Array:
    """Rows of a table as numbers; an array must have all its columns, in their order."""
    names = [column.name for column in encoding.columns]
    if not is_frame(X):
        cells = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
        if cells.ndim != 2 or cells.shape[1] != len(names):
            raise InvalidDataError(
                f"The model was fitted to a table of {len(names)} columns; got an array of shape "
                f"{cells.shape}. Give a data frame with the columns {listed(names)}."
            )
        X = as_pandas(cells, names)
    if not len(X):
        raise InvalidDataError("Found array with 0 sample(s): give at least one row.")
    functions = getattr(estimator, "_functions", ())
    needed = None  # all columns, unless predictions are known to depend on some
    if functions and all(hasattr(f, "columns") for f in functions):
        origin = encoding.origin[[int(a) for f in functions for a in f.columns]]
        needed = {names[a] for a in origin}
    return encoding.encode(X, needed)


def by_column(estimator: BaseEstimator, gradients: Array) -> Array:
    """Derivatives in the columns of the table, (..., n_features); categories have none: NaN."""
    encoding = getattr(estimator, "_encoding", None)
    if encoding is None or encoding.is_plain:
        return gradients
    out = np.full((*gradients.shape[:-1], len(encoding.columns)), np.nan)
    for a, (column, own) in enumerate(zip(encoding.columns, encoding.players, strict=True)):
        if column.kind in ("number", "ordered", "date"):
            out[..., a] = gradients[..., own[0]]
        elif not len(own):
            out[..., a] = 0.0
    return out


def feature_names(estimator: BaseEstimator) -> list[str]:
    """Column names seen in ``fit``, or x0, x1, ...; of numbers made of a table, its columns."""
    encoding = getattr(estimator, "_encoded_by", None)
    if encoding is not None:
        return [encoding.columns[a].name for a in encoding.origin]
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    return [f"x{a}" for a in range(estimator.n_features_in_)]


def target_name(y: Any) -> str:
    """The name that a target came with."""
    name = y if isinstance(y, str) else getattr(y, "name", None)
    return "y" if name is None else str(name)


def group_labels(estimator: BaseEstimator, feature_groups: Any) -> Index:
    """Group number of each column, from lists of columns, a mapping of such, or labels."""
    d = int(estimator.n_features_in_)
    if feature_groups is None:
        return np.arange(d)
    if isinstance(feature_groups, Mapping):
        own = feature_groups.values()
        feature_groups = [[members] if isinstance(members, str) else members for members in own]
    if all(isinstance(group, Iterable) and not isinstance(group, str) for group in feature_groups):
        names, labels = feature_names(estimator), np.full(d, -1, dtype=np.intp)
        for label, group in enumerate(feature_groups):
            for column in np.unique(column_indices(estimator, group, "feature_groups")):
                if labels[column] >= 0:
                    raise InvalidParameterError(
                        f"feature_groups: a column belongs to one group; {names[column]!r} is in "
                        f"groups {labels[column]} and {label}. Leave it in one of them."
                    )
                labels[column] = label
        alone = labels < 0  # a column in no group is one of its own
        labels[alone] = len(feature_groups) + np.arange(alone.sum())
        return labels
    labels = np.asarray(feature_groups)
    if labels.shape != (d,):
        raise InvalidParameterError(
            f"feature_groups must be lists of columns or one label per column; got "
            f"{len(labels)} labels for {d} columns."
        )
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp)


def column_indices(estimator: BaseEstimator, columns: Any, parameter: str) -> Index:
    """Indices of columns given by name or index."""
    if columns is None:
        return np.empty(0, dtype=np.intp)
    d = int(estimator.n_features_in_)
    names = {name: a for a, name in enumerate(feature_names(estimator))}
    indices = []
    if np.asarray(columns).dtype == bool and np.shape(columns) == (d,):
        return np.flatnonzero(columns)
    for column in [columns] if isinstance(columns, str | Integral) else columns:
        whole = isinstance(column, Integral) and not isinstance(column, bool)
        index = names.get(column) if isinstance(column, str) else int(column) if whole else None
        if index is None or not 0 <= index < d:
            raise InvalidParameterError(
                f"{parameter} names column {column!r}; the columns are "
                f"{listed(list(names))} or 0 to {d - 1}."
            )
        indices.append(index)
    return np.array(indices, dtype=np.intp)


def groups_of(estimator: Any, table: Table) -> tuple[Index, Index]:
    """The group of each column of the table, numbered from 0, and the groups to be kept."""
    labels = group_labels(estimator, estimator.feature_groups)
    kept = column_indices(estimator, estimator.always_keep, "always_keep")
    inside, numbers = np.unique(labels[table.columns], return_inverse=True)
    return numbers.astype(np.intp), np.flatnonzero(np.isin(inside, labels[kept]))


@dataclass(frozen=True)
class Check:
    """What a parameter may be, in code and in words; fields of estimators name theirs."""

    allows: Callable[[Any], bool]
    words: str

    def __call__(self, value: Any, name: str, *, none: bool = False) -> None:
        """Refuse any other value; None passes where ``none`` says so."""
        if not (none and value is None) and not self.allows(value):
            raise InvalidParameterError(
                f"{name} must be {self.words}{', or None' if none else ''}; got {value!r}."
            )


def _real(value: Any, least: float, most: float = np.inf) -> bool:
    """Whether it is a number, and finite, above ``least`` and at most ``most``."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and least < float(value) <= most and float(value) < np.inf


def at_least(least: int) -> Check:
    """Whole numbers from ``least`` on."""
    return Check(
        lambda v: isinstance(v, Integral) and not isinstance(v, bool) and int(v) >= least,
        f"a whole number of at least {least}",
    )


def one_of(*names: str) -> Check:
    """Some names."""
    return Check(lambda v: isinstance(v, str) and v in names, f"one of {', '.join(names)}")


check_count = at_least(1)
check_positive = Check(lambda v: _real(v, 0), "a positive number")
check_non_negative = Check(
    lambda v: _real(v, 0) or (isinstance(v, Real) and v == 0), "zero or positive"
)
check_share = Check(lambda v: _real(v, 0, 1), "above 0 and at most 1")
check_rate = Check(
    lambda v: _real(v, 0, 1) and v < 1, "a number strictly between 0 and 1, such as 0.1"
)
check_length_scale = Check(
    lambda v: _real(v, 0) or (isinstance(v, str) and v in WIDTH_RULES),
    f"a positive number or one of {', '.join(WIDTH_RULES)}",
)


def check_parameters(model: Any) -> None:
    """Refuse parameters that their fields do not allow."""
    for one in fields(model) if is_dataclass(model) else ():
        check = one.metadata.get("check")
        if check is not None and one.init:
            none = one.default is None or "None" in f"{one.metadata['kind']} {one.type}"
            check(getattr(model, one.name), one.name, none=none)


def as_floats(values: Any) -> Array:
    """Numbers in any form as an array; an empty one where they are none."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)


def _check_finite_target(y: Any) -> None:
    values = as_floats(y)
    if not values.ndim or not values.size:
        return  # validate_data says what is wrong
    sizes = np.abs(values).reshape(len(values), -1).max(axis=1)
    bad = np.flatnonzero(~np.isfinite(sizes))
    if bad.size:
        kind = "NaN" if np.isnan(values).any() else "infinity"
        raise InvalidDataError(
            f"Input y contains {kind}: {bad.size} of {len(values)} rows, the first at row "
            f"{bad[0]}. Drop or repair these rows."
        )
    size = float(sizes.max())
    if size > LARGEST or 0 < size < 1 / LARGEST:
        raise InvalidDataError(
            f"The largest value of y is {size:.3g} in size, at row {int(sizes.argmax())}: squares "
            f"are numbers only of sizes from {1 / LARGEST:.0e} to {LARGEST:.0e}. Repair that row, "
            f"or give y in another unit, y / {size:.0e}."
        )


def check_finite_columns(estimator: BaseEstimator, X: Array) -> None:
    """Refuse NaN and infinite values, naming the columns that hold them."""
    bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
    if bad.size:
        where = listed(np.array(feature_names(estimator))[bad].tolist())
        raise InvalidDataError(
            f"Input X contains NaN or infinity in columns {where}. Drop these rows, give a data "
            "frame, in which a missing value is a state of its own, or impute them first, for "
            "example with sklearn.impute.SimpleImputer."
        )


def feature_kinds(X: Array) -> NDArray[np.str_]:
    """``"constant"``, ``"discrete"`` (at most 10 values) or ``"continuous"`` per column."""
    kinds = np.where(discrete_columns(X), "discrete", "continuous")
    return np.where(np.ptp(X, axis=0) == 0, "constant", kinds)


def correlated_pairs(table: Table, chosen: Index) -> list[tuple[int, int]]:
    """Pairs (selected, other), as input columns, with correlation of at least 0.95 in size."""
    pairs, inside = [], np.zeros(table.X.shape[1], dtype=bool)
    inside[chosen] = True
    for a, partners in correlated_columns(table.X, table.weights, chosen, TWIN_CORRELATION):
        for b in partners:
            if b != a and not (inside[b] and b < a):
                pairs.append((int(table.columns[a]), int(table.columns[b])))
    return sorted(pairs)


# ------------------------------------------------------------------ tables


def takes_tables(fit: Any) -> Any:
    """``fit`` for tables too."""
    signature = inspect.signature(fit)

    @wraps(fit)
    def fit_table(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = signature.bind(self, *args, **kwargs).arguments
        given = {name: value for name, value in call.items() if name != "self"}
        try:
            for name in ("_encoding", "_numbers", "_explanation"):
                vars(self).pop(name, None)
            X = given["X"]
            numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
            missing = numbers and bool(np.isnan(X).any())
            if is_in_blocks(X) and hasattr(self, "_fit_blocks"):
                _fit_blocks(self, fit, given)
            elif is_frame(X) and getattr(self, "takes_tables", True):
                _fit_frame(self, fit, given)
            elif missing and get_tags(self).input_tags.allow_nan:
                frame = as_pandas(X, [f"x{a}" for a in range(X.shape[1])])
                _fit_frame(self, fit, given | {"X": frame})
                del self.feature_names_in_
            else:
                for role in ("y", "sample_weight"):
                    if isinstance(given.get(role), str):
                        raise InvalidParameterError(
                            f"{role} is the name of a column, {given[role]!r}, so X must be a data "
                            f"frame, files or a dask.dataframe; got {type(X).__name__}."
                        )
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
    weights = check_weights(given.get("sample_weight"), len(typed))
    encoding = Encoding.learn(typed, weights).checked()
    given["X"] = encoding.encode(typed)
    if given.get("X_unlabeled") is not None:
        given["X_unlabeled"] = encoding.encode(given["X_unlabeled"])
    _fit_numbers(model, encoding, given)


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
    _fit_numbers(model, encoding, given)
    if not source.named:
        del model.feature_names_in_


def _fit_numbers(model: Any, encoding: Encoding, given: dict[str, Any]) -> None:
    """Fit a clone to the numbers, and take over what it found, said of the table's columns."""
    model.n_features_in_ = len(encoding.columns)
    model.feature_names_in_ = np.array([c.name for c in encoding.columns], dtype=object)
    numbers, known = clone(model), model.get_params()
    numbers._encoded_by = encoding
    for prefix in ("", "estimator__"):
        if f"{prefix}feature_groups" in known:
            groups = group_labels(model, known[f"{prefix}feature_groups"])
            alone = (np.bincount(groups)[groups] == 1)[encoding.origin]  # its parts may be apart
            apart = np.where(alone, 1 + encoding.labels, 0)
            pairs = np.column_stack([groups[encoding.origin], apart])
            labels = np.unique(pairs, axis=0, return_inverse=True)[1].ravel().tolist()
            numbers.set_params(**{f"{prefix}feature_groups": labels})
        kept = known.get(f"{prefix}always_keep")
        if kept is not None:
            places = column_indices(model, kept, "always_keep")
            inside = np.flatnonzero(np.isin(encoding.origin, places)).tolist()
            numbers.set_params(**{f"{prefix}always_keep": inside})
    numbers.fit(**given)
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
    for name in ("X", "y", "sample_weight", "groups"):
        values: Any = given.get(name)
        if values is not None:
            rows = values if is_frame(values) else np.asarray(values)
            given[name] = values.iloc[order] if hasattr(values, "iloc") else rows[order]
    return given


def _each(reduce: Callable[..., Any], nothing: Any) -> Gather:
    """Reduce the rows of an array that belong to one column of the table."""

    def gather(values: Any, encoding: Encoding) -> NDArray[Any] | None:
        if values is None:
            return None
        array = np.asarray(values)
        empty = np.full(array.shape[1:], nothing)
        parts = [reduce(array[own], axis=0) if len(own) else empty for own in encoding.players]
        return np.array(parts, dtype=array.dtype)

    return gather


def _size(values: Any, axis: int) -> Any:
    """One number as it is; those of several columns by the norm that the penalty gives a group."""
    return values[0] if len(values) == 1 else np.sqrt(np.sum(np.square(values), axis=axis))


def _pairs(values: Any, encoding: Encoding) -> list[tuple[int, int]]:
    """Copies: all numbers of one of the two columns; gaps in the same rows make no copy."""
    inside: dict[tuple[int, int], set[int]] = {}
    for a, b in values:
        pair = int(encoding.origin[a]), int(encoding.origin[b])
        if pair[0] != pair[1]:
            inside.setdefault(pair, set()).update((int(a), int(b)))
    whole = [{int(a) for a in own} for own in encoding.players]
    return [(a, b) for (a, b), own in inside.items() if whole[a] <= own or whole[b] <= own]


def _moved(value: Any, encoding: Encoding) -> Any:
    """Columns of the table in place of those of numbers: whole numbers stand for columns."""
    if isinstance(value, dict):
        return {name: _moved(one, encoding) for name, one in value.items()}
    if isinstance(value, tuple):
        parts = [_moved(one, encoding) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return sorted({_moved(one, encoding) for one in value})
    return int(encoding.origin[value]) if isinstance(value, Integral) else value


def _stand_ins(values: Any, encoding: Encoding, named: int = 2) -> list[Any]:
    """The first of the same ``named`` columns; parts of a column do not stand for it."""
    found: dict[Any, Any] = {}
    for one in (_moved(value, encoding) for value in values):
        if one[0] not in np.ravel(one[1]):
            found.setdefault(one[:named], one)
    return list(found.values())


def _dropped(values: dict[int, Any], encoding: Encoding) -> dict[int, Any]:
    """What a column of the table would add: the most that one of its numbers would."""
    found: dict[int, Any] = {}
    for a, facts in values.items():
        own = int(encoding.origin[a])
        found[own] = max(found.get(own, facts), facts, key=lambda one: one[0])
    return found


def _kinds(values: Any, encoding: Encoding) -> NDArray[np.str_]:
    kinds = []
    for column, own in zip(encoding.columns, encoding.players, strict=True):
        one = {"number": str(values[own[0]]) if len(own) else "", "empty": "constant"}
        kinds.append(one.get(column.kind, column.kind))
    return np.array(kinds)


gather_sizes = _each(_size, 0.0)
SIZES = ("feature_importances_", "slopes_", "importance_bounds_", "scales_")
LARGEST_OF = ("evidence_", "selection_probabilities_", "scores_", "knockoff_statistics_")
PER_COLUMN: dict[str, Gather] = {
    **dict.fromkeys(("support_", "clear_", "faint_", "stated_", "scaling_"), _each(np.any, False)),
    "screened_": _each(np.any, True),
    "support_certified_": _each(np.all, True),
    **dict.fromkeys(SIZES, gather_sizes),
    "class_importances_": lambda v, encoding: gather_sizes(np.asarray(v).T, encoding).T,
    **dict.fromkeys(LARGEST_OF, _each(np.max, 0.0)),
    "clear_by_": _each(np.max, np.nan),
    **dict.fromkeys(("p_values_", "adjusted_p_values_"), _each(np.min, 1.0)),
    "twins_": _pairs,
    "alternatives_": _stand_ins,
    "replaceable_": partial(_stand_ins, named=1),
    "_dropped": _dropped,
    "runner_up_": _moved,
    "tried_": lambda values, encoding: [_moved(one, encoding) for one in values],
    "feature_kinds_": _kinds,
}
