"""Length scales from the data, by name.

* ``"median"``: weighted median of the distances between pairs of points.
* ``"half_median"``: half of it (Ye and Xie 2012); of the positive distances where it is zero.
* ``"neighbour20"``: mean distance to the 20th nearest neighbour (Rosasco et al. 2013).
* ``"median20"``: median distance to the 20 nearest neighbours (Gregorova et al. 2018).

Rows are expected merged and in canonical order (:mod:`nablasso.data.table`): a pair counts with
the product of its weights, a point with its weight. Only the first ``MAX_ROWS`` rows are used.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform

from nablasso.errors import InvalidParameterError
from nablasso.types import Array, Mask

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
        width = _median_of_pairs(distances, weights)
        if rule == "half_median":
            if width == 0 and distances.any():
                width = _median_of_pairs(distances, weights, apart=distances > 0)
            width /= 2
    else:
        k = min(NEIGHBOURS, len(X) - 1)
        nearest = np.sort(squareform(distances), axis=1)[:, 1 : k + 1]
        if rule == "neighbour20":
            width = float(np.average(nearest[:, -1], weights=weights))
        else:
            width = _weighted_median(nearest.ravel(), np.repeat(weights, k))
    return width if width > 0 else 1.0


def _median_of_pairs(distances: Array, weights: Array, apart: Mask | None = None) -> float:
    """Weighted median of the distances, of the pairs ``apart`` if given."""
    chosen = slice(None) if apart is None else apart
    if (weights == weights[0]).all():  # the usual case: a partition instead of a sort
        return float(np.median(distances[chosen]))
    i, j = np.triu_indices(len(weights), k=1)
    return _weighted_median(distances[chosen], (weights[i] * weights[j])[chosen])


def _weighted_median(values: Array, weights: Array) -> float:
    """Middle of the smallest and largest value that halve the weight: the median when equal."""
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weights[order])
    half = below[-1] / 2
    low = np.searchsorted(below, half * (1 - 1e-12))
    high = min(np.searchsorted(below, half * (1 + 1e-12)), len(values) - 1)
    return float((values[low] + values[high]) / 2)
