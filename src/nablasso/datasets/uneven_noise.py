"""Noise whose level depends on x (Le, Smola and Canu 2005; Marteau-Ferey et al. 2020)."""

from __future__ import annotations

import numpy as np

from nablasso.datasets.known_support import KnownSupport, add_noise
from nablasso.datasets.random_source import RandomStateLike, resolve_random_source
from nablasso.types import Array


def wavy_mean(x: Array) -> Array:
    """``2 (exp(-30 (x - 1/4)^2) + sin(pi x^2))``."""
    return np.asarray(2 * (np.exp(-30 * (x - 0.25) ** 2) + np.sin(np.pi * x**2)))


def wavy_slope(x: Array) -> Array:
    """Its derivative."""
    bump = -60 * (x - 0.25) * np.exp(-30 * (x - 0.25) ** 2)
    return np.asarray(2 * (bump + 2 * np.pi * x * np.cos(np.pi * x**2)))


def wavy_deviation(x: Array) -> Array:
    """``exp(sin(2 pi x) / 2)``."""
    return np.asarray(np.exp(np.sin(2 * np.pi * x) / 2))


def bow_tie_deviation(x: Array) -> Array:
    """``1/3 - x``, then ``x - 2/3``, zero between."""
    return np.maximum(0.0, np.maximum(1 / 3 - x, x - 2 / 3))


def make_wavy_noise(n_samples: int = 80, *, random_state: RandomStateLike = None) -> KnownSupport:
    """Draw y ~ N(m(x), s(x)^2) at points evenly on [0, 1].

    ``m(x) = 2 (exp(-30 (x - 1/4)^2) + sin(pi x^2))`` and ``s(x) = exp(sin(2 pi x) / 2)``.

    Parameters
    ----------
    n_samples : int, default=80
    random_state : int, RandomState, Generator or None
        Source of the noise; the points are always the same.

    Returns
    -------
    KnownSupport
        ``noise_sd`` has one number per row.

    References
    ----------
    Q. Le, A. Smola, S. Canu. Heteroscedastic Gaussian process regression. ICML 2005, section 5.
    U. Marteau-Ferey, F. Bach, A. Rudi. Non-parametric models for non-negative functions.
    NeurIPS 2020, heteroscedastic regression.
    """
    rng = resolve_random_source(random_state)
    x = np.linspace(0.0, 1.0, n_samples)
    slope = wavy_slope(x)[:, None]
    return add_noise(x[:, None], wavy_mean(x), (0,), wavy_deviation(x), rng, gradient=slope)


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
