"""Blocks of rows: as they are read, checked, and in codes of one byte.

A *part* is some neighbouring rows of a table that can be read anywhere: a slice of arrays, a run of
row groups of a Parquet file, a piece of a CSV file, a partition of a Dask collection. It yields
blocks of rows, which are checked before anything is computed from them; errors name where they came
from.

The coded rows of a part stay where they were made: in memory, in files, or on a worker. A block of
them comes with up to two rows before and after it, those of other parts included, so that lags know
no blocks; for that the ends of all parts are known everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nablasso.data.cells import as_pandas
from nablasso.data.encoding import Encoding
from nablasso.errors import InvalidDataError, NotNumbersError, TableProblems
from nablasso.persistence import atomic_write
from nablasso.streaming.codes import Codes
from nablasso.types import Array

Task = Callable[..., Any]
Merge = Callable[[Any, Any], Any]
Items = Sequence[tuple[Any, ...]]

MOST_LABELS = 10_000
SHOWN = 10  # names listed in a message before it says "..."
BLOCK_ROWS = 8192  # their functions of columns stay near the cache; any number gives the same sums
CONTEXT = 2  # rows of its neighbours that a coded block sees: the lags of a serial filter


class Raw(NamedTuple):
    """Some rows as they were read.

    ``X`` is an array of numbers, or a data frame where not all columns hold numbers; None where
    only the targets were asked for.
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[Any] | None
    origin: str  # a file, or what stands for it
    first_row: int  # number of the first row there


class Rows(NamedTuple):
    """Some rows of a table: checked, with numbers as targets."""

    X: Array  # (m, d), perhaps in single precision; NaN is missing
    y: Array  # (m,)
    weight: Array  # (m,): how many rows each one stands for
    part: int  # number of the part
    start: int  # number of the first row in the part


class Part(Protocol):
    """Neighbouring rows of a table."""

    def blocks(self) -> Iterator[Raw]:
        """The rows, block by block."""

    def targets(self) -> Part:
        """The same rows without X."""


@dataclass(frozen=True)
class Reading:
    """How rows that were read become rows to compute with.

    ``classes`` turn labels into their numbers and ``factors`` multiply the weights of each class;
    ``missing`` says whether NaN may stand in X, ``encoding`` how cells become numbers.
    """

    names: tuple[str, ...]
    missing: bool = False
    encoding: Encoding | None = None
    classes: NDArray[Any] | None = None
    factors: Array | None = None

    def rows(self, raw: Raw, part: int, start: int) -> Rows:
        """Checked rows, or an error that names file, row and column."""
        y, X = self._targets(raw), self._inputs(raw)
        weight = weights_of(raw)
        if not np.isfinite(y).all():
            raise _bad(raw, y, "the target")
        if not (np.isfinite(X.sum()) or np.isfinite(X).all()):
            for j, name in enumerate(self.names):
                x = X[:, j]
                if np.isinf(x).any() or (not self.missing and np.isnan(x).any()):
                    raise _bad(
                        raw, np.where(np.isnan(x) & self.missing, 0.0, x), f"column {name!r}"
                    )
        if self.factors is not None:
            weight = weight * self.factors[y.astype(np.intp)]
        return Rows(X, y, weight, part, start)

    def _inputs(self, raw: Raw) -> NDArray[Any]:
        if self.encoding is not None:
            try:
                return self.encoding.encode(as_pandas(raw.X, self.names))
            except TableProblems as error:
                raise InvalidDataError(f"{raw.origin}: {error}") from error
        if isinstance(raw.X, np.ndarray):
            return raw.X
        name = next(n for n, kind in raw.X.dtypes.items() if kind.kind not in "biuf")
        raise NotNumbersError(
            f"{raw.origin} must hold numbers; column {name!r} has type {raw.X[name].dtype}. Leave "
            "it out (columns=..., or --ignore), encode it as numbers, or fit an automatic "
            "estimator, which takes it as it is."
        )

    def _targets(self, raw: Raw) -> Array:
        if self.classes is None:
            return as_targets(raw)
        y = raw.y.astype(self.classes.dtype) if raw.y.dtype.kind == "O" else raw.y
        place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return np.where(self.classes[place] == y, place, 0).astype(float)


def rows_of(number: int, part: Part, reading: Reading) -> Iterator[Rows]:
    """Checked rows of a part, block by block."""
    start = 0
    for raw in part.blocks():
        if len(raw.y):
            yield reading.rows(raw, number, start)
        start += len(raw.y)


def weights_of(raw: Raw) -> Array:
    """Weights of rows, one by default; refuses negative and infinite ones."""
    if raw.weight is None:
        return np.ones(len(raw.y))
    weight = np.asarray(raw.weight, dtype=float)
    if not (np.isfinite(weight) & (weight >= 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise InvalidDataError(
            f"{raw.origin}, row {raw.first_row + row} (the first is 0): the weight is "
            f"{weight[row]:g}; expected a finite number that is not negative. Give rows to be left "
            "out weight 0."
        )
    return weight


def as_targets(raw: Raw) -> Array:
    """Targets as numbers."""
    try:
        return np.asarray(raw.y, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"The target in {raw.origin} must be numbers: {error}. Use a classifier for labels, "
            "or repair the file."
        ) from error


# --- labels ---


def labels_of(part: Part) -> dict[Any, float]:
    """Weights of the labels of a part."""
    found: dict[Any, float] = {}
    for raw in part.blocks():
        weight = weights_of(raw)
        missing = [y is None or y != y for y in raw.y] if raw.y.dtype.kind in "Of" else [False]
        if any(missing):
            raise _bad(raw, np.where(missing, np.nan, 0.0), "the target")
        labels, inverse = np.unique(raw.y, return_inverse=True)
        totals = np.bincount(inverse, weights=weight, minlength=len(labels))
        for label, total in zip(labels.tolist(), totals.tolist(), strict=True):
            found[label] = found.get(label, 0.0) + total
    return _few(found)


def added_labels(a: dict[Any, float], b: dict[Any, float]) -> dict[Any, float]:
    """Weights of the labels of both."""
    return _few({label: a.get(label, 0.0) + b.get(label, 0.0) for label in {**a, **b}})


def _few(labels: dict[Any, float]) -> dict[Any, float]:
    if len(labels) > MOST_LABELS:
        raise InvalidDataError(
            f"A classifier expects few labels, each of many rows; the target has more than "
            f"{MOST_LABELS}. Use a regressor for numbers."
        )
    return labels


def sorted_labels(totals: dict[Any, float]) -> dict[str, Any]:
    """Labels of positive weight and their weights, as arrays."""
    kinds = {isinstance(label, str) for label in totals}
    if len(kinds) > 1:
        raise InvalidDataError(
            f"Labels must be all text or all numbers; got {listed(sorted(map(str, totals)))}."
        )
    used = sorted(label for label, total in totals.items() if total > 0)
    return {"labels": np.array(used), "weights": np.array([totals[label] for label in used])}


# --- messages ---


def listed(names: Sequence[str]) -> str:
    """The first names, quoted."""
    more = " ..." if len(names) > SHOWN else ""
    return ", ".join(repr(name) for name in names[:SHOWN]) + more


def _bad(raw: Raw, values: Array, what: str) -> InvalidDataError:
    row = int(np.flatnonzero(~np.isfinite(values))[0])
    missing = np.isnan(values[row])
    kind = NotNumbersError if missing and what != "the target" else InvalidDataError
    return kind(
        f"{raw.origin} contains {'NaN' if missing else 'infinity'}: row {raw.first_row + row} (the "
        f"first is 0), {what}. Drop such rows, or impute them first."
    )


# --- codes ---


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
            with atomic_write(place) as beside, beside.open("wb") as file:
                np.save(file, array)

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

    def fold(self, task: Task, merge: Merge, label: str = "Sums") -> dict[str, Any]:
        """Results of a task on every block, merged in the order of the rows."""


@dataclass(frozen=True)
class CodedArrays:
    """Codes at hand."""

    part: CodedPart
    rows: int = BLOCK_ROWS

    def fold(self, task: Task, merge: Merge, label: str = "Sums") -> dict[str, Any]:  # noqa: ARG002
        """Results of a task on every block, merged in the order of the rows."""
        none = self.part.rows(0, 0)
        found: dict[str, Any] = on_codes(
            self.part, Neighbours(0, none, none), task, merge, self.rows
        )
        return found


def on_codes(
    handle: CodedPart | CodedFile, around: Neighbours, task: Task, merge: Merge, rows: int
) -> Any:
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
