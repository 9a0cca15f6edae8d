"""From the columns of a table to numbers, the same way for the rows of a fit and for later ones.

A column of words becomes one 0/1 column per level, named ``column=level`` (one for all where there
are two levels); together they are one group. What a missing cell is replaced by is learned too. The
encoding is plain data, so that a saved model can carry it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nablasso.errors import InvalidDataError, InvalidParameterError

TRUTH = {"true": 1.0, "false": 0.0}
SHOWN = 12  # names or cells listed in a message before it says how many more


@dataclass(frozen=True)
class Column:
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
        if self.levels is None:
            return pd.DataFrame({self.name: numbers(cells)})
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

    columns: tuple[Column, ...]

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
                Column(str(c["name"]), c["levels"] and tuple(map(str, c["levels"])), c["fill"])
                for c in content
            )
        )


def numbers(cells: pd.Series[Any]) -> pd.Series[float]:
    """Cells as numbers, exact to the last bit; NaN where they are none."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return cells.astype(float)
    return cells.map(_number, na_action="ignore").astype(float)


def labels(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Cells as text, whole numbers without a point; missing where nothing is written."""
    return cells.astype(object).map(_label, na_action="ignore")


def listed(names: Sequence[str]) -> str:
    """Names separated by commas, the first few of them if they are many."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def learned_fill(column: Column, cells: pd.Series[Any]) -> Column:
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
    return Column(column.name, column.levels, fill)


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
