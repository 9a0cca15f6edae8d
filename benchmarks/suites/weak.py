"""Weak effects that only many rows show.

Twelve of fifty columns: eight main effects of several shapes and two products without main
effects, each .8 times the one before, under noise as large as the signal. Columns are normal and
independent, or correlated rho^|a - b|. The share of relevant columns found should grow to one.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.problem import Array, Problem, Quick, Suite, population
from nablasso.datasets import KnownSupport
from nablasso.datasets.generators import add_noise

COLUMNS, DECAY = 50, 0.8
CORRELATIONS = {"independent": 0.0, "correlated_6": 0.6, "correlated_9": 0.9}
ROWS = (1000, 10_000, 100_000, 1_000_000)
MAIN = (0, 4, 8, 12, 16, 20, 24, 28)
PAIRS = ((32, 40), (36, 44))
LARGE = 20_000


def signal(X: Array) -> Array:
    """Effects of unit deviation (for independent columns), decaying."""
    shapes = (
        lambda z: z,
        lambda z: (z**2 - 1) / np.sqrt(2),
        lambda z: np.sin(2 * z) / 0.7070,
        lambda z: np.tanh(2 * z) / 0.7755,
    )
    effects = [shapes[k % 4](X[:, a]) for k, a in enumerate(MAIN)]
    effects += [X[:, a] * X[:, b] for a, b in PAIRS]
    order = (0, 1, 8, 2, 3, 4, 9, 5, 6, 7)  # products third and seventh
    return np.asarray(sum(DECAY**k * effects[j] for k, j in enumerate(order)))


def columns(rho: float, n: int, rng: np.random.Generator) -> Array:
    """Normal columns with correlations rho^|a - b|."""
    X = rng.standard_normal((n, COLUMNS))
    for a in range(1, COLUMNS if rho else 0):
        X[:, a] = rho * X[:, a - 1] + np.sqrt(1 - rho**2) * X[:, a]
    return X


def make(rho: float, n: int, rng: np.random.Generator, _seed: int) -> KnownSupport:
    """y = f + noise of the same deviation."""
    X = columns(rho, n, rng)
    level = float(signal(columns(rho, LARGE, np.random.default_rng(20130701))).std())
    relevant = (*MAIN, *(a for pair in PAIRS for a in pair))
    return add_noise(X, signal(X), relevant, level, rng)


SUITES = (
    Suite(
        "weak",
        "does the share of weak effects found grow to one with the rows?",
        lambda: [
            Problem(name, population(f"weak_{name}", partial(make, rho)), ROWS)
            for name, rho in CORRELATIONS.items()
        ],
        ("nablasso", "boosting", "ebm", "lightgbm"),
        Quick(("independent",), (1000,), ("nablasso", "lasso_support")),
        range(5),
    ),
)
