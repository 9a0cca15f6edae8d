"""Problems that no paper of ours contains: each finds out one weakness.

Every generator takes ``(n, rng)`` and returns a :class:`KnownSupport`. ``snr`` is sd(f) / sd(noise)
with the population sd(f), estimated once from a fixed large sample where no formula is at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from nablasso.datasets import KnownSupport
from nablasso.datasets.generators import add_noise, noise_level
from nablasso.types import Array

Function = Callable[[Array], Array]
Inputs = Callable[[int, np.random.Generator], Array]

LARGE = 20_000


@cache
def population_sd(function: Function, inputs: Inputs) -> float:
    """sd(f) over the inputs, from a fixed sample; within about one per cent."""
    return float(np.std(function(inputs(LARGE, np.random.default_rng(20130701)))))


def drawn(
    function: Function,
    inputs: Inputs,
    relevant: tuple[int, ...],
    snr: float,
    n: int,
    rng: np.random.Generator,
) -> KnownSupport:
    """y = f(x) + N(0, (sd(f) / snr)^2)."""
    X = inputs(n, rng)
    return add_noise(
        X, function(X), relevant, noise_level(population_sd(function, inputs), snr), rng
    )


def friedman_inputs(n: int, rng: np.random.Generator) -> Array:
    """Friedman's four ranges, then 16 columns uniform on [0, 1]."""
    X = rng.uniform(size=(n, 20))
    X[:, 0] *= 100
    X[:, 1] = np.pi * (40 + 520 * X[:, 1])
    X[:, 3] = 1 + 10 * X[:, 3]
    return X


def _reactance(X: Array) -> Array:
    return np.asarray(X[:, 1] * X[:, 2] - 1 / (X[:, 1] * X[:, 3]))


def friedman2_function(X: Array) -> Array:
    """f(x) = sqrt(x1^2 + (x2 x3 - 1 / (x2 x4))^2); x4 moves it by less than 0.01 of 500."""
    return np.hypot(X[:, 0], _reactance(X))


def friedman3_function(X: Array) -> Array:
    """f(x) = arctan((x2 x3 - 1 / (x2 x4)) / x1); x4 is as invisible as in Friedman 2."""
    return np.arctan(_reactance(X) / X[:, 0])


def cube_inputs(n: int, rng: np.random.Generator) -> Array:
    """Uniform on [-1, 1]^20."""
    return rng.uniform(-1, 1, size=(n, 20))


def small_cube_inputs(n: int, rng: np.random.Generator) -> Array:
    """Uniform on [-1, 1]^10."""
    return rng.uniform(-1, 1, size=(n, 10))


def five_inputs(n: int, rng: np.random.Generator) -> Array:
    """Uniform on [-1, 1]^5."""
    return rng.uniform(-1, 1, size=(n, 5))


def normal_inputs(n: int, rng: np.random.Generator) -> Array:
    """N(0, I_50)."""
    return rng.standard_normal(size=(n, 50))


def wide_inputs(n: int, rng: np.random.Generator) -> Array:
    """N(0, I_500)."""
    return rng.standard_normal(size=(n, 500))


def autoregressive_inputs(n: int, rng: np.random.Generator) -> Array:
    """N(0, C) in 30 dimensions with C_ab = 0.5^|a - b|."""
    X = rng.standard_normal(size=(n, 30))
    for a in range(1, X.shape[1]):
        X[:, a] = 0.5 * X[:, a - 1] + np.sqrt(0.75) * X[:, a]
    return X


def xor_function(X: Array) -> Array:
    """f(x) = sign(x1 x2): no main effect, and a jump."""
    return np.sign(X[:, 0] * X[:, 1])


def sine_ridge_function(X: Array) -> Array:
    """f(x) = sin(2 (x1 + x2)): one direction, two columns."""
    return np.sin(2 * (X[:, 0] + X[:, 1]))


def step_function(X: Array) -> Array:
    """f(x) = 1 for x1 > 0.3, else 0."""
    return (X[:, 0] > 0.3).astype(np.float64)


def linear_function(X: Array) -> Array:
    """f(x) = x1 + x2 + x3 + x4 + x5."""
    return np.asarray(X[:, :5].sum(axis=1))


def autoregressive_function(X: Array) -> Array:
    """f(x) = x1 + (x5^2 - 1) / sqrt 2 + sin(2 x10) + x15 x20: main effects and one interaction."""
    main = X[:, 0] + (X[:, 4] ** 2 - 1) / np.sqrt(2) + np.sin(2 * X[:, 9])
    return np.asarray(main + X[:, 14] * X[:, 19])


def all_relevant_function(X: Array) -> Array:
    """f(x) = x1 + 2 x2^2 + sin(3 x3) + 2 x4 x5."""
    return np.asarray(X[:, 0] + 2 * X[:, 1] ** 2 + np.sin(3 * X[:, 2]) + 2 * X[:, 3] * X[:, 4])


def wide_function(X: Array) -> Array:
    """f(x) = x1 + x2 + (x3^2 - 1) / sqrt 2."""
    return np.asarray(X[:, 0] + X[:, 1] + (X[:, 2] ** 2 - 1) / np.sqrt(2))


def make_heavy_tails(n: int, rng: np.random.Generator) -> KnownSupport:
    """y = x1^2 + ... + x4^2 + 0.4 t2, x uniform on [-2, 2]^20: the noise has no variance."""
    X = rng.uniform(-2, 2, size=(n, 20))
    noise_free = np.sum(X[:, :4] ** 2, axis=1)
    exact = add_noise(X, noise_free, range(4), 0.0, rng)
    y = noise_free + 0.4 * rng.standard_t(2, size=n)
    return KnownSupport(X, y, exact.support, exact.feature_names, None, noise_free)


def make_pure_noise(n: int, rng: np.random.Generator) -> KnownSupport:
    """y ~ N(0, 1), x ~ N(0, I_20): nothing to find."""
    X = rng.standard_normal(size=(n, 20))
    return add_noise(X, np.zeros(n), (), 1.0, rng)


def make_xor_labels(n: int, rng: np.random.Generator) -> KnownSupport:
    """y = 1 where x1 x2 > 0, else 0, for x uniform on [-1, 1]^10; no noise."""
    X = small_cube_inputs(n, rng)
    return add_noise(X, (X[:, 0] * X[:, 1] > 0).astype(np.float64), (0, 1), 0.0, rng)
