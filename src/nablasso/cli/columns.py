"""Which columns are the target and the variables, and whether they hold numbers or classes."""

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
MOST_CLASSES = 20  # a column of text with more distinct values is no set of classes


@dataclass(frozen=True)
class Data:
    """A table, cut into what a fit needs."""

    X: pd.DataFrame
    y: pd.Series[Any]  # numbers, or labels as text
    ignored: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    has_classes: bool = False

    @property
    def target(self) -> str:
        """Name of the column to explain."""
        return str(self.y.name)

    @property
    def variables(self) -> list[str]:
        """Names of the columns that may explain it."""
        return [str(name) for name in self.X.columns]

    @property
    def classes(self) -> dict[str, int]:
        """How many rows each class has; empty where the target holds numbers."""
        if not self.has_classes:
            return {}
        return {str(label): int(n) for label, n in self.y.value_counts().sort_index().items()}


def choose_columns(
    table: pd.DataFrame,
    target: str,
    ignored: Sequence[str] = (),
    kept: Sequence[str] = (),
    *,
    classify: bool = False,
) -> Data:
    """Cut a table into variables, all of them finite numbers, and a target of numbers or classes.

    A target of words, such as true and false, holds classes; one of numbers only if asked for.

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
    classify : bool
        Take the values of the target for classes even if they are numbers.

    Returns
    -------
    Data

    Raises
    ------
    InvalidParameterError
        If a column does not exist or has two roles.
    InvalidDataError
        If a variable does not hold finite numbers, or if the target is constant or holds neither
        numbers nor classes.
    """
    _check_roles(list(table.columns), target, ignored, kept)
    used = table.drop(columns=list(ignored))
    if used.shape[1] < 2:
        raise InvalidDataError(
            f"At least one column besides the target {target!r} is needed; --ignore leaves none. "
            "Ignore fewer columns."
        )
    numbers = used.apply(_numbers)
    labels = _labels(used[target], numbers[target], classify)
    if labels is not None:  # words count as numbers in the checks to come
        numbers[target] = numbers[target].mask(labels.notna() & numbers[target].isna(), 0.0)
    _check_text(used, numbers, target)
    _check_finite(numbers, target)
    y = numbers.pop(target)
    if labels is not None:
        y = labels
    _check_target(y, has_classes=labels is not None)
    roles = tuple(dict.fromkeys(ignored)), tuple(dict.fromkeys(kept))
    return Data(numbers, y, *roles, has_classes=labels is not None)


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


def _labels(
    cells: pd.Series[Any], numbers: pd.Series[float], classify: bool
) -> pd.Series[Any] | None:
    """Labels of classes as text; None where the target is to hold numbers."""
    words = cells.map(str, na_action="ignore")
    given = words.dropna()
    if given.str.lower().isin(list(TRUTH)).all():
        return words.str.lower()
    is_word = numbers[given.index].isna()
    if (classify and is_word.any()) or (
        is_word.all() and not given.str.fullmatch(DECIMAL_COMMA).all()
    ):
        return words
    return numbers.map(_number_as_label, na_action="ignore") if classify else None


def _number_as_label(number: float) -> str:
    return str(int(number)) if number.is_integer() else str(number)


def _check_target(y: pd.Series[Any], *, has_classes: bool) -> None:
    if y.nunique() == 1:
        value = y.iloc[0] if has_classes else f"{y.iloc[0]:g}"
        raise InvalidDataError(
            f"The target must vary; {y.name!r} is {value} in all {len(y)} rows. "
            "Choose another target."
        )
    if has_classes and y.nunique() > MOST_CLASSES:
        raise InvalidDataError(
            f"The target must hold numbers or at most {MOST_CLASSES} classes; {y.name!r} has "
            f'{y.nunique()} distinct values in {len(y)} rows, such as "{y.iloc[0]}". Choose '
            "another target, or join classes."
        )


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
            f"The target must hold numbers or classes; {target!r} holds numbers and text: "
            f"{examples[target]}. Repair these cells, or add --classify if all its values "
            "are classes."
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
