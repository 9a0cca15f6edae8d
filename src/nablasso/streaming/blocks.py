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

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nablasso.data.cells import as_pandas, listed, numbers
from nablasso.data.encoding import Encoding
from nablasso.data.table import is_dask
from nablasso.errors import InvalidDataError, NotNumbersError, TableProblems, optional
from nablasso.streaming.codes import Codes
from nablasso.types import Array

Task = Callable[..., Any]
Merge = Callable[[Any, Any], Any]
Items = Sequence[tuple[Any, ...]]

MOST_LABELS = 10_000
PIECE_ROWS = 1 << 15  # of a partition that are worked on at a time
BLOCK_ROWS = 8192  # their functions of columns stay near the cache; any number gives the same sums
CONTEXT = 2  # rows of its neighbours that a coded block sees: the lags of a serial filter

quoted = partial(listed, quote=repr)


class Raw(NamedTuple):
    """Some rows as they were read.

    ``X`` is an array, or a data frame where not all columns hold numbers; None where only the
    targets were asked for.
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[Any] | None
    origin: str  # a file, or what stands for it
    first_row: int  # number of the first row there


class Rows(NamedTuple):
    """Some rows of a table: checked, with numbers as targets."""

    X: Array  # (m, d), perhaps in single precision
    y: Array  # (m,)
    weight: Array  # (m,): how many rows each one stands for
    part: int  # number of the part
    start: int  # number of the first row in the part


class Part(Protocol):
    """Neighbouring rows of a table."""

    def blocks(self, inputs: bool = True) -> Iterator[Raw]:
        """The rows, block by block; without X if no ``inputs`` are asked for."""


@dataclass(frozen=True)
class ArrayPart:
    """Rows of arrays, or of lazy pieces of a Dask collection that belong together."""

    origin: str
    X: Any
    y: Any
    weight: Any = None
    start: int = 0
    stop: int | None = None

    def blocks(self, inputs: bool = True) -> Iterator[Raw]:
        """Slices; what is mapped from disk is read, and what is lazy computed, when it is used."""
        pieces: list[Any] = [self.X if inputs else None, self.y, self.weight]
        if is_dask(self.y):  # no worker has computed them
            pieces = list(dask("dask").compute(*pieces, scheduler="synchronous"))
        stop = len(pieces[1]) if self.stop is None else self.stop
        for start in range(self.start, stop, PIECE_ROWS):
            at = slice(start, min(start + PIECE_ROWS, stop))
            cut: list[Any] = [p if p is None else getattr(p, "iloc", p)[at] for p in pieces]
            X, y, weight = cut
            if hasattr(X, "columns"):
                X = inputs_of(X, list(X), any(kind.kind not in "biuf" for kind in X.dtypes))
            y, weight = cells_of(y), None if weight is None else cells_of(weight)
            y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
            yield Raw(X, y, weight, self.origin, start)


def dask(module: str) -> Any:
    """A module of Dask, or an error that names the extra."""
    return optional(module, "Tables on a cluster need Dask", "distributed")


def cells_of(column: Any) -> NDArray[Any]:
    """A column of pandas or pyarrow as an array; what holds no text as numbers."""
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    values = np.asarray(column)
    if values.dtype.kind != "O" or any(isinstance(value, str) for value in values.ravel()):
        return values
    return numbers(column).to_numpy() if hasattr(column, "iloc") else values.astype(float)


def inputs_of(rows: Any, names: Sequence[str], words: bool) -> Any:
    """Columns of a data frame or a record batch: an array, or a frame where some hold words."""
    if not words:
        return np.array([cells_of(rows[name]) for name in names]).T
    frame = rows.to_pandas(ignore_metadata=True) if hasattr(rows, "num_rows") else rows
    return frame[list(names)].reset_index(drop=True)


@dataclass(frozen=True)
class Reading:
    """How rows that were read become rows to compute with.

    ``classes`` turn labels into their numbers and ``factors`` multiply the weights of each class;
    ``encoding`` says how cells become numbers.
    """

    names: tuple[str, ...]
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
            j = int(np.flatnonzero(~np.isfinite(X).all(axis=0))[0])
            raise _bad(raw, X[:, j], f"column {self.names[j]!r}")
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
            if raw.X.dtype.kind not in "fiubO":
                raise NotNumbersError(
                    f"{raw.origin} must hold numbers; X has type {raw.X.dtype}. Encode it as "
                    "numbers first, or fit a data frame."
                )
            remedy = "Encode text as numbers first."
            return raw.X if raw.X.dtype.kind == "f" else _floats(raw, raw.X, "X", remedy)
        name = next(n for n, kind in raw.X.dtypes.items() if kind.kind not in "biuf")
        raise NotNumbersError(
            f"{raw.origin} must hold numbers; column {name!r} has type {raw.X[name].dtype}. Leave "
            "it out (ignore=..., or --ignore), encode it as numbers, or fit an automatic "
            "estimator, which takes it as it is."
        )

    def _targets(self, raw: Raw) -> Array:
        if self.classes is None:
            return _floats(raw, raw.y, "the target", "Use a classifier for labels.")
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


def on_rows(
    number: int, part: Part, task: Task, merge: Merge, reading: Reading | None, inputs: bool
) -> Any:
    """A task on every block of a part, merged in order; without a reading on rows as they came."""
    if reading is None:
        return merged((task(raw) for raw in part.blocks(inputs) if len(raw.y)), merge)
    return merged(map(task, rows_of(number, part, reading)), merge)


def weights_of(raw: Raw) -> Array:
    """Weights of rows, one by default; refuses negative and infinite ones."""
    if raw.weight is None:
        return np.ones(len(raw.y))
    weight = _floats(raw, raw.weight, "the weight", "Name another column.")
    if not (np.isfinite(weight) & (weight >= 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise InvalidDataError(
            f"{raw.origin}, row {raw.first_row + row} (the first is 0): the weight is "
            f"{weight[row]:g}; expected a finite number that is not negative. Give rows to be left "
            "out weight 0."
        )
    return weight


def _floats(raw: Raw, values: NDArray[Any], what: str, remedy: str) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"{raw.origin} must hold numbers; {what} has type {values.dtype}: {error}. {remedy}"
        ) from error


def merged(results: Iterable[Any], merge: Merge) -> Any:
    """Results merged in their order; None says that there was nothing."""
    found = (result for result in results if result is not None)
    first = next(found, None)
    return None if first is None else reduce(merge, found, first)


# --- labels ---


def _absent(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA neither is itself nor is not
        return True


def labels_of(raw: Raw) -> Counter[Any]:
    """Weights of the labels of some rows."""
    missing = [_absent(y) for y in raw.y] if raw.y.dtype.kind in "Of" else [False]
    if any(missing):
        raise _bad(raw, np.where(missing, np.nan, 0.0), "the target")
    labels, inverse = np.unique(raw.y, return_inverse=True)
    totals = np.bincount(inverse, weights=weights_of(raw), minlength=len(labels))
    return Counter(dict(zip(labels.tolist(), totals.tolist(), strict=True)))


def added_labels(a: Counter[Any], b: Counter[Any]) -> Counter[Any]:
    """Weights of the labels of both; refuses numbers that are no labels."""
    if len(a) > MOST_LABELS:
        raise InvalidDataError(
            f"A classifier expects few labels, each of many rows; the target has more than "
            f"{MOST_LABELS}. Use a regressor for numbers."
        )
    return a + b


def sorted_labels(found: Counter[Any] | None) -> dict[str, Any]:
    """Labels of positive weight and their weights, as arrays."""
    totals = added_labels(found or Counter(), Counter())
    kinds = {isinstance(label, str) for label in totals}
    if len(kinds) > 1:
        raise InvalidDataError(
            f"Labels must be all text or all numbers; got {quoted(sorted(map(str, totals)))}."
        )
    used = sorted(totals)
    return {"labels": np.array(used), "weights": np.array([totals[label] for label in used])}


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
    """Coded rows of positive weight, perhaps ``before`` and ``after`` of them its neighbours'."""

    codes: Codes  # (d, m)
    y: Array
    weight: Array
    start: int = 0  # number of the first row in the table that is the block's own
    before: int = 0
    after: int = 0

    def rows(self, start: int, stop: int | None) -> Block:
        """Some of the rows."""
        return Block(self.codes[:, start:stop], self.y[start:stop], self.weight[start:stop])

    def fold(self, task: Task, merge: Merge) -> dict[str, Any]:
        """Results of a task on every block of a table that this is, merged in order."""
        none = self.rows(0, 0)
        found: dict[str, Any] = on_codes(self, 0, none, none, task, merge)
        return found


Held = Block | Callable[[], Block]  # a coded part, or what makes or reads it when it is needed


class Edge(NamedTuple):
    """How long a part is, and its first and last rows."""

    length: int
    head: Block
    tail: Block


def on_codes(
    held: Held,
    start: int,
    before: Block,
    after: Block,
    task: Task,
    merge: Merge,
) -> Any:
    """A task on every block of a part, merged in order; runs where the part is.

    The part begins at row ``start`` of the table, between the rows ``before`` and ``after``.
    """
    part = held() if callable(held) else held
    whole, first, n = joined([before, part, after]), len(before.y), len(part.y)

    def blocks() -> Iterator[Block]:
        for own in range(first, first + n, BLOCK_ROWS):
            end = min(own + BLOCK_ROWS, first + n)
            low, high = max(own - CONTEXT, 0), min(end + CONTEXT, len(whole.y))
            seen = whole.rows(low, high)
            yield seen._replace(start=start + own - first, before=own - low, after=high - end)

    return reduce(merge, map(task, blocks()))


def edge_of(held: Held) -> list[Edge]:
    """The length and the ends of a part, as arrays of their own."""
    part = held() if callable(held) else held
    m = len(part.y)
    head, tail = part.rows(0, CONTEXT), part.rows(max(m - CONTEXT, 0), m)
    return [Edge(m, joined([head]), joined([tail]))]


def neighbours_of(edges: Sequence[Edge]) -> Iterator[tuple[int, Block, Block]]:
    """Where every part begins, and the rows on either side, from as many parts as they lie in."""
    starts = np.cumsum([0, *(edge.length for edge in edges)]).tolist()
    for k, start in enumerate(starts[:-1]):
        none = edges[k].head.rows(0, 0)
        before = joined([none, *(edge.tail for edge in edges[max(k - CONTEXT, 0) : k])])
        after = joined([*(edge.head for edge in edges[k + 1 : k + 1 + CONTEXT]), none])
        yield start, before.rows(-CONTEXT, None), after.rows(0, CONTEXT)


def joined(parts: Sequence[Block]) -> Block:
    """Parts as one, in arrays of its own."""
    codes, y, weight = zip(*(part[:3] for part in parts), strict=True)
    return Block(np.concatenate(codes, axis=1), np.concatenate(y), np.concatenate(weight))
