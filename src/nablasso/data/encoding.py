r"""How the columns of a table become columns of numbers.

==================  =============================================================================
numbers, truth      themselves
ordered category    the place of the level in its order
category            0/1 per level (one column where there are two levels)
date                days since the first one; where they vary, points on the circles of the
                    year, the week and the day: :math:`(\sin, \cos)(2 \pi t / T)`
time of the day     a point on the circle of the day
==================  =============================================================================

A missing value is a state of its own: a level of a category; elsewhere the median, and a column
that is one where the cell is missing. Levels of fewer than :data:`RARE` rows are one state,
"other", and so are all but the :data:`MOST_LEVELS` most frequent ones; new levels are predicted as
"other", or, where the fit had none, as the mean over all levels. Words that differ in most rows
are identifiers, which explain nothing, and become no column.

All that is learned of a column is learned from its different cells and their weights, which add up
over blocks of rows.

The columns of numbers of one table column are selected together, except that days, year, week and
day of a date are selected one by one. :attr:`Encoding.players` says which numbers belong to which
column of the table, :attr:`Encoding.labels` which are selected together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nablasso.data.cells import (
    DAY_FIRST,
    LARGEST,
    as_pandas,
    dates,
    hours,
    labels,
    listed,
    numbers,
    shortened,
)
from nablasso.data.table import weighted_quantiles
from nablasso.errors import TableProblem, TableProblems, UnseenValuesWarning, warn
from nablasso.types import Array, Index, Mask

if TYPE_CHECKING:
    import pandas as pd

Groups = dict[str, list[str]]
MOST_LEVELS = 20  # of a category that have a column of their own
MOST_DISTINCT = 100_000  # words of which more are different are identifiers, however many the rows
RARE = 5  # rows of a level below which it is joined with others: they tell nothing about it
MISSING, OTHER = "(missing)", "(other)"  # states of a category beside its levels
DAY = 86400.0  # seconds
CIRCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}  # periods in days


@dataclass(frozen=True)
class TableColumn:
    """A column of the table, and the columns of numbers that are made of it.

    ``kind`` is "number", "category", "ordered", "date", "clock", or, where nothing is made of it,
    "constant", "empty" or "identifier". ``parts`` name the columns of numbers, ``fill`` is what
    they hold where nothing is known about a cell; ``missing`` says whether the last one tells that
    a cell is missing.
    """

    name: str
    kind: str = "number"
    levels: tuple[str, ...] = ()  # the states of a category, the order of an ordered one
    parts: tuple[str, ...] = ("",)
    fill: tuple[float, ...] = (0.0,)
    missing: bool = False
    first: float = 0.0  # date, in seconds since 1970
    day_first: bool = False  # dates written as 31/12/2025

    @property
    def encoded(self) -> list[str]:
        """Names of its columns of numbers."""
        return [self.name + part for part in self.parts]

    @property
    def labels(self) -> list[int]:
        """Which of them are selected together; of a date the parts one by one."""
        own = [part.split(" (")[0] if self.kind == "date" else "" for part in self.parts]
        return [sorted(set(own)).index(part) for part in own]

    def encode(self, cells: pd.Series[Any]) -> tuple[Array, Mask, Mask]:
        """Its columns of numbers, and which cells are missing or cannot be read."""
        import pandas as pd

        if cells.dtype.kind not in "fMiub":  # each word is looked at once
            rows, distinct = pd.factorize(cells, use_na_sentinel=False)
            values, missing, unknown = self._encode(pd.Series(distinct, name=cells.name))
            return values[rows], missing[rows], unknown[rows]
        return self._encode(cells)

    def _encode(self, cells: pd.Series[Any]) -> tuple[Array, Mask, Mask]:
        missing = cells.isna().to_numpy()
        if self.kind == "category":
            return self._of_levels(cells)
        if self.kind == "date":
            times = dates(cells, self.day_first)
            known, found = times.notna().to_numpy(), [(seconds(times) - self.first) / DAY]
            for name, turn in turns(times).items():
                if any(part.startswith(f": {name} (") for part in self.parts):
                    found.append(_circle(turn))
            values = np.column_stack(found)
        elif self.kind == "clock":
            clock = _floats(hours(cells))
            known, values = np.isfinite(clock), _circle(clock / 24.0)
        elif self.kind == "ordered":
            places = {level: float(k) for k, level in enumerate(self.levels)}
            values = _floats(labels(cells).map(places))[:, None]
            known = np.isfinite(values[:, 0])
        elif self.kind == "number":
            values = _floats(numbers(cells))[:, None]
            known = np.abs(values[:, 0]) <= LARGEST
        else:
            return np.empty((len(cells), 0)), missing, np.zeros(len(cells), dtype=bool)
        blank = (labels(cells).isna() if cells.dtype == object else cells.isna()).to_numpy()
        fill = self.fill[: values.shape[1]]
        values = np.where(known[:, None], values, fill)
        if self.missing:
            values = np.column_stack([values, (~known).astype(float)])
        return values, blank, ~known & ~blank

    def _of_levels(self, cells: pd.Series[Any]) -> tuple[Array, Mask, Mask]:
        words = labels(cells)
        missing: Mask = words.isna().to_numpy()
        known: Mask = words.isin(self.levels).to_numpy()
        shown = [part[1:] for part in self.parts]
        values = np.column_stack([_floats(words == level) for level in shown])
        for state, rows in ((MISSING, missing), (OTHER, ~known & ~missing)):
            values[rows] = self.fill
            if state in self.levels:
                values[rows] = [float(level == state) for level in shown]
        return values, missing, ~known & ~missing

    def decode(self, values: Array) -> pd.Series[Any]:
        """Cells of which :meth:`encode` makes these numbers, up to rounding."""
        import pandas as pd

        gone = values[:, -1] > 0 if self.missing else np.zeros(len(values), dtype=bool)
        if self.kind == "number":
            return pd.Series(np.where(gone, np.nan, values[:, 0]))
        if self.kind == "date":
            times = np.rint((values[:, 0] * DAY + self.first) * 1e9).astype("datetime64[ns]")
            return pd.Series(times).where(~gone)
        if self.kind == "clock":
            turn = np.arctan2(values[:, 0], values[:, 1]) / (2 * np.pi) % 1.0
            clock = pd.to_datetime(np.rint(turn * DAY) % DAY, unit="s")
            return pd.Series(clock).dt.time.astype(object).where(~gone)
        if self.kind == "ordered":
            places = np.where(gone, -1, np.rint(values[:, 0])).astype(int)
            levels = pd.Index(self.levels)
            return pd.Series(pd.Categorical.from_codes(places, levels, ordered=True))
        states = [None if level == MISSING else level for level in self.levels] or [None]
        place = values[:, 0] if len(self.parts) == 1 else values.argmax(axis=1) if self.parts else 0
        return pd.Series(np.array(states, dtype=object)[np.full(len(values), place, dtype=int)])

    def said(self) -> str | None:
        """What was made of it, where that is worth a sentence."""
        if self.kind == "identifier":
            return f"{self.name} was left out: its values differ in most rows, as identifiers do."
        if self.kind in ("constant", "empty"):
            return None
        if self.kind == "date":
            circles = [c for c in CIRCLES if f": {c} (sin)" in self.parts]
            also = f", and the place in the {listed(circles)}" if circles else ""
            return f"{self.name} was read as a date: days since the first{also}."
        if OTHER in self.levels:
            own = len([level for level in self.levels if level not in (OTHER, MISSING)])
            return f"{self.name} keeps its {own} most frequent levels; the others are one."
        return None


@dataclass(frozen=True)
class Encoding:
    """How each column becomes numbers; the same for the rows of a fit and for later ones."""

    columns: tuple[TableColumn, ...]

    @property
    def names(self) -> list[str]:
        """All columns of numbers."""
        return [name for column in self.columns for name in column.encoded]

    @property
    def origin(self) -> Index:
        """The column of the table behind each column of numbers."""
        sizes = [len(column.parts) for column in self.columns]
        return np.repeat(np.arange(len(sizes)), sizes).astype(np.intp)

    @property
    def players(self) -> list[Index]:
        """The columns of numbers of each column of the table."""
        return [np.flatnonzero(self.origin == a) for a in range(len(self.columns))]

    @property
    def labels(self) -> Index:
        """Columns of numbers with the same label are selected together."""
        pairs = [(a, label) for a, c in enumerate(self.columns) for label in c.labels]
        places = {pair: k for k, pair in enumerate(dict.fromkeys(pairs))}
        return np.array([places[pair] for pair in pairs], dtype=np.intp)

    @property
    def is_plain(self) -> bool:
        """Whether every column is one column of numbers, itself."""
        return all(c.kind == "number" and not c.missing for c in self.columns)

    @property
    def remarks(self) -> list[str]:
        """What was made of the columns, where that is worth a sentence."""
        return [said for said in (column.said() for column in self.columns) if said]

    @classmethod
    def learn(cls, typed: pd.DataFrame, weights: Array | None = None) -> Encoding:
        """From columns as ``read_cells`` gives them; weight ``k`` counts as ``k`` rows."""
        p = np.ones(len(typed)) if weights is None else np.asarray(weights, dtype=float)
        first = typed.attrs.get(DAY_FIRST, {})
        tallies = {str(n): Tally(typed[n], p).shortened(MOST_DISTINCT) for n in typed}
        return cls(tuple(t.learned(n, t.cells, bool(first.get(n))) for n, t in tallies.items()))

    def checked(self) -> Encoding:
        """Itself; refused where nothing is left."""
        if not self.names:
            what = f"none of the {len(self.columns)} columns varies"
            remedy = "Add columns that could explain the target"
            raise TableProblems([TableProblem((), what, remedy)])
        return self

    def decode(self, numbers: Array) -> pd.DataFrame:
        """A table of which :meth:`encode` makes these numbers, up to rounding."""
        import pandas as pd

        found = {
            column.name: column.decode(numbers[:, own])
            for column, own in zip(self.columns, self.players, strict=True)
        }
        return pd.DataFrame(found)

    def encode(self, table: Any, needed: Collection[str] | None = None) -> Array:
        """Columns of numbers of a table that has these columns, in any order, among others.

        ``needed`` columns must be there, all by default. Raises :class:`TableProblems` where
        columns are absent, or hold something else than in the fit.
        """
        frame = as_pandas(table)
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
        wanted = {c.name for c in self.columns} if needed is None else set(needed)
        absent = [c.name for c in self.columns if c.name not in frame and c.name in wanted]
        problems, news = [], []
        if absent:
            what = f"{len(absent)} of the {len(self.columns)} columns are absent: {listed(absent)}"
            problems.append(
                TableProblem(tuple(absent), what, "Add them; their order does not matter")
            )
        parts = []
        for column in self.columns:
            if column.name not in frame:
                parts.append(np.tile(column.fill, (len(frame), 1)))
                continue
            cells = frame[column.name]
            values, missing, unknown = column.encode(cells)
            parts.append(values)
            if column.name not in wanted:
                continue
            if missing.any() and not (column.missing or MISSING in column.levels) and column.parts:
                news.append(f"{column.name} is missing in {int(missing.sum())} rows")
            if unknown.any() and column.kind in ("number", "date", "clock"):
                wanted_kind = {
                    "number": f"numbers under {LARGEST:.0e}",
                    "date": "dates",
                    "clock": "times of the day",
                }[column.kind]
                what = (
                    f"{column.name} must hold {wanted_kind}, as in the fit; {unknown.sum()} of "
                    f'{len(cells)} rows do not, such as "{shortened(str(cells[unknown].iloc[0]))}"'
                )
                problems.append(TableProblem((column.name,), what, "Repair these cells"))
            elif unknown.any():
                new = sorted({str(cell) for cell in labels(cells[unknown])})
                news.append(f"{column.name} is {listed(new)} in {int(unknown.sum())} rows")
        if problems:
            raise TableProblems(problems)
        if news:
            warn(
                f"Not seen in fit, predicted as other values: {'; '.join(news)}.",
                UnseenValuesWarning,
            )
        return np.column_stack([np.empty((len(frame), 0)), *parts])


class Tally(NamedTuple):
    """Different cells of a column and their weights, perhaps some of them more than once.

    Of more than :data:`MOST_DISTINCT` those of smallest hash are kept, a fair sample whatever the
    order of the rows, besides the smallest and the largest number or date: ranges stay exact,
    medians are those of the sample, and so many words are identifiers.
    ``left_out`` is the weight of cells that were not kept; ``levels`` are None unless it is a
    category, and empty unless that is ordered.
    """

    cells: pd.Series[Any]
    weight: Array
    left_out: float = 0.0
    levels: tuple[str, ...] | None = None

    def plus(self, other: Tally) -> Tally:
        """Of the rows of both."""
        import pandas as pd

        mixed = () if (self.levels, other.levels) != (None, None) else None
        return Tally(
            pd.concat([self.cells, other.cells], ignore_index=True),
            np.concatenate([self.weight, other.weight]),
            self.left_out + other.left_out,
            self.levels if self.levels == other.levels else mixed,
        ).shortened(2 * MOST_DISTINCT)

    def shortened(self, beyond: int = 0) -> Tally:
        """Each cell once, and so many of them at most, if there are more than ``beyond``."""
        import pandas as pd

        if len(self.cells) <= beyond:
            return self
        code, cells = pd.factorize(self.cells, use_na_sentinel=False)
        weight = np.bincount(code, weights=self.weight, minlength=len(cells)).astype(float)
        distinct, left_out = pd.Series(cells), self.left_out
        if len(distinct) > MOST_DISTINCT:
            hashes = pd.util.hash_pandas_object(distinct, index=False).to_numpy()
            kept = hashes <= np.partition(hashes, MOST_DISTINCT - 1)[MOST_DISTINCT - 1]
            if distinct.dtype.kind in "fM":
                kept[[distinct.argmin(), distinct.argmax()]] = True
            kept |= distinct.isna().to_numpy()
            left_out += weight[~kept].sum()
            distinct, weight = distinct[kept].reset_index(drop=True), weight[kept]
        return Tally(distinct, weight, left_out, self.levels)

    def learned(self, name: str, typed: pd.Series[Any], day_first: bool) -> TableColumn:
        """What the column becomes; ``typed`` are its cells, which stand for those left out too."""
        given = self.cells.notna().to_numpy()
        kept = float(self.weight[given].sum())
        share = 1.0 + self.left_out / kept if kept else 1.0
        weights = np.where(given, self.weight * share, self.weight)
        return _learned(name, typed[weights > 0], weights[weights > 0], day_first)

    def column(self) -> pd.Series[Any]:
        """The cells as a column of a table in memory."""
        import pandas as pd

        if self.levels is None:
            return self.cells
        ordered = bool(self.levels)
        kinds = pd.CategoricalDtype(list(self.levels) if ordered else None, ordered=ordered)
        return self.cells.astype(kinds)


def _learned(name: str, cells: pd.Series[Any], weights: Array, day_first: bool) -> TableColumn:
    """What one column of the table becomes."""
    import pandas as pd

    gone = cells.isna().to_numpy()
    if gone.all():
        return TableColumn(name, "empty", (), (), ())
    missing = bool(gone.any())
    tail = (": missing",) if missing else ()
    share = (float(np.average(gone, weights=weights)),) if missing else ()
    given, p = cells[~gone], weights[~gone]
    if isinstance(cells.dtype, pd.CategoricalDtype):
        if not cells.cat.ordered:
            return _of_category(name, cells, weights)
        levels = tuple(str(level) for level in cells.cat.categories)
        middle = float(weighted_quantiles(_floats(given.cat.codes), p, [0.5])[0])
        return TableColumn(name, "ordered", levels, ("", *tail), (middle, *share), missing)
    if cells.dtype.kind == "M":
        times, days = seconds(given), [": days"]
        span, first = (times.max() - times.min()) / DAY, float(times.min())
        for circle, turn in turns(given).items():  # those that the dates go round
            if span >= (2 * CIRCLES[circle] if circle != "day" else 0) and len(np.unique(turn)) > 1:
                days += [f": {circle} (sin)", f": {circle} (cos)"]
        plain = TableColumn(name, "date", (), (*days,), (0.0,) * len(days), False, first, day_first)
        middles = [
            float(weighted_quantiles(part, p, [0.5])[0]) for part in plain.encode(given)[0].T
        ]
        return replace(plain, parts=(*days, *tail), fill=(*middles, *share), missing=missing)
    if cells.dtype == object:
        fill = np.average(_circle(_floats(hours(given)) / 24.0), axis=0, weights=p)
        parts = (": day (sin)", ": day (cos)", *tail)
        return TableColumn(name, "clock", (), parts, (*fill.tolist(), *share), missing)
    middle = float(weighted_quantiles(_floats(given), p, [0.5])[0])
    return TableColumn(name, "number", (), ("", *tail), (middle, *share), missing)


def _of_category(name: str, cells: pd.Series[Any], weights: Array) -> TableColumn:
    codes = cells.cat.codes.to_numpy()
    counts = np.bincount(codes[codes >= 0], weights=weights[codes >= 0])
    seen = int((counts > 0).sum())
    if seen > MOST_LEVELS and (seen > counts.sum() / 2 or seen >= MOST_DISTINCT):
        return TableColumn(name, "identifier", (), (), ())
    ranked = np.sort(counts)[::-1]
    least = max(RARE, ranked[MOST_LEVELS] + 1 if len(ranked) > MOST_LEVELS else 0)
    own = np.flatnonzero(counts >= least)
    rest = (counts > 0) & (counts < least)
    if rest.sum() == 1 and len(own) < MOST_LEVELS:
        own, rest = np.flatnonzero(counts > 0), np.zeros_like(rest)
    states = [str(cells.cat.categories[int(k)]) for k in own]
    totals = counts[own].tolist()
    for state, total in ((OTHER, counts[rest].sum()), (MISSING, weights[codes < 0].sum())):
        if total > 0:
            states.append(state)
            totals.append(float(total))
    if len(states) < 2:
        return TableColumn(name, "constant", tuple(states), (), ())
    from_ = 1 if len(states) == 2 else 0
    shares = np.array(totals) / sum(totals)
    parts = tuple(f"={state}" for state in states[from_:])
    return TableColumn(name, "category", tuple(states), parts, tuple(shares[from_:].tolist()))


def turns(times: pd.Series[Any]) -> dict[str, Array]:
    """How far each date is round the year, the week and the day, from 0 to 1."""
    at = times.dt
    day = ((at.hour * 60 + at.minute) * 60 + at.second).to_numpy(dtype=float) / DAY
    year = at.day_of_year.to_numpy(dtype=float)
    week = at.day_of_week.to_numpy(dtype=float)
    return {"year": (year - 1) / CIRCLES["year"], "week": week / 7.0, "day": day}


def seconds(times: pd.Series[Any]) -> Array:
    """Seconds since 1970; NaN where there is no date."""
    raw = times.to_numpy(dtype="datetime64[ns]").astype(np.int64) / 1e9
    return np.where(times.isna().to_numpy(), np.nan, raw)


def _floats(cells: pd.Series[Any]) -> Array:
    return np.asarray(cells, dtype=np.float64)


def _circle(turn: Array) -> Array:
    angle = 2 * np.pi * turn
    return np.column_stack([np.sin(angle), np.cos(angle)])


def plain_encoding(names: Sequence[str], fill: Sequence[float]) -> Encoding:
    """Of columns that are numbers already."""
    pairs = zip(names, fill, strict=True)
    return Encoding(tuple(TableColumn(name, fill=(float(value),)) for name, value in pairs))
