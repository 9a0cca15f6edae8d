"""Chunks of Parquet files, run of row groups by run of row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nablasso.chunks.base import CHUNK_ROWS, Chunk
from nablasso.chunks.files import FileChunks, PathLike, arrow
from nablasso.errors import InvalidDataError

BUFFER_BYTES = 1 << 18  # per column: pages are read one by one, not a row group at once


class Run(NamedTuple):
    """Neighbouring row groups that make a chunk together, or one that makes several."""

    path: Path
    groups: list[int]
    first_row: int  # in its file
    n_rows: int


class ParquetChunks(FileChunks):
    """Rows of Parquet files.

    Parameters
    ----------
    paths : path, or sequence of paths
        Read in this order; a folder stands for its ``.parquet`` files, by name.
    target : str
        Column of ``y``.
    sample_weight : str, optional
        Column of weights.
    columns : sequence of str, optional
        Columns of ``X``; by default all others of the first file. Then every file must have the
        same columns, in any order.
    chunk_rows : int
        Rows of a chunk at most. Columns that are all float32 stay float32.
    """

    suffixes = (".parquet", ".pq")

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        target: str,
        *,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> None:
        self.chunk_rows = chunk_rows
        self._files: dict[Path, Any] = {}
        super().__init__(paths, target, sample_weight=sample_weight, columns=columns)
        single = all(
            str(self._schema(path).field(name).type) == "float"
            for path in self.paths
            for name in self.names or ()
        )
        self.dtype = np.float32 if single else np.float64
        self.runs = [run for path in self.paths for run in self._runs(path)]

    @property
    def n_chunks(self) -> int:
        """Exact."""
        return sum(-(-run.n_rows // self.chunk_rows) for run in self.runs)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Batches; row groups before ``start`` are not read."""
        for run in self.runs:
            if start >= run.n_rows:
                start -= run.n_rows
                continue
            done = 0
            for batch in self._batches(run):
                if done + batch.num_rows > start:
                    chunk = self._chunk(batch, run.path, run.first_row + done, self.dtype)
                    yield chunk.after(max(0, start - done))
                done += batch.num_rows
            start = 0

    def _columns_of(self, path: Path) -> list[str]:
        return list(self._schema(path).names)

    def _schema(self, path: Path) -> Any:
        if path not in self._files:
            parquet, errors = arrow("pyarrow.parquet"), arrow("pyarrow.lib")
            try:
                with parquet.ParquetFile(path) as file:
                    sizes = [
                        file.metadata.row_group(g).num_rows
                        for g in range(file.metadata.num_row_groups)
                    ]
                    self._files[path] = file.schema_arrow, sizes
            except (errors.ArrowInvalid, OSError) as error:
                raise InvalidDataError(
                    f"{path} cannot be read as a Parquet file: {error}. Write it again."
                ) from error
        return self._files[path][0]

    def _runs(self, path: Path) -> Iterator[Run]:
        groups: list[int] = []
        first, n_rows = 0, 0
        for group, size in enumerate(self._files[path][1]):
            if groups and n_rows + size > self.chunk_rows:
                yield Run(path, groups, first, n_rows)
                first, n_rows, groups = first + n_rows, 0, []
            groups.append(group)
            n_rows += size
        if n_rows:
            yield Run(path, groups, first, n_rows)

    def _batches(self, run: Run) -> Iterator[Any]:
        parquet, errors = arrow("pyarrow.parquet"), arrow("pyarrow.lib")
        try:
            with parquet.ParquetFile(run.path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
                if len(run.groups) > 1:
                    table = file.read_row_groups(run.groups, columns=self.read)
                    yield from table.combine_chunks().to_batches()
                else:
                    yield from file.iter_batches(
                        batch_size=self.chunk_rows, row_groups=run.groups, columns=self.read
                    )
        except (errors.ArrowInvalid, OSError) as error:
            raise InvalidDataError(
                f"{run.path} is damaged in the rows from {run.first_row} on: {error}. Write it "
                "again."
            ) from error
