r"""Nodes outside a hull that are certainly missing: condition (27) beyond the sources.

For *every* node outside the dual norm is at least ``a_w / (sum_{v in A(w), v outside} d_v)^2``
(appendix A.5 of Bach, 2009), so

.. math:: \alpha^\top K_w \alpha \le \Omega(f)^2 \Big(\sum_{v \in A(w) \setminus W} d_v\Big)^2

is necessary for all of them. At the sources of the complement it is (20). Beyond, it finds products
whose parts have no effect of their own. It is evaluated for all nodes of one and two variables
whose levels have rank one, by one matrix product: O(n (p q)^2). The sum over the ancestors outside
is the product ``prod_i sum_{j <= w_i} beta^j`` minus the weights of those inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nablasso.hierarchy.dag import Node

if TYPE_CHECKING:
    from nablasso.hierarchy.grid import Grid

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Pairs = tuple[tuple[int, int], ...]

MOST = 4000  # (variable, level) pairs up to which all products of two are looked at
KEPT = 64


def missing_nodes(grid: Grid, hull: set[Node], dual: Array, limit: float) -> list[Node]:
    """Nodes of at most two variables that violate (27), worst first."""
    t = grid.tables
    flat = np.flatnonzero(np.isfinite(t.signed).all(axis=0))
    if not len(flat) or len(flat) > MOST:
        return []
    signed, variable, level = t.signed[:, flat], t.variable[flat], t.level[flat]
    moved = dual * grid.base.train[:, 0]
    d = np.asarray(grid.beta ** level.astype(float))
    total = np.array([sum(grid.beta**j for j in range(k + 1)) for k in level])
    inside = _inside(grid, hull, variable, level)
    alone = total - 1 - inside
    found = _exceeding((moved @ signed) ** 2, d, alone, limit)
    ranked: list[tuple[float, Node]] = [
        (value, ((int(variable[c]), int(level[c])),)) for c, value in found.items()
    ]
    pairs = ((signed * moved[:, None]).T @ signed) ** 2
    outside = np.outer(total, total) - 1 - inside[:, None] - inside
    _subtract_pairs(grid, hull, variable, level, outside)
    own = np.outer(d, d)
    kept = (variable[:, None] < variable) & (outside > 0.5 * own)  # the node itself is outside
    ratio = np.where(kept, pairs * (own / np.where(kept, outside, 1.0)) ** 2, 0.0)
    for a, b in zip(*np.nonzero(ratio > limit), strict=True):
        node = ((int(variable[a]), int(level[a])), (int(variable[b]), int(level[b])))
        if node not in hull:
            ranked.append((float(ratio[a, b]), node))
    ranked.sort(key=lambda pair: -pair[0])
    return [node for _, node in ranked[:KEPT]]


def _inside(grid: Grid, hull: set[Node], variable: Index, level: Index) -> Array:
    """Weight of the ancestors of one variable that are in the hull, the root excepted."""
    out = np.zeros(len(variable))
    for pairs in _of_length(hull, 1):
        for g, j in pairs:
            out[(variable == g) & (level >= j)] += grid.beta**j
    return out


def _subtract_pairs(
    grid: Grid, hull: set[Node], variable: Index, level: Index, outside: Array
) -> None:
    """Take the weights of ancestors of two variables that are in the hull away, in place."""
    for (g, j), (k, m) in _of_length(hull, 2):
        left = np.flatnonzero((variable == g) & (level >= j))
        right = np.flatnonzero((variable == k) & (level >= m))
        outside[np.ix_(left, right)] -= grid.beta ** (j + m)


def _of_length(hull: set[Node], length: int) -> list[Pairs]:
    """Nodes of so many variables."""
    pairs: list[Pairs] = list(hull)  # type: ignore[arg-type]
    return [node for node in pairs if len(node) == length]


def _exceeding(values: Array, d: Array, outside: Array, limit: float) -> dict[int, float]:
    """Columns whose value relative to the weight of their ancestors outside is too large."""
    kept = outside > 0.5 * d  # the node itself is outside
    ratio = np.where(kept, values * (d / np.where(kept, outside, 1.0)) ** 2, 0.0)
    return {int(c): float(ratio[c]) for c in np.flatnonzero(ratio > limit)}
