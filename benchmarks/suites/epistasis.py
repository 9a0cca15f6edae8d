"""Genetics: GAMETES tables whose columns matter together only, and Boolean functions.

Rows stay in the order of the file, sorted by the target. With all rows there is no test; with three
quarters of them, drawn by the seed and kept in order, the others are test rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks.problem import ALL, Draw, Problem, Quick, Suite
from benchmarks.suites import public

FOLDER = "gametes_boolean"
SEEDS = range(5)
# Positions of the relevant columns; those of GAMETES have a P in their names.
BOOLEAN: dict[str, tuple[int, ...]] = {
    "monk1": (0, 1, 4),
    "monk2": tuple(range(6)),
    "monk3": (1, 3, 4),
    "mux6": tuple(range(6)),
    "parity5+5": (1, 2, 3, 5, 7),
    "threeOf9": tuple(range(9)),
    "xd6": tuple(range(9)),
    "corral": (0, 1, 2, 3),
    "mofn_3_7_10": tuple(range(2, 9)),
}
CONTINUOUS = "continuous_endpoint"


def draw(name: str, n: int, seed: int) -> Draw:
    """All rows in their order, or n of them."""
    X, y, names = public.columns_and_target(public.frame(FOLDER, name))
    relevant = BOOLEAN.get(name)
    if relevant is None:
        support = np.array(["P" in column for column in names])
    else:
        support = np.isin(np.arange(len(names)), relevant)
    chosen = np.ones(len(y), dtype=bool)
    if n != ALL:
        chosen[np.random.default_rng([73, seed]).permutation(len(y))[n:]] = False
    return Draw(X[chosen], y[chosen], X[~chosen], y[~chosen], support)


def load() -> Sequence[Problem]:
    """All tables."""
    found = []
    for name in public.names(FOLDER):
        task = "regression" if CONTINUOUS in name else "classification"
        part = 3 * len(public.frame(FOLDER, name)) // 4
        found.append(Problem(name, partial(draw, name), (ALL, part), task=task))
    return found


SUITES = (
    Suite(
        "epistasis",
        "are columns found that matter together only, in tables sorted by their target?",
        load,
        (
            "nablasso",
            "multisurf",
            "relief",
            "forest_native",
            "ebm_native",
            "lightgbm",
        ),
        Quick(("monk1", "GAMETES_Epistasis_2_Way_20atts_0.4H_EDM_1_1"), (ALL,)),
        SEEDS,
        public.VARIABLE,
    ),
)
