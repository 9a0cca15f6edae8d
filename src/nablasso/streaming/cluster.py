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
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nablasso.errors import (
    InvalidDataError,
    InvalidParameterError,
    NablassoError,
    WorkersTimeoutError,
)
from nablasso.progress import track
from nablasso.streaming.blocks import (
    ArrayPart,
    Items,
    Merge,
    Task,
    dask,
    merged,
    quoted,
)

TIMEOUT = 600.0  # seconds; Dask itself gives a silent worker's tasks to others after 300


def current_client() -> Any:
    """The client of Dask in force, or None."""
    try:
        return importlib.import_module("distributed").get_client()
    except (ModuleNotFoundError, ValueError):
        return None


# --- parts ---


def partitions_of(
    X: Any, y: Any, sample_weight: Any, ignore: Sequence[str]
) -> tuple[list[ArrayPart], tuple[str, ...]]:
    """Lazy partitions in the order of the rows, and the names of X; nothing is computed."""
    others = [y] if sample_weight is None else [y, sample_weight]
    if isinstance(y, str):
        names = _inputs_beside(X, others, ignore)
        frames = X[[*names, *others]].to_delayed()  # apart they may be cut in other places
        lists = [[frame[own] for frame in frames] for own in (list(names), *others)]
    elif hasattr(X, "columns"):
        X = X[[name for name in X.columns if name not in ignore]]
        names = tuple(map(str, X.columns))
        lists = [list(part.to_delayed()) for part in (X, *others)]
    else:
        if np.isnan(X.shape[1]):
            raise InvalidDataError("The number of columns of X must be known; compute its shape.")
        names = tuple(f"x{j}" for j in range(X.shape[1]))
        parts = [X.rechunk({1: -1}), *map(dask("dask.array").asarray, others)]
        if not any(np.isnan(part.shape[0]) for part in parts):  # lengths may not be known yet
            parts[1:] = [part.rechunk({0: parts[0].chunks[0]}) for part in parts[1:]]
        lists = [part.to_delayed().ravel().tolist() for part in parts]
    if len({len(pieces) for pieces in lists}) > 1:
        raise InvalidDataError(
            f"X, y and sample_weight must have the same partitions; got "
            f"{', '.join(str(len(pieces)) for pieces in lists)} of them. Repartition them alike, "
            "or give the name of the column of y."
        )
    pieces = enumerate(zip(*lists, strict=True))
    return [ArrayPart(f"Partition {number}", *own) for number, own in pieces], names


def _inputs_beside(X: Any, special: Sequence[Any], ignore: Sequence[str]) -> tuple[str, ...]:
    """Names of the columns besides the target and the weight, which are columns too."""
    if not hasattr(X, "columns"):
        raise InvalidParameterError(
            f"y is the name of a column, {special[0]!r}, so X must be a dask.dataframe; got "
            f"{type(X).__name__}."
        )
    if not all(isinstance(name, str) for name in special):
        raise InvalidParameterError(
            "sample_weight must be the name of a column, as y is; got "
            f"{type(special[1]).__name__}. Put the weights into the data frame."
        )
    names = [str(name) for name in X.columns]
    missing = [name for name in special if name not in names]
    if missing:
        raise InvalidDataError(
            f"The data frame has no column {quoted(missing)}; its columns are {quoted(names)}."
        )
    return tuple(name for name in names if name not in (*special, *ignore))


# --- the runner ---


@dataclass(frozen=True)
class Cluster:
    """The workers of a client of Dask."""

    client: Any
    timeout: float = TIMEOUT

    def fold(self, task: Task, merge: Merge, items: Items, label: str) -> Any:
        """Merged by a tree of fixed order, on the workers."""
        if not items:
            return None
        leaves = level = _lazy(task, items)
        while len(level) > 1:
            pairs = list(zip(level[::2], level[1::2], strict=False))
            level = _lazy(partial(_merged, merge), pairs) + level[2 * len(pairs) :]
        with self.client.as_current():
            wanted = [*leaves, *level] if len(items) > 1 else leaves
            *steps, last = self.client.compute(wanted)
            return self._result(steps, last, label)

    def keep(self, task: Task, items: Items, key: str) -> list[Any]:  # noqa: ARG002
        """Futures of coded parts."""
        with self.client.as_current():
            return list(self.client.compute(_lazy(task, items)))

    def _result(self, steps: list[Any], last: Any, label: str) -> Any:
        """The last result once all steps are done; raises what a worker raised."""
        done = 0
        try:
            for future in track(self._finished(steps), len(steps), label):
                done += 1
                future.release()  # it goes up the tree and is not held for the client
            for _ in self._finished([last]):
                pass
            return last.result(timeout=self.timeout)
        except TimeoutError as error:
            workers = len(self.client.scheduler_info(n_workers=-1)["workers"])
            raise WorkersTimeoutError(
                f"The workers have finished nothing for {self.timeout:g} seconds; {done} of "
                f"{len(steps)} parts are done and {workers} workers are connected. One of them may "
                "be gone or stuck: look at the cluster, restart it, or raise timeout=..."
            ) from error
        finally:
            for future in (*steps, last):
                future.release()  # what nobody wants any more is not computed

    def _finished(self, futures: list[Any]) -> Iterator[Any]:
        pending = set(futures)
        while pending:
            done, pending = dask("distributed").wait(
                pending, timeout=self.timeout, return_when="FIRST_COMPLETED"
            )
            for future in done:
                if future.status == "error":
                    _raise(future)
                yield future


def _lazy(task: Task, items: Items) -> list[Any]:
    """Lazy ``task(*item)``; the task is a node of its own, made again if its worker dies."""
    delayed = partial(dask("dask").delayed, pure=False, traverse=False)
    shared, applied = delayed(task), delayed(_apply)
    return [applied(shared, *item) for item in items]


def _apply(task: Task, *item: Any) -> Any:
    return task(*item)


def _merged(merge: Merge, *both: Any) -> Any:
    return merged(both, merge)


def _raise(future: Any) -> None:
    error = future.exception()
    if isinstance(error, NablassoError):
        raise error
    raise NablassoError(
        f"A part could not be computed: {type(error).__name__}: {error}. Look at the logs of the "
        "workers; parts that do not fit in their memory should be smaller."
    ) from error
