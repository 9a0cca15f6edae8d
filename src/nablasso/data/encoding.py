"""What the columns of a table hold, and how they become numbers.

Words in all cells, at most :data:`MOST_LEVELS` different ones, are a category. Dates are neither
numbers nor categories: which of day, month and time passed may matter is not ours to guess.

A category becomes one 0/1 column per level, named ``column=level`` (one for all where there are two
levels); together they are one group. What a missing cell is replaced by is learned too. The same
:class:`Encoding` serves the rows of a fit and later ones; it is plain data, so that a saved model
can carry it.
"""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nablasso.errors import InvalidDataError, InvalidParameterError

if TYPE_CHECKING:
    import pandas as pd

Groups = dict[str, list[str]]
TRUTH = {"true": 1.0, "false": 0.0}
SHOWN = 12  # names or cells listed in a message before it says how many more
DECIMAL_COMMA = r"[-+]?\d+,\d+"
TIME = r"([ T]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?(Z|UTC|[-+]\d{2}:?\d{2}))?)?"
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
DATES = (
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}{TIME}",
    rf"\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}}){TIME}",
    rf"(?i:\d{{1,2}}[ -]{MONTH}[ -]\d{{2,4}}){TIME}",
    rf"(?i:{MONTH} \d{{1,2}},? \d{{4}}){TIME}",
    r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?",
)
DATE = "|".join(f"(?:{form})" for form in DATES)
LARGEST = 1e100  # squares of larger numbers, added up, would not be numbers any more
MOST_LEVELS = 20  # a column of text with more distinct values is no category


@dataclass(frozen=True)
class TableColumn:
    """A column of the table: numbers, or the levels of a category."""

    name: str
    levels: tuple[str, ...] | None = None
    fill: float | str | None = None  # for missing cells, where they may be filled

    @property
    def encoded(self) -> list[str]:
        """Names of its columns of numbers."""
        if self.levels is None:
            return [self.name]
        shown = self.levels[1:] if len(self.levels) == 2 else self.levels
        return [f"{self.name}={level}" for level in shown]

    def encode(self, cells: pd.Series[Any]) -> pd.DataFrame:
        """Its columns of numbers; NaN where a cell is missing."""
        import pandas as pd

        if self.levels is None:
            return numbers(cells).to_frame(self.name)
        words = labels(cells)
        unknown = words.dropna()[~words.dropna().isin(self.levels)]
        if len(unknown):
            raise InvalidDataError(
                f"{self.name!r} must be one of {listed(self.levels)}; got {unknown.iloc[0]!r} in "
                f"{len(unknown)} of {len(cells)} rows. Remove these rows, or fit a model that has "
                "seen this value."
            )
        missing = words.isna()
        return pd.DataFrame(
            {
                name: (words == name[len(self.name) + 1 :]).astype(float).mask(missing)
                for name in self.encoded
            }
        )


@dataclass(frozen=True)
class Encoding:
    """How each column becomes numbers."""

    columns: tuple[TableColumn, ...]

    def __post_init__(self) -> None:
        names = self.names
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise InvalidParameterError(
                f"A level of a category has the name of another column: {listed(twice)}. Rename "
                "the column."
            )

    @property
    def names(self) -> list[str]:
        """All columns of numbers."""
        return [name for column in self.columns for name in column.encoded]

    @property
    def origin(self) -> dict[str, str]:
        """The column of the table behind each column of numbers."""
        return {name: column.name for column in self.columns for name in column.encoded}

    @property
    def groups(self) -> dict[str, list[str]]:
        """Columns of numbers by the category that they encode together."""
        return {c.name: c.encoded for c in self.columns if len(c.encoded) > 1}

    @property
    def categories(self) -> dict[str, list[str]]:
        """Columns of numbers by category, those of two levels too."""
        return {c.name: c.encoded for c in self.columns if c.levels is not None}

    def expand(self, names: Sequence[str]) -> list[str]:
        """Columns of numbers of these columns of the table."""
        wanted = set(names)
        return [name for c in self.columns if c.name in wanted for name in c.encoded]

    def encode(self, table: pd.DataFrame, *, fill: bool = False) -> pd.DataFrame:
        """Columns of numbers of a table that has these columns, in any order, among others.

        Parameters
        ----------
        table : DataFrame
            Cells as text, numbers or truth values.
        fill : bool
            Replace missing cells by what was learned for them; otherwise they stay NaN.
        """
        import pandas as pd

        absent = [column.name for column in self.columns if column.name not in table]
        if absent:
            raise InvalidDataError(
                f"The table lacks {len(absent)} of the {len(self.columns)} columns that the model "
                f"needs: {listed(absent)}. Add them; their order does not matter."
            )
        parts = []
        for column in self.columns:
            cells = table[column.name]
            if fill and column.fill is not None:
                cells = cells.astype(object).where(cells.notna(), column.fill)
            parts.append(column.encode(cells))
        return pd.concat(parts, axis=1)

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data for a file."""
        return [
            {"name": c.name, "levels": c.levels and list(c.levels), "fill": c.fill}
            for c in self.columns
        ]

    @classmethod
    def from_json(cls, content: Sequence[dict[str, Any]]) -> Encoding:
        """The inverse of :meth:`to_json`."""
        return cls(
            tuple(
                TableColumn(str(c["name"]), c["levels"] and tuple(map(str, c["levels"])), c["fill"])
                for c in content
            )
        )


def numbers(cells: pd.Series[Any]) -> pd.Series[float]:
    """Cells as numbers, exact to the last bit; NaN where they are none."""
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(cells.dtype):
        return cells.astype(float)
    return cells.map(_number, na_action="ignore").astype(float)


def labels(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Cells as text, whole numbers without a point; missing where nothing is written."""
    return cells.astype(object).map(_label, na_action="ignore")


def listed(names: Sequence[str]) -> str:
    """Names separated by commas, the first few of them if they are many."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def learned_fill(column: TableColumn, cells: pd.Series[Any]) -> TableColumn:
    """The column with its median, or its most frequent level, for missing cells."""
    given = cells.dropna()
    if not len(given):
        raise InvalidDataError(
            f"Column {column.name!r} has no value at all, so none can be put in its place. Leave "
            f"it out with --ignore."
        )
    fill: float | str
    if column.levels is None:
        fill = float(np.median(numbers(given)))
    else:
        fill = str(labels(given).value_counts().sort_index().idxmax())
    return TableColumn(column.name, column.levels, fill)


def _number(cell: Any) -> float:
    word = str(cell).lower()
    if "_" in word:  # to Python 1_2 is twelve, in a table it is a word
        return math.nan
    try:
        return TRUTH[word] if word in TRUTH else float(cell)
    except (ValueError, TypeError):
        return math.nan


def _label(cell: Any) -> str:
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell).strip()


def read_columns(table: pd.DataFrame, categories: Sequence[str] = ()) -> tuple[TableColumn, ...]:
    """What each column holds.

    Parameters
    ----------
    table : DataFrame
        The variables; cells as text, numbers or truth values.
    categories : sequence of str
        Columns whose values are levels even if they are numbers.

    Returns
    -------
    tuple of TableColumn

    Raises
    ------
    InvalidDataError
        If a column holds dates, decimal commas, numbers and text, or too many different words.
    """
    faults: dict[str, dict[str, str]] = {"comma": {}, "date": {}, "mixed": {}, "many": {}}
    found = []
    for name in map(str, table):
        cells = table[name]
        wrong = cells[cells.notna() & numbers(cells).isna()].map(str)
        if not len(wrong) and name not in categories:
            found.append(TableColumn(name))
            continue
        levels = tuple(sorted(labels(cells).dropna().unique()))
        fault = _fault(cells, wrong, len(levels), is_category=name in categories)
        if fault is None:
            found.append(TableColumn(name, levels))
        else:
            example = wrong.iloc[0] if len(wrong) else levels[0]
            count = f"{len(levels)} different values" if fault == "many" else _share(wrong, cells)
            faults[fault][name] = f'{count}, such as "{shortened(example)}"'
    _refuse(faults)
    return tuple(found)


def _fault(
    cells: pd.Series[Any], wrong: pd.Series[Any], n_levels: int, *, is_category: bool
) -> str | None:
    """Why these cells are no category; None if they are one."""
    if not is_category:
        if wrong.str.fullmatch(DECIMAL_COMMA).all():
            return "comma"
        if wrong.str.strip().str.fullmatch(DATE).all():
            return "date"
        if len(wrong) < cells.notna().sum():
            return "mixed"
    return "many" if n_levels > MOST_LEVELS else None


def _refuse(faults: dict[str, dict[str, str]]) -> None:
    def found(kind: str) -> str:
        return listed([f"{name} ({example})" for name, example in faults[kind].items()])

    if faults["comma"]:
        raise InvalidDataError(decimal_commas(found("comma")))
    if faults["date"]:
        raise InvalidDataError(
            f"Dates and times are not read; they are in: {found('date')}. Turn them into numbers "
            "that may matter, such as days since the first row, month or hour, or leave them out "
            f"with {ignoring(list(faults['date']))}."
        )
    if faults["mixed"]:
        some = next(iter(faults["mixed"]))
        raise InvalidDataError(
            f"A column must hold numbers or words; numbers and text were found in: "
            f"{found('mixed')}. Repair these cells, leave columns out with "
            f"{ignoring(list(faults['mixed']))}, or add --category {shlex.quote(some)} if all its "
            "values are levels of a category."
        )
    if faults["many"]:
        raise InvalidDataError(
            f"A category may have at most {MOST_LEVELS} levels; too many are in: "
            f"{found('many')}. Names and identifiers explain nothing: leave them out with "
            f"{ignoring(list(faults['many']))}, or join levels."
        )


def decimal_commas(found: str) -> str:
    """The message for numbers with a decimal comma."""
    return (
        f"Numbers need a decimal point; these columns hold commas: {found}. Convert the file, for "
        'example with pandas: read_csv("old.csv", sep=";", decimal=",").to_csv("new.csv", '
        "index=False)"
    )


def check_finite(table: pd.DataFrame, target: str, *, missing_too: bool) -> None:
    """Refuse cells without a finite number, the missing ones if they are not dealt with."""
    missing = table.isna().sum()
    faults = {
        name: _faults_of(table[name], int(missing[name]) if missing_too else 0)
        for name in table.columns
    }
    bad = [name for name in faults if faults[name]]
    if not bad:
        return
    found = listed([f"{name} ({faults[name]})" for name in bad])
    columns = [name for name in bad if name != target]
    advice = f", or leave columns out with {ignoring(columns)}" if columns else ""
    choice = "Choose --missing drop or --missing impute" if missing_too and any(missing) else ""
    raise InvalidDataError(
        f"Every cell must hold a finite number; missing (NaN) or infinite values are in: {found}. "
        f"{choice or 'Repair these cells'}{advice}."
    )


def ignoring(names: Sequence[str]) -> str:
    """The options that leave columns out, quoted for a shell."""
    return " ".join(f"--ignore {shlex.quote(name)}" for name in names[:3]) + (
        " ..." if len(names) > 3 else ""
    )


def _faults_of(cells: pd.Series[Any], n_missing: int) -> str:
    sizes = np.abs(cells) if cells.dtype == np.float64 else np.zeros(0)
    n_infinite = int(np.isinf(sizes).sum())
    n_huge = int((sizes > LARGEST).sum()) - n_infinite
    parts = [(n_missing, "missing"), (n_infinite, "infinite"), (n_huge, f"over {LARGEST:.0e}")]
    return ", ".join(f"{count} {what}" for count, what in parts if count)


def _share(wrong: pd.Series[Any], cells: pd.Series[Any]) -> str:
    return f"{len(wrong)} of {len(cells)} cells"


def shortened(cell: str, width: int = 40) -> str:
    """The beginning of a long text, in one line."""
    text = " ".join(cell.split())
    return text if len(text) <= width else text[: width - 3] + "..."


def check_known(option: str, names: Iterable[str], columns: Sequence[str]) -> None:
    """Refuse a name that is not among the columns; suggest the nearest one."""
    for name in names:
        if name not in columns:
            raise InvalidParameterError(
                f"{option} {name!r} is not a column.{_suggestion(name, columns)} "
                f"The columns are: {listed(columns)}."
            )


def _suggestion(name: str, columns: Sequence[str]) -> str:
    spelled = {column.casefold(): column for column in columns}
    near = difflib.get_close_matches(name.casefold(), spelled, n=1, cutoff=0.5)
    if near:
        return f" Did you mean {spelled[near[0]]!r}?"
    if not any(math.isnan(_number(column)) for column in columns):
        return " The first line seems to hold numbers; put a line with column names above it."
    return ""
