"""The four simulations of RFFNet (Otto and Izbicki): noise of deviation .1, 2000 test rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problem import Array, Make, Problem, Quick, Suite, population
from nablasso.datasets.generators import add_noise

NOISE, TEST = 0.1, 2000
# Published test MSE at n = 10 000 over ten runs: RFFNet, their Gaussian process, kernel ridge.
PUBLISHED = {
    "gse1": (0.073, 0.081, 0.091),
    "gse2": (1.865, 5.134, 4.085),
    "jse2": (1.359, 26.718, 2.018),
    "jse3": (0.012, 0.661, 0.032),
}


def gse1(X: Array) -> Array:
    """sin((x1 + x3)^2) sin(x7 x8 x9)."""
    return np.sin((X[:, 0] + X[:, 2]) ** 2) * np.sin(X[:, 6] * X[:, 7] * X[:, 8])


def gse2(X: Array) -> Array:
    """log((x11 + ... + x15)^2)."""
    return np.log(X[:, 10:15].sum(axis=1) ** 2)


def jse2(X: Array) -> Array:
    """x1^3 + x2^3."""
    return X[:, 0] ** 3 + X[:, 1] ** 3


def jse3(X: Array) -> Array:
    """x1 x2."""
    return X[:, 0] * X[:, 1]


def _make(
    function: Callable[[Array], Array], d: int, relevant: tuple[int, ...], rho: float = 0.0
) -> Make:
    def make(n: int, rng: np.random.Generator, _seed: int) -> object:
        X = rng.standard_normal((n, d))
        for a in range(1, d if rho else 0):  # correlations rho^|a - b|
            X[:, a] = rho * X[:, a - 1] + np.sqrt(1 - rho**2) * X[:, a]
        return add_noise(X, function(X), relevant, NOISE, rng)

    return make  # type: ignore[return-value]


_MAKERS = {
    "gse1": _make(gse1, 18, (0, 2, 6, 7, 8)),
    "gse2": _make(gse2, 100, tuple(range(10, 15))),
    "jse2": _make(jse2, 10, (0, 1), rho=0.5),
    "jse3": _make(jse3, 10, (0, 1)),
}
SUITES = (
    Suite(
        "rffnet",
        "RFFNet's four simulations: error and columns, next to its published rows?",
        lambda: [
            Problem(name, population(name, make, test_rows=TEST), (1000, 10_000))
            for name, make in _MAKERS.items()
        ],
        ("nablasso", "lightgbm", "xrfm_native", "ebm_native"),
        Quick(("jse2", "jse3"), (200,)),
        range(10),
    ),
)
