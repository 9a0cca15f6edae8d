"""Smooth functions of a few uniform inputs (Rosasco et al. 2013, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from nablasso.datasets.known_support import (
    KnownSupport,
    add_noise,
    noise_level,
    partial_derivatives,
    require_features,
)
from nablasso.datasets.pairwise import pair_coefficients, pairwise_function, pairwise_gradient
from nablasso.datasets.random_source import RandomSource, RandomStateLike, resolve_random_source
from nablasso.types import Array


def _uniform(rng: RandomSource, n_samples: int, n_features: int, half_width: float) -> Array:
    """Draw x uniformly on [-half_width, half_width]^d."""
    X: Array = rng.uniform(-half_width, half_width, size=(n_samples, n_features))
    return X


def _even_moment(half_width: float, power: int) -> float:
    """E x^power = w^power / (power + 1) for x uniform on [-w, w] and an even power."""
    return half_width**power / (power + 1)


def additive_function(X: Array) -> Array:  # (n_samples, n_features) -> (n_samples,)
    """f(x) = x1^2 + x2^2 + x3^2 + x4^2."""
    values: Array = np.sum(np.square(X[:, :4]), axis=1)
    return values


def three_way_function(X: Array) -> Array:  # (n_samples, n_features) -> (n_samples,)
    """f(x) = (x1 x2 x3)^2."""
    return np.square(X[:, 0] * X[:, 1] * X[:, 2])


def radial_function(X: Array) -> Array:  # (n_samples, n_features) -> (n_samples,)
    """f(x) = r exp(-r) / pi, with r = x1^2 + x2^2."""
    r = np.square(X[:, 0]) + np.square(X[:, 1])
    values: Array = r * np.exp(-r) / np.pi
    return values


def product_function(X: Array) -> Array:  # (n_samples, n_features) -> (n_samples,)
    """f(x) = x1 x2."""
    values: Array = X[:, 0] * X[:, 1]
    return values


def parabola_function(X: Array) -> Array:  # (n_samples, n_features) -> (n_samples,)
    """f(x) = x1^2."""
    return np.square(X[:, 0])


def additive_gradient(X: Array) -> Array:  # (n_samples, n_features) -> the same shape
    """2 x_a for the first four."""
    return partial_derivatives(X, range(4), 2 * X[:, :4])


def three_way_gradient(X: Array) -> Array:  # (n_samples, n_features) -> the same shape
    """2 x1 (x2 x3)^2 and so on."""
    Z = X[:, :3]
    others = np.column_stack([Z[:, 1] * Z[:, 2], Z[:, 0] * Z[:, 2], Z[:, 0] * Z[:, 1]])
    return partial_derivatives(X, range(3), 2 * Z * others**2)


def radial_gradient(X: Array) -> Array:  # (n_samples, n_features) -> the same shape
    """2 x_a (1 - r) exp(-r) / pi."""
    Z = X[:, :2]
    r = np.sum(Z**2, axis=1, keepdims=True)
    return partial_derivatives(X, range(2), 2 * Z * (1 - r) * np.exp(-r) / np.pi)


def product_gradient(X: Array) -> Array:  # (n_samples, n_features) -> the same shape
    """x2, then x1."""
    return partial_derivatives(X, range(2), X[:, 1::-1])


def parabola_gradient(X: Array) -> Array:  # (n_samples, n_features) -> the same shape
    """2 x1."""
    return partial_derivatives(X, range(1), 2 * X[:, :1])


@cache
def radial_signal_sd(half_width: float = 2.0) -> float:
    """sd(f) of :func:`radial_function` over the square, by Gauss-Legendre quadrature.

    64 nodes per axis reach rounding error: the integrand is entire.
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    grid = half_width * np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    probability = np.outer(weights, weights).ravel() / 4
    values = radial_function(grid)
    mean = float(probability @ values)
    return sqrt(float(probability @ np.square(values - mean)))


def make_additive(
    n_samples: int = 100,
    n_features: int = 40,
    *,
    snr: float = 15.0,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = x1^2 + x2^2 + x3^2 + x4^2 + noise, with x uniform on [-2, 2]^d.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; at least 4 columns.
    snr : float, default=15.0
        sd(f) / sd(noise), with sd(f) the population value.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    L. Rosasco et al. Nonparametric sparsity and regularization. JMLR 14, 2013. Table 1.
    """
    require_features(n_features, 4)
    rng = resolve_random_source(random_state)
    X = _uniform(rng, n_samples, n_features, 2.0)
    signal_sd = sqrt(4 * (_even_moment(2.0, 4) - _even_moment(2.0, 2) ** 2))
    values, gradient = additive_function(X), additive_gradient(X)
    return add_noise(X, values, range(4), noise_level(signal_sd, snr), rng, gradient=gradient)


def make_two_way(
    n_samples: int = 100,
    n_features: int = 40,
    *,
    n_relevant: int = 4,
    half_width: float = 2.0,
    coefficients: ArrayLike | None = None,
    snr: float = 15.0,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = sum over a < b <= r of c_ab x_a x_b + noise, with x uniform on [-w, w]^d.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; at least ``n_relevant`` columns.
    n_relevant : int, default=4
        r, the number of relevant variables; they come first.
    half_width : float, default=2.0
        w. The paper uses 2 against other methods and 1 where n, d and r vary.
    coefficients : array-like of shape (r * (r - 1) / 2,), default=None
        c_12, c_13, ..., c_23, ...; ones by default. Draw them once and give them to training
        and test sets alike.
    snr : float, default=15.0
        sd(f) / sd(noise), with sd(f) the population value.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    L. Rosasco et al. Nonparametric sparsity and regularization. JMLR 14, 2013. Table 1 and
    Figures 4 and 5, which scale f for unit noise: divide ``y`` by the noise level for that.
    """
    require_features(n_features, n_relevant)
    rng = resolve_random_source(random_state)
    c = pair_coefficients(n_relevant, coefficients)
    X = _uniform(rng, n_samples, n_features, half_width)
    # Distinct products of independent centred inputs are uncorrelated.
    signal_sd = _even_moment(half_width, 2) * sqrt(float(c @ c))
    noise_free = pairwise_function(X, n_relevant, c)
    relevant = _variables_of_pairs(n_relevant, c)
    gradient, noise_sd = pairwise_gradient(X, n_relevant, c), noise_level(signal_sd, snr)
    return add_noise(X, noise_free, relevant, noise_sd, rng, gradient=gradient)


def _variables_of_pairs(n_relevant: int, coefficients: Array) -> Sequence[int]:
    """Variables that appear in a pair with a non-zero coefficient."""
    pairs = np.stack(np.triu_indices(n_relevant, k=1))
    return [int(a) for a in np.unique(pairs[:, coefficients != 0])]


def make_three_way(
    n_samples: int = 100,
    n_features: int = 40,
    *,
    snr: float = 15.0,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = (x1 x2 x3)^2 + noise, with x uniform on [-2, 2]^d.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; at least 3 columns.
    snr : float, default=15.0
        sd(f) / sd(noise), with sd(f) the population value.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    L. Rosasco et al. Nonparametric sparsity and regularization. JMLR 14, 2013. Table 1.
    """
    require_features(n_features, 3)
    rng = resolve_random_source(random_state)
    X = _uniform(rng, n_samples, n_features, 2.0)
    signal_sd = sqrt(_even_moment(2.0, 4) ** 3 - _even_moment(2.0, 2) ** 6)
    values, gradient = three_way_function(X), three_way_gradient(X)
    return add_noise(X, values, range(3), noise_level(signal_sd, snr), rng, gradient=gradient)


def make_radial(
    n_samples: int = 100,
    n_features: int = 20,
    *,
    snr: float = 15.0,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = r exp(-r) / pi + noise, with r = x1^2 + x2^2 and x uniform on [-2, 2]^d.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; at least 2 columns.
    snr : float, default=15.0
        sd(f) / sd(noise), with sd(f) the population value.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    L. Rosasco et al. Nonparametric sparsity and regularization. JMLR 14, 2013. Table 1.
    """
    require_features(n_features, 2)
    rng = resolve_random_source(random_state)
    X = _uniform(rng, n_samples, n_features, 2.0)
    noise_sd = noise_level(radial_signal_sd(), snr)
    gradient = radial_gradient(X)
    return add_noise(X, radial_function(X), range(2), noise_sd, rng, gradient=gradient)


def make_product(
    n_samples: int = 80,
    n_features: int = 20,
    *,
    snr: float = 3.0,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = x1 x2 + noise, with x uniform on [-1, 1]^d: no main effect, only an interaction.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; at least 2 columns.
    snr : float, default=3.0
        sd(f) / sd(noise), with sd(f) = 1/3 the population value.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    L. Rosasco et al. Nonparametric sparsity and regularization. JMLR 14, 2013. Figure 7.
    """
    require_features(n_features, 2)
    rng = resolve_random_source(random_state)
    X = _uniform(rng, n_samples, n_features, 1.0)
    noise_sd = noise_level(_even_moment(1.0, 2), snr)
    gradient = product_gradient(X)
    return add_noise(X, product_function(X), range(2), noise_sd, rng, gradient=gradient)


def make_parabola(
    n_samples: int = 20,
    n_features: int = 2,
    *,
    spread: float = 0.05,
    noise: float = 0.1,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = x1^2 + noise, with x1 uniform on [-1, 1] and the other inputs nearly constant.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; the paper has 2 columns.
    spread : float, default=0.05
        Standard deviation of x2, ..., xd, which are normal around 0.
    noise : float, default=0.1
        Standard deviation of the noise. The paper's text calls 0.1 a variance, its caption
        writes N(0, 0.1): ``noise=0.1**0.5`` is the other reading.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    L. Rosasco et al. Nonparametric sparsity and regularization. JMLR 14, 2013. Figure 3.
    """
    require_features(n_features, 1)
    rng = resolve_random_source(random_state)
    x1 = _uniform(rng, n_samples, 1, 1.0)
    X = np.hstack([x1, spread * rng.standard_normal(size=(n_samples, n_features - 1))])
    gradient = parabola_gradient(X)
    return add_noise(X, parabola_function(X), range(1), noise, rng, gradient=gradient)
