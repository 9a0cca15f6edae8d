"""A frozen space, all that must be fixed before rows are added up; and rows checked against it.

Which columns, how they are standardised, the features and the seed of the folds are learned on a
subsample and then held. Sums over rows belong to one such space; its fingerprint says which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.data.table import Scaler, Table, check_weights
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.kernels.base import Kernel
from nablasso.spaces.features import FeatureMap
from nablasso.streaming.reading import listed
from nablasso.types import Array, Index

Floats = NDArray[Any]  # float32 or float64, as the input is

CENTRE_ROWS = 1000  # of the subsample, whose features give the centre
ROUNDING = 1e-9  # means of standardised columns that are zero
CHECKED = 1 << 15  # rows whose finiteness is looked at at a time


@dataclass(frozen=True, eq=False)
class FrozenSpace:
    """Standardised columns and the features of them.

    Parameters
    ----------
    scaler : Scaler
        Of all columns of the input.
    columns : array of int
        Column ``a`` of the standardised points is column ``columns[a]`` of the input.
    features : FeatureMap
    feature_names : tuple of str, optional
        Names of all columns of the input.
    y_centre : float
        Taken off ``y`` before it is squared: an offset costs no digits.
    feature_centre : array, shape (m,), optional
        Taken off the features before products: where they are nearly constant, as with a wide
        kernel, float32 keeps its digits. Zero by default.
    seed : int
        Of the folds.
    n_rows : int
        Rows of the subsample; zero if there was none.
    usual_mean, usual_deviation : array, optional
        Of the standardised columns in the subsample; zeros and ones by default.
    kernel, length_scale, scales, kinds : optional
        What the features were made from, and the kinds of the columns, for who solves.
    """

    scaler: Scaler
    columns: Index
    features: FeatureMap
    feature_names: tuple[str, ...] | None = None
    y_centre: float = 0.0
    feature_centre: Array | None = None
    seed: int = 0
    n_rows: int = 0
    usual_mean: Array | None = None
    usual_deviation: Array | None = None
    kernel: Kernel | None = None
    length_scale: float | None = None
    scales: Array | None = None
    kinds: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.features.n_columns != len(self.columns):
            raise InvalidParameterError(
                f"The features must be functions of the {len(self.columns)} columns that are "
                f"kept; they take {self.features.n_columns}. Draw them for the same table."
            )

    @classmethod
    def from_table(
        cls,
        table: Table,
        features: FeatureMap,
        *,
        feature_names: tuple[str, ...] | None = None,
        **others: Any,
    ) -> FrozenSpace:
        """The space of a prepared subsample; ``others`` are further fields."""
        mean = table.weights @ table.X
        is_centred = np.abs(mean).max(initial=0.0) < ROUNDING
        return cls(
            scaler=table.scaler,
            columns=table.columns,
            features=features,
            feature_names=feature_names,
            y_centre=table.y_mean + float(table.weights @ table.y),
            feature_centre=features.features(table.X[:CENTRE_ROWS]).mean(axis=0),
            n_rows=len(table.X),
            usual_mean=None if is_centred else mean,
            usual_deviation=np.sqrt(table.weights @ (table.X - mean) ** 2),
            **others,
        )

    @property
    def n_columns(self) -> int:
        """Columns of the input, those left out included."""
        return len(self.scaler.centre)

    @property
    def n_components(self) -> int:
        """``m``."""
        return self.features.n_components

    @property
    def names(self) -> list[str]:
        """Names of all columns of the input, x0, x1, ... where there are none."""
        return list(self.feature_names or (f"x{a}" for a in range(self.n_columns)))

    def standardise(self, X: Floats) -> Floats:
        """``Z`` of shape (n, number of kept columns), in the precision of ``X``."""
        return self.standardised(np.take(X, self.columns, axis=1))

    def standardised(self, kept: Floats) -> Floats:
        """``Z`` of the kept columns, computed in their place."""
        kept -= self.scaler.centre[self.columns].astype(kept.dtype)
        kept /= self.scaler.scale[self.columns].astype(kept.dtype)
        return kept

    def fingerprint(self) -> str:
        """Digest of all that sums over rows depend on."""
        digest = hashlib.sha256(self.features.fingerprint().encode())
        digest.update(f" {self.n_columns} {self.seed} {float(self.y_centre).hex()} ".encode())
        digest.update(self.columns.astype(np.int64).tobytes())
        centre = np.empty(0) if self.feature_centre is None else self.feature_centre
        for array in (self.scaler.centre, self.scaler.scale, centre):
            digest.update(np.ascontiguousarray(array, dtype=float).tobytes())
        digest.update(repr(self.feature_names).encode())
        return digest.hexdigest()


class CheckedRows(NamedTuple):
    """A checked chunk; ``weights`` is None where all are one."""

    X: Floats
    y: Array
    weights: Array | None


def checked_rows(
    space: FrozenSpace, X: Any, y: Any, sample_weight: Any, *, origin: str, first_row: int
) -> CheckedRows:
    """Arrays of a chunk, or an error that says where in ``origin`` something is wrong.

    Parameters
    ----------
    space : FrozenSpace
        Whose columns the chunk must have.
    X : array or DataFrame, shape (n, d)
    y : array, shape (n,)
    sample_weight : array, shape (n,), or None
    origin : str
        What the chunk is part of, a file for example; it begins the messages.
    first_row : int
        Number that the first row of the chunk has there.
    """
    where = origin or "The chunk"
    _check_columns(space, X, where)
    table = np.asarray(X)
    if table.dtype.kind not in "fiub":
        raise InvalidDataError(
            f"{where} must hold numbers; it has values of type {table.dtype}. Encode text as "
            "numbers first."
        )
    target = _target(y, len(table), where)
    weights = None if sample_weight is None else check_weights(sample_weight, len(table))
    _check_finite(space, table, target, where, first_row)
    return CheckedRows(table, target, weights)


def check_names(expected: list[str], found: list[str], where: str) -> None:
    """Refuse other column names than expected, or another order."""
    if found == expected:
        return
    missing = [name for name in expected if name not in set(found)]
    extra = [name for name in found if name not in set(expected)]
    parts = [f"lacks {listed(missing)}"] if missing else []
    parts += [f"has {listed(extra)} besides"] if extra else []
    if not parts:
        parts = ["has them in another order"]
    raise InvalidDataError(
        f"All chunks must have the same columns: {listed(expected)}. {where} "
        f"{' and '.join(parts)}. Select these columns, in this order."
    )


def _check_columns(space: FrozenSpace, X: Any, where: str) -> None:
    shape = np.shape(X)
    if len(shape) != 2:
        raise InvalidDataError(
            f"{where} must be a table of rows and columns; got {len(shape)} dimensions."
        )
    if hasattr(X, "columns") and space.feature_names is not None:
        check_names(space.names, [str(name) for name in X.columns], where)
    if shape[1] != space.n_columns:
        raise InvalidDataError(
            f"All chunks must have the {space.n_columns} columns of the space; {where} has "
            f"{shape[1]}. Read the same columns from every file."
        )


def _target(y: Any, n_rows: int, where: str) -> Array:
    try:
        target = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"The target in {where} must be numbers: {error}.") from error
    if target.shape == (n_rows, 1):
        target = target[:, 0]
    if target.shape != (n_rows,):
        raise InvalidDataError(
            f"{where} has {n_rows} rows and a target of shape {target.shape}; expected one number "
            "per row."
        )
    return target


def _check_finite(space: FrozenSpace, X: Floats, y: Array, where: str, first_row: int) -> None:
    for rows, values in _finite_parts(X, y):
        if values.all():
            continue
        row, column = np.argwhere(~values)[0].tolist()
        name = "the target" if column == X.shape[1] else f"column {space.names[column]!r}"
        bad = y[rows][row] if column == X.shape[1] else X[rows][row, column]
        kind = "NaN" if np.isnan(bad) else "infinity"
        raise InvalidDataError(
            f"{where} contains {kind}: row {first_row + rows.start + row} (the first is 0), "
            f"{name}. Drop such rows, or impute them first."
        )


def _finite_parts(X: Floats, y: Array) -> Iterator[tuple[slice, Any]]:
    """Slices of rows, and where they are finite, ``y`` as the last column."""
    for start in range(0, len(X), CHECKED):
        rows = slice(start, start + CHECKED)
        yield rows, np.column_stack([np.isfinite(X[rows]), np.isfinite(y[rows])])
