"""The contestants, one file per method or kind; optional packages are imported when one runs."""

from __future__ import annotations

from benchmarks.contest import Contestant
from benchmarks.contestants import (
    dictionary,
    gaussian_process,
    greedy,
    mars,
    native,
    ours,
    rankers,
    selectors,
    sparse_additive,
    symbolic,
)

_FILES = (
    ours,
    gaussian_process,
    dictionary,
    rankers,
    mars,
    greedy,
    sparse_additive,
    selectors,
    native,
    symbolic,
)

CONTESTANTS: dict[str, Contestant] = {c.name: c for file in _FILES for c in file.CONTESTANTS}
