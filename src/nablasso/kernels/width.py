"""Length scales from the data, by name.

* ``"median"``: weighted median of the distances between pairs of points.
* ``"half_median"``: half of it (Ye and Xie 2012); of the positive distances where it is zero.
* ``"neighbour20"``: mean distance to the 20th nearest neighbour (Rosasco et al. 2013).
* ``"median20"``: median distance to the 20 nearest neighbours (Gregorova et al. 2018).

Rows are expected merged and in canonical order (:mod:`nablasso.preparation`): a pair counts with
the product of its weights, a point with its weight. Only the first ``MAX_ROWS`` rows are used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from nablasso.exceptions import InvalidParameterError

Array = NDArray[np.float64]

WIDTH_RULES = ("median", "half_median", "neighbour20", "median20")
MAX_ROWS = 2000
NEIGHBOURS = 20


def width_by_rule(X: Array, weights: Array, rule: str) -> float:
    """Length scale for points ``X`` (n, d) with ``weights`` (n,); 1.0 when all points coincide."""
    if rule not in WIDTH_RULES:
        raise InvalidParameterError(
            f"length_scale must be a positive number or one of {', '.join(WIDTH_RULES)}; "
            f"got {rule!r}."
        )
    X, weights = X[:MAX_ROWS], weights[:MAX_ROWS]
    if len(X) < 2:
        return 1.0
    distances = pdist(X)
    if rule in ("median", "half_median"):
        i, j = np.triu_indices(len(X), k=1)
        pairs = weights[i] * weights[j]
        width = _weighted_median(distances, pairs)
        if rule == "half_median":
            apart = distances > 0
            if width == 0 and apart.any():
                width = _weighted_median(distances[apart], pairs[apart])
            width /= 2
    else:
        k = min(NEIGHBOURS, len(X) - 1)
        nearest = np.sort(squareform(distances), axis=1)[:, 1 : k + 1]
        if rule == "neighbour20":
            width = float(np.average(nearest[:, -1], weights=weights))
        else:
            width = _weighted_median(nearest.ravel(), np.repeat(weights, k))
    return width if width > 0 else 1.0


def _weighted_median(values: Array, weights: Array) -> float:
    """Middle of the smallest and largest value that halve the weight: the median when equal."""
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weights[order])
    half = below[-1] / 2
    low = np.searchsorted(below, half * (1 - 1e-12))
    high = min(np.searchsorted(below, half * (1 + 1e-12)), len(values) - 1)
    return float((values[low] + values[high]) / 2)
