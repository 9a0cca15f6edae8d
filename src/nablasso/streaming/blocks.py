"""Rows in codes of one byte, in blocks that see their neighbours.

The coded rows of a part stay where they were made: in memory, in files, or on a worker. A block is
some of them with up to two rows before and after it, those of other parts included, so that lags
know no blocks; for that the ends of all parts are known everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nablasso.streaming.codes import Codes
from nablasso.types import Array

Result = TypeVar("Result")
Merge = Callable[[Result, Result], Result]

BLOCK_ROWS = 8192  # their functions of columns stay near the cache; any number gives the same sums
CONTEXT = 2  # rows of its neighbours that a coded block sees: the lags of a serial filter


class Block(NamedTuple):
    """Coded rows with their neighbours: ``before`` rows in front and ``after`` at the end."""

    codes: Codes  # (d, m)
    y: Array
    weight: Array
    start: int  # number of the first row that is the block's own
    before: int = 0
    after: int = 0


class CodedPart(NamedTuple):
    """The rows of a part that count, in codes."""

    codes: Codes  # (d, m)
    y: Array
    weight: Array

    def rows(self, start: int, stop: int | None) -> CodedPart:
        """Some of the rows."""
        return CodedPart(self.codes[:, start:stop], self.y[start:stop], self.weight[start:stop])


@dataclass(frozen=True)
class CodedFile:
    """A coded part in two files; those of its codes are mapped, not read."""

    path: Path

    def is_there(self) -> bool:
        """Whether it was written, whole."""
        return self._files()[1].exists()

    def write(self, part: CodedPart) -> None:
        """Write both files; the second one says that the first is whole."""
        arrays: tuple[NDArray[Any], ...] = (part.codes, np.stack([part.y, part.weight]))
        for place, array in zip(self._files(), arrays, strict=True):
            beside = place.with_suffix(".new")
            with beside.open("wb") as file:
                np.save(file, array)
            beside.replace(place)

    def read(self) -> CodedPart:
        """The part, its codes mapped from disk."""
        codes, numbers = (np.load(place, mmap_mode="r") for place in self._files())
        return CodedPart(codes, np.asarray(numbers[0]), np.asarray(numbers[1]))

    def _files(self) -> tuple[Path, Path]:
        return self.path.with_suffix(".codes.npy"), self.path.with_suffix(".targets.npy")


class Edge(NamedTuple):
    """How long a part is, and its first and last rows."""

    length: int
    head: CodedPart
    tail: CodedPart


class Neighbours(NamedTuple):
    """Where a coded part begins in the table, and the rows before and after it."""

    start: int
    before: CodedPart
    after: CodedPart


class Coded(Protocol):
    """A coded table in blocks."""

    def fold(
        self,
        task: Callable[[Block], dict[str, Any]],
        merge: Merge[dict[str, Any]],
        label: str = "Sums",
    ) -> dict[str, Any]:
        """Results of a task on every block, merged in the order of the rows."""


@dataclass(frozen=True)
class CodedArrays:
    """Codes at hand."""

    part: CodedPart
    rows: int = BLOCK_ROWS

    def fold(
        self,
        task: Callable[[Block], dict[str, Any]],
        merge: Merge[dict[str, Any]],
        label: str = "Sums",  # noqa: ARG002
    ) -> dict[str, Any]:
        """Results of a task on every block, merged in the order of the rows."""
        none = self.part.rows(0, 0)
        return on_codes(self.part, Neighbours(0, none, none), task, merge, self.rows)


def on_codes(
    handle: CodedPart | CodedFile,
    around: Neighbours,
    task: Callable[[Block], Result],
    merge: Merge[Result],
    rows: int,
) -> Result:
    """A task on every block of a part, merged in order; runs where the part is."""
    part = handle.read() if isinstance(handle, CodedFile) else handle
    return reduce(merge, map(task, _blocks(part, around, rows)))


def _blocks(part: CodedPart, around: Neighbours, rows: int) -> Iterator[Block]:
    n = len(part.y)
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        low, high = max(start - CONTEXT, 0), min(stop + CONTEXT, n)
        pieces = [part.rows(low, high)]
        before, after = start - low, high - stop
        if before < CONTEXT:
            more = around.before.rows(max(len(around.before.y) - (CONTEXT - before), 0), None)
            pieces.insert(0, more)
            before += len(more.y)
        if after < CONTEXT:
            more = around.after.rows(0, CONTEXT - after)
            pieces.append(more)
            after += len(more.y)
        own = pieces[0] if len(pieces) == 1 else joined(pieces)
        yield Block(*own, around.start + start, before, after)


def edge_of(part: CodedPart) -> Edge:
    """The length and the ends of a part, as arrays of their own."""
    m = len(part.y)
    head, tail = part.rows(0, CONTEXT), part.rows(max(m - CONTEXT, 0), m)
    return Edge(m, joined([head]), joined([tail]))


def neighbours_of(edges: Sequence[Edge]) -> list[Neighbours]:
    """The rows on either side of every part, from as many parts as they lie in."""
    if not edges:
        return []
    starts = np.cumsum([0, *(edge.length for edge in edges)]).tolist()
    before, after = [edges[0].head.rows(0, 0)], [edges[0].head.rows(0, 0)]
    for edge in edges[:-1]:
        before.append(joined([before[-1], edge.tail]).rows(-CONTEXT, None))
    for edge in edges[:0:-1]:
        after.append(joined([edge.head, after[-1]]).rows(0, CONTEXT))
    return [Neighbours(*x) for x in zip(starts, before, after[::-1], strict=False)]


def joined(parts: Sequence[CodedPart]) -> CodedPart:
    """Parts as one, in arrays of its own."""
    codes, y, weight = zip(*parts, strict=True)
    return CodedPart(np.concatenate(codes, axis=1), np.concatenate(y), np.concatenate(weight))
