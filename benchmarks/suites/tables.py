"""Real tables with the same splits for all.

A split is a permutation of the rows that depends on its number alone: the first n are for training,
tuning included, up to 4000 of the others for the test. With all rows a quarter of them, at most
4000, is the test. Columns without a value somewhere are left out. Tables come from
:mod:`nablasso.datasets`, from the folder that ``NABLASSO_DATA`` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from benchmarks.problem import ALL, Array, Draw, Problem, Quick, Suite
from experiments.real_tables import CATALOGUE, load_table

TEST = 4000
SIZES = (100, 500, 2000)


@lru_cache(maxsize=2)  # contestants of one problem follow each other
def whole(name: str) -> tuple[Array, Array]:
    """Columns without a gap, and y; classes as numbers."""
    table = load_table(name)
    y = table.y
    if CATALOGUE[name].moments is None:
        y = np.unique(y, return_inverse=True)[1].astype(float)
    return table.X[:, ~np.isnan(table.X).any(axis=0)], y


def split(X: Array, y: Array, n: int, number: int) -> Draw:
    """Split of a table by its number."""
    order = np.random.default_rng([32, number]).permutation(len(y))
    n = len(y) - min(TEST, len(y) // 4) if n == ALL else n
    train, test = order[:n], order[n : n + TEST]
    return Draw(X[train], y[train], X[test], y[test])


def draw(name: str, n: int, number: int) -> Draw:
    """Read and split."""
    return split(*whole(name), n, number)


def load() -> Sequence[Problem]:
    """All tables, at the sizes that leave a third for the test, and with all rows."""
    found = []
    for name, facts in CATALOGUE.items():
        most = 2 * facts.n_samples // 3
        sizes = tuple(n for n in SIZES if n <= most)
        task = "regression" if facts.moments is not None else "classification"
        found.append(Problem(name, partial(draw, name), (*sizes, ALL), task=task, most_rows=most))
    return found


SUITES = (
    Suite(
        "tables",
        "how well are real tables predicted, from 100, 500, 2000 and all rows?",
        load,
        (
            "nablasso",
            "kernel_ridge",
            "boosting_native",
            "lasso_native",
            "lightgbm",
            "xgboost",
            "ebm_native",
            "xrfm_native",
            "gaussian_process_native",
            "catboost",
        ),
        Quick(("airfoil", "wpbc_outcome"), (100,)),
        range(5),
        "NABLASSO_DATA",
    ),
)
