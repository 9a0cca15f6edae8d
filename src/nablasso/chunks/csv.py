"""Chunks of CSV files, block of bytes by block of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nablasso.chunks.base import Chunk
from nablasso.chunks.files import FileChunks, PathLike, arrow
from nablasso.errors import InvalidDataError, InvalidParameterError

BLOCK_BYTES = 16 << 20


class CSVChunks(FileChunks):
    """Rows of CSV files with a header, compressed by gzip or not.

    Parameters
    ----------
    paths : path, or sequence of paths
        Read in this order; a folder stands for its ``.csv`` and ``.csv.gz`` files, by name.
    target : str
        Column of ``y``.
    sample_weight : str, optional
        Column of weights.
    columns : sequence of str, optional
        Columns of ``X``; by default all others of the first file. Then every file must have the
        same columns, in any order.
    separator : str
        Between the fields.
    dtype : {"float64", "float32"}
        Precision of ``X``.
    block_bytes : int
        Text that makes a chunk.
    """

    suffixes = (".csv", ".csv.gz")

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        target: str,
        *,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        separator: str = ",",
        dtype: str = "float64",
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        if dtype not in ("float64", "float32"):
            raise InvalidParameterError(f'dtype must be "float64" or "float32"; got {dtype!r}.')
        self.separator = separator
        self.dtype = dtype
        self.block_bytes = block_bytes
        super().__init__(paths, target, sample_weight=sample_weight, columns=columns)

    @property
    def n_chunks(self) -> int:
        """From the sizes of the files."""
        return sum(-(-_text_bytes(path) // self.block_bytes) for path in self.paths)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Batches; text before ``start`` is parsed and passed over."""
        for path in self.paths:
            row = 0
            for batch in self._batches(path):
                if row + batch.num_rows > start and batch.num_rows:
                    chunk = self._chunk(batch, path, row, np.dtype(self.dtype))
                    yield chunk.after(max(0, start - row))
                row += batch.num_rows
            start = max(0, start - row)

    def _columns_of(self, path: Path) -> list[str]:
        lib = arrow("pyarrow")
        try:
            with self._reader(path, None, None) as reader:
                return list(reader.schema.names)
        except (lib.ArrowInvalid, OSError) as error:
            raise _unreadable(path, error) from error

    def _batches(self, path: Path) -> Iterator[Any]:
        lib = arrow("pyarrow")
        try:
            with self._reader(path, lib.float64(), self.read) as reader:
                yield from reader
        except (lib.ArrowInvalid, OSError) as error:
            self._find_text(path)
            raise _unreadable(path, error) from error

    def _reader(self, path: Path, kind: Any, columns: list[str] | None) -> Any:
        csv = arrow("pyarrow.csv")
        types = dict.fromkeys(columns or (), kind)
        return csv.open_csv(
            path,
            read_options=csv.ReadOptions(block_size=self.block_bytes),
            parse_options=csv.ParseOptions(delimiter=self.separator),
            convert_options=csv.ConvertOptions(column_types=types, include_columns=columns or []),
        )

    def _find_text(self, path: Path) -> None:
        """Say where a field is no number; nothing if that was not the trouble."""
        lib = arrow("pyarrow")
        row = 0
        try:
            with self._reader(path, lib.string(), self.read) as reader:
                for batch in reader:
                    for name in self.read:
                        column = batch.column(batch.schema.get_field_index(name))
                        for place, field in enumerate(column.to_pylist()):
                            if not _is_number(field):
                                raise InvalidDataError(
                                    f"{path} must hold numbers: row {row + place} (the first "
                                    f"below the header is 0), column {name!r} has {field!r}. "
                                    "Repair it, or leave the column out with columns=..."
                                )
                    row += batch.num_rows
        except (lib.ArrowInvalid, OSError):
            return


def _is_number(field: str | None) -> bool:
    missing = ("", "NA", "N/A", "NULL", "null", "n/a", "nan", "NaN")
    if field is None or field.strip() in missing:
        return True
    try:
        float(field)
    except ValueError:
        return False
    return True


def _unreadable(path: Path, error: Exception) -> InvalidDataError:
    return InvalidDataError(
        f"{path} cannot be read as a table: {error}. Expected a header and rows of as many fields, "
        "every quote closed."
    )


def _text_bytes(path: Path) -> int:
    """Bytes of a file once decompressed; gzip tells them modulo 4 GiB."""
    size = path.stat().st_size
    if path.suffix != ".gz":
        return size
    with path.open("rb") as file:
        file.seek(max(0, size - 4))
        told = int.from_bytes(file.read(4), "little")
    return max(told, size)
