"""Partitions of Dask collections: rows of X, y and the weights that belong together."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np

from nablasso.errors import InvalidDataError, InvalidParameterError, MissingExtraError
from nablasso.spaces.chunk_checks import check_names, listed
from nablasso.spaces.frozen import FrozenSpace


class Partition(NamedTuple):
    """Lazy pieces of a table; names are those of columns where X is a data frame."""

    X: Any
    y: Any
    weights: Any
    target: str | None = None
    weight_name: str | None = None


def dask(module: str) -> Any:
    """A module of Dask, or an error that names the extra."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "Tables on a cluster need Dask, which is not installed; pip install "
            '"nablasso[distributed]"'
        ) from error


def partitions(space: FrozenSpace, X: Any, y: Any, sample_weight: Any) -> list[Partition]:
    """Lazy partitions, in the order of the rows; nothing is computed."""
    if isinstance(y, str):
        return _of_frame(space, X, y, sample_weight)
    if not hasattr(X, "to_delayed"):
        raise InvalidParameterError(
            f"X must be a dask.array or a dask.dataframe; got {type(X).__name__}. For tables in "
            "memory or in files use SufficientStatistics.partial_fit or collect_statistics."
        )
    return _of_arrays(X, y, sample_weight)


def _of_frame(space: FrozenSpace, X: Any, target: str, weight: Any) -> list[Partition]:
    if not hasattr(X, "columns"):
        raise InvalidParameterError(
            f"y is the name of a column, {target!r}, so X must be a dask.dataframe; got "
            f"{type(X).__name__}."
        )
    names = [str(name) for name in X.columns]
    special = [target] if weight is None else [target, weight]
    missing = [name for name in special if name not in names]
    if missing:
        raise InvalidDataError(
            f"The data frame has no column {listed(missing)}; its columns are {listed(names)}."
        )
    inputs = [name for name in X.columns if str(name) not in special]
    if space.feature_names is not None:
        check_names(space.names, [str(name) for name in inputs], "The data frame")
    return [Partition(piece, None, None, target, weight) for piece in X.to_delayed()]


def _of_arrays(X: Any, y: Any, sample_weight: Any) -> list[Partition]:
    others = [y] if sample_weight is None else [y, sample_weight]
    if hasattr(X, "columns"):
        lists = [list(part.to_delayed()) for part in (X, *others)]
    else:
        parts = [X.rechunk({1: -1}), *map(dask("dask.array").asarray, others)]
        if not any(np.isnan(part.shape[0]) for part in parts):  # lengths may not be known yet
            parts[1:] = [part.rechunk((parts[0].chunks[0],)) for part in parts[1:]]
        lists = [part.to_delayed().ravel().tolist() for part in parts]
    if len({len(pieces) for pieces in lists}) > 1:
        raise InvalidDataError(
            f"X, y and sample_weight must have the same partitions; got "
            f"{', '.join(str(len(pieces)) for pieces in lists)} of them. Repartition them alike, "
            "or give the name of the column of y."
        )
    return [
        Partition(*pieces, *([None] * (3 - len(pieces)))) for pieces in zip(*lists, strict=True)
    ]
