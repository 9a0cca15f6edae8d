"""Groups, correlated pairs and noisy copies (Gregorova et al. 2018, section 5.1)."""

from __future__ import annotations

from math import sqrt

import numpy as np

from nablasso.datasets.known_support import (
    KnownSupport,
    add_noise,
    partial_derivatives,
    require_features,
)
from nablasso.datasets.random_source import RandomStateLike, resolve_random_source
from nablasso.types import Array

RELEVANT = (0, 1, 2, 6, 7, 8)
N_COPIES = 3


def cubic_groups_function(X: Array) -> Array:  # (n_samples, n_features) -> (n_samples,)
    """f(x) = h(x1, x2, x3) + h(x7, x8, x9), where h sums the ten monomials of degree 3."""
    return _cubic_monomials(X[:, 0:3]) + _cubic_monomials(X[:, 6:9])


def _cubic_monomials(block: Array) -> Array:  # (n_samples, n_variables) -> (n_samples,)
    """Sum of x_i x_j x_k over i <= j <= k, by Newton's identity (p1^3 + 3 p1 p2 + 2 p3) / 6.

    ``p_m`` is the power sum of the x_i^m.
    """
    p1, p2, p3 = (np.sum(block**power, axis=1) for power in (1, 2, 3))
    values: Array = (p1**3 + 3 * p1 * p2 + 2 * p3) / 6
    return values


def cubic_groups_gradient(X: Array) -> Array:  # (n_samples, n_features) -> the same shape
    """(p1^2 + p2) / 2 + p1 x_a + x_a^2, with the power sums p of the column's group."""
    slopes = []
    for group in (X[:, 0:3], X[:, 6:9]):
        p1, p2 = (np.sum(group**power, axis=1, keepdims=True) for power in (1, 2))
        slopes.append((p1**2 + p2) / 2 + p1 * group + group**2)
    return partial_derivatives(X, RELEVANT, np.hstack(slopes))


def correlated_pairs_gradient(X: Array) -> Array:  # (n_samples, n_features) -> the same shape
    """Three times the square of the column's sum."""
    sums = [np.sum(X[:, a : a + 3], axis=1, keepdims=True) for a in (0, 6)]
    return partial_derivatives(X, RELEVANT, np.repeat(3 * np.hstack(sums) ** 2, 3, axis=1))


def correlated_pairs_function(X: Array) -> Array:  # (n_samples, n_features) -> (n_samples,)
    """f(x) = (x1 + x2 + x3)^3 + (x7 + x8 + x9)^3."""
    values: Array = np.sum(X[:, 0:3], axis=1) ** 3 + np.sum(X[:, 6:9], axis=1) ** 3
    return values


def noisy_copies_function(Z: Array) -> Array:  # (n_samples, n_latent) -> (n_samples,)
    """f(z) = 10 r exp(-2 r), with r = z1^2 + z3^2, of the latent variables and not of ``X``."""
    r = np.square(Z[:, 0]) + np.square(Z[:, 2])
    values: Array = 10 * r * np.exp(-2 * r)
    return values


def pairs_of_columns(n_features: int = 18) -> tuple[tuple[int, int], ...]:
    """Correlated pairs: (x1, x7), (x2, x8), (x3, x9), then the other columns two by two.

    How the irrelevant columns are paired changes only their order.
    """
    others = [a for a in range(n_features) if a not in RELEVANT]
    relevant_pairs = ((0, 6), (1, 7), (2, 8))
    return relevant_pairs + tuple(zip(others[0::2], others[1::2], strict=True))


def _triples(n_features: int) -> tuple[tuple[int, ...], ...]:
    """Partition of the columns into consecutive groups of three."""
    require_features(n_features, 9)
    if n_features % 3:
        raise ValueError(
            f"Columns come in groups of three; got n_features={n_features}. Use a multiple of 3."
        )
    return tuple((a, a + 1, a + 2) for a in range(0, n_features, 3))


def make_cubic_groups(
    n_samples: int = 110,
    n_features: int = 18,
    *,
    noise: float = 0.01,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = sum_{i<=j<=k in 1..3} x_i x_j x_k + sum_{i<=j<=k in 7..9} x_i x_j x_k + noise.

    The inputs are independent N(0, 1), in groups of three; the first and third group matter.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; a multiple of 3, at least 9 columns.
    noise : float, default=0.01
        Standard deviation of the noise.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport
        With ``groups``.

    References
    ----------
    M. Gregorova, A. Kalousis, S. Marchand-Maillet. Structured nonlinear variable selection.
    UAI 2018. Experiment E1.
    """
    groups = _triples(n_features)
    rng = resolve_random_source(random_state)
    X = rng.standard_normal(size=(n_samples, n_features))
    values, gradient = cubic_groups_function(X), cubic_groups_gradient(X)
    return add_noise(X, values, RELEVANT, noise, rng, gradient=gradient, groups=groups)


def make_correlated_pairs(
    n_samples: int = 110,
    n_features: int = 18,
    *,
    correlation: float = 0.95,
    noise: float = 0.01,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = (x1 + x2 + x3)^3 + (x7 + x8 + x9)^3 + noise, with inputs correlated in pairs.

    The inputs are N(0, 1); :func:`pairs_of_columns` lists the pairs.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; an even number of columns, at least 10.
    correlation : float, default=0.95
        Population correlation within a pair.
    noise : float, default=0.01
        Standard deviation of the noise.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    M. Gregorova, A. Kalousis, S. Marchand-Maillet. Structured nonlinear variable selection.
    UAI 2018. Experiment E2.
    """
    require_features(n_features, 10)
    if n_features % 2:
        raise ValueError(f"Columns come in pairs; got n_features={n_features}. Use an even number.")
    if not -1 <= correlation <= 1:
        raise ValueError(f"`correlation` lies between -1 and 1; got {correlation}.")
    rng = resolve_random_source(random_state)
    X = rng.standard_normal(size=(n_samples, n_features))
    for first, second in pairs_of_columns(n_features):
        X[:, second] = correlation * X[:, first] + sqrt(1 - correlation**2) * X[:, second]
    gradient = correlated_pairs_gradient(X)
    return add_noise(X, correlated_pairs_function(X), RELEVANT, noise, rng, gradient=gradient)


def make_noisy_copies(
    n_samples: int = 110,
    n_features: int = 18,
    *,
    copy_noise: float = 0.1,
    noise: float = 0.01,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = 10 r exp(-2 r) + noise, with r = z1^2 + z3^2 and three noisy copies of each z in X.

    The latent z are independent N(0, 1) and unobserved; columns 1 to 3 of ``X`` measure z1,
    columns 4 to 6 measure z2, and so on. ``noise_free`` is the function of z: no function of
    ``X`` attains it, and the support holds the columns that measure z1 and z3.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; a multiple of 3, at least 9 columns.
    copy_noise : float, default=0.1
        Standard deviation of the error of each copy.
    noise : float, default=0.01
        Standard deviation of the noise of ``y``.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport
        With ``groups``, the copies of one latent variable each.

    References
    ----------
    M. Gregorova, A. Kalousis, S. Marchand-Maillet. Structured nonlinear variable selection.
    UAI 2018. Experiment E3.
    """
    groups = _triples(n_features)
    rng = resolve_random_source(random_state)
    Z = rng.standard_normal(size=(n_samples, n_features // N_COPIES))
    X = np.repeat(Z, N_COPIES, axis=1)
    X += copy_noise * rng.standard_normal(size=X.shape)
    return add_noise(X, noisy_copies_function(Z), RELEVANT, noise, rng, groups=groups)
