"""A table in codes, with the fair sample that fixed them: where a search on many rows begins."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from nablasso.errors import InvalidDataError
from nablasso.streaming.blocks import Coded, CodedArrays, CodedPart
from nablasso.streaming.codes import Codes, Column, bins_for, draft
from nablasso.streaming.passes import Sums, counted
from nablasso.streaming.sample import SAMPLE, Sample, fair_sample
from nablasso.streaming.sources import Source

LEAST_ROWS = 5
SORTED = 0.01  # share of turns below which a column (or y) is sorted


@dataclass(frozen=True)
class CodedTable:
    """Rows in codes; ``codes`` are those of the sample, ``counts`` say how y and codes go up."""

    sample: Sample
    codes: Codes
    columns: tuple[Column, ...]
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
        coded = CodedArrays(CodedPart(codes, sample.y, weight))
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


def coded_table(source: Source, most: int, categories: Collection[int] = ()) -> CodedTable:
    """A table in codes, with at most so many functions of a column.

    Two passes over the rows and one over the codes, once for each source.
    """
    key = tuple(sorted(categories))
    if key not in source.tables:
        source.tables[key] = _coded(source, most, key)
    made: CodedTable = source.tables[key]
    return made


def _coded(source: Source, most: int, categories: Collection[int]) -> CodedTable:
    sample = fair_sample(source, SAMPLE)
    if len(sample.y) < LEAST_ROWS:
        raise InvalidDataError(
            f"At least {LEAST_ROWS} distinct rows of positive weight are needed; got "
            f"{len(sample.y)}."
        )
    bins = bins_for(source.n_columns)
    drafts = [
        draft(sample.X[:, j], sample.weight, bins, j in categories) for j in range(source.n_columns)
    ]
    coded = source.coded(drafts)
    columns, counts = counted(coded, drafts, most)
    codes = np.stack([c.encode(sample.X[:, j]) for j, c in enumerate(columns)])
    return CodedTable(sample, codes, columns, coded, counts)
