"""The contestants, one file per method; optional packages are imported only when one runs."""

from __future__ import annotations

from benchmarks.selection.contest import Contestant
from benchmarks.selection.contestants import (
    boosting,
    boruta,
    dictionary,
    explainable_boosting,
    forest,
    gaussian_process,
    greedy,
    hsic_lasso,
    lasso,
    lasso_net,
    mars,
    mutual_information,
    nablasso_default,
    oracle,
    papers,
    sparse_additive,
    xrfm,
)

_FILES = (
    nablasso_default,
    oracle,
    papers,
    gaussian_process,
    dictionary,
    forest,
    boosting,
    xrfm,
    mars,
    greedy,
    sparse_additive,
    hsic_lasso,
    lasso_net,
    explainable_boosting,
    boruta,
    lasso,
    mutual_information,
)

CONTESTANTS: dict[str, Contestant] = {c.name: c for file in _FILES for c in file.CONTESTANTS}
