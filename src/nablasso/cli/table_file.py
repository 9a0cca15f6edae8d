"""Reading a table from a file, with errors that say what to do.

A table is text in UTF-8, compressed by gzip or not, whose first line holds the names of the
columns, separated by commas, semicolons or tabs; or a Parquet file.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from nablasso.cli.parquet_file import read_parquet
from nablasso.data.table import MIN_ROWS
from nablasso.errors import InvalidDataError

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
GZIP_MAGIC, PARQUET_MAGIC = b"\x1f\x8b", b"PAR1"


def read_table(path: Path, *, min_rows: int = MIN_ROWS, min_columns: int = 2) -> pd.DataFrame:
    """Rows and named columns of a file; cells of text files are text still, or NaN where empty.

    Parameters
    ----------
    path : Path
        A ``.csv`` or ``.tsv`` file, perhaps with ``.gz``, or Parquet; content decides, not the
        name.
    min_rows, min_columns : int
        Fewer are refused.

    Returns
    -------
    DataFrame
        Columns with distinct names.

    Raises
    ------
    InvalidDataError
        If the file cannot be read as a table.
    """
    data = read_bytes(path)
    if data.startswith(PARQUET_MAGIC):
        table = read_parquet(data, path)
        _check_names(list(table.columns), path)
        _check_size(table.shape[1], min_columns, "columns", path)
        _check_size(len(table), min_rows, "rows", path)
        return table
    text = _decode(data, path)
    separator = find_separator(text, path, min_columns)
    names = _column_names(text, separator, path)
    _check_rows(text, separator, len(names), path, min_rows)
    try:
        return pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=0,
            names=names,
            index_col=False,
            skipinitialspace=True,
            dtype=str,
        )
    except pd.errors.ParserError as error:
        raise _corrupt(path, str(error)) from error


def read_text(path: Path) -> str:
    """The text of a file, decompressed, with lines that end in a newline."""
    return _decode(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """What a file holds, decompressed."""
    try:
        data = path.read_bytes()
        if data.startswith(GZIP_MAGIC):
            data = gzip.decompress(data)
    except FileNotFoundError as error:
        raise InvalidDataError(
            f"{path} does not exist. Give the path of a table, for example data/table.csv; "
            f"relative paths start in {Path.cwd()}."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidDataError(
            f"{path} begins like a gzip file but cannot be decompressed ({error}). "
            "Download or compress it again."
        ) from error
    except OSError as error:
        raise InvalidDataError(
            f"{path} cannot be read: {error.strerror}. Give the path of a file that you may read."
        ) from error
    return data


def _decode(data: bytes, path: Path) -> str:
    if b"\0" in data:
        raise InvalidDataError(
            f"{path} must be plain text in UTF-8; it holds binary data (a zero byte at position "
            f'{data.index(0)}). Save the table as "CSV UTF-8" in your spreadsheet program.'
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDataError(
            f"{path} must be text in UTF-8; byte 0x{data[error.start]:02x} at position "
            f'{error.start} is not. Save the table as "CSV UTF-8", or convert it: '
            "iconv -f LATIN1 -t UTF-8 old.csv > new.csv"
        ) from error
    if not text.strip():
        raise InvalidDataError(
            f"{path} is empty. A table needs a first line with column names and at least "
            f"{MIN_ROWS} rows of numbers."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def find_separator(text: str, path: Path, min_columns: int = 2) -> str:
    """Comma, semicolon or tab: whichever cuts the first line into most fields."""
    counts = {separator: _n_names(text, separator) for separator in SEPARATORS}
    best = max(counts, key=lambda separator: counts[separator])
    if counts[best] == 0:
        raise _corrupt(path, "the quotes in the first line do not match, or it is far too long")
    if counts[best] < min_columns:
        line = next(line for line in text.splitlines() if line.strip())
        raise InvalidDataError(
            f"{path} must have at least two columns, separated by commas, semicolons or tabs; "
            f"its first line is one column: {_shortened(line)!r}. Save it with one of these "
            "separators."
        )
    return best


def rows_of(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each row that is not blank, the first line included."""
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True, strict=True)
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield reader.line_num, [field.strip() for field in row]


def _n_names(text: str, separator: str) -> int:
    """Number of fields in the first row; zero if it cannot be cut this way."""
    try:
        return len(next(rows_of(text, separator))[1])
    except csv.Error:
        return 0


def _column_names(text: str, separator: str, path: Path) -> list[str]:
    """Names in the first row, read here because pandas would rename duplicates silently."""
    _, fields = next(rows_of(text, separator))
    names = [name or f"column_{place}" for place, name in enumerate(fields, start=1)]
    _check_names(names, path)
    return names


def _check_names(names: list[str], path: Path) -> None:
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        shown = "; ".join(
            f"{_shortened(name)!r} (columns {', '.join(_places(names, name)[:5])})"
            for name in duplicates[:5]
        ) + (f" and {len(duplicates) - 5} more" if len(duplicates) > 5 else "")
        raise InvalidDataError(
            f"Every column of {path} needs a name of its own; used more than once: {shown}. "
            "Rename or remove them in the first line."
        )


def _places(names: list[str], name: str) -> list[str]:
    return [str(place) for place, other in enumerate(names, start=1) if other == name]


def _check_rows(text: str, separator: str, n_names: int, path: Path, min_rows: int) -> None:
    """Refuse rows of another length than the first, and too few of them."""
    rows = rows_of(text, separator)
    next(rows)
    n_rows = 0
    try:
        for line, fields in rows:
            n_rows += 1
            if len(fields) != n_names:
                raise InvalidDataError(
                    f"Every row of {path} must have {n_names} fields separated by a "
                    f"{SEPARATORS[separator]}, as many as the first line; line {line} has "
                    f"{len(fields)}. Repair that line; text that holds a {SEPARATORS[separator]} "
                    "needs quotes, and numbers need a decimal point."
                )
    except csv.Error as error:
        raise _corrupt(path, str(error)) from error
    _check_size(n_rows, min_rows, "rows", path)


def _check_size(count: int, least: int, what: str, path: Path) -> None:
    if count < least:
        got = "column names but no rows" if (count, what) == (0, "rows") else f"{count}"
        below = " below the column names" if what == "rows" else ""
        raise InvalidDataError(
            f"{path} must have at least {least} {what}{below}; got {got}. Add {what}."
        )


def _corrupt(path: Path, reason: str) -> InvalidDataError:
    return InvalidDataError(
        f"{path} cannot be read as a table: {reason}. Expected rows of fields separated by "
        "commas, semicolons or tabs, every quote closed. Export the table again."
    )


def _shortened(line: str, width: int = 40) -> str:
    return line if len(line) <= width else line[: width - 3] + "..."
