"""The rows of a table in blocks that kernels look at: a fair sample, as they came."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nablasso.search.grown import SAMPLE
from nablasso.streaming.sample import fair_sample
from nablasso.streaming.sources import Source
from nablasso.types import Array, Index

PREPARED_ROWS = 20_000  # rows that are put into canonical order


class Searched(NamedTuple):
    """Rows in the order of the table; ``place`` is the number of each there."""

    X: Array
    y: Any
    weights: Array
    place: Index


def searched_rows(source: Source, n: int) -> Searched:
    """At most ``n`` distinct rows, the same however the table is cut; terms use the same sample."""
    sample = fair_sample(source, max(n, SAMPLE)).first(n).in_order()
    return Searched(np.ascontiguousarray(sample.X), sample.y, sample.weight, sample.place)
