"""Tables that are not ideal, and tables whose rows are sorted.

The signal is ``g = (sin(1.5 x1) + x2^2 / 2 + 0.7 x3 x4) / sd`` of 15 columns, uniform on [-2, 2]
unless said; noise has a deviation of .3. ``sorted``: the same rows sorted by y, by a column, by
group, or with all of one class first must give the answer of shuffled rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.problem import Array, Make, Problem, Quick, Suite, population
from benchmarks.suites.generators import population_sd
from nablasso.datasets import KnownSupport
from nablasso.datasets.generators import add_noise

COLUMNS, RELEVANT, NOISE = 15, (0, 1, 2, 3), 0.3
SERIAL, COPY = 0.9, 0.95
ROWS = (300, 1000)
SEEDS = range(30)

Inputs = Callable[[int, np.random.Generator], Array]
Target = Callable[[Array, Array, np.random.Generator], Array]  # columns, signal -> y


def function(X: Array) -> Array:
    """Before it is scaled."""
    return np.sin(1.5 * X[:, 0]) + X[:, 1] ** 2 / 2 + 0.7 * X[:, 2] * X[:, 3]


def uniform(n: int, rng: np.random.Generator) -> Array:
    """Uniform on [-2, 2]."""
    return rng.uniform(-2, 2, (n, COLUMNS))


def levels(n: int, rng: np.random.Generator) -> Array:
    """Four levels."""
    return rng.choice([-1.5, -0.5, 0.5, 1.5], (n, COLUMNS))


def serial(n: int, rng: np.random.Generator) -> Array:
    """Columns that are autoregressive from row to row."""
    return autoregressive(rng.standard_normal((n, COLUMNS)))


def autoregressive(E: Array) -> Array:
    """Stationary rows with correlation .9 from one to the next."""
    for i in range(1, len(E)):
        E[i] = SERIAL * E[i - 1] + np.sqrt(1 - SERIAL**2) * E[i]
    return E


def copies(n: int, rng: np.random.Generator) -> Array:
    """Normal; columns 5 to 8 are correlated .95 with columns 1 to 4."""
    X = rng.standard_normal((n, COLUMNS))
    X[:, 4:8] = COPY * X[:, :4] + np.sqrt(1 - COPY**2) * X[:, 4:8]
    return X


def _normal(rng: np.random.Generator, n: int) -> Array:
    return NOISE * rng.standard_normal(n)


def _outliers(_X: Array, g: Array, rng: np.random.Generator) -> Array:
    gross = (rng.random(len(g)) < 0.03) * rng.choice([-1, 1], len(g)) * rng.uniform(10, 30, len(g))
    return g + _normal(rng, len(g)) + gross


def _uneven(X: Array, g: Array, rng: np.random.Generator) -> Array:
    return g + np.exp(0.8 * X[:, 0]) * _normal(rng, len(g))


def _serial(_X: Array, g: Array, rng: np.random.Generator) -> Array:
    return g + autoregressive(0.5 * rng.standard_normal(len(g)))


def steps(X: Array) -> Array:
    """Jumps of one column, and of two together."""
    return (X[:, 0] > 0.6) + 1.0 * (X[:, 1] > 0) * (X[:, 2] > -0.5)


def product(X: Array) -> Array:
    """Without main effects."""
    return X[:, 0] * X[:, 1]


def _plain(_X: Array, g: Array, rng: np.random.Generator) -> Array:
    return g + _normal(rng, len(g))


def _labels(_X: Array, g: Array, rng: np.random.Generator) -> Array:
    return (g + _normal(rng, len(g)) > 0).astype(float)


def made(
    inputs: Inputs,
    target: Target,
    f: Callable[[Array], Array] = function,
    relevant: tuple[int, ...] = RELEVANT,
) -> Make:
    """Columns, then the signal of unit deviation, then y."""

    def make(n: int, rng: np.random.Generator, _seed: int) -> KnownSupport:
        X = inputs(n, rng)
        g = f(X) / population_sd(f, inputs if inputs is not serial else copies)
        known = add_noise(X, g, relevant, 0.0, rng)
        y = target(X, g, rng)
        labels = set(np.unique(y)) <= {0.0, 1.0}
        return replace(known, y=y, noise_free=(g > 0).astype(float) if labels else g)

    return make


MAKERS: dict[str, Make] = {
    "outliers": made(uniform, _outliers),
    "student": made(uniform, lambda _, g, rng: g + NOISE * rng.standard_t(2, len(g))),
    "counts": made(uniform, lambda _, g, rng: rng.poisson(np.exp(1 + 0.8 * g)).astype(float)),
    "skewed": made(uniform, lambda _, g, rng: np.exp(g + _normal(rng, len(g)))),
    "uneven": made(uniform, _uneven),
    "serial": made(serial, _serial),
    "discrete": made(levels, _plain),
    "steps": made(uniform, _plain, steps, (0, 1, 2)),
    "copies": made(copies, _plain),
    "classes": made(uniform, _labels, product, (0, 1)),
}
NO_VARIANCE = ("outliers", "student")  # judged on test rows without noise
ON_ANOTHER_SCALE = ("counts", "skewed")  # g is not the mean of y

Order = Callable[[KnownSupport], Array]  # by which the rows are sorted


def in_order(make: Make, order: Order | None) -> Make:
    """The same rows, sorted."""

    def sorted_rows(n: int, rng: np.random.Generator, seed: int) -> KnownSupport:
        known = make(n, rng, seed)
        rows = np.arange(n) if order is None else np.argsort(order(known), kind="stable")
        return replace(known, X=known.X[rows], y=known.y[rows], noise_free=known.noise_free[rows])

    return sorted_rows


def grouped(n: int, rng: np.random.Generator) -> Array:
    """Ten groups of rows, told by the last column, whose other columns lie around centres."""
    centres = rng.uniform(-1, 1, (10, COLUMNS))
    group = rng.integers(0, 10, n)
    X = centres[group] + rng.uniform(-1, 1, (n, COLUMNS))
    X[:, -1] = group
    return X


_BASE = made(uniform, _plain)
ORDERS: dict[str, tuple[Make, Order | None]] = {
    "shuffled": (_BASE, None),
    "by_y": (_BASE, lambda known: known.y),
    "by_relevant_column": (_BASE, lambda known: known.X[:, 0]),
    "by_other_column": (_BASE, lambda known: known.X[:, 9]),
    "groups_shuffled": (made(grouped, _plain), None),
    "by_group": (made(grouped, _plain), lambda known: known.X[:, -1]),
    "classes_shuffled": (MAKERS["classes"], None),
    "one_class_first": (MAKERS["classes"], lambda known: known.y),
}


def _task(name: str) -> str:
    return "classification" if "class" in name else "regression"


def _sorted_problem(name: str) -> Problem:
    make, order = ORDERS[name]  # one stream for all: sorted rows are the shuffled ones
    return Problem(name, population("sorted", in_order(make, order)), ROWS, task=_task(name))


def _problem(name: str) -> Problem:
    draw = population(f"not_ideal_{name}", MAKERS[name], noiseless_test=name in NO_VARIANCE)
    if name in ON_ANOTHER_SCALE:
        seen = draw
        return Problem(name, lambda n, seed: replace(seen(n, seed), noise_free=None), ROWS)
    return Problem(name, draw, ROWS, task=_task(name))


_RIVALS = ("nablasso", "boosting", "gaussian_process_native", "lightgbm")
SUITES = (
    Suite(
        "not_ideal",
        "are the right columns found where tables are not ideal?",
        lambda: [_problem(name) for name in MAKERS],
        _RIVALS,
        Quick(("outliers", "counts", "classes"), (300,), ("nablasso", "lightgbm")),
        SEEDS,
    ),
    Suite(
        "sorted",
        "do sorted rows give the answer of shuffled ones?",
        lambda: [_sorted_problem(name) for name in ORDERS],
        _RIVALS,
        Quick(("shuffled", "by_y", "one_class_first"), (300,), ("nablasso", "lightgbm")),
        SEEDS,
    ),
)
