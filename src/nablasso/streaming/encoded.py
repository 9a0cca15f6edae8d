"""Words, categories, dates and missing cells in blocks: one pass learns how they become numbers.

All that is learned of a column is learned from its different cells and their weights
(:class:`~nablasso.data.encoding.Tally`), which add up over blocks: the numbers are those of the
same table in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from nablasso.data.cells import LIBRARY, Face, as_pandas, labels, read_column, read_columns
from nablasso.data.encoding import Encoding, Tally
from nablasso.errors import InvalidDataError, Problem, TableProblems
from nablasso.streaming.blocks import Part, Raw, weights_of
from nablasso.streaming.sources import Source
from nablasso.types import Array

if TYPE_CHECKING:
    import pandas as pd


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
        tuple(t.learned(n, typed[n], first.get(n, False)) for n, t in tallies.items())
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
