"""Two rings to tell apart among many irrelevant inputs (Ye and Xie 2012, section 6.2)."""

from __future__ import annotations

import numpy as np

from nablasso.datasets.known_support import KnownSupport, add_noise, require_features
from nablasso.datasets.random_source import RandomStateLike, resolve_random_source
from nablasso.types import Array

INNER_RADIUS = 3.0
OUTER_RADIUS = 7.5


def rings_function(
    X: Array,  # (n_samples, n_features)
) -> Array:  # (n_samples,)
    """f(x) = 1 where sqrt(x1^2 + x2^2) is nearer to 3 than to 7.5, else 0."""
    radius = np.hypot(X[:, 0], X[:, 1])
    return (radius < (INNER_RADIUS + OUTER_RADIUS) / 2).astype(np.float64)


def make_rings(
    n_samples: int = 40,
    n_features: int = 200,
    *,
    spread: float = 1.0,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = 1 on the ring of radius 3 in (x1, x2), y = 0 on the ring of radius 7.5.

    Half of the rows, in random order, lie on each ring, uniformly; an odd row goes to the outer
    one. The other inputs are N(0, spread^2). There is no noise: ``noise_free`` equals ``y``.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; at least 2 columns.
    spread : float, default=1.0
        Standard deviation of x3, ..., xd; the paper varies it from 0.1 to 3.
    random_state : int, RandomState, Generator or None
        Source of the rows.

    Returns
    -------
    KnownSupport

    References
    ----------
    G.-B. Ye and X. Xie. Learning sparse gradients for variable selection and dimension
    reduction. Machine Learning, 2012. Section 6.2, Figures 2 and 3.
    """
    require_features(n_features, 2)
    rng = resolve_random_source(random_state)
    inner = rng.permutation(n_samples) < n_samples // 2
    radius = np.where(inner, INNER_RADIUS, OUTER_RADIUS)
    angle = rng.uniform(0.0, 2 * np.pi, size=n_samples)
    plane = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    X = np.hstack([plane, spread * rng.standard_normal(size=(n_samples, n_features - 2))])
    return add_noise(X, inner.astype(np.float64), range(2), 0.0, rng)
