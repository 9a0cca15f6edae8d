"""Gregorova et al. (2018): group lasso and elastic net on derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.estimators import DerivativeElasticNet, DerivativeLasso, derivative_path
from nablasso.progress import track

Row = dict[str, Any]

PAIRS = ((0, 1), (2, 3))  # the relevant ones; columns 4 and 5 are twins that do not matter
FRACTIONS = (0.5, 0.3, 0.1)  # of alpha_max


def twins(repeats: int = 20, seed: int = 0) -> list[Row]:
    """How often correlated twins are kept together, by the lasso and by the elastic net.

    Three pairs (a, a'), (b, b'), (c, c') of correlation 0.95, y = a b + a + noise, n = 40,
    polynomial kernel of degree 2. At the same fractions of each estimator's alpha_max: the number
    of the two relevant pairs that are selected whole, and of selected variables. One row per
    repeat, estimator and fraction.
    """
    settings: Row = {"kernel": "polynomial", "ridge": 0.01, "tol": 1e-5}
    estimators = {
        "lasso": DerivativeLasso(**settings),
        "elastic net": DerivativeElasticNet(l1_ratio=0.3, **settings),
    }
    rows: list[Row] = []
    for draw in track(range(seed, seed + repeats), repeats, "twins"):
        X, y = _twin_table(draw)
        for name, estimator in estimators.items():
            top = derivative_path(X, y, estimator=estimator, n_alphas=1).alpha_max
            alphas = top * np.array(FRACTIONS)
            path = derivative_path(X, y, estimator=estimator, alphas=alphas)
            for fraction, support in zip(FRACTIONS, path.support, strict=True):
                rows.append(
                    {
                        "draw": draw,
                        "estimator": name,
                        "fraction": fraction,
                        "pairs_whole": sum(bool(support[a] and support[b]) for a, b in PAIRS),
                        "n_selected": int(support.sum()),
                    }
                )
    return rows


def _twin_table(seed: int, n_samples: int = 40) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n_samples, 3))
    second = 0.95 * first + np.sqrt(1 - 0.95**2) * rng.normal(size=(n_samples, 3))
    X = np.stack([first, second], axis=2).reshape(n_samples, 6)
    a, b = X[:, 0], X[:, 2]
    return X, a * b + a + 0.1 * rng.normal(size=n_samples)
