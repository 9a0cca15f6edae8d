"""What the cells of a table hold, and what is wrong with them, all of it at once.

A column holds numbers (truth values too), words, the levels of a category, dates, or times of the
day. :func:`read_cells` brings each column to one of these, whether its cells are typed or text, and
lists what cannot be read, with a remedy for each.
"""

from __future__ import annotations

import datetime
import difflib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from nablasso.errors import InvalidParameterError, TableProblem, optional

if TYPE_CHECKING:
    import pandas as pd

TRUTH = {"true": 1.0, "false": 0.0}
LISTED = 12  # names or cells listed in a message before it says how many more
LARGEST = 1e100  # squares of larger numbers, added up, would not be numbers any more
DECIMAL_COMMA = r"[-+]?\d+,\d+"
HOURS = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?"
TIME = rf"([ T]{HOURS}( ?(Z|UTC|[-+]\d{{2}}:?\d{{2}}))?)?"
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
SLASHES = rf"(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}}|\d{{2}}){TIME}"
DATE = "|".join(
    f"(?:{form})"
    for form in (
        rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}{TIME}",
        SLASHES,
        rf"(?i:\d{{1,2}}[ -]{MONTH}[ -]\d{{2,4}}){TIME}",
        rf"(?i:{MONTH} \d{{1,2}},? \d{{4}}){TIME}",
    )
)
DAY_FIRST = "day_first"  # attribute of a table: columns whose dates were written day first
SCALARS = (str, Real, Decimal, datetime.date, datetime.time, np.datetime64)


DROP_ROWS = "(dropna, or --missing drop)"  # in Python, and in the command


def as_pandas(frame: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """A data frame of pandas; columns of polars by what they hold, without a copy by Arrow.

    An array needs ``names``.
    """
    optional("pandas", "Tables with words, dates or missing values need pandas", "cli")
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame
    if isinstance(frame, np.ndarray):
        return pd.DataFrame(frame, columns=None if names is None else list(names))
    if not hasattr(frame, "get_columns"):
        return pd.DataFrame(frame.to_pandas())
    found = {str(name): _from_polars(frame[name]) for name in frame.columns}
    return pd.DataFrame(found)


def _from_polars(column: Any) -> pd.Series[Any]:
    import pandas as pd

    kind, cells = str(column.dtype), column.to_list()
    if column.dtype.is_numeric():
        return pd.Series(np.asarray(column.to_numpy(), dtype=float))
    if kind.startswith("Enum"):
        levels = column.dtype.categories.to_list()
        return pd.Series(pd.Categorical(cells, categories=levels, ordered=True))
    if kind.startswith("Categorical"):
        return pd.Series(pd.Categorical(cells))
    return pd.Series(cells, dtype=object)


def read_cells(
    table: pd.DataFrame, categories: Iterable[str] = ()
) -> tuple[pd.DataFrame, list[TableProblem]]:
    """The columns of a table as floats, categories, dates or times, and what is wrong.

    Text that holds numbers or dates is read; ``categories`` are levels even if they are numbers.
    """
    import pandas as pd

    table = table.loc[:, ~table.columns.duplicated()]
    found, written, problems = read_columns(dict(table.items()), categories)
    typed_table = pd.DataFrame(found, index=table.index, columns=table.columns)
    typed_table.attrs[DAY_FIRST] = table.attrs.get(DAY_FIRST, {}) | written
    return typed_table, problems


def read_columns(
    columns: Mapping[Any, pd.Series[Any]], categories: Iterable[str]
) -> tuple[dict[Any, pd.Series[Any]], dict[str, bool], list[TableProblem]]:
    """Columns by what they hold, those whose dates were written day first, what is wrong."""
    wanted, found = set(categories), {}
    faults: dict[str, dict[str, str]] = {}
    for name, cells in columns.items():
        found[name], fault = read_column(cells, as_category=name in wanted)
        if fault is not None:
            kind, example = fault
            faults.setdefault(kind, {})[str(name)] = example
    in_text = [n for n, c in columns.items() if found[n].dtype.kind == "M" and c.dtype.kind != "M"]
    written = {str(n): True for n in in_text if day_first(columns[n].dropna())}
    return found, written, [_problem(kind, names) for kind, names in faults.items()]


Fault = tuple[str, str]  # its kind, and an example


def read_column(
    cells: pd.Series[Any], *, as_category: bool = False
) -> tuple[pd.Series[Any], Fault | None]:
    """One column as floats, a category, dates or times of the day; or why it is none of them."""
    import pandas as pd
    from pandas.api import types

    kind = cells.dtype
    if isinstance(kind, pd.CategoricalDtype) or as_category:
        return _category(cells), None
    if types.is_complex_dtype(kind):
        return cells, ("nested", "complex numbers")
    if types.is_bool_dtype(kind) or types.is_numeric_dtype(kind):
        values = numbers(cells)
        return values, _not_finite(values)
    if types.is_datetime64_any_dtype(kind):
        return _wall_time(cells), None
    if isinstance(kind, pd.PeriodDtype):
        return cells.dt.to_timestamp(), None
    if types.is_timedelta64_dtype(kind):
        return cells.dt.total_seconds() / 86400.0, None  # in days
    return _objects(cells)


def _objects(cells: pd.Series[Any]) -> tuple[pd.Series[Any], Fault | None]:
    """Cells of text, or of any Python objects."""
    words = cells.astype(object).map(lambda c: c.strip() if isinstance(c, str) else c)
    words = words.where(words.notna() & (words != ""), None)
    given = words.dropna()
    other = [c for c in given if not isinstance(c, SCALARS)]
    if other:
        return cells, ("nested", f"such as {shortened(repr(other[0]))}")
    if not len(given):
        return words.astype(float), None
    if all(isinstance(c, datetime.time) for c in given):
        return words, None
    if all(isinstance(c, datetime.date | np.datetime64) for c in given):
        return _parsed(words.map(str, na_action="ignore"), None), None
    values = numbers(words)
    wrong = given[values[given.index].isna()].map(str)
    if not len(wrong):
        return values, _not_finite(values)
    example = f'{len(wrong)} of {len(cells)} cells, such as "{shortened(wrong.iloc[0])}"'
    if wrong.str.fullmatch(DECIMAL_COMMA).all():
        return cells, ("comma", example)
    if len(wrong) < len(given):
        return cells, ("mixed", example)
    if wrong.str.fullmatch(DATE).all():
        first = day_first(wrong)
        if first is None:  # no number over 12 tells day and month apart
            return words, ("ambiguous", example)
        parsed = _parsed(words, first)
        bad = words[words.notna() & parsed.isna()]
        told = f'{len(bad)} of {len(words)} cells, such as "{bad.iloc[0]}"' if len(bad) else ""
        return (words, ("date", told)) if told else (parsed, None)
    if wrong.str.fullmatch(HOURS).all():
        return _clock(words), None
    return _category(words), None


def day_first(given: pd.Series[Any]) -> bool | None:
    """Whether 03/04/2025 is in April; None where the dates do not tell."""
    numbered = given.astype(str).str.extract(f"^{SLASHES}$")[[0, 1]].dropna().astype(int)
    if not len(numbered):
        return False
    large = numbered.max() > 12
    return None if large[0] == large[1] else bool(large[0])


def dates(cells: pd.Series[Any], first: bool) -> pd.Series[Any]:
    """Dates of later rows, in text by the order of day and month of the fit; NaT for others."""
    import pandas as pd

    if cells.dtype.kind == "M" or isinstance(cells.dtype, pd.DatetimeTZDtype | pd.PeriodDtype):
        return read_column(cells)[0]
    return _parsed(cells.astype(object).map(str, na_action="ignore"), first)


def _parsed(words: pd.Series[Any], first: bool | None) -> pd.Series[Any]:
    import pandas as pd

    found = pd.to_datetime(words, format="mixed", dayfirst=bool(first), errors="coerce", utc=True)
    return _wall_time(found)


def _wall_time(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Dates as the clock on the wall shows them."""
    plain = cells if getattr(cells.dtype, "tz", None) is None else cells.dt.tz_localize(None)
    return plain.astype("datetime64[ns]")


def _clock(words: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    return pd.to_datetime(words, format="mixed", errors="coerce").dt.time.astype(object)


def hours(cells: pd.Series[Any]) -> pd.Series[float]:
    """Times of the day in hours; NaN where a cell is none."""
    typed = cells if cells.map(_is_time, na_action="ignore").all() else _clock(cells)
    return typed.map(
        lambda t: t.hour + t.minute / 60 + t.second / 3600 if _is_time(t) else math.nan
    ).astype(float)


def _is_time(cell: Any) -> bool:
    return isinstance(cell, datetime.time)


def _category(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Levels as text; ordered ones keep their order."""
    import pandas as pd

    if isinstance(cells.dtype, pd.CategoricalDtype) and cells.cat.ordered:
        levels = [_label(level) for level in cells.cat.categories]
        if len(set(levels)) == len(levels):
            return cells.cat.rename_categories(levels)
    return labels(cells).astype("category")


def _not_finite(values: pd.Series[float]) -> Fault | None:
    sizes = np.abs(values.to_numpy(dtype=float))
    n_infinite = int(np.isinf(sizes).sum())
    n_huge = int((sizes > LARGEST).sum()) - n_infinite
    parts = [(n_infinite, "infinite"), (n_huge, f"over {LARGEST:.0e}")]
    text = ", ".join(f"{count} {what}" for count, what in parts if count)
    return ("infinite", text) if text else None


def numbers(cells: pd.Series[Any]) -> pd.Series[float]:
    """Cells as numbers, exact to the last bit; NaN where they are none."""
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(cells.dtype) or is_bool_dtype(cells.dtype):
        values = cells.to_numpy(dtype=float, na_value=np.nan)
        return pd.Series(values, index=cells.index, name=cells.name)
    return cells.astype(object).map(_number, na_action="ignore").astype(float)


def labels(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Cells as text, whole numbers without a point; missing where nothing is written."""
    words = cells.astype(object).map(_label, na_action="ignore")
    return words.where(words.notna() & (words != ""), None)


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


def _problem(kind: str, columns: dict[str, str]) -> TableProblem:
    found = listed([f"{name} ({example})" for name, example in columns.items()])
    out = "leave the column out (X.drop(columns=...), or --ignore)"
    what, remedy = {
        "comma": (
            "numbers with a decimal comma",
            'Read the file anew, for example with pandas: read_csv("old.csv", sep=";", '
            'decimal=",")',
        ),
        "mixed": (
            "numbers and words in one column",
            f"Repair these cells, {out}, or make it a category "
            '(.astype("category"), or --category)',
        ),
        "ambiguous": (
            "dates in which day and month cannot be told apart",
            f"Write them as 2025-12-31, or {out}",
        ),
        "date": ("dates that do not exist", f"Repair these cells, or {out}"),
        "infinite": ("infinite or huge numbers", f"Repair these cells, or {out}"),
        "nested": (
            "cells that are neither numbers, words nor dates",
            f"Make a column of each part, or {out}",
        ),
    }[kind]
    return TableProblem(tuple(columns), f"{what}: {found}", remedy)


def name_problems(table: Any) -> list[TableProblem]:
    """Columns without a name of their own."""
    names = list(table.columns)
    if any(isinstance(name, tuple) for name in names):
        return [
            TableProblem(
                (), "names of columns in several levels", 'Join them: df.columns.map("_".join)'
            )
        ]
    twice = [name for name, count in Counter(map(str, names)).items() if count > 1]
    what = f"columns of the same name: {listed(twice)}"
    return [TableProblem(tuple(twice), what, "Rename them")] if twice else []


def listed(names: Sequence[str], most: int = LISTED, quote: Callable[[str], str] = str) -> str:
    """Names separated by commas; of many the first ones and how many more."""
    more = len(names) - most
    return ", ".join(map(quote, names[:most])) + (f" and {more} more" if more > 0 else "")


def shortened(cell: str, width: int = 40) -> str:
    """The beginning of a long text, in one line."""
    text = " ".join(cell.split())
    return text if len(text) <= width else text[: width - 3] + "..."


def check_known(option: str, names: Iterable[str], columns: Sequence[str]) -> None:
    """Refuse a name that is not among the columns; suggest the nearest one."""
    for name in names:
        if name not in columns:
            raise InvalidParameterError(
                f"{option} {name!r} is not a column.{suggestion(name, columns)} "
                f"The columns are: {listed(columns)}."
            )


def suggestion(name: str, columns: Sequence[str]) -> str:
    """The column that a wrong name is nearest to, in a sentence."""
    spelled = {column.casefold(): column for column in columns}
    near = difflib.get_close_matches(name.casefold(), spelled, n=1, cutoff=0.5)
    if near:
        return f" Did you mean {spelled[near[0]]!r}?"
    if not any(math.isnan(_number(column)) for column in columns):
        return " The first line seems to hold numbers; put a line with column names above it."
    return ""
