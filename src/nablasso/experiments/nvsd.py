"""Gregorova et al. (2018): group lasso and elastic net on derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nablasso.datasets import make_correlated_pairs
from nablasso.estimators import DerivativeElasticNet, DerivativeLasso, derivative_path
from nablasso.kernels import Polynomial
from nablasso.progress import track

Row = dict[str, Any]

RIDGE = 5.0  # about a thousandth of the kernel's trace
PAIRS = ((0, 6), (1, 7), (2, 8))


def twins(repeats: int = 20, seed: int = 0, *, n_alphas: int = 25) -> list[Row]:
    """How often correlated twins are kept together, by the lasso and by the elastic net.

    Data of experiment E2, n = 70: three relevant pairs correlated 0.95. Along each path, among the
    supports that hold at least one relevant variable but not all columns, the fraction of the
    relevant pairs met that are met whole. One row per repeat and estimator.
    """
    rows: list[Row] = []
    settings: Row = {"kernel": Polynomial(3), "ridge": RIDGE, "tol": 1e-4}
    estimators = {
        "lasso": DerivativeLasso(**settings),
        **{
            f"elastic net {ratio}": DerivativeElasticNet(l1_ratio=ratio, **settings)
            for ratio in (0.5, 0.1)
        },
    }
    for draw in track(range(seed, seed + repeats), repeats, "twins"):
        data = make_correlated_pairs(70, random_state=draw)
        for name, estimator in estimators.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                path = derivative_path(data.X, data.y, estimator=estimator, n_alphas=n_alphas)
            rows.append({"draw": draw, "estimator": name, "kept_whole": _kept_whole(path.support)})
    return rows


def _kept_whole(supports: Any) -> float:
    """Relevant pairs met whole over relevant pairs met, along a path."""
    met = whole = 0
    for support in supports[~np.all(supports, axis=1)]:
        for a, b in PAIRS:
            met += bool(support[a] or support[b])
            whole += bool(support[a] and support[b])
    return whole / met if met else float("nan")
