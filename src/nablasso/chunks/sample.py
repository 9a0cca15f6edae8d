r"""A random sample of rows that depends on their content alone.

Each row gets a hash of its values; the ``k`` rows with the smallest ones are the sample. So it does
not depend on how rows are ordered, cut into chunks or spread over files, nor on the order of the
columns: the hash adds up ``mix(b_j)`` over the bits ``b_j`` of all values of a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.chunks.base import ChunkSource, as_float
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.progress import track


class Sample(NamedTuple):
    """Rows of a source."""

    X: NDArray[Any]
    y: NDArray[Any]
    weights: NDArray[Any] | None


def sample_rows(
    source: ChunkSource, n_rows: int, *, random_state: int = 0, verbose: int = 0
) -> Sample:
    """Random rows of a source, in one pass that reads and computes nothing else.

    Parameters
    ----------
    source : ChunkSource
    n_rows : int
        How many at most.
    random_state : int
    verbose : int
        Whether to log progress and the time left.

    Returns
    -------
    Sample
        ``X``, ``y`` and ``weights`` (None if the source has none), in the order of their hashes.
    """
    if n_rows < 1:
        raise InvalidParameterError(f"n_rows must be at least 1; got {n_rows!r}.")
    best: list[NDArray[Any]] = []
    for chunk in track(source.chunks(), source.n_chunks, "Sampling", verbose=verbose):
        arrays = [as_float(chunk.X), np.asarray(chunk.y, dtype=float)]
        if chunk.weights is not None:
            arrays.append(np.asarray(chunk.weights, dtype=float))
        arrays.insert(0, _hashes(arrays[0], arrays[1], random_state))
        if best:
            arrays = [np.concatenate(pair) for pair in zip(best, arrays, strict=True)]
        kept = np.argsort(arrays[0], kind="stable")[:n_rows]
        best = [array[kept] for array in arrays]
    if not best:
        raise InvalidDataError("The source has no rows. Check what it reads.")
    return Sample(best[1], best[2], best[3] if len(best) > 3 else None)


def _hashes(X: NDArray[Any], y: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    start, target = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    h = np.empty(len(X), dtype=np.uint64)
    for first in range(0, len(X), 1024):  # their bits stay in the cache
        rows = slice(first, first + 1024)
        inputs = _mix(_bits(X[rows]) + start).sum(axis=1, dtype=np.uint64)
        h[rows] = _mix(inputs + _mix(_bits(y[rows]) ^ target))
    return h


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    return np.asarray((np.array(values, dtype=np.float64, order="C") + 0.0).view(np.uint64))


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
