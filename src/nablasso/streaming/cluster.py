"""Tables of Dask, and folds on a cluster: parts are added up where they are.

Each part gives its result on the worker that holds it; neighbours are merged in pairs, level by
level, until one is left, and that one comes to the client. The tree depends on the number of parts
alone, so the result is the same to the last bit for any number of workers and after any of them
died: what a dead worker had is computed again from the input. What travels are sums, never rows.
Codes stay in the memory of the workers, which spill what does not fit to their disks.

The client watches. If nothing is finished for ``timeout`` seconds it gives up with a message that
says who is missing; it holds no results but the last one.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import (
    InvalidDataError,
    InvalidParameterError,
    NablassoError,
    WorkersTimeoutError,
    optional,
)
from nablasso.progress import track
from nablasso.streaming.blocks import CodedPart, Edge, Items, Merge, Raw, Task, edge_of, listed

TIMEOUT = 600.0  # seconds; Dask itself gives a silent worker's tasks to others after 300
PIECE_ROWS = 1 << 15  # of a partition that are worked on at a time


def dask(module: str) -> Any:
    """A module of Dask, or an error that names the extra."""
    return optional(module, "Tables on a cluster need Dask", "distributed")


def current_client() -> Any:
    """The client of Dask in force, or None."""
    try:
        return importlib.import_module("distributed").get_client()
    except (ModuleNotFoundError, ValueError):
        return None


# --- parts ---


@dataclass(frozen=True)
class Partition:
    """Rows of a Dask collection: lazy pieces of X, y and the weights that belong together.

    ``pieces`` are one data frame, or arrays (X, y, weights); ``names`` are the columns of X in a
    frame, ``None`` in arrays.
    """

    number: int
    pieces: tuple[Any, ...]
    narrow: tuple[Any, ...]  # the same without X
    names: tuple[str, ...] | None
    target: str | None
    weight: str | None = None

    def targets(self) -> Partition:
        """The same rows without X."""
        names = None if self.names is None else ()
        return replace(self, pieces=self.narrow, names=names)

    def filled(self, pieces: tuple[Any, ...]) -> Partition:
        """The partition with its pieces at hand, or with none of them."""
        return replace(self, pieces=pieces, narrow=())

    def blocks(self) -> Iterator[Raw]:
        """Slices of the partition; computed here, unless they are at hand."""
        pieces = self.pieces
        if any(hasattr(piece, "__dask_graph__") for piece in pieces):
            pieces = dask("dask").compute(*pieces, scheduler="synchronous")
        X, y, weight = self._frame(*pieces) if self.target is not None else self._arrays(pieces)
        for start in range(0, len(y), PIECE_ROWS):
            at = slice(start, start + PIECE_ROWS)
            w = None if weight is None else weight[at]
            yield Raw(None if X is None else X[at], y[at], w, self._origin, start)

    @property
    def _origin(self) -> str:
        return f"Partition {self.number}"

    def _frame(self, frame: Any) -> tuple[Any, NDArray[Any], Any]:
        X = self._inputs(frame[list(self.names)]) if self.names else None
        weight = None if self.weight is None else self._numbers(frame[self.weight], "the weight")
        return X, np.asarray(frame[self.target]), weight

    def _arrays(self, pieces: tuple[Any, ...]) -> tuple[Any, NDArray[Any], Any]:
        *X, y, weight = pieces
        inputs = self._inputs(X[0]) if X else None
        y = np.asarray(y)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        return inputs, y, None if weight is None else self._numbers(weight, "the weight")

    def _inputs(self, X: Any) -> Any:
        """Numbers as an array, other columns as a frame."""
        if not hasattr(X, "columns"):
            return self._numbers(X, "X")
        if any(kind.kind not in "biuf" for kind in X.dtypes):
            return X.reset_index(drop=True)
        columns = [self._numbers(X[name], f"column {name!r}") for name in X.columns]
        return np.asfortranarray(np.column_stack(columns))

    def _numbers(self, values: Any, what: str) -> NDArray[Any]:
        try:
            if hasattr(values, "to_numpy"):
                return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))
            return np.asarray(values, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidDataError(
                f"{self._origin} must hold numbers; {what} has type "
                f"{getattr(values, 'dtype', type(values).__name__)}: {error}. Leave the column "
                "out, or encode it as numbers."
            ) from error


def partitions_of(
    X: Any, y: Any, sample_weight: Any, columns: Sequence[str] | None
) -> tuple[list[Partition], tuple[str, ...] | None]:
    """Lazy partitions in the order of the rows, and the names of X; nothing is computed."""
    if isinstance(y, str):
        return _of_frame(X, y, sample_weight, columns)
    others = [y] if sample_weight is None else [y, sample_weight]
    names = None
    if hasattr(X, "columns"):
        names = tuple(map(str, X.columns))
        lists = [list(part.to_delayed()) for part in (X, *others)]
    else:
        parts = [X.rechunk({1: -1}), *map(dask("dask.array").asarray, others)]
        if not any(np.isnan(part.shape[0]) for part in parts):  # lengths may not be known yet
            parts[1:] = [part.rechunk({0: parts[0].chunks[0]}) for part in parts[1:]]
        lists = [part.to_delayed().ravel().tolist() for part in parts]
        names = None if np.isnan(X.shape[1]) else tuple(f"x{j}" for j in range(X.shape[1]))
    if len({len(pieces) for pieces in lists}) > 1:
        raise InvalidDataError(
            f"X, y and sample_weight must have the same partitions; got "
            f"{', '.join(str(len(pieces)) for pieces in lists)} of them. Repartition them alike, "
            "or give the name of the column of y."
        )
    found = []
    for number, pieces in enumerate(zip(*lists, strict=True)):
        whole = pieces if sample_weight is not None else (*pieces, None)
        found.append(Partition(number, whole, whole[1:], None, None))
    return found, names


def _of_frame(
    X: Any, target: str, weight: Any, columns: Sequence[str] | None
) -> tuple[list[Partition], tuple[str, ...]]:
    if not hasattr(X, "columns"):
        raise InvalidParameterError(
            f"y is the name of a column, {target!r}, so X must be a dask.dataframe; got "
            f"{type(X).__name__}."
        )
    if weight is not None and not isinstance(weight, str):
        raise InvalidParameterError(
            "sample_weight must be the name of a column, as y is; got "
            f"{type(weight).__name__}. Put the weights into the data frame."
        )
    names = [str(name) for name in X.columns]
    special = [target] if weight is None else [target, weight]
    chosen = [n for n in names if n not in special] if columns is None else list(columns)
    missing = [name for name in [*special, *chosen] if name not in names]
    if missing:
        raise InvalidDataError(
            f"The data frame has no column {listed(missing)}; its columns are {listed(names)}."
        )
    whole, narrow = (list(X[c].to_delayed()) for c in ([*chosen, *special], special))
    return [
        Partition(number, (a,), (b,), tuple(chosen), target, weight)
        for number, (a, b) in enumerate(zip(whole, narrow, strict=True))
    ], tuple(chosen)


# --- the runner ---


@dataclass(frozen=True)
class Cluster:
    """The workers of a client of Dask."""

    client: Any
    timeout: float = TIMEOUT

    def fold(self, task: Task, merge: Merge, items: Items, label: str) -> Any:
        """Merged by a tree of fixed order, on the workers."""
        with self.client.as_current():
            leaves = self._applied(task, items)
            shared = self._shared(merge)
            level = leaves
            while len(level) > 1:
                pairs = zip(level[::2], level[1::2], strict=False)
                merged = [self.client.submit(_merged, shared, a, b, pure=False) for a, b in pairs]
                level = merged + level[2 * len(merged) :]
            return next(self._watched(leaves, level, label), None)

    def keep(self, task: Task, items: Items, key: str) -> tuple[list[Any], list[Edge]]:
        """Futures of coded parts."""
        with self.client.as_current():
            handles = self._applied(task, items)
            ends = [self.client.submit(_edge, handle, key, pure=False) for handle in handles]
            return handles, list(self._watched(ends, ends, "Codes"))

    def _applied(self, task: Task, items: Items) -> list[Any]:
        """Futures of ``task(*item)``; lazy pieces of partitions are computed on the way."""
        if any(isinstance(value, Partition) for item in items for value in item):
            lazy = dask("dask").delayed
            shared = lazy(task, pure=False, traverse=False)
            make = lazy(_on_partition, pure=False, traverse=False)
            graph = []
            for *others, partition in items:
                bare = partition.filled(())
                graph.append(make(shared, others, bare, *partition.pieces))
            return list(self.client.compute(graph))
        shared = self._shared(task)
        return [self.client.submit(_apply, shared, *item, pure=False) for item in items]

    def _shared(self, what: Any) -> Any:
        """A future of what many tasks need; made again from the task if its worker dies."""
        return self.client.submit(_same, what, pure=False)

    def _watched(self, steps: list[Any], wanted: list[Any], label: str) -> Iterator[Any]:
        """Results of what is wanted once all steps are done; raises what a worker raised."""
        try:
            for future in track(self._finished(steps), len(steps), label):
                if wanted is not steps:
                    future.release()  # it goes up the tree and is not held for the client
            for _ in self._finished(wanted if wanted is not steps else []):
                pass
            for future in wanted:
                yield self._result(future)
        finally:
            for future in {id(f): f for f in (*steps, *wanted)}.values():
                future.release()  # what nobody wants any more is not computed

    def _finished(self, futures: list[Any]) -> Iterator[Any]:
        wait = dask("distributed").wait
        pending = set(futures)
        while pending:
            try:
                done, pending = wait(pending, timeout=self.timeout, return_when="FIRST_COMPLETED")
            except TimeoutError as error:
                raise self._timed_out(len(futures) - len(pending), len(futures)) from error
            for future in done:
                if future.status == "error":
                    _raise(future)
                yield future

    def _result(self, future: Any) -> Any:
        try:
            return future.result(timeout=self.timeout)
        except TimeoutError as error:
            raise self._timed_out(0, 1) from error

    def _timed_out(self, done: int, total: int) -> WorkersTimeoutError:
        workers = len(self.client.scheduler_info(n_workers=-1)["workers"])
        return WorkersTimeoutError(
            f"The workers have finished nothing for {self.timeout:g} seconds; {done} of {total} "
            f"parts are done and {workers} workers are connected. One of them may be gone or "
            "stuck: look at the cluster, restart it, or raise timeout=..."
        )


def _apply(task: Task, *item: Any) -> Any:
    return task(*item)


def _same(what: Any) -> Any:
    return what


def _edge(part: CodedPart, key: str) -> Edge:  # noqa: ARG001
    return edge_of(part)


def _on_partition(task: Task, others: list[Any], bare: Partition, *pieces: Any) -> Any:
    return task(*others, bare.filled(pieces))


def _merged(merge: Merge, a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return merge(a, b)


def _raise(future: Any) -> None:
    error = future.exception()
    if isinstance(error, NablassoError):
        raise error
    raise NablassoError(
        f"A part could not be computed: {type(error).__name__}: {error}. Look at the logs of the "
        "workers; parts that do not fit in their memory should be smaller."
    ) from error
