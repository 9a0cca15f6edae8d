r"""Rows in blocks, from anywhere, and a fair sample of them.

A source knows how many columns it has and does one thing: ``fold(task, merge)`` applies a task to
every block of rows and merges the results in the order of the rows. Where a task returns sums and
``merge`` adds them up, the result is the same to rounding however the rows are cut or spread.

**A fair sample** (:func:`fair_sample`) holds the rows of smallest hash, equal rows merged into one
that carries their weights. A row's hash is that of its values alone, so the sample depends neither
on the order of the rows nor on the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import InvalidDataError
from nablasso.streaming.codes import Codes, Column
from nablasso.types import Array

Hash = NDArray[np.uint64]
Piece = TypeVar("Piece")
Result = TypeVar("Result")
Merge = Callable[[Result, Result], Result]

BLOCK_ROWS = 8192  # their functions of columns stay near the cache; any number gives the same sums
CONTEXT = 2  # rows of its neighbours that a coded block sees: the lags of a serial filter


class Rows(NamedTuple):
    """Some rows of a table, and the number of the first of them."""

    X: Array  # (m, d); NaN is missing
    y: Array  # (m,)
    weight: Array  # (m,): how many rows each one stands for
    start: int


class Block(NamedTuple):
    """Coded rows with their neighbours: ``before`` rows in front and ``after`` at the end."""

    codes: Codes  # (d, m)
    y: Array
    weight: Array
    start: int  # number of the first row that is the block's own
    before: int = 0
    after: int = 0


class Coded(Protocol):
    """A coded table in blocks."""

    def fold(self, task: Callable[[Block], Result], merge: Merge[Result]) -> Result:
        """Results of a task on every block, merged in the order of the rows."""


class Source(Protocol):
    """A table in blocks."""

    n_columns: int

    def fold(self, task: Callable[[Rows], Result], merge: Merge[Result]) -> Result:
        """Results of a task on every block, merged in the order of the rows."""

    def coded(self, columns: Sequence[Column]) -> Coded:
        """The table in codes."""


def folded(
    task: Callable[[Piece], Result], merge: Merge[Result], pieces: Sequence[Piece], threads: int
) -> Result:
    """Fold over blocks at hand; threads change who computes, not the order of merging."""
    if threads == 1:
        return reduce(merge, map(task, pieces))
    with ThreadPoolExecutor(threads) as pool:
        return reduce(merge, pool.map(task, pieces))


class Arrays:
    """Arrays in memory as a source.

    Parameters
    ----------
    X : array of shape (n, d)
        Missing values are NaN.
    y : array of shape (n,)
    weight : array of shape (n,), optional
        How many rows each one stands for; one by default.
    rows : int
        Rows of a block.
    threads : int
        Blocks worked on at a time.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        weight: Array | None = None,
        *,
        rows: int = BLOCK_ROWS,
        threads: int = 1,
    ) -> None:
        self.X = np.asarray(X)
        self.y = np.asarray(y, dtype=float)
        self.weight = np.ones(len(self.y)) if weight is None else np.asarray(weight, dtype=float)
        self.rows, self.threads = rows, threads
        self.n_columns = self.X.shape[1]
        if len(self.X) != len(self.y) or len(self.weight) != len(self.y):
            raise InvalidDataError(
                f"X, y and weight must have as many rows; got {len(self.X)}, {len(self.y)} and "
                f"{len(self.weight)}."
            )

    def blocks(self) -> list[Rows]:
        """All blocks, as views."""
        return [
            Rows(self.X[at], self.y[at], self.weight[at], at.start)
            for at in (slice(s, s + self.rows) for s in range(0, len(self.y), self.rows))
        ]

    def fold(self, task: Callable[[Rows], Result], merge: Merge[Result]) -> Result:
        """Results of a task on every block, merged in the order of the rows."""
        return folded(task, merge, self.blocks(), self.threads)

    def coded(self, columns: Sequence[Column]) -> CodedArrays:
        """The table in codes."""
        codes = np.empty((self.n_columns, len(self.y)), dtype=np.uint8)

        def encode(rows: Rows) -> None:
            for j, column in enumerate(columns):
                codes[j, rows.start : rows.start + len(rows.y)] = column.encode(rows.X[:, j])

        self.fold(encode, lambda _, __: None)
        return CodedArrays(codes, self.y, self.weight, self.rows, self.threads)


@dataclass(frozen=True)
class CodedArrays:
    """Codes in memory."""

    codes: Codes  # (d, n)
    y: Array
    weight: Array
    rows: int
    threads: int

    def fold(self, task: Callable[[Block], Result], merge: Merge[Result]) -> Result:
        """Results of a task on every block, merged in the order of the rows."""
        n = len(self.y)
        blocks = []
        for start in range(0, n, self.rows):
            stop = min(start + self.rows, n)
            low, high = max(start - CONTEXT, 0), min(stop + CONTEXT, n)
            y, weight = self.y[low:high], self.weight[low:high]
            before, after = start - low, high - stop
            blocks.append(Block(self.codes[:, low:high], y, weight, start, before, after))
        return folded(task, merge, blocks, self.threads)


class Sample(NamedTuple):
    """Distinct rows of smallest hash, sorted by it, with the weights of all their copies."""

    hashes: Hash
    X: Array
    y: Array
    weight: Array

    def first(self, k: int) -> Sample:
        """The first ``k`` rows: a fair sample of the sample."""
        return Sample(self.hashes[:k], self.X[:k], self.y[:k], self.weight[:k])


def fair_sample(source: Source, size: int) -> Sample:
    """At most ``size`` distinct rows that depend on the table's content alone."""
    pieces: list[Sample] = source.fold(partial(_hashed, size=size), partial(_piled, size=size))
    return _smallest(pieces, size)


def _hashed(rows: Rows, size: int) -> list[Sample]:
    X, y = np.array(rows.X, dtype=float) + 0.0, np.asarray(rows.y, dtype=float) + 0.0
    X[np.isnan(X)] = np.nan  # one pattern of bits
    keys = _mix(np.arange(X.shape[1], dtype=np.uint64))  # the same values elsewhere: another row
    values = _mix(X.view(np.uint64) ^ keys).sum(axis=1, dtype=np.uint64)
    hashes = _mix(values ^ _mix(y.view(np.uint64)))
    return [_smallest([Sample(hashes, X, y, rows.weight)], size)]


def _piled(a: list[Sample], b: list[Sample], size: int) -> list[Sample]:
    """Both piles; once they hold twice the sample, the sample of them."""
    if len(a[0].hashes) == size:  # a full sample: what lies beyond it is out
        bound = a[0].hashes[-1]
        b = [p.first(int(np.searchsorted(p.hashes, bound, side="right"))) for p in b]
    pile = a + b
    return [_smallest(pile, size)] if sum(len(p.hashes) for p in pile) > 2 * size else pile


def _smallest(pieces: list[Sample], size: int) -> Sample:
    hashes, X, y, weight = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    used = np.flatnonzero(weight > 0)
    found, first, inverse = np.unique(hashes[used], return_index=True, return_inverse=True)
    total = np.bincount(inverse, weights=weight[used], minlength=len(found)).astype(float)
    first = used[first[:size]]
    return Sample(found[:size], X[first], y[first], total[:size])


def _mix(bits: Hash) -> Hash:
    """The finaliser of splitmix64."""
    z = bits + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
