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
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nablasso.data.roles import named_roles
from nablasso.data.table import is_dask, is_frame, is_in_blocks
from nablasso.errors import InvalidDataError, InvalidParameterError, TableProblems
from nablasso.persistence import Store, digest
from nablasso.progress import track
from nablasso.streaming.blocks import (
    BLOCK_ROWS,
    Coded,
    CodedFile,
    CodedPart,
    Edge,
    Items,
    Merge,
    Neighbours,
    Part,
    Raw,
    Reading,
    Task,
    added_labels,
    edge_of,
    joined,
    labels_of,
    neighbours_of,
    on_codes,
    rows_of,
    sorted_labels,
)
from nablasso.streaming.cluster import TIMEOUT, Cluster, current_client, dask, partitions_of
from nablasso.streaming.codes import Column
from nablasso.streaming.files import PART_BYTES, PART_ROWS, files_fingerprint, open_files
from nablasso.types import Array

if TYPE_CHECKING:
    from nablasso.streaming.sample import Drawn

Item = TypeVar("Item")
Result = TypeVar("Result")

IN_MEMORY = 1 << 28  # bytes of codes that are kept in memory; more go to files
PROBED_ROWS = 64  # of an array, that its fingerprint looks at


class Runner(Protocol):
    """Who works on the parts."""

    def fold(self, task: Task, merge: Merge, items: Items, label: str) -> Any:
        """``task(*item)`` of every item, merged in their order; None says there was nothing."""

    def keep(self, task: Task, items: Items, key: str) -> tuple[list[Any], list[Edge]]:
        """Handles of coded parts that stay where they were made, and their edges.

        ``key`` belongs to the table and its codes.
        """


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


def limited(threads: int) -> AbstractContextManager[Any]:
    """One thread of linear algebra for each of several threads."""
    return threadpool_limits(1, "blas") if threads > 1 else nullcontext()


@dataclass(frozen=True)
class Here:
    """Threads of this process; codes in memory, or in files of a folder."""

    threads: int = 1
    folder: Path | None = None
    scratch: Any = None  # a temporary folder, deleted with this object

    def fold(self, task: Task, merge: Merge, items: Items, label: str) -> Any:
        """Threads change who computes, not the order of merging."""
        with limited(self.threads):
            results = in_order(lambda item: task(*item), items, self.threads)
            found = (r for r in track(results, len(items), label) if r is not None)
            first = next(found, None)
            return None if first is None else reduce(merge, found, first)

    def keep(self, task: Task, items: Items, key: str) -> tuple[list[Any], list[Edge]]:
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


# --- the table ---


@dataclass(eq=False)
class Source:
    """A table in blocks of rows.

    A ``fingerprint`` changes when the table does: results of another table are not taken up.
    ``target`` is the name of the target where it is a column, ``origin`` what messages call the
    table, ``missing`` says whether NaN may stand in X, ``named`` whether the names came with it.
    """

    in_blocks = True  # what is_in_blocks asks

    parts: Sequence[Part]  # in the order of the rows
    names: tuple[str, ...]  # of the columns of X
    fingerprint: str = ""
    target: str | None = None
    origin: str = "The table"
    missing: bool = False
    runner: Runner = field(default_factory=Here)
    block_rows: int = BLOCK_ROWS  # of a coded block
    store: Store = field(default_factory=Store)  # where results of passes are remembered
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

    def fold(self, task: Task, merge: Merge, label: str = "Rows") -> Any:
        """Results of a task on every block, merged in the order of the rows; None without rows."""
        work = partial(_on_rows, task=task, merge=merge, reading=self.reading)
        return self.runner.fold(work, merge, list(enumerate(self.parts)), label)

    def labels(self) -> tuple[NDArray[Any], Array]:
        """Distinct targets of rows of positive weight, sorted, and the weights of each."""
        if "labels" not in self.tables:
            items = [(part.targets(),) for part in self.parts]
            work = partial(self.runner.fold, labels_of, added_labels, items, "Labels")
            made = self.remembered(("labels",), lambda: sorted_labels(work() or {}))
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
    """Arrays in memory, or mapped from disk: only the ``rows`` of a block are read.

    A ``weight`` says how many rows each one stands for. ``threads`` blocks are worked on at a time.
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
        if np.ndim(X) != 2 or np.ndim(y) != 1 or len({len(array) for array in arrays}) > 1:
            raise InvalidDataError(
                "X must be a table, y a list, and X, y and weight must have as many rows; got "
                f"shapes {', '.join(str(np.shape(array)) for array in arrays)}."
            )
        if np.asarray(X[:0]).dtype.kind not in "fiub":
            raise InvalidDataError(
                f"X must hold numbers; it has values of type {np.asarray(X[:0]).dtype}. Encode "
                "text as numbers first."
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


class CodedSource:
    """A source in codes; they are made when a pass first needs them."""

    def __init__(self, source: Source, columns: tuple[Column, ...]) -> None:
        self.source, self.columns = source, columns
        self._made: tuple[list[Any], list[Neighbours]] | None = None

    def fold(self, task: Task, merge: Merge, label: str = "Sums") -> dict[str, Any]:
        """Results of a task on every block, merged in the order of the rows."""
        return self.source.remembered(
            (self._codes(), task), partial(self._folded, task, merge, label)
        )

    def _folded(self, task: Task, merge: Merge, label: str) -> Any:
        handles, neighbours = self._parts()
        work = partial(on_codes, task=task, merge=merge, rows=self.source.block_rows)
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
            self._made = [handles[k] for k in there], neighbours_of([edges[k] for k in there])
        return self._made

    def _codes(self) -> list[tuple[Array, bool]]:
        return [(column.edges, column.category) for column in self.columns]


def _on_rows(number: int, part: Part, task: Task, merge: Merge, reading: Reading) -> Any:
    results = map(task, rows_of(number, part, reading))
    first = next(results, None)
    return None if first is None else reduce(merge, results, first)


def _encoded(number: int, part: Part, columns: Sequence[Column], reading: Reading) -> CodedPart:
    """The rows of positive weight, in codes."""
    done = [CodedPart(np.empty((len(columns), 0), np.uint8), np.empty(0), np.empty(0))]
    for rows in rows_of(number, part, reading):
        used = rows.weight > 0
        X, y, weight = rows.X, rows.y, rows.weight
        if not used.all():
            X, y, weight = X[used], y[used], weight[used]
        codes = np.stack([column.encode(X[:, j]) for j, column in enumerate(columns)])
        done.append(CodedPart(codes, y, weight))
    return done[-1] if len(done) == 2 else joined(done)


# --- one door ---


def open_table(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    client: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    timeout: float = TIMEOUT,
    threads: int = 1,
    part_rows: int = PART_ROWS,
    part_bytes: int = PART_BYTES,
    block_rows: int = BLOCK_ROWS,
) -> Source:
    """A table in blocks of rows, from anywhere.

    Parameters
    ----------
    X : path, pattern, list of paths, dask.dataframe, dask.array, data frame or array
        Parquet or CSV files (a folder or a pattern stands for its files by name; numbers in their
        names must then have no gaps), or rows.
    y : str or array
        The target: the name of a column, or values that go with X.
    sample_weight : str or array, optional
    columns : sequence of str, optional
        Columns of X; by default all but the target and the weights.
    ignore : sequence of str
        Columns of files that are not read.
    client : distributed.Client, optional
        Whose workers read the parts; of a Dask collection the current one by default. Files must
        be where the workers can read them.
    checkpoint : path-like, optional
        A folder in which results of passes (and the codes of files) are kept: a run that was
        stopped goes on from there. Its files may be deleted afterwards.
    timeout : float
        Seconds without progress after which workers are given up.
    threads : int
        Parts worked on at a time, without a client.
    part_rows, part_bytes : int
        Size of the parts of Parquet and CSV files.
    block_rows : int
        Rows whose functions are computed at a time. None of these sizes changes an answer.

    Returns
    -------
    Source
        For ``fit`` of the automatic estimators.
    """
    if isinstance(X, Source):
        if y is not None and (not isinstance(y, str) or y != X.target):
            raise InvalidParameterError(
                f"The table was opened with the target {X.target!r}; got y={y!r}. Give None."
            )
        return X
    store = Store(None if checkpoint is None else Path(checkpoint))
    if not is_in_blocks(X):
        given = {"X": X, "y": y, "sample_weight": sample_weight}
        if is_frame(X):
            given, problems = named_roles(given)
            if problems:
                raise TableProblems(problems)
        names = [str(name) for name in given["X"].columns] if is_frame(X) else None
        arrays = [array for array in given.values() if array is not None]
        return Arrays(
            *(a if isinstance(a, np.ndarray) else np.asarray(a) for a in arrays),  # also mapped
            names=names,
            rows=block_rows,
            threads=threads,
            missing=False,
            store=store,
        )
    if is_dask(X):
        parts, names_ = partitions_of(X, y, sample_weight, columns)
        if names_ is None:
            raise InvalidDataError("The number of columns of X must be known; compute its shape.")
        client = current_client() if client is None else client
        runner = _runner(client, timeout, threads, store, None)
        return Source(
            parts,
            names_,
            fingerprint=str(dask("dask.base").tokenize(X, y, sample_weight, columns)),
            target=y if isinstance(y, str) else getattr(y, "name", None),
            origin="The Dask collection",
            runner=runner,
            block_rows=block_rows,
            store=store,
            named=hasattr(X, "columns"),
        )
    if not isinstance(y, str) or not (sample_weight is None or isinstance(sample_weight, str)):
        raise InvalidParameterError(
            "X is files, so y and sample_weight must be names of their columns; got y="
            f"{y!r:.40} and sample_weight={sample_weight!r:.40}."
        )
    paths, wanted, pieces, size = open_files(
        X, y, sample_weight, columns, ignore, part_rows=part_rows, part_bytes=part_bytes
    )
    return Source(
        pieces,
        wanted.names,
        fingerprint=files_fingerprint(paths, wanted),
        target=y,
        origin=str(paths[0]) + (" ..." if len(paths) > 1 else ""),
        runner=_runner(client, timeout, threads, store, size),
        block_rows=block_rows,
        store=store,
    )


def _runner(client: Any, timeout: float, threads: int, store: Store, size: int | None) -> Runner:
    """Workers of a client, or threads here with codes in memory, in the store or in a folder."""
    if client is not None:
        return Cluster(client, timeout)
    if store.folder is not None:
        return Here(threads, store.folder)
    if size is not None and size <= IN_MEMORY:
        return Here(threads)
    scratch = tempfile.TemporaryDirectory(prefix="nablasso-")  # goes with the source
    return Here(threads, Path(scratch.name), scratch)
