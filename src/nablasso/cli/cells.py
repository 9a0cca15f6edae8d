"""What the cells of a column hold: numbers, categories, dates, or a mixture to be refused.

Words in all cells, at most :data:`MOST_LEVELS` different ones, are a category. Dates are neither:
which of day, month and time passed may matter is not ours to guess.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from nablasso.cli.encoding import Column, labels, listed, numbers
from nablasso.errors import InvalidDataError

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


def read_columns(table: pd.DataFrame, categories: Sequence[str] = ()) -> tuple[Column, ...]:
    """What each column holds.

    Parameters
    ----------
    table : DataFrame
        The variables; cells as text, numbers or truth values.
    categories : sequence of str
        Columns whose values are levels even if they are numbers.

    Returns
    -------
    tuple of Column

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
            found.append(Column(name))
            continue
        levels = tuple(sorted(labels(cells).dropna().unique()))
        fault = _fault(cells, wrong, len(levels), is_category=name in categories)
        if fault is None:
            found.append(Column(name, levels))
        else:
            example = wrong.iloc[0] if len(wrong) else levels[0]
            count = f"{len(levels)} different values" if fault == "many" else _share(wrong, cells)
            faults[fault][name] = f'{count}, such as "{_shortened(example)}"'
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
    sizes = np.abs(cells) if pd.api.types.is_float_dtype(cells.dtype) else np.zeros(0)
    n_infinite = int(np.isinf(sizes).sum())
    n_huge = int((sizes > LARGEST).sum()) - n_infinite
    parts = [(n_missing, "missing"), (n_infinite, "infinite"), (n_huge, f"over {LARGEST:.0e}")]
    return ", ".join(f"{count} {what}" for count, what in parts if count)


def _share(wrong: pd.Series[Any], cells: pd.Series[Any]) -> str:
    return f"{len(wrong)} of {len(cells)} cells"


def _shortened(cell: str, width: int = 40) -> str:
    text = " ".join(cell.split())
    return text if len(text) <= width else text[: width - 3] + "..."
