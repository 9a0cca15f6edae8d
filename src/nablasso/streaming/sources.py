r"""Tables in blocks of rows, from anywhere, and folds over them.

A :class:`Source` is a list of *parts* (slices of arrays, runs of row groups of a Parquet file,
pieces of a CSV file, partitions of a Dask collection), each of which yields blocks of rows, and a
*runner* that works on them: threads here, or the workers of a cluster. It does one thing:
``fold(task, merge)`` applies a task to every block and merges the results in the order of the rows.
Where a task returns sums and ``merge`` adds them up, the result is the same to rounding however the
rows are cut or spread. Tasks and merges change nothing that they are given.

``coded`` is the table in codes of one byte, an eighth of its size: in memory, in files of a folder,
or in the memory of the workers. A block of codes sees the rows next to it in the table, those of
other parts included.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import InvalidDataError
from nablasso.progress import track
from nablasso.streaming.checkpoints import Store, digest
from nablasso.streaming.codes import Codes, Column
from nablasso.types import Array

if TYPE_CHECKING:
    from nablasso.streaming.sample import Drawn

Item = TypeVar("Item")
Result = TypeVar("Result")
Merge = Callable[[Result, Result], Result]

BLOCK_ROWS = 8192  # their functions of columns stay near the cache; any number gives the same sums
CONTEXT = 2  # rows of its neighbours that a coded block sees: the lags of a serial filter
MOST_LABELS = 10_000
PROBED_ROWS = 64  # of an array, that its fingerprint looks at
SHOWN = 10  # names listed in a message before it says "..."


class Raw(NamedTuple):
    """Some rows as they were read; ``X`` is None where only the targets were asked for."""

    X: NDArray[Any] | None
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


class Block(NamedTuple):
    """Coded rows with their neighbours: ``before`` rows in front and ``after`` at the end."""

    codes: Codes  # (d, m)
    y: Array
    weight: Array
    start: int  # number of the first row that is the block's own
    before: int = 0
    after: int = 0


class Part(Protocol):
    """Neighbouring rows of a table."""

    @property
    def n_rows(self) -> int | None:
        """How many, where that is known without reading."""

    def blocks(self) -> Iterator[Raw]:
        """The rows, block by block."""

    def targets(self) -> Part:
        """The same rows without X."""


@dataclass(frozen=True)
class Reading:
    """How rows that were read become rows to compute with.

    ``classes`` turn labels into their numbers and ``factors`` multiply the weights of each class;
    ``missing`` says whether NaN may stand in X.
    """

    names: tuple[str, ...]
    missing: bool = False
    classes: NDArray[Any] | None = None
    factors: Array | None = None

    def rows(self, raw: Raw, part: int, start: int) -> Rows:
        """Rows of positive weight, or an error that names file, row and column."""
        assert raw.X is not None
        y = self._targets(raw)
        weight = weights_of(raw)
        if not np.isfinite(y).all():
            raise _bad(raw, y, "the target")
        if not (np.isfinite(raw.X.sum()) or np.isfinite(raw.X).all()):
            for j, name in enumerate(self.names):
                x = raw.X[:, j]
                if np.isinf(x).any() or (not self.missing and np.isnan(x).any()):
                    raise _bad(
                        raw, np.where(np.isnan(x) & self.missing, 0.0, x), f"column {name!r}"
                    )
        if self.factors is not None:
            weight = weight * self.factors[y.astype(np.intp)]
        return Rows(raw.X, y, weight, part, start)

    def _targets(self, raw: Raw) -> Array:
        if self.classes is None:
            return as_targets(raw)
        y = raw.y.astype(self.classes.dtype) if raw.y.dtype.kind == "O" else raw.y
        place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return np.where(self.classes[place] == y, place, 0).astype(float)


class CodedPart(NamedTuple):
    """The rows of a part that count, in codes."""

    codes: Codes  # (d, m)
    y: Array
    weight: Array

    def rows(self, start: int, stop: int | None) -> CodedPart:
        """Some of the rows."""
        return CodedPart(self.codes[:, start:stop], self.y[start:stop], self.weight[start:stop])


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


class Runner(Protocol):
    """Who works on the parts."""

    def fold(
        self,
        task: Callable[..., Result | None],
        merge: Merge[Result],
        items: Sequence[tuple[Any, ...]],
        label: str,
    ) -> Result | None:
        """``task(*item)`` of every item, merged in their order; None says there was nothing."""

    def keep(
        self, task: Callable[..., CodedPart], items: Sequence[tuple[Any, ...]], key: str
    ) -> tuple[list[Any], list[Edge]]:
        """Handles of coded parts that stay where they were made, and their edges.

        ``key`` belongs to the table and its codes.
        """


# --- here ---


def in_order(
    job: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """``job`` of each item, by threads, results in the order of the items, few held at a time."""
    if threads == 1:
        yield from map(job, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(pool.submit(job, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@dataclass(frozen=True)
class Here:
    """Threads of this process; codes in memory, or in files of a folder."""

    threads: int = 1
    folder: Path | None = None

    def fold(
        self,
        task: Callable[..., Result | None],
        merge: Merge[Result],
        items: Sequence[tuple[Any, ...]],
        label: str,
    ) -> Result | None:
        """Threads change who computes, not the order of merging."""
        results = in_order(lambda item: task(*item), items, self.threads)
        found = (r for r in track(results, len(items), label) if r is not None)
        first = next(found, None)
        return None if first is None else reduce(merge, found, first)

    def keep(
        self, task: Callable[..., CodedPart], items: Sequence[tuple[Any, ...]], key: str
    ) -> tuple[list[Any], list[Edge]]:
        """Arrays, or files that are read when their rows are needed."""
        folder = None if self.folder is None else self.folder / f"codes-{key[:32]}"
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

        def made(numbered: tuple[int, tuple[Any, ...]]) -> tuple[Any, Edge]:
            number, item = numbered
            if folder is None:
                part = task(*item)
                return part, edge_of(part)
            file = CodedFile(folder / f"{number:06d}")
            if not file.is_there():
                file.write(task(*item))
            return file, edge_of(file.read())

        results = in_order(made, enumerate(items), self.threads)
        done = list(track(results, len(items), "Codes"))
        return [handle for handle, _ in done], [edge for _, edge in done]


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


# --- the table ---


@dataclass(eq=False)
class Source:
    """A table in blocks of rows.

    Parameters
    ----------
    parts : sequence of Part
        In the order of the rows.
    names : tuple of str
        Of the columns of X.
    fingerprint : str
        Changes when the table does; a checkpoint of another table is not taken up.
    target : str, optional
        Name of the target, where it is a column.
    origin : str
        What messages call the table.
    missing : bool
        Whether NaN may stand in X.
    runner : Runner
    block_rows : int
        Rows of a coded block.
    store : Store
        Where results of passes are remembered.
    named : bool
        Whether the names came with the table.
    """

    parts: Sequence[Part]
    names: tuple[str, ...]
    fingerprint: str = ""
    target: str | None = None
    origin: str = "The table"
    missing: bool = False
    runner: Runner = field(default_factory=Here)
    block_rows: int = BLOCK_ROWS
    store: Store = field(default_factory=Store)
    named: bool = True
    reading: Reading = field(init=False)
    sample: Drawn | None = field(init=False, default=None)
    tables: dict[Any, Any] = field(init=False, default_factory=dict)  # made of it: in codes, ...

    def __post_init__(self) -> None:
        self.reading = Reading(self.names, self.missing)

    @property
    def n_columns(self) -> int:
        """Number of columns of X."""
        return len(self.names)

    def with_classes(self, classes: NDArray[Any], factors: Array) -> Source:
        """The table with the numbers of labels as targets, weights times those of the classes."""
        key = digest((classes, factors))
        if key not in self.tables:
            made = copy(self)
            made.reading = replace(self.reading, classes=classes, factors=factors)
            made.sample, made.tables = None, {}
            self.tables[key] = made
        found: Source = self.tables[key]
        return found

    def fold(
        self, task: Callable[[Rows], Result], merge: Merge[Result], label: str = "Rows"
    ) -> Result | None:
        """Results of a task on every block, merged in the order of the rows; None without rows."""
        work = partial(_on_rows, task=task, merge=merge, reading=self.reading)
        return self.runner.fold(work, merge, list(enumerate(self.parts)), label)

    def labels(self) -> tuple[NDArray[Any], Array]:
        """Distinct targets of rows of positive weight, sorted, and the weights of each."""
        if "labels" not in self.tables:
            items = [(part.targets(),) for part in self.parts]
            work = partial(self.runner.fold, _labels, _more_labels, items, "Labels")
            made = self.remembered(("labels",), lambda: _as_arrays(work() or {}))
            self.tables["labels"] = made["labels"], made["weights"]
        found: tuple[NDArray[Any], Array] = self.tables["labels"]
        return found

    def coded(self, columns: Sequence[Column]) -> Coded:
        """The table in codes."""
        return CodedSource(self, tuple(columns))

    def remembered(self, what: Any, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A result in arrays by name, from the store where it is there."""
        return self.store.remembered((self.fingerprint, self.reading, what), compute)


class Arrays(Source):
    """Arrays in memory as a source.

    Parameters
    ----------
    X : array of shape (n, d)
        Missing values are NaN. Perhaps mapped from disk; only the rows of a block are read.
    y : array of shape (n,)
    weight : array of shape (n,), optional
        How many rows each one stands for; one by default.
    names : sequence of str, optional
    rows : int
        Rows of a block.
    threads : int
        Blocks worked on at a time.
    missing : bool
        Whether NaN may stand in X.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any = None,
        *,
        names: Sequence[str] | None = None,
        rows: int = BLOCK_ROWS,
        threads: int = 1,
        missing: bool = True,
        store: Store | None = None,
    ) -> None:
        arrays = [X, y] if weight is None else [X, y, weight]
        if np.ndim(X) != 2 or len({len(array) for array in arrays}) > 1:
            raise InvalidDataError(
                "X must be a table, and X, y and weight must have as many rows; got shapes "
                f"{', '.join(str(np.shape(array)) for array in arrays)}."
            )
        origin = str(getattr(X, "filename", None) or "The table")
        super().__init__(
            [
                ArrayPart(X, y, weight, s, min(s + rows, len(y)), origin)
                for s in range(0, len(y), rows)
            ],
            tuple(map(str, names)) if names is not None else default_names(np.shape(X)[1]),
            fingerprint=fingerprint_of(arrays),
            origin=origin,
            missing=missing,
            runner=Here(threads),
            block_rows=rows,
            store=store or Store(),
            named=names is not None,
        )


@dataclass(frozen=True)
class ArrayPart:
    """A slice of arrays."""

    X: Any
    y: Any
    weight: Any
    start: int
    stop: int
    origin: str

    @property
    def n_rows(self) -> int:
        """Known."""
        return self.stop - self.start

    def blocks(self) -> Iterator[Raw]:
        """The slice; what is mapped from disk is read when it is used."""
        at = slice(self.start, self.stop)
        weight = None if self.weight is None else np.asarray(self.weight[at])
        X = None if self.X is None else np.asarray(self.X[at])
        yield Raw(X, np.asarray(self.y[at]), weight, self.origin, self.start)

    def targets(self) -> ArrayPart:
        """The same rows without X."""
        return replace(self, X=None)


def fingerprint_of(arrays: Sequence[Any]) -> str:
    """Of the shapes of arrays and some rows spread over them."""
    sha = hashlib.sha256()
    n = len(arrays[0])
    probed = np.unique(np.linspace(0, max(n - 1, 0), PROBED_ROWS).astype(int))
    for array in arrays:
        sha.update(f"{np.shape(array)} {np.asarray(array[:0]).dtype} ".encode())
        for row in probed.tolist() if n else []:
            sha.update(np.ascontiguousarray(array[row]).tobytes())
    return sha.hexdigest()


def default_names(d: int) -> tuple[str, ...]:
    """Names of columns that came without."""
    return tuple(f"x{j}" for j in range(d))


# --- the table in codes ---


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
        return _on_codes(self.part, Neighbours(0, none, none), task, merge, self.rows)


class CodedSource:
    """A source in codes; they are made when a pass first needs them."""

    def __init__(self, source: Source, columns: tuple[Column, ...]) -> None:
        self.source, self.columns = source, columns
        self._made: tuple[list[Any], list[Neighbours]] | None = None

    def fold(
        self,
        task: Callable[[Block], dict[str, Any]],
        merge: Merge[dict[str, Any]],
        label: str = "Sums",
    ) -> dict[str, Any]:
        """Results of a task on every block, merged in the order of the rows."""
        return self.source.remembered(
            (self._codes(), task), partial(self._folded, task, merge, label)
        )

    def _folded(
        self,
        task: Callable[[Block], dict[str, Any]],
        merge: Merge[dict[str, Any]],
        label: str,
    ) -> dict[str, Any]:
        handles, neighbours = self._parts()
        work = partial(_on_codes, task=task, merge=merge, rows=self.source.block_rows)
        items = list(zip(handles, neighbours, strict=True))
        found = self.source.runner.fold(work, merge, items, label)
        assert found is not None  # a table without rows has no sample, so no columns
        return found

    def _parts(self) -> tuple[list[Any], list[Neighbours]]:
        if self._made is None:
            source = self.source
            work = partial(_encoded, columns=self.columns, reading=source.reading)
            key = digest((source.fingerprint, source.reading, self._codes()))
            handles, edges = source.runner.keep(work, list(enumerate(source.parts)), key)
            there = [k for k, edge in enumerate(edges) if edge.length]
            self._made = [handles[k] for k in there], _neighbours([edges[k] for k in there])
        return self._made

    def _codes(self) -> list[tuple[Array, bool]]:
        return [(column.edges, column.category) for column in self.columns]


def _neighbours(edges: Sequence[Edge]) -> list[Neighbours]:
    """The rows on either side of every part, from as many parts as they lie in."""
    if not edges:
        return []
    starts = np.cumsum([0, *(edge.length for edge in edges)]).tolist()
    before, after = [edges[0].head.rows(0, 0)], [edges[0].head.rows(0, 0)]
    for edge in edges[:-1]:
        before.append(_joined([before[-1], edge.tail]).rows(-CONTEXT, None))
    for edge in edges[:0:-1]:
        after.append(_joined([edge.head, after[-1]]).rows(0, CONTEXT))
    return [Neighbours(*x) for x in zip(starts, before, after[::-1], strict=False)]


def _joined(parts: Sequence[CodedPart]) -> CodedPart:
    codes, y, weight = zip(*parts, strict=True)
    return CodedPart(np.concatenate(codes, axis=1), np.concatenate(y), np.concatenate(weight))


def edge_of(part: CodedPart) -> Edge:
    """The length and the ends of a part, as arrays of their own."""
    m = len(part.y)
    head, tail = part.rows(0, CONTEXT), part.rows(max(m - CONTEXT, 0), m)
    return Edge(m, _joined([head]), _joined([tail]))


# --- what is done where the part is ---


def _on_rows(
    number: int, part: Part, task: Callable[[Rows], Result], merge: Merge[Result], reading: Reading
) -> Result | None:
    results = map(task, _rows_of(number, part, reading))
    first = next(results, None)
    return None if first is None else reduce(merge, results, first)


def _rows_of(number: int, part: Part, reading: Reading) -> Iterator[Rows]:
    start = 0
    for raw in part.blocks():
        if len(raw.y):
            yield reading.rows(raw, number, start)
        start += len(raw.y)


def _encoded(number: int, part: Part, columns: Sequence[Column], reading: Reading) -> CodedPart:
    """The rows of positive weight, in codes."""
    done = [CodedPart(np.empty((len(columns), 0), np.uint8), np.empty(0), np.empty(0))]
    for rows in _rows_of(number, part, reading):
        used = rows.weight > 0
        X, y, weight = rows.X, rows.y, rows.weight
        if not used.all():
            X, y, weight = X[used], y[used], weight[used]
        codes = np.stack([column.encode(X[:, j]) for j, column in enumerate(columns)])
        done.append(CodedPart(codes, y, weight))
    return done[-1] if len(done) == 2 else _joined(done)


def _on_codes(
    handle: CodedPart | CodedFile,
    around: Neighbours,
    task: Callable[[Block], Result],
    merge: Merge[Result],
    rows: int,
) -> Result:
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
        own = pieces[0] if len(pieces) == 1 else _joined(pieces)
        yield Block(*own, around.start + start, before, after)


# --- targets ---


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


def _labels(part: Part) -> dict[Any, float]:
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


def _more_labels(a: dict[Any, float], b: dict[Any, float]) -> dict[Any, float]:
    return _few({label: a.get(label, 0.0) + b.get(label, 0.0) for label in {**a, **b}})


def _few(labels: dict[Any, float]) -> dict[Any, float]:
    if len(labels) > MOST_LABELS:
        raise InvalidDataError(
            f"A classifier expects few labels, each of many rows; the target has more than "
            f"{MOST_LABELS}. Use a regressor for numbers."
        )
    return labels


def _as_arrays(totals: dict[Any, float]) -> dict[str, Any]:
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
    kind = "NaN" if np.isnan(values[row]) else "infinity"
    return InvalidDataError(
        f"{raw.origin} contains {kind}: row {raw.first_row + row} (the first is 0), {what}. Drop "
        "such rows, or impute them first."
    )
