"""Chunks of arrays in memory or mapped from disk (``numpy.memmap``, ``numpy.load(mmap_mode)``)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nablasso.chunks.base import CHUNK_ROWS, Chunk, ChunkSource
from nablasso.errors import InvalidDataError

PROBED_ROWS = 64  # that the fingerprint looks at


class ArrayChunks(ChunkSource):
    """Rows of arrays, a slice at a time.

    Parameters
    ----------
    X : array, shape (n, d)
        Perhaps a ``numpy.memmap``; only the rows of one chunk are read at a time.
    y : array, shape (n,)
    sample_weight : array, shape (n,), optional
    names : sequence of str, optional
        Of the columns.
    chunk_rows : int
    origin : str
        What errors call the table; the file of a memmap by default.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        names: Sequence[str] | None = None,
        chunk_rows: int = CHUNK_ROWS,
        origin: str | None = None,
    ) -> None:
        self.arrays = [X, y] if sample_weight is None else [X, y, sample_weight]
        lengths = [len(array) for array in self.arrays]
        if len(set(lengths)) > 1 or np.ndim(X) != 2:
            raise InvalidDataError(
                f"X must be a table with as many rows as y and sample_weight; got shapes "
                f"{', '.join(str(np.shape(array)) for array in self.arrays)}."
            )
        self.names = None if names is None else tuple(str(name) for name in names)
        self.chunk_rows = chunk_rows
        self.origin = origin or str(getattr(X, "filename", None) or "the table")

    @property
    def n_chunks(self) -> int:
        """Exact."""
        return -(-len(self.arrays[0]) // self.chunk_rows)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Slices; a memmap is read when the slice is used."""
        X, y, *weights = self.arrays
        for first in range(start, len(X), self.chunk_rows):
            rows = slice(first, first + self.chunk_rows)
            w = np.asarray(weights[0][rows]) if weights else None
            yield Chunk(np.asarray(X[rows]), np.asarray(y[rows]), w, self.origin, first)

    def fingerprint(self) -> str:
        """Of the shapes and some rows spread over the table."""
        digest = hashlib.sha256()
        n = len(self.arrays[0])
        probed = np.unique(np.linspace(0, max(n - 1, 0), PROBED_ROWS).astype(int))[: max(n, 0)]
        for array in self.arrays:
            digest.update(f"{np.shape(array)} {np.asarray(array[:0]).dtype} ".encode())
            for row in probed if n else []:
                digest.update(np.ascontiguousarray(array[int(row)]).tobytes())
        return digest.hexdigest()
