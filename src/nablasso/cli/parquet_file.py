"""Reading Parquet: typed columns instead of text, brought to the cells that a text file gives."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd

from nablasso.cli.encoding import listed
from nablasso.errors import InvalidDataError, MissingExtraError


def read_parquet(data: bytes, path: Path) -> pd.DataFrame:
    """Rows and columns; numbers and truth values as they are, everything else as text.

    Parameters
    ----------
    data : bytes
        What the file holds.
    path : Path
        Its name, for messages.

    Returns
    -------
    DataFrame

    Raises
    ------
    InvalidDataError
        If the file is damaged, or a column holds lists or other nested values.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "Parquet files need pyarrow, which is not installed; "
            'install it with: pip install "nablasso[io]"'
        ) from error
    try:
        table = parquet.read_table(io.BytesIO(data))
    except (ArrowException, OSError, ValueError) as error:
        raise InvalidDataError(
            f"{path} begins like a Parquet file but cannot be read "
            f"({str(error).splitlines()[0][:120]}). Write it again."
        ) from error
    nested = [field.name for field in table.schema if _is_nested(field.type)]
    if nested:
        raise InvalidDataError(
            f"The columns of {path} must hold numbers or words; lists, structures or bytes are in: "
            f"{listed(nested)}. Write a file without them."
        )
    columns = [_cells(column) for column in table.columns]
    return pd.concat(columns, axis=1, keys=[name.strip() for name in table.column_names])


def _is_nested(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind))


def _cells(column: Any) -> pd.Series[Any]:
    from pyarrow import types

    if types.is_integer(column.type) or types.is_floating(column.type):
        return pd.Series(column.to_numpy().astype(float))
    words = [None if cell is None else str(cell) for cell in column.to_pylist()]
    return pd.Series(words, dtype=object)
