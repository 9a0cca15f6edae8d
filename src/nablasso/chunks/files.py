"""What sources of files share: which files, which columns, and how a batch becomes a chunk."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nablasso.chunks.base import Chunk, ChunkSource
from nablasso.errors import InvalidDataError, InvalidParameterError, MissingExtraError
from nablasso.spaces.chunk_checks import check_names, listed

PathLike = str | os.PathLike[str]

PROBED_BYTES = 1 << 16  # at each end of a file, that the fingerprint looks at


def arrow(module: str) -> Any:
    """A module of pyarrow, or an error that names the extra."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "Parquet and CSV files are read in batches by pyarrow, which is not installed; "
            'pip install "nablasso[io]"'
        ) from error


class FileChunks(ChunkSource):
    """Columns of numbers, by name, from one or more files.

    Parameters
    ----------
    paths : path, or sequence of paths
        Read in this order; a folder stands for its files of the right kind, by name.
    target : str
        Column of ``y``.
    sample_weight : str, optional
        Column of weights.
    columns : sequence of str, optional
        Columns of ``X``; by default all others of the first file. Then every file must have the
        same columns, in any order.
    """

    suffixes: tuple[str, ...] = ()

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        target: str,
        *,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.paths = self._found(paths)
        self.target = target
        self.sample_weight = sample_weight
        special = [target] if sample_weight is None else [target, sample_weight]
        present = {path: self._columns_of(path) for path in self.paths}
        first = present[self.paths[0]]
        chosen = [n for n in first if n not in special] if columns is None else list(columns)
        if not chosen or set(chosen) & set(special):
            raise InvalidParameterError(
                f"columns must name at least one column besides {listed(special)}; got {chosen!r}."
            )
        self.names = tuple(chosen)
        self.read = [*chosen, *special]
        for path, names in present.items():
            doubled = [name for name, count in Counter(names).items() if count > 1]
            if doubled:
                raise InvalidDataError(
                    f"Every column of {path} needs a name of its own; used more than once: "
                    f"{listed(doubled)}."
                )
            kept = set(self.read) if columns is not None else set(names) | set(self.read)
            found = [name for name in self.read if name in names]
            check_names(self.read, found + [n for n in names if n in kept - set(found)], str(path))

    def fingerprint(self) -> str:
        """Of the columns, and of the name, size and both ends of each file."""
        digest = hashlib.sha256(repr((self.read, self.sample_weight)).encode())
        for path in self.paths:
            size = path.stat().st_size
            digest.update(f" {path.name} {size} ".encode())
            with path.open("rb") as file:
                digest.update(file.read(PROBED_BYTES))
                file.seek(max(0, size - PROBED_BYTES))
                digest.update(file.read(PROBED_BYTES))
        return digest.hexdigest()

    def _columns_of(self, path: Path) -> list[str]:
        raise NotImplementedError

    def _found(self, paths: PathLike | Sequence[PathLike]) -> list[Path]:
        given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        found: list[Path] = []
        for path in map(Path, given):
            if path.is_dir():
                inside = sorted(p for p in path.iterdir() if p.name.endswith(self.suffixes))
                found += [p for p in inside if not p.name.startswith((".", "_"))]
            elif path.is_file():
                found.append(path)
            else:
                raise InvalidDataError(
                    f"{path} does not exist. Give a file or a folder; relative paths start in "
                    f"{Path.cwd()}."
                )
        if not found:
            raise InvalidDataError(
                f"No files to read in {', '.join(map(str, given)) or 'an empty list'}; expected "
                f"names that end in {', '.join(self.suffixes)}."
            )
        return found

    def _chunk(self, batch: Any, path: Path, first_row: int, dtype: Any) -> Chunk:
        """Arrays of a record batch; what is missing becomes NaN."""
        assert self.names is not None
        X = np.empty((batch.num_rows, len(self.names)), dtype=dtype)
        for place, name in enumerate(self.names):
            X[:, place] = self._numbers(batch, name, path, first_row)
        y = self._numbers(batch, self.target, path, first_row)
        weights = None
        if self.sample_weight is not None:
            weights = self._numbers(batch, self.sample_weight, path, first_row)
        return Chunk(X, y, weights, str(path), first_row)

    def _numbers(self, batch: Any, name: str, path: Path, first_row: int) -> Any:
        column = batch.column(batch.schema.get_field_index(name))
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind in "fiub":
            return values
        try:
            return values.astype(float)
        except (TypeError, ValueError) as error:
            raise InvalidDataError(
                f"{path} must hold numbers; column {name!r} has type {column.type} in the rows "
                f"from {first_row} on. Leave it out with columns=..., or encode it as numbers."
            ) from error
