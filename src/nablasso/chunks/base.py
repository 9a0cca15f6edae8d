"""What a source of chunks is: rows in a fixed order, from any row on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CHUNK_ROWS = 1 << 16


class Chunk(NamedTuple):
    """Some rows, and where they come from."""

    X: NDArray[Any]
    y: NDArray[Any]
    weights: NDArray[Any] | None
    origin: str  # a file, or what stands for it
    first_row: int  # number of the first row there

    def after(self, n_rows: int) -> Chunk:
        """The chunk without its first rows."""
        return Chunk(
            self.X[n_rows:],
            self.y[n_rows:],
            None if self.weights is None else self.weights[n_rows:],
            self.origin,
            self.first_row + n_rows,
        )


class ChunkSource(ABC):
    """A table in chunks; the same rows in the same order whenever it is read."""

    names: tuple[str, ...] | None = None  # of the columns of X

    @property
    @abstractmethod
    def n_chunks(self) -> int:
        """Number of chunks, estimated where only reading would tell."""

    @abstractmethod
    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """All chunks from row ``start`` on, counted over all files."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Digest that changes when the rows or columns do; cheap, so it looks at samples."""


def as_float(values: NDArray[Any]) -> NDArray[Any]:
    """float32 as it is, anything else as float64."""
    return values if values.dtype == np.float32 else np.asarray(values, dtype=np.float64)
