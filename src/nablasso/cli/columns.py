"""Which columns are the target and the variables, and whether they hold numbers."""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from nablasso.exceptions import InvalidDataError, InvalidParameterError

SHOWN = 12  # names or cells listed in a message before it says how many more
TRUTH = {"true": 1.0, "false": 0.0}
DECIMAL_COMMA = r"[-+]?\d+,\d+"


@dataclass(frozen=True)
class Data:
    """A table, cut into what a fit needs."""

    X: pd.DataFrame
    y: pd.Series[float]
    ignored: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """Name of the column to explain."""
        return str(self.y.name)

    @property
    def variables(self) -> list[str]:
        """Names of the columns that may explain it."""
        return [str(name) for name in self.X.columns]


def choose_columns(
    table: pd.DataFrame, target: str, ignored: Sequence[str] = (), kept: Sequence[str] = ()
) -> Data:
    """Cut a table into variables and target, all of them finite numbers.

    Parameters
    ----------
    table : DataFrame
        As :func:`~nablasso.cli.table_file.read_table` gives it.
    target : str
        The column to explain.
    ignored : sequence of str
        Columns to leave out.
    kept : sequence of str
        Variables that are selected in any case.

    Returns
    -------
    Data

    Raises
    ------
    InvalidParameterError
        If a column does not exist or has two roles.
    InvalidDataError
        If a column does not hold finite numbers, or the target is constant.
    """
    _check_roles(list(table.columns), target, ignored, kept)
    used = table.drop(columns=list(ignored))
    if used.shape[1] < 2:
        raise InvalidDataError(
            f"At least one column besides the target {target!r} is needed; --ignore leaves none. "
            "Ignore fewer columns."
        )
    numbers = used.apply(_numbers)
    _check_text(used, numbers, target)
    _check_finite(numbers, target)
    y = numbers.pop(target)
    if y.nunique() == 1:
        raise InvalidDataError(
            f"The target must vary; {target!r} is {y.iloc[0]:g} in all {len(y)} rows. "
            "Choose another target."
        )
    return Data(numbers, y, tuple(dict.fromkeys(ignored)), tuple(dict.fromkeys(kept)))


def check_known(option: str, names: Iterable[str], columns: Sequence[str]) -> None:
    """Refuse a name that is not among the columns; suggest the nearest one."""
    for name in names:
        if name not in columns:
            raise InvalidParameterError(
                f"{option} {name!r} is not a column.{_suggestion(name, columns)} "
                f"The columns are: {listed(columns)}."
            )


def listed(names: Sequence[str]) -> str:
    """Names separated by commas, the first few of them if they are many."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _suggestion(name: str, columns: Sequence[str]) -> str:
    spelled = {column.casefold(): column for column in columns}
    near = difflib.get_close_matches(name.casefold(), spelled, n=1, cutoff=0.5)
    if near:
        return f" Did you mean {spelled[near[0]]!r}?"
    if not pd.to_numeric(pd.Series(columns), errors="coerce").isna().any():
        return " The first line seems to hold numbers; put a line with column names above it."
    return ""


def _check_roles(
    columns: Sequence[str], target: str, ignored: Sequence[str], kept: Sequence[str]
) -> None:
    check_known("--target", [target], columns)
    check_known("--ignore", ignored, columns)
    check_known("--keep", kept, columns)
    for name, first, second in (
        *((name, "--target", "--ignore") for name in ignored if name == target),
        *((name, "--target", "--keep") for name in kept if name == target),
        *((name, "--ignore", "--keep") for name in kept if name in ignored),
    ):
        raise InvalidParameterError(
            f"A column can have one role; {name!r} was given to both {first} and {second}. "
            "Take it out of one of them."
        )


def _numbers(cells: pd.Series[Any]) -> pd.Series[float]:
    """Cells as numbers, exact to the last bit; NaN where they are none."""
    return cells.map(_number, na_action="ignore").astype(float)


def _number(cell: Any) -> float:
    word = str(cell).lower()
    try:
        return TRUTH[word] if word in TRUTH else float(cell)
    except ValueError:
        return math.nan


def _check_text(table: pd.DataFrame, numbers: pd.DataFrame, target: str) -> None:
    """Refuse cells that hold something, but no number."""
    wrong = table.notna() & numbers.isna()
    text = {name: table[name][wrong[name]] for name in map(str, table) if wrong[name].any()}
    if not text:
        return
    examples = {
        name: f'{len(cells)} of {len(table)} cells, such as "{cells.iloc[0]}"'
        for name, cells in text.items()
    }
    comma = [name for name, cells in text.items() if cells.str.fullmatch(DECIMAL_COMMA).all()]
    if comma:
        raise InvalidDataError(
            "Numbers need a decimal point; these columns hold commas: "
            f"{listed([f'{name} ({examples[name]})' for name in comma])}. "
            "Convert the file, for example with pandas: "
            'read_csv("old.csv", sep=";", decimal=",").to_csv("new.csv", index=False)'
        )
    if target in text:
        raise InvalidDataError(
            f"The target must be a number; {target!r} holds text: "
            f"{examples[target]}. Choose another target, or repair these cells; "
            "for two classes write 0 and 1."
        )
    found = listed([f"{name} ({example})" for name, example in examples.items()])
    raise InvalidDataError(
        f"Columns must hold numbers; text was found in: {found}. Leave them out with "
        f"{_ignoring(list(text))}, or turn categories into 0/1 columns first, for example with "
        "pandas.get_dummies."
    )


def _ignoring(names: list[str]) -> str:
    """The options that leave columns out, quoted for a shell."""
    return " ".join(f"--ignore {shlex.quote(name)}" for name in names[:SHOWN])


def _check_finite(table: pd.DataFrame, target: str) -> None:
    missing = table.isna().sum()
    infinite = table.isin([float("inf"), float("-inf")]).sum()
    faults = {name: _fault(int(missing[name]), int(infinite[name])) for name in table.columns}
    bad = [name for name in faults if faults[name]]
    if not bad:
        return
    found = listed([f"{name} ({faults[name]})" for name in bad])
    columns = [name for name in bad if name != target]
    advice = f", or leave columns out with {_ignoring(columns)}" if columns else ""
    raise InvalidDataError(
        f"Every cell must hold a finite number; missing (NaN) or infinite values are in: {found}. "
        "Fill these cells or drop their rows first, for example with pandas.DataFrame.dropna"
        f"{advice}."
    )


def _fault(n_missing: int, n_infinite: int) -> str:
    parts = [(n_missing, "missing"), (n_infinite, "infinite")]
    return ", ".join(f"{count} {what}" for count, what in parts if count)
