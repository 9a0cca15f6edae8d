"""Blocks of rows and sums over them: tables from anywhere, columns as codes, passes that add up."""

from nablasso.streaming.sample import fair_sample
from nablasso.streaming.sources import open_table

__all__ = ["fair_sample", "open_table"]
