r"""Tables in blocks of rows, from anywhere, and folds over them.

A :class:`Source` is a list of *parts* (slices of arrays, runs of row groups of a Parquet file,
pieces of a CSV file, partitions of a Dask collection), each of which yields blocks of rows, and a
*runner* that works on them: this process, or the workers of a cluster. It does one thing:
``fold(task, merge)`` applies a task to every block and merges the results in the order of the rows.
Where a task returns sums and ``merge`` adds them up, the result is the same to rounding however the
rows are cut or spread. Tasks and merges change nothing that they are given.

A :class:`CodedSource` is the table in codes of one byte, an eighth of its size: in memory, in files
of a folder, or in the memory of the workers. A block of codes sees the rows next to it in the
table, those of other parts included.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.table import is_dask, is_frame, is_in_blocks
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.persistence import Store, digest
from nablasso.progress import track
from nablasso.streaming.blocks import (
    BLOCK_ROWS,
    ArrayPart,
    Block,
    Items,
    Merge,
    Part,
    Reading,
    Task,
    added_labels,
    dask,
    edge_of,
    joined,
    labels_of,
    merged,
    neighbours_of,
    on_codes,
    on_rows,
    rows_of,
    sorted_labels,
)
from nablasso.streaming.cluster import TIMEOUT, Cluster, current_client, partitions_of
from nablasso.streaming.codes import CodedColumn
from nablasso.streaming.files import PART_ROWS, open_files
from nablasso.types import Array

PROBED_ROWS = 64  # of an array, that its fingerprint looks at


@dataclass(frozen=True)
class Here:
    """Work in this process; codes in memory, or in the files of a store."""

    store: Store = field(default_factory=Store)
    scratch: Any = None  # a temporary folder, deleted with this object

    def fold(self, task: Task, merge: Merge, items: Items, label: str) -> Any:
        """``task(*item)`` of every item, merged in their order; None says there was nothing."""
        return merged(track((task(*item) for item in items), len(items), label), merge)

    def keep(self, task: Task, items: Items, key: str) -> list[Any]:
        """What makes coded parts when they are first needed; ``key`` is of table and codes."""
        making = [partial(task, *item) for item in items]
        if self.store.folder is None:
            return [cache(make) for make in making]
        return [partial(_stored, self.store, (key, k), make) for k, make in enumerate(making)]


def _stored(store: Store, key: Any, make: Callable[[], Block]) -> Block:
    return Block(**store.remembered(key, lambda: make()._asdict(), "codes"))


# --- the table ---


@dataclass(eq=False)
class Source:
    """A table in blocks of rows.

    A ``fingerprint`` changes when the table does: results of another table are not taken up.
    ``target`` is the name of the target where it is a column, ``origin`` what messages call the
    table, ``named`` says whether the names came with it.
    """

    in_blocks = True  # what is_in_blocks asks

    parts: Sequence[Part]  # in the order of the rows
    names: tuple[str, ...]  # of the columns of X
    fingerprint: str = ""
    target: str | None = None
    origin: str = "The table"
    runner: Here | Cluster = field(default_factory=Here)
    store: Store = field(default_factory=Store)  # where results of passes are remembered
    named: bool = True
    reading: Reading = field(init=False)
    made: dict[Any, Any] = field(init=False, default_factory=dict)  # of it: a sample, codes, ...

    def __post_init__(self) -> None:
        self.reading = Reading(self.names)

    def with_classes(self, classes: NDArray[Any], factors: Array) -> Source:
        """The table with the numbers of labels as targets, weights times those of the classes."""
        reading = replace(self.reading, classes=classes, factors=factors)
        found: Source = self.once(digest((classes, factors)), partial(self.read_by, reading))
        return found

    def read_by(self, reading: Reading) -> Source:
        """The same rows, of which other numbers are made."""
        other = copy(self)
        other.reading, other.made = reading, {}
        return other

    def once(self, what: Any, make: Callable[[], Any]) -> Any:
        """What is made of the table when it is first asked for."""
        if what not in self.made:
            self.made[what] = make()
        return self.made[what]

    def fold(
        self, task: Task, merge: Merge, label: str = "Rows", raw: bool = False, inputs: bool = True
    ) -> Any:
        """Results of a task on every block, merged in the order of the rows; None without rows.

        Of ``raw`` rows, as they are read, X is left out if no ``inputs`` are asked for.
        """
        parts = [  # what Dask is not given it does not compute
            part if inputs or not isinstance(part, ArrayPart) else replace(part, X=None)
            for part in self.parts
        ]
        reading = None if raw else self.reading
        work = partial(on_rows, task=task, merge=merge, reading=reading, inputs=inputs)
        return self.runner.fold(work, merge, list(enumerate(parts)), label)

    def labels(self) -> tuple[NDArray[Any], Array]:
        """Distinct targets of rows of positive weight, sorted, and the weights of each."""

        def found() -> dict[str, Any]:
            return sorted_labels(self.fold(labels_of, added_labels, "Labels", True, inputs=False))

        known = self.once("labels", lambda: self.remembered("labels", found))
        return known["labels"], known["weights"]

    def remembered(self, what: Any, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A result in arrays by name, from the store where it is there."""
        return self.store.remembered((self.fingerprint, self.reading, what), compute)


class Arrays(Source):
    """Arrays in memory, or mapped from disk: only the ``rows`` of a part are read at a time.

    A ``weight`` says how many rows each one stands for.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any = None,
        *,
        rows: int = BLOCK_ROWS,
        store: Store | None = None,
    ) -> None:
        arrays = [X, y] if weight is None else [X, y, weight]
        if np.ndim(X) != 2 or np.ndim(y) != 1 or len({len(array) for array in arrays}) > 1:
            raise InvalidDataError(
                "X must be a table, y a list, and X, y and weight must have as many rows; got "
                f"shapes {', '.join(str(np.shape(array)) for array in arrays)}."
            )
        origin = str(getattr(X, "filename", None) or "The table")
        probed = np.unique(np.linspace(0, max(len(y) - 1, 0), PROBED_ROWS).astype(int))
        probes = [np.asarray(array[probed[: len(y)]]) for array in arrays]
        super().__init__(
            [
                ArrayPart(origin, X, y, weight, s, min(s + rows, len(y)))
                for s in range(0, len(y), rows)
            ],
            tuple(f"x{j}" for j in range(np.shape(X)[1])),
            fingerprint=digest((len(y), probes)),
            origin=origin,
            store=store or Store(),
            named=False,
        )


# --- the table in codes ---


class CodedSource:
    """A source in codes; they are made when a pass first needs them."""

    def __init__(self, source: Source, columns: Sequence[CodedColumn]) -> None:
        self.source, self.columns = source, columns
        self._codes = [column.edges for column in columns]
        self._made: Items | None = None

    def fold(self, task: Task, merge: Merge) -> dict[str, Any]:
        """Results of a task on every block, merged in the order of the rows."""

        def folded() -> Any:
            work = partial(on_codes, task=task, merge=merge)
            return self.source.runner.fold(work, merge, self._parts(), "Sums")

        return self.source.remembered((self._codes, task), folded)

    def _parts(self) -> Items:
        if self._made is None:
            source = self.source
            work = partial(_encoded, columns=self.columns, reading=source.reading)
            key = digest((source.fingerprint, source.reading, self._codes))
            handles = source.runner.keep(work, list(enumerate(source.parts)), key)
            edges = source.runner.fold(edge_of, add, [(held,) for held in handles], "Codes") or []
            there = [k for k, edge in enumerate(edges) if edge.length]
            around = neighbours_of([edges[k] for k in there])
            self._made = [(handles[k], *sides) for k, sides in zip(there, around, strict=True)]
        return self._made


Coded = Block | CodedSource


def _encoded(number: int, part: Part, columns: Sequence[CodedColumn], reading: Reading) -> Block:
    """The rows of positive weight, in codes."""
    done = [Block(np.empty((len(columns), 0), np.uint8), np.empty(0), np.empty(0))]
    for rows in rows_of(number, part, reading):
        used = np.flatnonzero(rows.weight > 0)
        codes = np.stack([column.encode(rows.X[used, j]) for j, column in enumerate(columns)])
        done.append(Block(codes, rows.y[used], rows.weight[used]))
    return joined(done)


# --- one door ---


def open_table(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    ignore: Sequence[str] = (),
    client: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    timeout: float = TIMEOUT,
    part_rows: int = PART_ROWS,
) -> Source:
    """A table in blocks of rows, from anywhere.

    Parameters
    ----------
    X : path, pattern, list of paths, dask.dataframe, dask.array or array
        Parquet or CSV files (a folder or a pattern stands for its files by name; numbers in their
        names must then have no gaps), or rows.
    y : str or array
        The target: the name of a column, or values that go with X.
    sample_weight : str or array, optional
    ignore : sequence of str
        Columns of files or of a dask.dataframe that are not read.
    client : distributed.Client, optional
        Whose workers read the parts; of a Dask collection the current one by default. Files must
        be where the workers can read them.
    checkpoint : path-like, optional
        A folder in which results of passes (and the codes of files) are kept: a run that was
        stopped goes on from there. Its files may be deleted afterwards.
    timeout : float
        Seconds without progress after which workers are given up.
    part_rows : int
        Rows of a part of a Parquet file or of arrays; of CSV files about so many. Changes no
        answer.

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
    if is_frame(X):
        raise InvalidParameterError(
            "X must be files, a Dask collection or an array; got a data frame in memory. Give it "
            'to fit: fit(frame, "target") takes its words, dates and missing values too.'
        )
    store = Store(None if checkpoint is None else Path(checkpoint))
    if not is_in_blocks(X):
        arrays = [np.asanyarray(a) for a in (X, y, sample_weight) if a is not None]  # also mapped
        return Arrays(*arrays, rows=min(part_rows, BLOCK_ROWS), store=store)
    if is_dask(X):
        parts, names = partitions_of(X, y, sample_weight, ignore)
        return Source(
            parts,
            names,
            fingerprint=str(dask("dask.base").tokenize(X, y, sample_weight, ignore)),
            target=y if isinstance(y, str) else getattr(y, "name", None),
            origin="The Dask collection",
            runner=_runner(current_client() if client is None else client, timeout, store),
            store=store,
            named=hasattr(X, "columns"),
        )
    if not isinstance(y, str) or not (sample_weight is None or isinstance(sample_weight, str)):
        raise InvalidParameterError(
            "X is files, so y and sample_weight must be names of their columns; got y="
            f"{y!r:.40} and sample_weight={sample_weight!r:.40}."
        )
    paths, wanted, pieces = open_files(X, y, sample_weight, ignore, part_rows)
    states = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
    return Source(
        pieces,
        wanted.names,
        fingerprint=digest((wanted, states, part_rows)),
        target=y,
        origin=str(paths[0]) + (" ..." if len(paths) > 1 else ""),
        runner=_runner(client, timeout, store),
        store=store,
    )


def _runner(client: Any, timeout: float, store: Store) -> Here | Cluster:
    """Workers of a client, or this process with codes in the store or in a folder."""
    if client is not None:
        return Cluster(client, timeout)
    if store.folder is not None:
        return Here(store)
    scratch = tempfile.TemporaryDirectory(prefix="nablasso-")  # goes with the source
    return Here(Store(Path(scratch.name)), scratch)
