"""Reading a table from a text file, with errors that say what to do.

A table is text in UTF-8, compressed by gzip or not, whose first line holds the names of the
columns, separated by commas, semicolons or tabs.
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

from nablasso.exceptions import InvalidDataError
from nablasso.preparation import MIN_ROWS

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
GZIP_MAGIC = b"\x1f\x8b"


def read_table(path: Path) -> pd.DataFrame:
    """Rows and named columns of a file; cells are text still, or NaN where nothing is written.

    Parameters
    ----------
    path : Path
        A ``.csv`` or ``.tsv`` file, perhaps with ``.gz``; content decides, not the name.

    Returns
    -------
    DataFrame
        At least two columns with distinct names and at least five rows.

    Raises
    ------
    InvalidDataError
        If the file cannot be read as a table.
    """
    text = read_text(path)
    separator = find_separator(text, path)
    names = _column_names(text, separator, path)
    _check_rows(text, separator, len(names), path)
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
    return _decode(data, path)


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


def find_separator(text: str, path: Path) -> str:
    """Comma, semicolon or tab: whichever cuts the first line into most fields."""
    counts = {separator: _n_names(text, separator) for separator in SEPARATORS}
    best = max(counts, key=lambda separator: counts[separator])
    if counts[best] == 0:
        raise _corrupt(path, "the quotes in the first line do not match")
    if counts[best] == 1:
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
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        listed = "; ".join(
            f"{name!r} (columns {', '.join(_places(names, name))})" for name in duplicates
        )
        raise InvalidDataError(
            f"Every column of {path} needs a name of its own; used more than once: {listed}. "
            "Rename or remove them in the first line."
        )
    return names


def _places(names: list[str], name: str) -> list[str]:
    return [str(place) for place, other in enumerate(names, start=1) if other == name]


def _check_rows(text: str, separator: str, n_names: int, path: Path) -> None:
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
    if n_rows < MIN_ROWS:
        got = "column names but no rows" if n_rows == 0 else f"{n_rows}"
        raise InvalidDataError(
            f"{path} must have at least {MIN_ROWS} rows below the column names; got {got}. "
            "Add rows."
        )


def _corrupt(path: Path, reason: str) -> InvalidDataError:
    return InvalidDataError(
        f"{path} cannot be read as a table: {reason}. Expected rows of fields separated by "
        "commas, semicolons or tabs, every quote closed. Export the table again."
    )


def _shortened(line: str, width: int = 40) -> str:
    return line if len(line) <= width else line[: width - 3] + "..."
