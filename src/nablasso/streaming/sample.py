r"""What one pass over a table in blocks learns: how cells become numbers, a fair sample, its codes.

**Cells.** All that is learned of words, categories, dates and missing cells is learned from the
different cells of a column and their weights (:class:`~nablasso.data.encoding.Tally`), which add up
over blocks: the numbers are those of the same table in memory.

**The sample** depends on the rows alone. Each row has a hash of its values; the rows of smallest
hash are the sample, equal rows merged into one that carries their weights. So it depends neither on
the order of the rows nor on how they are cut into blocks or spread over files and machines: of two
samples the rows of smallest hash in both together are the sample of all their rows.

**The hash** of a row is first one of its values in any order, so that the order of the columns does
not matter either,

.. math:: h = \mathrm{mix}\Big(\sum_j \mathrm{mix}(b_j, b_y) \bmod 2^{64},\; b_y\Big)

with the bits ``b`` of the numbers. Where different rows often share it, as in tables of few values,
such a sample would hold whole families of rows; the places of the columns are then hashed too,
at the cost of a second pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.data.cells import as_pandas, labels, read_column, read_columns
from nablasso.data.encoding import Encoding, Tally
from nablasso.data.table import MIN_ROWS, Hash, _bits, _mix
from nablasso.errors import InvalidDataError, TableProblems
from nablasso.streaming.blocks import Block, Raw, Rows, weights_of
from nablasso.streaming.codes import CodedColumn, Codes, bins_for, draft
from nablasso.streaming.passes import counted
from nablasso.streaming.responses import Sums
from nablasso.streaming.sources import Coded, CodedSource, Source
from nablasso.types import Array, Index

if TYPE_CHECKING:
    import pandas as pd

SAMPLE = 1 << 15  # rows that fix the codes: their quantiles are exact to a twentieth of a bin
PREPARED_ROWS = 20_000  # rows of it that are put into canonical order, for kernels
HASHED = 1024  # rows at a time: their bits stay in the cache
FAMILIES = 0.01  # share of sampled rows whose hash belongs to another row too: too many
SORTED = 0.01  # share of turns below which a column (or y) is sorted
ROWS_OF_PART = 40  # bits of a row's number in its part, while the parts' lengths are not known


def encoded(source: Source, categories: Iterable[str] = ()) -> Source:
    """The table with the numbers that its cells become; raises all that cannot be read."""
    found = source.fold(partial(_tallied, names=source.names), _added, "Cells", raw=True)
    if found is None:
        raise InvalidDataError(f"{source.origin} has no rows. Check what it reads.")
    tallies = {n: t.shortened() for n, t in zip(source.names, found, strict=True)}
    cells = {name: tally.column() for name, tally in tallies.items()}
    typed, first, problems = read_columns(cells, categories)
    if problems:
        counted = (" cells, such as", " different cells, such as")
        raise TableProblems([one._replace(what=one.what.replace(*counted)) for one in problems])
    learned = (t.learned(n, typed[n], first.get(n, False)) for n, t in tallies.items())
    encoding = Encoding(tuple(learned)).checked()
    made = source.read_by(replace(source.reading, encoding=encoding))
    made.names = tuple(encoding.names)
    made.made = {what: known for what, known in source.made.items() if what == "labels"}
    return made


def _tallied(raw: Raw, names: tuple[str, ...]) -> list[Tally]:
    weight, table = weights_of(raw), as_pandas(raw.X, names)
    return [_tally(table[name], weight, raw) for name in names]


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


class Sample(NamedTuple):
    """Distinct rows of smallest hash, sorted by it, with the weights of all their copies."""

    hashes: Hash
    X: Array
    y: Array
    weight: Array
    place: Index  # number of the first copy in the table
    n_rows: int = 0  # of the table

    def first(self, k: int) -> Sample:
        """The first ``k`` rows: a fair sample of the sample."""
        return self._at(slice(k))

    def in_order(self) -> Sample:
        """The rows as they came in the table."""
        return self._at(np.argsort(self.place, kind="stable"))

    def _at(self, rows: Any) -> Sample:
        return Sample._make([*(part[rows] for part in self[:-1]), self.n_rows])


class _Pile(NamedTuple):
    """Samples of some blocks, and how many rows of all parts are known."""

    pieces: list[Sample]
    lengths: Index


def fair_sample(source: Source, size: int) -> Sample:
    """At most ``size`` distinct rows that depend on the table's content alone, sorted by hash.

    They are remembered by the source: a second call reads nothing. Values that are not finite are
    refused by file, row and column.
    """
    what = ("sample", size)
    found = source.once(what, lambda: source.remembered(what, partial(_drawn, source, size)))
    return Sample(**found)


def prepared_rows(source: Source) -> Sample:
    """The rows of a large table that kernels look at, in its order; terms use the same sample."""
    return fair_sample(source, SAMPLE).first(PREPARED_ROWS).in_order()


def _drawn(source: Source, size: int) -> dict[str, Any]:
    pile, sample = _pass(source, size, False)
    families = len(sample.y) - len(np.unique(sample.hashes))
    if len(sample.y) == size and families > FAMILIES * size:
        pile, sample = _pass(source, size, True)
    ends = np.cumsum([0, *pile.lengths])
    part, row = sample.place >> ROWS_OF_PART, sample.place & ((1 << ROWS_OF_PART) - 1)
    return sample._replace(place=ends[part] + row, n_rows=ends[-1])._asdict()


def _pass(source: Source, size: int, ordered: bool) -> tuple[_Pile, Sample]:
    task = partial(_hashed, size=size, ordered=ordered, n_parts=len(source.parts))
    pile = source.fold(task, partial(_piled, size=size), "Sampling")
    if pile is None:
        raise InvalidDataError(f"{source.origin} has no rows. Check what it reads.")
    return pile, _smallest(pile.pieces, size)


def _hashed(rows: Rows, size: int, ordered: bool, n_parts: int) -> _Pile:
    X, y = np.array(rows.X, dtype=float, order="C"), rows.y + 0.0
    X += 0.0  # -0.0 is 0.0
    place = (rows.part << ROWS_OF_PART) + rows.start + np.arange(len(y))
    piece = Sample(hashes_of(X, y, ordered), X, y, rows.weight, place)
    lengths = (rows.start + len(y)) * (np.arange(n_parts) == rows.part)
    return _Pile([_smallest([piece], size)], lengths)


def hashes_of(X: NDArray[Any], y: Array, ordered: bool) -> Hash:
    """Hash of each row; where ``ordered`` the places of the columns count."""
    places = np.arange(1, X.shape[1] + 1, dtype=np.uint64)
    keys = _mix(places, places) if ordered else np.zeros_like(places)
    hashes = np.empty(len(y), dtype=np.uint64)
    for start in range(0, len(y), HASHED):
        at = slice(start, start + HASHED)
        target = _bits(y[at])
        inputs = _mix(_bits(X[at]) ^ keys, target[:, None]).sum(axis=1, dtype=np.uint64)
        hashes[at] = _mix(inputs, target)
    return hashes


def _piled(a: _Pile, b: _Pile, size: int) -> _Pile:
    """Both piles; once they hold twice the sample, the sample of them."""
    pieces = b.pieces
    if len(a.pieces[0].hashes) == size:  # a full sample: what lies beyond it is out
        bound = a.pieces[0].hashes[-1]
        pieces = [p.first(int(np.searchsorted(p.hashes, bound, side="right"))) for p in pieces]
    pile = a.pieces + pieces
    full = sum(len(p.hashes) for p in pile) > 2 * size
    return _Pile([_smallest(pile, size)] if full else pile, np.maximum(a.lengths, b.lengths))


def _smallest(pieces: list[Sample], size: int) -> Sample:
    columns = zip(*(piece[:-1] for piece in pieces), strict=True)
    hashes, X, y, weight, place = map(np.concatenate, columns)
    used = np.flatnonzero(weight > 0)
    order = used[np.argsort(hashes[used], kind="stable")]
    new = np.diff(hashes[order], prepend=hashes[order[:1]] + np.uint64(1)) != 0
    tied = ~new
    tied[:-1] |= tied[1:].copy()
    if tied.any():  # copies of a row, or other rows of its family
        own = np.zeros(len(order), dtype=np.uint64)
        own[tied] = hashes_of(X[order[tied]], y[order[tied]], True)
        again = np.lexsort((place[order], own, hashes[order]))
        order, own = order[again], own[again]
        new = new | (np.diff(own, prepend=own[:1]) != 0)
    group = np.cumsum(new) - 1
    total = np.bincount(group, weights=weight[order]).astype(float)
    first = order[new][:size]
    return Sample(hashes[first], X[first], y[first], total[: len(first)], place[first])


# --- the table in codes ---


@dataclass(frozen=True)
class CodedTable:
    """Rows in codes; ``codes`` are those of the sample, ``counts`` say how y and codes go up."""

    sample: Sample
    codes: Codes
    columns: tuple[CodedColumn, ...]
    coded: Coded
    counts: Sums

    @property
    def n(self) -> float:
        """How many rows, by weight."""
        return float(self.counts["rows"])

    def on_sample(self, rows: int) -> CodedTable:
        """The first sampled rows as a table, in the same functions; their order means nothing."""
        sample, codes = self.sample.first(rows), self.codes[:, :rows]
        weight = sample.weight * (len(sample.y) / sample.weight.sum())
        coded = Block(codes, sample.y, weight)
        rows_there = np.array(len(sample.y))
        counts = {"rows": rows_there, "count": rows_there}
        return replace(self, sample=sample, codes=codes, coded=coded, counts=counts)

    def order(self, time: bool | None) -> str:
        """What the order of rows may be: "none", "time", or "sorted" by a column (perhaps time)."""
        if time is not None:
            return "time" if time else "none"
        turns = np.minimum(self.counts["up"], self.counts["down"])
        is_sorted = turns < SORTED * (self.counts["up"] + self.counts["down"])
        if is_sorted[-1]:
            return "none"
        return "sorted" if is_sorted.any() else "time"


def coded_table(source: Source, most: int) -> CodedTable:
    """A table in codes, with at most so many functions of a column.

    Two passes over the rows and one over the codes.
    """
    sample = fair_sample(source, SAMPLE)
    if len(sample.y) < MIN_ROWS:
        raise InvalidDataError(
            f"At least {MIN_ROWS} distinct rows of positive weight are needed; got {len(sample.y)}."
        )
    bins = bins_for(len(source.names))
    drafts = [draft(x, sample.weight, bins) for x in sample.X.T]
    coded = CodedSource(source, drafts)
    columns, counts = counted(coded, drafts, most)
    codes = np.stack([c.encode(sample.X[:, j]) for j, c in enumerate(columns)])
    return CodedTable(sample, codes, columns, coded, counts)
