"""Pairwise products of correlated Gaussian inputs (Bach 2009, section 6.2)."""

from __future__ import annotations

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
from nablasso.datasets.random_source import RandomStateLike, resolve_random_source
from nablasso.types import Array


def pairwise_function(
    X: Array,  # (n_samples, n_features)
    n_relevant: int = 4,
    coefficients: ArrayLike | None = None,  # (n_relevant * (n_relevant - 1) / 2,)
) -> Array:
    """f(x) = sum over i < j <= r of c_ij x_i x_j, with r = ``n_relevant``.

    ``coefficients`` lists c_12, c_13, ..., c_23, ...; all are 1 by default.
    """
    c = pair_coefficients(n_relevant, coefficients)
    left, right = np.triu_indices(n_relevant, k=1)
    values: Array = (X[:, left] * X[:, right]) @ c
    return values


def pairwise_gradient(
    X: Array,  # (n_samples, n_features)
    n_relevant: int = 4,
    coefficients: ArrayLike | None = None,
) -> Array:  # (n_samples, n_features)
    """sum_j c_ij x_j in column i, with c symmetric and zero on its diagonal."""
    C = np.zeros((n_relevant, n_relevant))
    C[np.triu_indices(n_relevant, k=1)] = pair_coefficients(n_relevant, coefficients)
    return partial_derivatives(X, range(n_relevant), X[:, :n_relevant] @ (C + C.T))


def pair_coefficients(n_relevant: int, coefficients: ArrayLike | None) -> Array:
    """Check the coefficients of the r (r - 1) / 2 pairs of r variables; ones by default.

    Raises
    ------
    ValueError
        If there are fewer than two variables, or not one coefficient per pair.
    """
    if n_relevant < 2:
        raise ValueError(f"Pairs need n_relevant of at least 2; got {n_relevant}.")
    n_pairs = n_relevant * (n_relevant - 1) // 2
    if coefficients is None:
        return np.ones(n_pairs)
    c = np.asarray(coefficients, dtype=np.float64)
    if c.shape != (n_pairs,):
        raise ValueError(
            f"`coefficients` needs one number per pair, shape ({n_pairs},) for "
            f"n_relevant={n_relevant}; got shape {c.shape}."
        )
    return c


def wishart_correlation(n_features: int, random_state: RandomStateLike = None) -> Array:
    """C = S / sqrt(diag S diag S'), with S Wishart of dimension p and 2 p degrees of freedom.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        A correlation matrix.
    """
    rng = resolve_random_source(random_state)
    G = rng.standard_normal(size=(2 * n_features, n_features))
    S = G.T @ G
    scale = np.sqrt(np.diag(S))
    C: Array = S / np.outer(scale, scale)
    return C


def pairwise_signal_sd(
    correlation: Array,  # (n_features, n_features)
    n_relevant: int = 4,
) -> float:
    """sd(x'Ax) = sqrt(2 tr(A C A C)) for x ~ N(0, C), where x'Ax is the sum of the pairs."""
    A = (np.ones((n_relevant, n_relevant)) - np.eye(n_relevant)) / 2
    AC = A @ correlation[:n_relevant, :n_relevant]
    return sqrt(2 * float(np.trace(AC @ AC)))


def make_pairwise(
    n_samples: int = 100,
    n_features: int = 16,
    *,
    n_relevant: int = 4,
    snr: float = 3.0,
    design_state: RandomStateLike = 0,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = sum over i < j <= r of x_i x_j + noise, with x ~ N(0, C).

    The correlation matrix C is a Wishart matrix (2 p degrees of freedom) scaled to unit diagonal.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``.
    n_relevant : int, default=4
        r, the number of relevant variables; they come first.
    snr : float, default=3.0
        sd(f) / sd(noise), with sd(f) the population value under C.
    design_state : int, RandomState, Generator or None, default=0
        Source of C. Give training and test sets the same integer: they then share the
        distribution of the inputs and the noise level.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    F. Bach. High-dimensional non-linear variable selection through hierarchical kernel learning.
    2009. Section 6.2 and Figure 8. The paper does not state its signal-to-noise ratio.
    """
    require_features(n_features, n_relevant)
    correlation = wishart_correlation(n_features, design_state)
    rng = resolve_random_source(random_state)
    Z = rng.standard_normal(size=(n_samples, n_features))
    X = Z @ np.linalg.cholesky(correlation).T
    noise_free = pairwise_function(X, n_relevant)
    noise_sd = noise_level(pairwise_signal_sd(correlation, n_relevant), snr)
    gradient = pairwise_gradient(X, n_relevant)
    return add_noise(X, noise_free, range(n_relevant), noise_sd, rng, gradient=gradient)
