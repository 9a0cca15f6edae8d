"""Nothing to find, and false discoveries.

``noise``: y has nothing to do with the columns: normal, Student with three degrees of freedom,
skewed, or normal with a level that depends on a column (its mean does not). Asked: silent in at
least 95 % of 200 draws. ``fdr``: ten known supports at n = 200 and pure noise, with ``fdr=0.1``;
asked: mean proportion of false discoveries minus two standard errors at most .1, power at least .8
on six of ten, and noise silent in 90 %; 90 % intervals of the default call cover .87 to .93.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.problem import Array, Problem, Quick, Suite, population
from benchmarks.suites.selection import SUITE as SELECTION
from nablasso.datasets import KnownSupport
from nablasso.datasets.generators import add_noise

COLUMNS = 20
Noise = Callable[[Array, np.random.Generator], Array]
NOISES: dict[str, Noise] = {
    "normal": lambda X, rng: rng.standard_normal(len(X)),
    "student": lambda X, rng: rng.standard_t(3, len(X)),
    "skewed": lambda X, rng: np.exp(rng.standard_normal(len(X))),
    "uneven": lambda X, rng: np.exp(X[:, 0]) * rng.standard_normal(len(X)),
}
TEN = (
    "radial",
    "two_way",
    "three_way",
    "additive",
    "E1",
    "H1_16",
    "friedman1",
    "turlach",
    "sine_ridge",
    "linear",
)


def silent(noise: Noise, n: int, rng: np.random.Generator, _seed: int) -> KnownSupport:
    """Normal columns and a y that does not depend on them."""
    X = rng.standard_normal((n, COLUMNS))
    nothing = add_noise(X, np.zeros(n), (), 0.0, rng)
    return replace(nothing, y=noise(X, rng))


def _noise_problem(name: str, noise: Noise) -> Problem:
    draw = population(f"noise_{name}", lambda n, rng, seed: silent(noise, n, rng, seed))
    return Problem(name, draw, (100, 300))


def _fdr_problems() -> list[Problem]:
    chosen = [replace(SELECTION.problems()[name], rows=(200,), targets={}) for name in TEN]
    noise = replace(SELECTION.problems()["pure_noise"], rows=(200,), seeds=range(50))
    return [*chosen, noise]


SUITES = (
    Suite(
        "noise",
        "who is silent where there is nothing to find?",
        lambda: [_noise_problem(name, noise) for name, noise in NOISES.items()],
        ("nablasso", "lasso_support", "boruta", "knockoffs"),
        Quick(tuple(NOISES), (100,), ("nablasso", "lasso_support")),
        range(200),
    ),
    Suite(
        "fdr",
        "false discoveries with fdr=0.1, power, and coverage of 90 % intervals?",
        _fdr_problems,
        ("nablasso_fdr", "nablasso"),
        Quick(("linear", "pure_noise"), (100,), ("nablasso_fdr",)),
        range(20),
    ),
)
