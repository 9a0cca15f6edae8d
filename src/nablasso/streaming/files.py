"""Parquet and CSV files as parts of a table: which files, which columns, and errors that name them.

A part of a Parquet file is a run of neighbouring row groups; one of a CSV file is a piece of its
text that begins and ends with a line, quoted line breaks apart, or a whole file compressed by gzip.
Files are read block by block, so memory does not depend on their size.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.cells import TRUTH
from nablasso.data.cells import numbers as number_cells
from nablasso.data.encoding import MOST_LEVELS
from nablasso.data.files import (
    arrow,
    check_names,
    decoded,
    first_line,
    kind_of,
    parquet_file,
    parsed_rows,
)
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.streaming.blocks import Part, Raw, listed

PathLike = str | os.PathLike[str]

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz")
PART_ROWS = 1 << 18  # of a part; row groups that are larger are parts of their own
BATCH_ROWS = 1 << 15  # read at a time
BUFFER_BYTES = 1 << 18  # per column: pages are read one by one, not a row group at once
PART_BYTES = 1 << 24  # of text
PROBED_BYTES = 1 << 16  # at each end of a file, that the fingerprint looks at
GAPS_NAMED = 3  # missing files that a message names
LOOKED_BYTES = 1 << 20  # of text, that tell what its columns hold


@dataclass(frozen=True)
class Wanted:
    """Columns to be read: those of X, the target, and perhaps weights."""

    names: tuple[str, ...]
    target: str
    weight: str | None = None
    words: frozenset[str] = frozenset()  # columns of X that hold something else than numbers

    @property
    def all(self) -> list[str]:
        """Their names, each once."""
        return [*self.names, self.target, *([] if self.weight is None else [self.weight])]

    def raw(self, batch: Any, origin: str, first_row: int, dtype: Any) -> Raw:
        """Rows of a record batch or a data frame; what is missing becomes NaN, of text None."""
        X: Any = None
        if self.names and self.words:
            frame = batch.to_pandas(ignore_metadata=True) if hasattr(batch, "num_rows") else batch
            X = frame[list(self.names)].reset_index(drop=True)
        elif self.names:
            X = np.empty((len(batch), len(self.names)), dtype=dtype, order="F")
            for place, name in enumerate(self.names):
                X[:, place] = _values(batch, name)
        weight = None if self.weight is None else _values(batch, self.weight)
        return Raw(X, _values(batch, self.target), weight, origin, first_row)


def _values(batch: Any, name: str) -> NDArray[Any]:
    column = batch[name]
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    values = column.to_numpy(**({"zero_copy_only": False} if hasattr(batch, "num_rows") else {}))
    if values.dtype.kind == "O" and not any(isinstance(v, str) for v in values):
        return np.asarray(values, dtype=float)
    return np.asarray(values)


def files_fingerprint(paths: Sequence[Path], wanted: Wanted) -> str:
    """Of the columns, and of the name, size and both ends of each file."""
    digest = hashlib.sha256(repr(replace(wanted, words=frozenset())).encode())
    for path in paths:
        size = path.stat().st_size
        digest.update(f" {path.name} {size} ".encode())
        with path.open("rb") as file:
            digest.update(file.read(PROBED_BYTES))
            file.seek(max(0, size - PROBED_BYTES))
            digest.update(file.read(PROBED_BYTES))
    return digest.hexdigest()


def open_files(
    paths: PathLike | Sequence[PathLike],
    target: str,
    weight: str | None,
    columns: Sequence[str] | None,
    ignore: Sequence[str],
    *,
    part_rows: int,
    part_bytes: int,
) -> tuple[list[Path], Wanted, list[Part], int]:
    """Files, the columns to be read, parts, and the bytes that codes take, at most.

    Without ``columns`` every file must have those of the first one, in any order. A file that is
    missing, empty, damaged, or has other columns or types than the others is refused by name.
    """
    found = found_files(paths)
    parquet = found[0].name.endswith(PARQUET)
    other = [path for path in found if path.name.endswith(PARQUET) != parquet]
    if other:
        raise InvalidDataError(
            f"The files of a table must be of one kind; {found[0]} and {other[0]} are not. Convert "
            "one of them."
        )
    separators, looks = {}, {}
    for path in found:
        separators[path], looks[path] = _look_parquet(path) if parquet else _look_csv(path)
    wanted = _with_types(_wanted(looks, target, weight, columns, ignore), looks, parquet)
    if not parquet:
        pieces: list[Part] = [
            CSVPart(path, wanted, looks[path], separators[path], *at)
            for path in found
            for at in _pieces(path, part_bytes)
        ]
        return found, wanted, pieces, sum(path.stat().st_size for path in found)
    single = all(looks[path][name] == "float" for path in found for name in wanted.names)
    width = len(wanted.names) + MOST_LEVELS * len(wanted.words)
    dtype = "float32" if single else "float64"
    runs = [
        ParquetPart(path, wanted, groups, first, n_rows, dtype)
        for path in found
        for groups, first, n_rows in _runs(path, part_rows)
    ]
    return found, wanted, [*runs], sum(run.n_rows for run in runs) * width


def found_files(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    """Existing files; those of a folder or a pattern by name, without gaps in their numbers."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: list[Path] = []
    for one in given:
        path = Path(one)
        if path.is_file():
            found.append(path)
            continue
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.name.endswith(PARQUET + CSV))
            inside = [p for p in inside if not p.name.startswith((".", "_"))]
        elif glob.has_magic(os.fspath(one)):
            inside = sorted(Path(p) for p in glob.glob(os.fspath(one)) if Path(p).is_file())
        else:
            raise InvalidDataError(
                f"{path} does not exist. Give a file, a folder or a pattern; relative paths start "
                f"in {Path.cwd()}."
            )
        if not inside:
            raise InvalidDataError(
                f"No files to read in {path}; expected names that end in "
                f"{', '.join(PARQUET + CSV)}."
            )
        _check_gaps(inside)
        found += inside
    if not found:
        raise InvalidDataError("No files to read: the list of files is empty.")
    return found


def _check_gaps(paths: Sequence[Path]) -> None:
    """Refuse files part-0, part-1, part-3: a part of the table would be missing."""
    pieces = [re.split(r"(\d+)", path.name) for path in paths]
    if len({len(piece) for piece in pieces}) > 1 or len(paths) < 2:
        return
    differs = [k for k in range(len(pieces[0])) if len({piece[k] for piece in pieces}) > 1]
    if len(differs) != 1 or differs[0] % 2 == 0:
        return
    (at,) = differs
    texts = {int(piece[at]): piece[at] for piece in pieces}
    missing = [k for k in range(min(texts), max(texts) + 1) if k not in texts]
    if not missing or len(missing) >= len(texts):  # years and the like are no numbers of parts
        return
    width = len(min(texts.values(), key=len))
    names = ["".join([*pieces[0][:at], f"{k:0{width}d}", *pieces[0][at + 1 :]]) for k in missing]
    raise InvalidDataError(
        f"{paths[0].parent / names[0]} is missing"
        + (f", and {listed(names[1 : GAPS_NAMED + 1])}" if len(names) > 1 else "")
        + f": the numbers of the other {len(paths)} files leave a gap. Put it there, or give the "
        "files that are to be read as a list."
    )


def _wanted(
    looks: dict[Path, dict[str, str]],
    target: str,
    weight: str | None,
    columns: Sequence[str] | None,
    ignore: Sequence[str],
) -> Wanted:
    special = [target] if weight is None else [target, weight]
    first = next(iter(looks.values()))
    chosen = list(columns) if columns is not None else [n for n in first if n not in special]
    chosen = [name for name in chosen if name not in ignore]
    if not chosen or set(chosen) & set(special):
        raise InvalidParameterError(
            f"columns must name at least one column besides {listed(special)}; got {chosen!r}."
        )
    wanted = Wanted(tuple(chosen), target, weight)
    for path, look in looks.items():
        missing = [name for name in wanted.all if name not in look]
        extra = [n for n in look if n not in wanted.all and n not in ignore and columns is None]
        parts = [f"lacks {listed(missing)}"] if missing else []
        parts += [f"has {listed(extra)} besides"] if extra else []
        if parts:
            raise InvalidDataError(
                f"All files must have the same columns: {listed(wanted.all)}. {path} "
                f"{' and '.join(parts)}. It has {listed(list(look))}; select these columns."
            )
    return wanted


def _with_types(wanted: Wanted, looks: dict[Path, dict[str, str]], typed: bool) -> Wanted:
    """Which columns hold no numbers; refuses nested ones, and types that change between files.

    What text in CSV files holds is decided by all cells, not here (``typed`` is false).
    """
    words = set()
    for name in wanted.all:
        first: tuple[Path, str] | None = None
        for path, look in looks.items():
            kind = "words" if not typed and look[name] == "bool" else kind_of(look[name])
            if kind == "nested" or (name == wanted.weight and kind not in ("numbers", "nothing")):
                raise InvalidDataError(
                    f"{path} must hold numbers, words or dates; column {name!r} has type "
                    f"{look[name]}. Leave it out (columns=..., or --ignore), or write it anew."
                )
            if kind == "nothing":
                continue
            first = first or (path, kind)
            if kind != first[1]:
                raise InvalidDataError(
                    f"Column {name!r} holds {kind} in {path}, but {first[1]} in {first[0]}. Write "
                    "one of them again with the same type in this column."
                )
        if first is None or first[1] != "numbers":
            words.add(name)
    return replace(wanted, words=frozenset(words & set(wanted.names)))


# --- Parquet ---


@dataclass(frozen=True)
class ParquetPart:
    """Neighbouring row groups of a file."""

    path: Path
    wanted: Wanted
    groups: tuple[int, ...]
    first_row: int  # in its file
    n_rows: int
    dtype: str

    def blocks(self) -> Iterator[Raw]:
        """Batches; pages are read one by one."""
        parquet, errors = arrow("pyarrow.parquet"), arrow("pyarrow.lib")
        row = self.first_row
        try:
            with parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
                for batch in file.iter_batches(
                    batch_size=BATCH_ROWS, row_groups=list(self.groups), columns=self.wanted.all
                ):
                    yield self.wanted.raw(batch, str(self.path), row, self.dtype)
                    row += batch.num_rows
        except (errors.ArrowInvalid, OSError) as error:
            raise InvalidDataError(
                f"{self.path} cannot be read in the rows from {row} on: {error}. It may have been "
                "removed, replaced or damaged since it was opened; write it again."
            ) from error

    def targets(self) -> ParquetPart:
        """The same rows without X."""
        return replace(self, wanted=replace(self.wanted, names=()))


def _look_parquet(path: Path) -> tuple[str, dict[str, str]]:
    """Nothing between the fields, and types of the columns by name."""
    with parquet_file(path) as file:
        schema = file.schema_arrow
        if not file.metadata.num_rows:
            raise _empty(path)
    check_names(schema.names, path)
    kinds = (str(field.type) for field in schema)
    return "", dict(zip(schema.names, kinds, strict=True))


def _runs(path: Path, part_rows: int) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Row groups that make a part together, its first row and its number of rows."""
    with parquet_file(path) as file:
        data = file.metadata
        sizes = [data.row_group(g).num_rows for g in range(data.num_row_groups)]
    groups: list[int] = []
    first, n_rows = 0, 0
    for group, size in enumerate(sizes):
        if groups and n_rows + size > part_rows:
            yield tuple(groups), first, n_rows
            first, n_rows, groups = first + n_rows, 0, []
        groups.append(group)
        n_rows += size
    yield tuple(groups), first, n_rows


# --- CSV ---


@dataclass(frozen=True)
class CSVPart:
    """Lines of a file; of a compressed one all of them (``end`` is 0)."""

    path: Path
    wanted: Wanted
    holds: dict[str, str]  # what all columns hold, by name
    separator: str
    begin: int
    end: int
    first_row: int

    def blocks(self) -> Iterator[Raw]:
        """Batches of the text."""
        row = self.first_row
        for text in self._texts():
            table = self._parsed(text, row)
            for start in range(0, len(table), BATCH_ROWS):
                batch = table[start : start + BATCH_ROWS]
                yield self.wanted.raw(batch, str(self.path), row + start, "float64")
            row += len(table)

    def targets(self) -> CSVPart:
        """The same rows without X."""
        return replace(self, wanted=replace(self.wanted, names=()))

    def _texts(self) -> Iterator[str]:
        try:
            if self.end:
                with self.path.open("rb") as file:
                    file.seek(self.begin)
                    yield decoded(file.read(self.end - self.begin), self.path)
                return
            with gzip.open(self.path) as file:
                _lines(file, b"")  # the header
                while text := file.read(PART_BYTES):
                    yield decoded(_lines(file, text), self.path)
        except OSError as error:
            raise InvalidDataError(
                f"{self.path} cannot be read: {error}. It may have been removed or replaced since "
                "it was opened; write it again."
            ) from error

    def _parsed(self, text: str, row: int) -> Any:
        names = list(self.holds)
        table = parsed_rows(
            text, self.separator, names, self.path, first=row + 2, columns=self.wanted.all
        )
        for name in self.wanted.all:
            is_target = name == self.wanted.target
            if name in self.wanted.words or (is_target and self.holds[name] == "words"):
                continue
            try:
                values = table[name].to_numpy(dtype=object, na_value=np.nan).astype(float)
            except ValueError as error:
                values = number_cells(table[name]).to_numpy()
                bad = np.flatnonzero(table[name].notna().to_numpy() & np.isnan(values))
                if not len(bad):  # truth values
                    table[name] = values.astype(bool) if self.holds[name] == "bool" else values
                    continue
                raise InvalidDataError(
                    f"{self.path} must hold numbers: row {row + bad[0]} (the first below the "
                    f"header is 0), column {name!r} has {table[name].iloc[bad[0]]!r}. Repair it, "
                    "or leave the column out (columns=..., or --ignore)."
                ) from error
            table[name] = values
        return table


def _look_csv(path: Path) -> tuple[str, dict[str, str]]:
    """The separator, and what the columns hold in the first lines."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        header, body = _lines(file, b""), _lines(file, file.read(LOOKED_BYTES))
    separator, names = first_line(decoded(header, path), path, 1)
    if not body.strip():
        raise _empty(path)
    table = parsed_rows(decoded(body, path), separator, names, path, first=2)
    return separator, {name: _held(table[name].dropna()) for name in names}


def _held(given: Any) -> str:
    """What cells of text hold."""
    if not len(given):
        return "nothing"
    if number_cells(given).isna().any():
        return "words"
    return "bool" if given.str.lower().isin(list(TRUTH)).all() else "numbers"


def _pieces(path: Path, part_bytes: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and first row of pieces of text; all zero for a compressed file.

    A piece ends with the line in which its quotes are closed.
    """
    if path.suffix == ".gz":
        yield 0, 0, 0
        return
    with path.open("rb") as file:
        begin, row = len(_lines(file, b"")), 0
        while text := file.read(part_bytes):
            text = _lines(file, text)
            yield begin, begin + len(text), row
            begin, row = begin + len(text), row + text.count(b"\n")


def _lines(file: Any, text: bytes) -> bytes:
    """Text and what follows it up to the end of a line outside of quotes."""
    quotes = text.count(b'"')
    while line := file.readline():
        text += line
        quotes += line.count(b'"')
        if not quotes % 2:
            break
    return text


def _empty(path: Path) -> InvalidDataError:
    return InvalidDataError(
        f"{path} has no rows. Remove the file, or write it again if rows are missing."
    )
