"""Reading tables, and groups of their columns, from files, with errors that say what to do.

A table is text in UTF-8, compressed by gzip or not, whose first line holds the names of the
columns, separated by commas, semicolons or tabs; or a Parquet file, with cells as it types them.

Groups of columns that are selected as a whole are a JSON file that maps names of groups to lists of
columns::

    {"climate": ["temperature", "humidity"], "feeding": ["water", "nutrient"]}

Columns in no group are groups of their own.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nablasso.data.cells import check_known, listed, shortened
from nablasso.data.encoding import Groups
from nablasso.data.table import MIN_ROWS
from nablasso.errors import InvalidDataError, InvalidParameterError, optional

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
GZIP_MAGIC, PARQUET_MAGIC = b"\x1f\x8b", b"PAR1"
KINDS = {  # by the names of pyarrow; what columns of text hold is said so
    "numbers": ("int", "uint", "float", "double", "half", "bool", "decimal", "numbers"),
    "words": ("string", "large_string", "dictionary", "words"),
    "dates": ("timestamp", "date32", "date64"),
    "times": ("time32", "time64"),
    "durations": ("duration",),
    "nothing": ("null", "nothing"),
}
EXPECTED_GROUPS = 'expected lists of columns by group: {"climate": ["temperature", "humidity"]}'


def read_table(path: Path, *, min_rows: int = MIN_ROWS, min_columns: int = 2) -> pd.DataFrame:
    """Rows and named columns of a file; cells of text files are text still, or NaN where empty.

    Text, perhaps with ``.gz``, or Parquet: content decides, not the name.
    """
    data = _read_bytes(path)
    if data.startswith(PARQUET_MAGIC):
        table = _read_parquet(data, path)
        check_names(list(table.columns), path)
        _check_size(table.shape[1], min_columns, "columns", path)
    else:
        text = decoded(data, path)
        separator, names = first_line(text, path, min_columns)
        table = parsed_rows(text, separator, names, path, header=0)
    _check_size(len(table), min_rows, "rows", path)
    return table


def first_line(text: str, path: Path, min_columns: int) -> tuple[str, list[str]]:
    """What separates most fields of it, and the names; pandas would rename duplicates silently."""
    cuts = {}
    for separator in SEPARATORS:
        with suppress(csv.Error):
            cuts[separator] = next(_rows_of(text, separator))[1]
    if not cuts:
        raise _corrupt(path, "the quotes in the first line do not match, or it is far too long")
    best = max(cuts, key=lambda separator: len(cuts[separator]))
    if len(cuts[best]) < min_columns:
        line = next(line for line in text.splitlines() if line.strip())
        raise InvalidDataError(
            f"{path} must have at least two columns, separated by commas, semicolons or tabs; "
            f"its first line is one column: {shortened(line)!r}. Save it with one of these "
            "separators."
        )
    names = [name or f"column_{place}" for place, name in enumerate(cuts[best], start=1)]
    check_names(names, path)
    return best, names


def parsed_rows(
    text: str,
    separator: str,
    names: Collection[str],
    path: Path,
    *,
    first: int = 1,
    header: int | None = None,
    columns: list[str] | None = None,
) -> pd.DataFrame:
    """Cells of text, whose first line has this number; rows of another length are refused."""
    optional("pandas", "Tables in text are read by pandas", "cli")
    import pandas as pd

    try:
        for line, fields in _rows_of(text, separator):
            if len(fields) != len(names):
                cut = SEPARATORS[separator]
                raise InvalidDataError(
                    f"Every row of {path} must have {len(names)} fields separated by a {cut}, as "
                    f"many as the first line; line {line + first - 1} has {len(fields)}. Repair "
                    f"that line; text that holds a {cut} needs quotes, and numbers need a decimal "
                    "point."
                )
        return pd.read_csv(
            io.StringIO(text),
            sep=separator,
            names=list(names),
            index_col=False,
            skipinitialspace=True,
            dtype=str,
            header=header,
            usecols=columns,
        )
    except (csv.Error, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise _corrupt(path, str(error)) from error


def _read_bytes(path: Path) -> bytes:
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


def decoded(data: bytes, path: Path) -> str:
    """Bytes as text, with lines that end in a newline."""
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


def _rows_of(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each row that is not blank, the first line included."""
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True, strict=True)
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield reader.line_num, [field.strip() for field in row]


def check_names(names: list[str], path: Path) -> None:
    """Refuse names that are used twice."""
    places: dict[str, list[str]] = {}
    for place, name in enumerate(names, start=1):
        places.setdefault(name, []).append(str(place))
    twice = [
        f"{shortened(name)!r} (columns {', '.join(own[:5])})"
        for name, own in places.items()
        if len(own) > 1
    ]
    if twice:
        more = f" and {len(twice) - 5} more" if len(twice) > 5 else ""
        raise InvalidDataError(
            f"Every column of {path} needs a name of its own; used more than once: "
            f"{'; '.join(twice[:5])}{more}. Rename or remove them in the first line."
        )


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


def _read_parquet(data: bytes, path: Path) -> pd.DataFrame:
    with parquet_file(path, io.BytesIO(data)) as file:
        table = file.read()
    nested = [field.name for field in table.schema if kind_of(str(field.type)) == "nested"]
    if nested:
        raise InvalidDataError(
            f"The columns of {path} must hold numbers or words; lists, structures or bytes are in: "
            f"{listed(nested)}. Write a file without them."
        )
    named = table.rename_columns([name.strip() for name in table.column_names])
    frame: pd.DataFrame = named.to_pandas(ignore_metadata=True)
    return frame


def arrow(module: str) -> Any:
    """A module of pyarrow, or an error that names the extra."""
    return optional(module, "Parquet files are read by pyarrow", "io")


def parquet_file(path: Path, content: Any = None) -> Any:
    """An open Parquet file."""
    parquet, errors = arrow("pyarrow.parquet"), arrow("pyarrow.lib")
    try:
        return parquet.ParquetFile(path if content is None else content)
    except (errors.ArrowInvalid, OSError) as error:
        raise InvalidDataError(
            f"{path} cannot be read as a Parquet file: {str(error).splitlines()[0][:120]}. Write "
            "it again."
        ) from error


def kind_of(kind: str) -> str:
    """What a column of a type of pyarrow holds, or one of text that holds ``kind``."""
    return next((what for what, kinds in KINDS.items() if kind.startswith(kinds)), "nested")


def read_groups(path: Path, variables: Sequence[str], ignored: Sequence[str]) -> Groups:
    """A partition of the variables: the groups of a file, then the rest one by one.

    The file may name ``ignored`` columns.
    """
    try:
        groups = json.loads(decoded(_read_bytes(path), path))
    except json.JSONDecodeError as error:
        raise InvalidDataError(f"{path} is not valid JSON ({error}); {EXPECTED_GROUPS}.") from error
    if not isinstance(groups, dict):
        raise InvalidDataError(f"{path} holds no groups; {EXPECTED_GROUPS}.")
    owner: dict[str, str] = {}
    for group, members in groups.items():
        if not isinstance(members, list) or not all(isinstance(m, str) for m in members):
            raise InvalidDataError(
                f"{path}: group {group!r} must be a list of column names; {EXPECTED_GROUPS}."
            )
        check_known(f"{path}, group {group!r}:", members, [*variables, *ignored])
        for column in members:
            if owner.setdefault(column, group) != group:
                raise InvalidParameterError(
                    f"{path}: a column belongs to one group; {column!r} is in {owner[column]!r} "
                    f"and {group!r}. Take it out of one of them."
                )
    partition = {
        group: [column for column in dict.fromkeys(members) if column in variables]
        for group, members in groups.items()
    }
    rest = {column: [column] for column in variables if column not in owner}
    for name in rest.keys() & partition.keys():
        raise InvalidParameterError(
            f"{path}: {name!r} is the name of a group and of a column outside it. Rename the group."
        )
    return {group: members for group, members in (partition | rest).items() if members}
