"""Words, categories, dates and missing cells in blocks: one pass learns how they become numbers.

All that :class:`~nablasso.data.encoding.Encoding` learns of a column it learns from the different
cells and their weights (a :class:`Tally`), which add up over blocks: the numbers are those of the
same table in memory. Of more than ``MOST_DISTINCT`` different cells those of smallest hash are
kept, a fair sample whatever the order of the rows, besides the smallest and the largest number or
date: ranges stay exact, medians are those of the sample, and so many words are identifiers.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nablasso.data.cells import LIBRARY, Face, as_pandas, labels, read_column, read_columns
from nablasso.data.encoding import MOST_DISTINCT, Encoding, learned
from nablasso.errors import InvalidDataError, Problem, TableProblems
from nablasso.streaming.blocks import Part, Raw, weights_of
from nablasso.streaming.sources import Source
from nablasso.types import Array

if TYPE_CHECKING:
    import pandas as pd


class Tally(NamedTuple):
    """Different cells of a column and their weights, perhaps some of them more than once.

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
        weight = np.bincount(code, weights=self.weight, minlength=len(cells))
        distinct, left_out = pd.Series(cells), self.left_out
        if len(distinct) > MOST_DISTINCT:
            hashes = pd.util.hash_pandas_object(distinct, index=False).to_numpy()
            kept = hashes <= np.partition(hashes, MOST_DISTINCT - 1)[MOST_DISTINCT - 1]
            if distinct.dtype != object:
                kept[[distinct.argmin(), distinct.argmax()]] = True
            kept |= distinct.isna().to_numpy()
            left_out += weight[~kept].sum()
            distinct, weight = distinct[kept].reset_index(drop=True), weight[kept]
        return Tally(distinct, weight, left_out, self.levels)

    def weights(self) -> Array:
        """Of the cells, those that are given standing for the ones that were left out."""
        given = self.cells.notna().to_numpy()
        kept = float(self.weight[given].sum())
        share = 1.0 + self.left_out / kept if kept else 1.0
        return np.where(given, self.weight * share, self.weight)

    def column(self) -> pd.Series[Any]:
        """The cells as a column of a table in memory."""
        import pandas as pd

        if self.levels is None:
            return self.cells
        ordered = bool(self.levels)
        kinds = pd.CategoricalDtype(self.levels if ordered else None, ordered=ordered)
        return self.cells.astype(kinds)


def encoded(source: Source, categories: Iterable[str] = (), face: Face = LIBRARY) -> Source:
    """The table with the numbers that its cells become; :attr:`Reading.encoding` says how.

    Raises
    ------
    TableProblems
        All that cannot be read.
    """
    work = partial(_tallied, names=source.names)
    items = [(part,) for part in source.parts]
    found = source.runner.fold(work, _added, items, "Cells")
    if found is None:
        raise InvalidDataError(f"{source.origin} has no rows. Check what it reads.")
    tallies = {n: t.shortened() for n, t in zip(source.names, found, strict=True)}
    cells = {name: tally.column() for name, tally in tallies.items()}
    typed, first, problems = read_columns(cells, categories, face)
    if problems:
        counted = (" cells, such as", " different cells, such as")
        raise TableProblems([one._replace(what=one.what.replace(*counted)) for one in problems])
    encoding = Encoding(
        tuple(learned(n, typed[n], t.weights(), first.get(n, False)) for n, t in tallies.items())
    )
    if not encoding.names:
        what = f"none of the {len(typed)} columns varies"
        raise TableProblems([Problem((), what, "Add columns that could explain the target")])
    made = copy(source)
    made.names = tuple(encoding.names)
    made.reading = replace(source.reading, encoding=encoding)
    made.sample, made.tables = None, {k: v for k, v in source.tables.items() if k == "labels"}
    return made


def _tallied(part: Part, names: tuple[str, ...]) -> list[Tally] | None:
    found = None
    for raw in part.blocks():
        if len(raw.y):
            weight, table = weights_of(raw), as_pandas(raw.X, names)
            tallies = [_tally(table[name], weight, raw) for name in names]
            found = tallies if found is None else _added(found, tallies)
    return None if found is None else [tally.shortened() for tally in found]


def _added(a: list[Tally], b: list[Tally]) -> list[Tally]:
    return [one.plus(other) for one, other in zip(a, b, strict=True)]


def _tally(cells: pd.Series[Any], weight: Array, raw: Raw) -> Tally:
    """Numbers as floats, dates by the clock on the wall, everything else as it is."""
    import pandas as pd
    from pandas.api import types

    cells, levels = cells.reset_index(drop=True), None
    if isinstance(cells.dtype, pd.CategoricalDtype):
        levels = tuple(labels(pd.Series(cells.cat.categories))) if cells.cat.ordered else ()
        cells = labels(cells)
    elif types.is_object_dtype(cells.dtype) or types.is_string_dtype(cells.dtype):
        cells = cells.astype(object)
    else:
        cells = read_column(cells)[0]
    try:
        return Tally(cells, weight, levels=levels).shortened()
    except TypeError as error:
        raise InvalidDataError(
            f"{raw.origin}: the cells of column {cells.name!r} are neither numbers, words nor "
            "dates. Make a column of each part, or leave it out."
        ) from error
