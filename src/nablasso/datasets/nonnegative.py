"""A density of two modes and a bell: functions that must not be negative.

Data of U. Marteau-Ferey, F. Bach, A. Rudi. Non-parametric models for non-negative functions.
NeurIPS 2020, as their own code draws them: the numbers behind N are standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.datasets.known_support import KnownSupport, add_noise, require_features
from nablasso.datasets.random_source import RandomStateLike, resolve_random_source
from nablasso.types import Array

MODE, DEVIATION = 1.0, 0.3  # of the density in one variable
HALF_WIDTH = 5.0  # of the interval of the bell


@dataclass(frozen=True, eq=False)
class KnownDensity:
    """Draws ``X`` (n_samples, n_features) of a density, and its logarithm at them (n_samples,)."""

    X: Array
    log_density: Array


def two_modes_log_density(
    X: Array,  # (n_samples, n_features)
    *,
    mode: float = MODE,
    deviation: float = DEVIATION,
) -> Array:  # (n_samples,)
    """Logarithm of ``N(-mode e1, deviation^2 I) / 2 + N(mode e1, deviation^2 I) / 2``."""
    near, far = (np.sum(X[:, 1:] ** 2, axis=1) + (X[:, 0] - s * mode) ** 2 for s in (-1.0, 1.0))
    logs = np.logaddexp(-near / (2 * deviation**2), -far / (2 * deviation**2))
    return np.asarray(logs - np.log(2) - X.shape[1] * np.log(np.sqrt(2 * np.pi) * deviation))


def make_two_modes(
    n_samples: int = 80,
    n_features: int = 1,
    *,
    mode: float = MODE,
    deviation: float = DEVIATION,
    random_state: RandomStateLike = None,
) -> KnownDensity:
    """Draw half from N(-mode e1, deviation^2 I) and half from N(mode e1, deviation^2 I).

    The paper's density in one variable by default; that in ten has ``n_samples=1000,
    n_features=10, mode=2`` and ``deviation=1 / sqrt(2 pi)``. Both are learned with respect to the
    base measure N(0, 5^2 I).

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``.
    mode : float, default=1.0
        Distance of either centre from zero, along the first column.
    deviation : float, default=0.3
        Standard deviation of every column around its centre.
    random_state : int, RandomState, Generator or None
        Source of the rows.

    Returns
    -------
    KnownDensity
    """
    require_features(n_features, 1)
    rng = resolve_random_source(random_state)
    X = deviation * np.asarray(rng.standard_normal(size=(n_samples, n_features)))
    X[:, 0] += np.where(rng.uniform(0.0, 1.0, size=n_samples) < 0.5, -mode, mode)
    return KnownDensity(X, two_modes_log_density(X, mode=mode, deviation=deviation))


def bell_function(X: Array) -> Array:
    """``f(x) = exp(-x^2 / 2)``."""
    return np.asarray(np.exp(-(X[:, 0] ** 2) / 2))


def make_bell(n_samples: int = 100, *, random_state: RandomStateLike = None) -> KnownSupport:
    """Draw y = exp(-x^2 / 2) without noise, with x uniform on [-5, 5] (figure 2 of the paper).

    A mixture of bumps with coefficients that are not negative is never narrower than the bump: with
    a wider kernel (1.41 in the authors' code) it can not approximate this function.

    Parameters
    ----------
    n_samples : int, default=100
    random_state : int, RandomState, Generator or None
        Source of the rows.

    Returns
    -------
    KnownSupport
    """
    rng = resolve_random_source(random_state)
    X: Array = np.asarray(rng.uniform(-HALF_WIDTH, HALF_WIDTH, size=(n_samples, 1)))
    y = bell_function(X)
    return add_noise(X, y, (0,), 0.0, rng, gradient=-X * y[:, None])
