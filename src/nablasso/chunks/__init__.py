"""Tables larger than memory, read in chunks of rows; passes over them that survive a stop."""

from nablasso.chunks.arrays import ArrayChunks
from nablasso.chunks.base import Chunk, ChunkSource
from nablasso.chunks.csv import CSVChunks
from nablasso.chunks.parquet import ParquetChunks
from nablasso.chunks.passes import collect_statistics
from nablasso.chunks.sample import sample_rows

__all__ = [
    "ArrayChunks",
    "CSVChunks",
    "Chunk",
    "ChunkSource",
    "ParquetChunks",
    "collect_statistics",
    "sample_rows",
]
