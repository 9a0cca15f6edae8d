"""Parquet and CSV files as parts of a table: which files, which columns, and errors that name them.

A part of a Parquet file is a run of neighbouring row groups; one of a CSV file is a piece of its
text that begins and ends with a line, quoted line breaks apart, or a whole file compressed by gzip.
Files are read block by block, so memory does not depend on their size.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.encoding import MOST_LEVELS
from nablasso.errors import InvalidDataError, InvalidParameterError, optional
from nablasso.streaming.blocks import Part, Raw, listed

PathLike = str | os.PathLike[str]

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz")
PART_ROWS = 1 << 18  # of a part; row groups that are larger are parts of their own
BATCH_ROWS = 1 << 15  # read at a time
BUFFER_BYTES = 1 << 18  # per column: pages are read one by one, not a row group at once
PART_BYTES = 1 << 26  # of text
PROBED_BYTES = 1 << 16  # at each end of a file, that the fingerprint looks at
GAPS_NAMED = 3  # missing files that a message names
KINDS = {
    "numbers": ("int", "uint", "float", "double", "half", "bool", "decimal"),
    "words": ("string", "large_string", "dictionary"),
    "dates": ("timestamp", "date32", "date64"),
    "times": ("time32", "time64"),
    "durations": ("duration",),
    "nothing": ("null",),
}
# what read_csv of pandas takes for missing and pyarrow does not
ALSO_MISSING = ("None", "<NA>")


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
        """Rows of a record batch; what is missing becomes NaN, of text None."""
        X: Any = None
        if self.names and self.words:
            X = batch.select(list(self.names)).to_pandas()
        elif self.names:
            X = np.empty((batch.num_rows, len(self.names)), dtype=dtype, order="F")
            for place, name in enumerate(self.names):
                X[:, place] = _values(batch, name)
        weight = None if self.weight is None else _values(batch, self.weight)
        return Raw(X, _values(batch, self.target), weight, origin, first_row)


def _values(batch: Any, name: str) -> NDArray[Any]:
    column = batch.column(batch.schema.get_field_index(name))
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "O" and not any(isinstance(v, str) for v in values):
        return np.asarray(values, dtype=float)
    return np.asarray(values)


def arrow(module: str) -> Any:
    """A module of pyarrow, or an error that names the extra."""
    return optional(module, "Parquet and CSV files are read in batches by pyarrow", "io")


@dataclass(frozen=True)
class Files:
    """Files of one kind, their parts and the columns to be read from them."""

    paths: list[Path]
    wanted: Wanted
    parts: list[Part]
    bytes: int  # that the codes of all rows take, at most

    def fingerprint(self) -> str:
        """Of the columns, and of the name, size and both ends of each file."""
        digest = hashlib.sha256(repr(self.wanted).encode())
        for path in self.paths:
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
    *,
    sample_weight: str | None = None,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    separator: str = ",",
    part_rows: int = PART_ROWS,
    part_bytes: int = PART_BYTES,
) -> Files:
    """Look at the columns and types of all files, and cut them into parts.

    Options as in :func:`nablasso.streaming.open_table`. Without ``columns`` every file must have
    those of the first one, in any order. A file that is missing, empty, damaged, or has other
    columns or types than the others is refused; the message names it.
    """
    found = found_files(paths)
    parquet = found[0].name.endswith(PARQUET)
    other = [path for path in found if path.name.endswith(PARQUET) != parquet]
    if other:
        raise InvalidDataError(
            f"The files of a table must be of one kind; {found[0]} and {other[0]} are not. Convert "
            "one of them."
        )
    looks = {path: _look_parquet(path) if parquet else _look_csv(path, separator) for path in found}
    wanted = _with_types(_wanted(looks, target, sample_weight, columns, ignore), looks, parquet)
    if not parquet:
        pieces: list[Part] = [
            CSVPart(path, wanted, tuple(looks[path]), *at, separator, looks[path][target])
            for path in found
            for at in _pieces(path, part_bytes)
        ]
        return Files(found, wanted, pieces, sum(path.stat().st_size for path in found))
    single = all(looks[path][name] == "float" for path in found for name in wanted.names)
    width = len(wanted.names) + MOST_LEVELS * len(wanted.words)
    dtype = "float32" if single else "float64"
    runs: list[Part] = [
        ParquetPart(path, wanted, groups, first, n_rows, dtype)
        for path in found
        for groups, first, n_rows in _runs(path, part_rows)
    ]
    rows = sum(part.n_rows or 0 for part in runs)
    return Files(found, wanted, runs, rows * width)


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
            kind = _kind(look[name], typed)
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
                    f"Column {name!r} has type {look[name]} in {path}, but "
                    f"{looks[first[0]][name]} in {first[0]}. Write the file again with "
                    f"{first[1]} in this column."
                )
        if first is None or first[1] != "numbers":
            words.add(name)
    return replace(wanted, words=frozenset(words & set(wanted.names)))


def _kind(kind: str, typed: bool) -> str:
    """What a type of Arrow holds."""
    if kind == "bool" and not typed:
        return "words"
    found = next((what for what, kinds in KINDS.items() if kind.startswith(kinds)), "nested")
    return found if typed or found in ("numbers", "nothing") else "words"


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


def _parquet_file(path: Path) -> Any:
    parquet, errors = arrow("pyarrow.parquet"), arrow("pyarrow.lib")
    try:
        return parquet.ParquetFile(path)
    except (errors.ArrowInvalid, OSError) as error:
        raise InvalidDataError(
            f"{path} cannot be read as a Parquet file: {error}. Write it again."
        ) from error


def _look_parquet(path: Path) -> dict[str, str]:
    """Types of the columns by name."""
    with _parquet_file(path) as file:
        schema = file.schema_arrow
        if not file.metadata.num_rows:
            raise _empty(path)
    _check_doubled(path, schema.names)
    kinds = (str(field.type) for field in schema)
    return dict(zip(schema.names, kinds, strict=True))


def _runs(path: Path, part_rows: int) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Row groups that make a part together, its first row and its number of rows."""
    with _parquet_file(path) as file:
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
    header: tuple[str, ...]
    begin: int
    end: int
    first_row: int
    separator: str
    target_type: str

    @property
    def n_rows(self) -> None:
        """Only reading would tell."""
        return None

    def blocks(self) -> Iterator[Raw]:
        """Batches of the text."""
        lib = arrow("pyarrow")
        row = self.first_row
        try:
            with self._reader(lib.float64()) as reader:
                for batch in reader:
                    if batch.num_rows:
                        yield self.wanted.raw(batch, str(self.path), row, "float64")
                    row += batch.num_rows
        except (lib.ArrowInvalid, OSError) as error:
            self._find_text()
            raise _unreadable(self.path, error) from error

    def targets(self) -> CSVPart:
        """The same rows without X."""
        return replace(self, wanted=replace(self.wanted, names=()))

    def _reader(self, kind: Any) -> Any:
        csv, lib = arrow("pyarrow.csv"), arrow("pyarrow")
        types = dict.fromkeys(self.wanted.all, kind)
        types |= dict.fromkeys(self.wanted.words & set(self.wanted.names), lib.string())
        if self.target_type == "bool":
            types[self.wanted.target] = lib.bool_()
        elif _kind(self.target_type, typed=True) not in ("numbers", "nothing"):
            types[self.wanted.target] = lib.string()
        text: Any = self.path
        if self.end:
            with self.path.open("rb") as file:
                file.seek(self.begin)
                text = io.BytesIO(file.read(self.end - self.begin))
        return csv.open_csv(
            text,
            read_options=csv.ReadOptions(column_names=self.header if self.end else None),
            parse_options=csv.ParseOptions(
                delimiter=self.separator, newlines_in_values=bool(self.end)
            ),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=self.wanted.all,
                strings_can_be_null=True,
                null_values=[*csv.ConvertOptions().null_values, *ALSO_MISSING],
            ),
        )

    def _find_text(self) -> None:
        """Say where a field is no number; nothing if that was not the trouble."""
        lib = arrow("pyarrow")
        row = self.first_row
        words = set(self.wanted.words)
        if _kind(self.target_type, typed=False) != "numbers":
            words.add(self.wanted.target)
        numbers = [n for n in self.wanted.all if n not in words]
        try:
            with self._reader(lib.string()) as reader:
                for batch in reader:
                    for name in numbers:
                        column = batch.column(batch.schema.get_field_index(name))
                        for place, text in enumerate(column.to_pylist()):
                            if not _reads_as_number(text):
                                raise InvalidDataError(
                                    f"{self.path} must hold numbers: row {row + place} (the first "
                                    f"below the header is 0), column {name!r} has {text!r}. "
                                    "Repair it, or leave the column out (columns=..., or --ignore)."
                                )
                    row += batch.num_rows
        except (lib.ArrowInvalid, OSError):
            return


def _look_csv(path: Path, separator: str) -> dict[str, str]:
    """Types of the columns by name, as the first lines have them."""
    csv, lib = arrow("pyarrow.csv"), arrow("pyarrow")
    options = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    try:
        with csv.open_csv(path, parse_options=options) as reader:
            schema = reader.schema
            rows = next((batch.num_rows for batch in reader if batch.num_rows), 0)
    except (lib.ArrowInvalid, OSError) as error:
        if not path.stat().st_size:
            raise _empty(path) from error
        raise _unreadable(path, error) from error
    if not rows:
        raise _empty(path)
    _check_doubled(path, schema.names)
    return {field.name: str(field.type) for field in schema}


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


def _lines(file: io.BufferedReader, text: bytes) -> bytes:
    """Text and what follows it up to the end of a line outside of quotes."""
    quotes = text.count(b'"')
    while line := file.readline():
        text += line
        quotes += line.count(b'"')
        if not quotes % 2:
            break
    return text


def _reads_as_number(field: str | None) -> bool:
    missing = ("", "NA", "N/A", "NULL", "null", "n/a", "nan", "NaN")
    if field is None or field.strip() in missing:
        return True
    try:
        float(field)
    except ValueError:
        return False
    return True


def _check_doubled(path: Path, names: Sequence[str]) -> None:
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        raise InvalidDataError(
            f"Every column of {path} needs a name of its own; used more than once: "
            f"{listed(doubled)}."
        )


def _empty(path: Path) -> InvalidDataError:
    return InvalidDataError(
        f"{path} has no rows. Remove the file, or write it again if rows are missing."
    )


def _unreadable(path: Path, error: Exception) -> InvalidDataError:
    return InvalidDataError(
        f"{path} cannot be read as a table: {error}. Expected a header and rows of as many fields, "
        "every quote closed."
    )
