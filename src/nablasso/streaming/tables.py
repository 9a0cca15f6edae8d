"""One door for tables in blocks: files, Dask collections, data frames and arrays."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nablasso.data.table import is_dask, is_in_blocks
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.persistence import Store
from nablasso.streaming.blocks import BLOCK_ROWS, listed
from nablasso.streaming.cluster import (
    TIMEOUT,
    Cluster,
    current_client,
    dask,
    partitions_of,
)
from nablasso.streaming.files import PART_BYTES, PART_ROWS, open_files
from nablasso.streaming.sources import Arrays, Here, Runner, Source

IN_MEMORY = 1 << 28  # bytes of codes that are kept in memory; more go to files


def open_table(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    separator: str = ",",
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
    separator : str
        Between the fields of CSV files.
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
        For ``fit`` of the automatic estimators, and for :func:`collect_statistics`.
    """
    if isinstance(X, Source):
        if y is not None and (not isinstance(y, str) or y != X.target):
            raise InvalidParameterError(
                f"The table was opened with the target {X.target!r}; got y={y!r}. Give None."
            )
        return X
    store = Store(None if checkpoint is None else Path(checkpoint))
    if not is_in_blocks(X):
        X, y, sample_weight = apart(X, y, sample_weight)
        names = None if not hasattr(X, "columns") else [str(name) for name in X.columns]
        arrays = (X, y) if sample_weight is None else (X, y, sample_weight)
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
    files = open_files(
        X,
        y,
        sample_weight=sample_weight,
        columns=columns,
        ignore=ignore,
        separator=separator,
        part_rows=part_rows,
        part_bytes=part_bytes,
    )
    return Source(
        files.parts,
        files.wanted.names,
        fingerprint=files.fingerprint(),
        target=y,
        origin=str(files.paths[0]) + (" ..." if len(files.paths) > 1 else ""),
        runner=_runner(client, timeout, threads, store, files.bytes),
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


def apart(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights, where y and the weights may be columns of a data frame in memory."""
    special = [name for name in (y, sample_weight) if isinstance(name, str)]
    if not special:
        return X, y, sample_weight
    if not hasattr(X, "columns"):
        raise InvalidParameterError(
            f"y is the name of a column, {special[0]!r}, so X must be a data frame, files or a "
            f"dask.dataframe; got {type(X).__name__}."
        )
    missing = [name for name in special if name not in list(X.columns)]
    if missing:
        raise InvalidDataError(
            f"The data frame has no column {listed(missing)}; its columns are "
            f"{listed([str(name) for name in X.columns])}."
        )
    y = X[y] if isinstance(y, str) else y
    weight = X[sample_weight] if isinstance(sample_weight, str) else sample_weight
    return X[[name for name in X.columns if name not in special]], y, weight
