"""Turlach's regression, where a relevant variable has no correlation with y."""

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


def turlach_function(
    X: Array,  # (n_samples, n_features)
) -> Array:  # (n_samples,)
    """f(x) = (2 x1 - 1)^2 + x2 + x3 + x4 + x5."""
    values: Array = np.square(2 * X[:, 0] - 1) + np.sum(X[:, 1:5], axis=1)
    return values


def turlach_gradient(
    X: Array,  # (n_samples, n_features)
) -> Array:  # (n_samples, n_features)
    """4 (2 x1 - 1), then 1 for x2 to x5."""
    slopes = np.ones((len(X), 5))
    slopes[:, 0] = 4 * (2 * X[:, 0] - 1)
    return partial_derivatives(X, range(5), slopes)


def make_turlach(
    n_samples: int = 100,
    n_features: int = 10,
    *,
    noise: float = 0.05**0.5,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = (2 x1 - 1)^2 + x2 + x3 + x4 + x5 + noise, with x uniform on [0, 1]^d.

    x1 is uncorrelated with y, which hides it from linear methods.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; at least 5 columns.
    noise : float, default=0.05**0.5
        Standard deviation of the noise; the paper states a variance of 0.05.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    G.-B. Ye and X. Xie. Learning sparse gradients for variable selection and dimension
    reduction. Machine Learning, 2012. Section 6.1 and Table 1, after B. Turlach (2004).
    """
    require_features(n_features, 5)
    rng = resolve_random_source(random_state)
    X = rng.uniform(0.0, 1.0, size=(n_samples, n_features))
    gradient = turlach_gradient(X)
    return add_noise(X, turlach_function(X), range(5), noise, rng, gradient=gradient)
