"""Weighted second moments of features, centred where there is an intercept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def centred_moments(
    Phi: Array, target: Array, weights: Array, *, centre: bool
) -> tuple[Array, Array]:
    """``Phi' Q Phi`` and ``Phi' Q target`` with ``Q = diag(q) - q q' / sum(q)``, or ``diag(q)``."""
    weighted = Phi * weights[:, None]
    C, c = weighted.T @ Phi, weighted.T @ target
    if centre:
        total = float(weights.sum())
        mean = weighted.sum(axis=0)
        C -= np.outer(mean, mean / total)
        c -= mean * (float(weights @ target) / total)
    return np.asarray(C), np.asarray(c)
