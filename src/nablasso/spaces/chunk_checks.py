"""What is checked of a chunk of rows before anything is added up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nablasso.data.table import check_weights
from nablasso.errors import InvalidDataError
from nablasso.spaces.blocks import SLAB_ROWS
from nablasso.spaces.frozen import Floats, FrozenSpace
from nablasso.types import Array

SHOWN = 10  # names listed in a message before it says "..."


class Rows(NamedTuple):
    """A checked chunk; ``weights`` is None where all are one."""

    X: Floats
    y: Array
    weights: Array | None


def checked_rows(
    space: FrozenSpace, X: Any, y: Any, sample_weight: Any, *, origin: str, first_row: int
) -> Rows:
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
    return Rows(table, target, weights)


def listed(names: list[str]) -> str:
    """The first names, quoted."""
    more = " ..." if len(names) > SHOWN else ""
    return ", ".join(repr(name) for name in names[:SHOWN]) + more


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
    for start in range(0, len(X), SLAB_ROWS):
        rows = slice(start, start + SLAB_ROWS)
        yield rows, np.column_stack([np.isfinite(X[rows]), np.isfinite(y[rows])])
