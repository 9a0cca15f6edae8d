"""Blocks of rows and sums over them: tables from anywhere, columns as codes, passes that add up."""

from nablasso.streaming.sample import fair_sample
from nablasso.streaming.sources import open_table
from nablasso.streaming.statistics import FrozenSpace, SufficientStatistics, collect_statistics

__all__ = [
    "FrozenSpace",
    "SufficientStatistics",
    "collect_statistics",
    "fair_sample",
    "open_table",
]
