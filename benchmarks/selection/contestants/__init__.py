"""The contestants, one file per method; optional packages are imported only when one runs."""

from __future__ import annotations

from benchmarks.selection.contest import Contestant
from benchmarks.selection.contestants import (
    boosting,
    dictionary,
    forest,
    gaussian_process,
    greedy,
    lasso,
    mars,
    mutual_information,
    nablasso_default,
    oracle,
    xrfm,
)

_FILES = (
    nablasso_default,
    oracle,
    gaussian_process,
    dictionary,
    forest,
    boosting,
    xrfm,
    mars,
    greedy,
    lasso,
    mutual_information,
)

CONTESTANTS: dict[str, Contestant] = {c.name: c for file in _FILES for c in file.CONTESTANTS}
