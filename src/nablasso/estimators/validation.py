"""What an estimator looks at before anything is computed: its parameters, rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from nablasso.data.cells import LARGEST, as_pandas, listed
from nablasso.data.encoding import Encoding
from nablasso.data.table import MIN_ROWS, Table, correlated_columns, discrete_columns, is_frame
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.kernels import WIDTH_RULES
from nablasso.types import Array, Index

TWIN_CORRELATION = 0.95


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
    """``X`` of the shape and names seen in ``fit``; of a table, its numbers.

    Columns of a data frame may be in any order, and those that predictions do not depend on absent.
    """
    encoding = getattr(estimator, "_encoding", None)
    if encoding is not None and (is_frame(X) or not encoding.is_plain):
        return _encoded_rows(estimator, X, encoding)
    X = validate_data(estimator, X, reset=False, dtype=np.float64, ensure_all_finite=False)
    check_finite_columns(estimator, X)
    return np.asarray(X)


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
    return encoding.encode(X, _needed(estimator, encoding))


def _needed(estimator: BaseEstimator, encoding: Encoding) -> set[str] | None:
    """Columns of the table that predictions depend on; None for all of them."""
    functions = [getattr(estimator, "_predictor", None), *getattr(estimator, "_functions", ())]
    known = [f for f in functions if f is not None]
    if not known or not all(hasattr(f, "columns") for f in known):
        return None
    origin = encoding.origin[[int(a) for f in known for a in f.columns]]
    return {encoding.columns[a].name for a in origin}


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
        feature_groups = [
            [members] if isinstance(members, str) else members
            for members in feature_groups.values()
        ]
    if all(isinstance(group, Iterable) and not isinstance(group, str) for group in feature_groups):
        columns = [column_indices(estimator, group, "feature_groups") for group in feature_groups]
        return _labels(columns, feature_names(estimator))
    labels = np.asarray(feature_groups)
    if labels.shape != (d,):
        raise InvalidParameterError(
            f"feature_groups must be lists of columns or one label per column; got "
            f"{len(labels)} labels for {d} columns."
        )
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp)


def _labels(groups: list[Index], names: list[str]) -> Index:
    """Group number of each column; a column in no group is one of its own."""
    labels = np.full(len(names), -1, dtype=np.intp)
    for label, members in enumerate(groups):
        for column in np.unique(members):
            if labels[column] >= 0:
                raise InvalidParameterError(
                    f"feature_groups: a column belongs to one group; {names[column]!r} is in "
                    f"groups {labels[column]} and {label}. Leave it in one of them."
                )
            labels[column] = label
    alone = labels < 0
    labels[alone] = len(groups) + np.arange(alone.sum())
    return labels


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
            none = one.default is None or "None" in one.metadata["kind"]
            check(getattr(model, one.name), one.name, none=none)


def _check_finite_target(y: Any) -> None:
    try:
        values = np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        return  # not numbers: validate_data says so
    if not values.ndim:
        return
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if bad.size:
        kind = "NaN" if np.isnan(values).any() else "infinity"
        raise InvalidDataError(
            f"Input y contains {kind}: {bad.size} of {len(values)} rows, the first at row "
            f"{bad[0]}. Drop or repair these rows."
        )
    sizes = np.abs(values).reshape(len(values), -1).max(axis=1)
    size = float(sizes.max(initial=0.0))
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
