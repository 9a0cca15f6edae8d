"""Friedman's first regression."""

from __future__ import annotations

import numpy as np

from nablasso.datasets.known_support import (
    KnownSupport,
    add_noise,
    partial_derivatives,
    require_features,
)
from nablasso.datasets.random_source import RandomStateLike, resolve_random_source
from nablasso.types import Array


def friedman1_function(
    X: Array,  # (n_samples, n_features)
) -> Array:  # (n_samples,)
    """f(x) = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5."""
    interaction = 10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    values: Array = interaction + 20 * np.square(X[:, 2] - 0.5) + 10 * X[:, 3] + 5 * X[:, 4]
    return values


def friedman1_gradient(
    X: Array,  # (n_samples, n_features)
) -> Array:  # (n_samples, n_features)
    """10 pi x2 cos(pi x1 x2), the same with x1, 40 (x3 - 1/2), 10, 5."""
    wave = 10 * np.pi * np.cos(np.pi * X[:, 0] * X[:, 1])
    constant = np.ones(len(X))
    slopes = (wave * X[:, 1], wave * X[:, 0], 40 * (X[:, 2] - 0.5), 10 * constant, 5 * constant)
    return partial_derivatives(X, range(5), np.column_stack(slopes))


def make_friedman1(
    n_samples: int = 100,
    n_features: int = 10,
    *,
    noise: float = 1.0,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + noise.

    The inputs are uniform on [0, 1]^d.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; at least 5 columns.
    noise : float, default=1.0
        Standard deviation of the noise.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    J. Friedman. Multivariate adaptive regression splines. Annals of Statistics 19, 1991.
    """
    require_features(n_features, 5)
    rng = resolve_random_source(random_state)
    X = rng.uniform(0.0, 1.0, size=(n_samples, n_features))
    gradient = friedman1_gradient(X)
    return add_noise(X, friedman1_function(X), range(5), noise, rng, gradient=gradient)
