"""Parquet and CSV files as parts of a table: which files, which columns, and errors that name them.

A part of a Parquet file is a run of neighbouring row groups; one of a CSV file is a piece of its
text that begins and ends with a line, quoted line breaks apart, or a whole file compressed by gzip.
Files are read block by block, so memory does not depend on their size.
"""

from __future__ import annotations

import glob
import gzip
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nablasso.data.cells import TRUTH, numbers
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
from nablasso.persistence import digest
from nablasso.streaming.blocks import Part, Raw, cells_of, inputs_of, quoted

PathLike = str | os.PathLike[str]

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz")
PART_ROWS = 1 << 18  # of a part; row groups that are larger are parts of their own
BATCH_ROWS = 1 << 15  # read at a time
BUFFER_BYTES = 1 << 18  # per column: pages are read one by one, not a row group at once
ROW_BYTES = 64  # of text, about
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

    def raw(self, batch: Any, origin: str, first_row: int) -> Raw:
        """Rows of a record batch or a data frame; what is missing becomes NaN, of text None."""
        X = inputs_of(batch, self.names, bool(self.words)) if self.names else None
        weight = None if self.weight is None else cells_of(batch[self.weight])
        return Raw(X, cells_of(batch[self.target]), weight, origin, first_row)

    def asked(self, inputs: bool) -> Wanted:
        """These columns, or those besides X."""
        return self if inputs else replace(self, names=())


def files_fingerprint(paths: Sequence[Path], wanted: Wanted) -> str:
    """Of the columns, and of the name, size and both ends of each file."""

    def probed(path: Path) -> tuple[str, int, bytes, bytes]:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(PROBED_BYTES)
            file.seek(max(0, size - PROBED_BYTES))
            return path.name, size, head, file.read(PROBED_BYTES)

    return digest((wanted.all, [probed(path) for path in paths]))


def open_files(
    paths: PathLike | Sequence[PathLike],
    target: str,
    weight: str | None,
    ignore: Sequence[str],
    part_rows: int,
) -> tuple[list[Path], Wanted, list[Part]]:
    """Files, the columns to be read, and parts.

    Every file must have the columns of the first one, in any order, those to ``ignore`` apart. A
    file that is missing, empty, damaged, or has other columns or types is refused by name.
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
    wanted = _with_types(_wanted(looks, target, weight, ignore), looks, parquet)
    parts: list[Part] = []
    for path in found:
        if parquet:
            parts += [ParquetPart(path, wanted, *at) for at in _runs(path, part_rows)]
        else:
            own = wanted, looks[path], separators[path]
            parts += [CSVPart(path, *own, *at) for at in _pieces(path, part_rows * ROW_BYTES)]
    return found, wanted, parts


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
        + (f", and {quoted(names[1:], GAPS_NAMED)}" if len(names) > 1 else "")
        + f": the numbers of the other {len(paths)} files leave a gap. Put it there, or give the "
        "files that are to be read as a list."
    )


def _wanted(
    looks: dict[Path, dict[str, str]], target: str, weight: str | None, ignore: Sequence[str]
) -> Wanted:
    special = [target] if weight is None else [target, weight]
    first = next(iter(looks.values()))
    chosen = [name for name in first if name not in (*special, *ignore)]
    if not chosen or set(ignore) & set(special):
        raise InvalidParameterError(
            f"At least one column besides {quoted(special)} must be left; got ignore={ignore!r}."
        )
    wanted = Wanted(tuple(chosen), target, weight)
    for path, look in looks.items():
        missing = [name for name in wanted.all if name not in look]
        extra = [name for name in look if name not in (*wanted.all, *ignore)]
        parts = [f"lacks {quoted(missing)}"] if missing else []
        parts += [f"has {quoted(extra)} besides"] if extra else []
        if parts:
            raise InvalidDataError(
                f"All files must have the same columns: {quoted(wanted.all)}. {path} "
                f"{' and '.join(parts)}. It has {quoted(list(look))}; write it again, or leave "
                "columns out (ignore=..., or --ignore)."
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
                    f"{look[name]}. Leave it out (ignore=..., or --ignore), or write it anew."
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

    def blocks(self, inputs: bool = True) -> Iterator[Raw]:
        """Batches; pages are read one by one."""
        parquet, errors = arrow("pyarrow.parquet"), arrow("pyarrow.lib")
        row, wanted = self.first_row, self.wanted.asked(inputs)
        try:
            with parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
                for batch in file.iter_batches(
                    batch_size=BATCH_ROWS, row_groups=list(self.groups), columns=wanted.all
                ):
                    yield wanted.raw(batch, str(self.path), row)
                    row += batch.num_rows
        except (errors.ArrowInvalid, OSError) as error:
            raise InvalidDataError(
                f"{self.path} cannot be read in the rows from {row} on: {error}. It may have been "
                "removed, replaced or damaged since it was opened; write it again."
            ) from error


def _look_parquet(path: Path) -> tuple[str, dict[str, str]]:
    """Nothing between the fields, and types of the columns by name."""
    with parquet_file(path) as file:
        schema = file.schema_arrow
        if not file.metadata.num_rows:
            raise _empty(path)
    check_names(schema.names, path)
    kinds = (str(field.type) for field in schema)
    return "", dict(zip(schema.names, kinds, strict=True))


def _runs(path: Path, part_rows: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Row groups that make a part together, and its first row."""
    with parquet_file(path) as file:
        data = file.metadata
        sizes = [data.row_group(g).num_rows for g in range(data.num_row_groups)]
    groups: list[int] = []
    first, n_rows = 0, 0
    for group, size in enumerate(sizes):
        if groups and n_rows + size > part_rows:
            yield tuple(groups), first
            first, n_rows, groups = first + n_rows, 0, []
        groups.append(group)
        n_rows += size
    yield tuple(groups), first


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

    def blocks(self, inputs: bool = True) -> Iterator[Raw]:
        """Batches of the text."""
        row, wanted = self.first_row, self.wanted.asked(inputs)
        for text in self._texts():
            table = self._parsed(text, row, wanted.all)
            for start in range(0, len(table), BATCH_ROWS):
                batch = table[start : start + BATCH_ROWS]
                yield wanted.raw(batch, str(self.path), row + start)
            row += len(table)

    def _texts(self) -> Iterator[str]:
        try:
            if self.end:
                with self.path.open("rb") as file:
                    file.seek(self.begin)
                    yield decoded(file.read(self.end - self.begin), self.path)
                return
            with gzip.open(self.path) as file:
                _lines(file, b"")  # the header
                while text := file.read(PART_ROWS * ROW_BYTES):
                    yield decoded(_lines(file, text), self.path)
        except OSError as error:
            raise InvalidDataError(
                f"{self.path} cannot be read: {error}. It may have been removed or replaced since "
                "it was opened; write it again."
            ) from error

    def _parsed(self, text: str, row: int, columns: list[str]) -> Any:
        names = list(self.holds)
        table = parsed_rows(text, self.separator, names, self.path, first=row + 2, columns=columns)
        for name in columns:
            is_target = name == self.wanted.target
            if name in self.wanted.words or (is_target and self.holds[name] == "words"):
                continue
            values = numbers(table[name])
            bad = np.flatnonzero(table[name].notna() & values.isna())
            if len(bad):
                raise InvalidDataError(
                    f"{self.path} must hold numbers: row {row + bad[0]} (the first below the "
                    f"header is 0), column {name!r} has {table[name].iloc[bad[0]]!r}. Repair it, "
                    "or leave the column out (ignore=..., or --ignore)."
                )
            truth = self.holds[name] == "bool" and not values.isna().any()
            table[name] = values.astype(bool) if truth else values
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
    if numbers(given).isna().any():
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
