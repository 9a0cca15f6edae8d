"""Noise whose level depends on x (Le, Smola and Canu 2005; Marteau-Ferey et al. 2020)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nablasso.datasets.known_support import KnownSupport, add_noise
from nablasso.datasets.random_source import RandomStateLike, resolve_random_source

Array = NDArray[np.float64]


def growing_mean(x: Array) -> Array:
    """``2 sin(2 pi x)``."""
    return 2 * np.sin(2 * np.pi * x)


def growing_deviation(x: Array) -> Array:
    """``x + 1/2``."""
    return x + 0.5


def bow_tie_deviation(x: Array) -> Array:
    """``1/3 - x``, then ``x - 2/3``, zero between."""
    return np.maximum(0.0, np.maximum(1 / 3 - x, x - 2 / 3))


def make_growing_noise(
    n_samples: int = 80, *, random_state: RandomStateLike = None
) -> KnownSupport:
    """Draw y ~ N(2 sin(2 pi x), (x + 1/2)^2), with x uniform on [0, 1].

    Parameters
    ----------
    n_samples : int, default=80
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport
        ``noise_sd`` has one number per row.

    References
    ----------
    Q. Le, A. Smola, S. Canu. Heteroscedastic Gaussian process regression. ICML 2005.
    """
    rng = resolve_random_source(random_state)
    x: Array = rng.uniform(0.0, 1.0, size=n_samples)
    slope = (4 * np.pi * np.cos(2 * np.pi * x))[:, None]
    return add_noise(x[:, None], growing_mean(x), (0,), growing_deviation(x), rng, gradient=slope)


def make_bow_tie(n_samples: int = 500, *, random_state: RandomStateLike = None) -> KnownSupport:
    """Draw y ~ N(0, s(x)^2), with x uniform on [0, 1/3] and [2/3, 1] and s going to 0 between.

    Only the spread of y depends on x: ``support`` is True, ``noise_free`` is zero.

    Parameters
    ----------
    n_samples : int, default=500
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport
        ``noise_sd`` has one number per row: 1/3 - x, then x - 2/3.

    References
    ----------
    U. Marteau-Ferey, F. Bach, A. Rudi. Non-parametric models for non-negative functions.
    NeurIPS 2020. Multiple quantile regression.
    """
    rng = resolve_random_source(random_state)
    x: Array = rng.uniform(0.0, 1.0, size=n_samples) / 3
    x = np.where(rng.uniform(0.0, 1.0, size=n_samples) < 0.5, x, x + 2 / 3)
    zero = np.zeros(n_samples)
    return add_noise(x[:, None], zero, (0,), bow_tie_deviation(x), rng, gradient=zero[:, None])
