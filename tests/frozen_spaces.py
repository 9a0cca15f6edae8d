"""Small frozen spaces, and rows to add up in them."""

from __future__ import annotations

import numpy as np

from nablasso.data.table import prepare
from nablasso.kernels import Anova
from nablasso.spaces import draw_fourier
from nablasso.streaming import FrozenSpace


def rows(n=300, d=4, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, d)) * np.arange(1, d + 1) + 5).astype(dtype)
    y = 100 + np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    return X, y


def frozen(X, y, n_features=16, **fields):
    table = prepare(
        np.asarray(X, dtype=float),
        np.asarray(y, dtype=float),
        np.ones(len(X)),
        standardize=True,
        centre_y=True,
    )
    scales = np.full(len(table.columns), 0.5)
    return FrozenSpace.from_table(table, draw_fourier(Anova(2), scales, n_features), **fields)


def direct(space, X, y, weights):
    """Mean of phi, C, c, mean and variance of y by their definitions, in float64."""
    kept = np.asarray(X, dtype=float)[:, space.columns]
    Z = (kept - space.scaler.centre[space.columns]) / space.scaler.scale[space.columns]
    phi = np.array([space.features.features(z[None])[0] for z in Z])
    p = weights / weights.sum()
    mean, y_mean = p @ phi, p @ y
    centred = phi - mean
    C = sum(p_i * np.outer(row, row) for p_i, row in zip(p, centred, strict=True))
    c = (p * (y - y_mean)) @ centred
    return mean, C, c, y_mean, p @ (y - y_mean) ** 2
