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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
from nablasso.streaming.blocks import Part, Raw, cells_of, inputs_of, quoted

PathLike = str | os.PathLike[str]

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz")
PART_ROWS = 1 << 18  # of a part; row groups that are larger are parts of their own
BATCH_ROWS = 1 << 15  # read at a time
BUFFER_BYTES = 1 << 18  # per column: pages are read one by one, not a row group at once
ROW_BYTES = 64  # of text, about
GAPS_NAMED = 3  # missing files that a message names
LOOKED_BYTES = 1 << 20  # of text, that tell what its columns hold


@dataclass(frozen=True)
class Wanted:
    """Columns to be read: those of X, the target, and perhaps weights."""

    names: tuple[str, ...]
    target: str
    weight: str | None = None
    words: tuple[str, ...] = ()  # columns of X that hold something else than numbers

    @property
    def all(self) -> list[str]:
        """Their names, each once."""
        return [*self.names, self.target, *([] if self.weight is None else [self.weight])]

    def raw(self, batch: Any, origin: str, first_row: int) -> Raw:
        """Rows of a record batch or a data frame; what is missing becomes NaN, of text None."""
        X = inputs_of(batch, self.names, bool(self.words)) if self.names else None
        weight = None if self.weight is None else cells_of(batch[self.weight])
        return Raw(X, cells_of(batch[self.target]), weight, origin, first_row)


class Look(NamedTuple):
    """What the columns of a file hold, or their types, by name, and what separates its fields."""

    holds: dict[str, str]
    separator: str = ""


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
    looks = {path: _look_parquet(path) if parquet else _look_csv(path) for path in found}
    wanted = _wanted(looks, target, weight, ignore)
    kinds = {name: _kind(name, wanted, looks, parquet) for name in wanted.all}
    words = tuple(name for name in wanted.names if kinds[name] != "numbers")
    wanted = replace(wanted, words=words)
    parts: list[Part] = []
    for path, look in looks.items():
        pieces = _runs(path, part_rows) if parquet else _pieces(path, part_rows * ROW_BYTES, look)
        parts += [FilePart(path, wanted, row, read) for row, read in pieces]
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
    columns = list(zip(*pieces, strict=False))
    differs = [k for k, texts in enumerate(columns) if len(set(texts)) > 1]
    if len({len(piece) for piece in pieces}) > 1 or len(differs) != 1 or differs[0] % 2 == 0:
        return
    (at,) = differs
    there = {int(text) for text in columns[at]}
    n_lost = max(there) - min(there) + 1 - len(there)
    if not 0 < n_lost < len(there):  # years and the like are no numbers of parts
        return
    head, tail = "".join(pieces[0][:at]), "".join(pieces[0][at + 1 :])
    width = len(min(columns[at], key=len))
    lost = [k for k in range(min(there), max(there)) if k not in there]
    names = [f"{head}{k:0{width}d}{tail}" for k in lost]
    raise InvalidDataError(
        f"{paths[0].parent / names[0]} is missing"
        + (f", and {quoted(names[1:], GAPS_NAMED)}" if len(names) > 1 else "")
        + f": the numbers of the other {len(paths)} files leave a gap. Put it there, or give the "
        "files that are to be read as a list."
    )


def _wanted(
    looks: dict[Path, Look], target: str, weight: str | None, ignore: Sequence[str]
) -> Wanted:
    special = [target] if weight is None else [target, weight]
    first = next(iter(looks.values()))
    chosen = [name for name in first.holds if name not in (*special, *ignore)]
    if not chosen or set(ignore) & set(special):
        raise InvalidParameterError(
            f"At least one column besides {quoted(special)} must be left; got ignore={ignore!r}."
        )
    wanted = Wanted(tuple(chosen), target, weight)
    for path, look in looks.items():
        missing = [name for name in wanted.all if name not in look.holds]
        extra = [name for name in look.holds if name not in (*wanted.all, *ignore)]
        parts = [f"lacks {quoted(missing)}"] if missing else []
        parts += [f"has {quoted(extra)} besides"] if extra else []
        if parts:
            raise InvalidDataError(
                f"All files must have the same columns: {quoted(wanted.all)}. {path} "
                f"{' and '.join(parts)}. It has {quoted(list(look.holds))}; write it again, or "
                "leave columns out (ignore=..., or --ignore)."
            )
    return wanted


def _kind(name: str, wanted: Wanted, looks: dict[Path, Look], typed: bool) -> str:
    """What a column holds; refuses nested ones, and types that change between files.

    What text in CSV files holds is decided by all cells, not here (``typed`` is false).
    """
    seen: dict[str, Path] = {}
    for path, look in looks.items():
        held = look.holds[name]
        kind = "words" if not typed and held == "bool" else kind_of(held)
        if kind == "nested" or (name == wanted.weight and kind not in ("numbers", "nothing")):
            raise InvalidDataError(
                f"{path} must hold numbers, words or dates; column {name!r} has type {held}. Leave "
                "it out (ignore=..., or --ignore), or write it anew."
            )
        if kind != "nothing":
            seen.setdefault(kind, path)
    if len(seen) > 1:
        (first, one), (kind, other), *_ = seen.items()
        raise InvalidDataError(
            f"Column {name!r} holds {kind} in {other}, but {first} in {one}. Write one of them "
            "again with the same type in this column."
        )
    return next(iter(seen), "nothing")


@dataclass(frozen=True)
class FilePart:
    """Neighbouring rows of a file.

    ``read`` gives record batches or data frames of them, which have the wanted columns.
    """

    path: Path
    wanted: Wanted
    first_row: int  # in its file
    read: Callable[[Wanted], Iterator[Any]]

    def blocks(self, inputs: bool = True) -> Iterator[Raw]:
        """The rows, batch by batch."""
        row, wanted = self.first_row, self.wanted if inputs else replace(self.wanted, names=())
        try:
            for batch in self.read(wanted):
                yield wanted.raw(batch, str(self.path), row)
                row += len(batch)
        except InvalidDataError:
            raise
        except (OSError, ValueError) as error:  # of pyarrow too
            raise InvalidDataError(
                f"{self.path} cannot be read in the rows from {row} on: {error}. It may have been "
                "removed, replaced or damaged since it was opened; write it again."
            ) from error


# --- Parquet ---


def _row_groups(path: Path, groups: list[int], wanted: Wanted) -> Iterator[Any]:
    """Record batches of row groups; pages are read one by one."""
    parquet = arrow("pyarrow.parquet")
    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
        yield from file.iter_batches(BATCH_ROWS, row_groups=groups, columns=wanted.all)


def _look_parquet(path: Path) -> Look:
    with parquet_file(path) as file:
        schema = file.schema_arrow
        if not file.metadata.num_rows:
            raise _empty(path)
    check_names(schema.names, path)
    return Look({field.name: str(field.type) for field in schema})


def _runs(path: Path, part_rows: int) -> Iterator[tuple[int, Any]]:
    """The first row of each part, and what reads the row groups that make it together."""
    with parquet_file(path) as file:
        data = file.metadata
        sizes = [data.row_group(g).num_rows for g in range(data.num_row_groups)]
    groups: list[int] = []
    first, n_rows = 0, 0
    for group, size in enumerate(sizes):
        if groups and n_rows + size > part_rows:
            yield first, partial(_row_groups, path, groups)
            first, n_rows, groups = first + n_rows, 0, []
        groups.append(group)
        n_rows += size
    yield first, partial(_row_groups, path, groups)


# --- CSV ---


def _text_rows(
    path: Path, begin: int, size: int, row: int, look: Look, wanted: Wanted
) -> Iterator[Any]:
    """Data frames of about so many bytes of text; of a compressed file all of it."""
    with _opened(path) as file:
        file.seek(begin)
        while text := file.read(size):
            lines = decoded(_lines(file, text), path)
            table = parsed_rows(
                lines, look.separator, look.holds, path, first=row + 2, columns=wanted.all
            )
            for name in wanted.all:
                is_target = name == wanted.target
                if name not in wanted.words and not (is_target and look.holds[name] == "words"):
                    table[name] = _numbers(table[name], path, row, look.holds[name] == "bool")
            for start in range(0, len(table), BATCH_ROWS):
                yield table[start : start + BATCH_ROWS]
            row += len(table)
            if not _compressed(path):
                break


def _numbers(cells: Any, path: Path, row: int, truth: bool) -> Any:
    """A column of text as numbers, or as truth values where all of them are there."""
    values = numbers(cells)
    bad = np.flatnonzero(cells.notna() & values.isna())
    if len(bad):
        raise InvalidDataError(
            f"{path} must hold numbers: row {row + bad[0]} (the first below the header is 0), "
            f"column {cells.name!r} has {cells.iloc[bad[0]]!r}. Repair it, or leave the column out "
            "(ignore=..., or --ignore)."
        )
    return values.astype(bool) if truth and not values.isna().any() else values


def _look_csv(path: Path) -> Look:
    with _opened(path) as file:
        header, body = _lines(file, b""), _lines(file, file.read(LOOKED_BYTES))
    separator, names = first_line(decoded(header, path), path, 1)
    if not body.strip():
        raise _empty(path)
    table = parsed_rows(decoded(body, path), separator, names, path, first=2)
    return Look({name: _held(table[name].dropna()) for name in names}, separator)


def _held(given: Any) -> str:
    """What cells of text hold."""
    if not len(given):
        return "nothing"
    if numbers(given).isna().any():
        return "words"
    return "bool" if given.str.lower().isin(list(TRUTH)).all() else "numbers"


def _pieces(path: Path, size: int, look: Look) -> Iterator[tuple[int, Any]]:
    """The first row of each piece of text, and what reads it; a compressed file is one.

    A piece ends with the line in which its quotes are closed.
    """
    with _opened(path) as file:
        begin, row = len(_lines(file, b"")), 0
        while text := file.read(size):
            yield row, partial(_text_rows, path, begin, size, row, look)
            if _compressed(path):
                break
            text = _lines(file, text)
            begin, row = begin + len(text), row + text.count(b"\n")


def _opened(path: Path) -> Any:
    return gzip.open(path) if _compressed(path) else path.open("rb")


def _compressed(path: Path) -> bool:
    return path.suffix == ".gz"


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
