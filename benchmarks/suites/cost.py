"""How seconds and memory grow with the rows and the columns.

``rows``: Friedman's first function among ten columns, 100 to a million rows. ``columns_d``: the
same among d columns, 300 rows. ``two_way_40`` and its like are the cases whose time is asked for in
units of E (one ``eigh`` of a 2000 x 2000 matrix).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.problem import Problem, Quick, Suite, population
from nablasso.datasets import KnownSupport, make_additive, make_friedman1, make_two_way

Maker = Callable[..., KnownSupport]
MAKERS: dict[str, Maker] = {
    "two_way": make_two_way,
    "additive": make_additive,
    "friedman1": make_friedman1,
}
ROWS = (100, 1000, 10_000, 100_000, 1_000_000)
WIDTHS = (10, 100, 1000, 10_000, 100_000)
WIDE_ROWS = 300


def _problem(name: str, make: Maker, d: int, rows: tuple[int, ...]) -> Problem:
    def drawn(n: int, rng: np.random.Generator, _seed: int) -> Any:
        return make(n, d, random_state=rng)

    return Problem(name, population(f"cost_{name}", drawn), rows)


def load() -> list[Problem]:
    """Growth in rows, growth in columns, and the cases of the targets."""
    found = [_problem("rows", make_friedman1, 10, ROWS)]
    found += [_problem(f"columns_{d}", make_friedman1, d, (WIDE_ROWS,)) for d in WIDTHS]
    found += [_problem(f"{name}_40", make, 40, (100,)) for name, make in MAKERS.items()]
    found += [_problem(f"{name}_30", make, 30, (300, 1000, 3000)) for name, make in MAKERS.items()]
    return found


SUITES = (
    Suite(
        "cost",
        "how do seconds and memory grow with rows and columns?",
        load,
        (
            "nablasso",
            "lightgbm",
            "boosting_default",
            "ebm_native",
            "xrfm_native",
            "gaussian_process_native",
            "mars_native",
        ),
        Quick(("rows", "columns_100"), (100, 1000)),
        range(3),
    ),
)
