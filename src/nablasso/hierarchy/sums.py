r"""Condition (21) on a grid: all descendants of a source by one elementwise product per variable.

.. math::
    \sum_{w \in D(t)} \frac{\alpha^\top K_w \alpha}{\big(\sum_{v \in A(w) \cap D(t)} d_v\big)^2}
    = \alpha^\top \Big[\bigodot_i S_{i, t_i}\Big] \alpha, \qquad
    S_{i,l} = \sum_{j=l}^{q} \Big(\sum_{m=l}^{j} \beta^m\Big)^{-2} K_{i,j} .

Sources of a hull's complement that differ in one variable share all other factors. Products with
one factor left out are made by halving the set of variables: O(n^2 p log p) for all p first-level
sources, O(n^2 log p) memory besides the factors, and no division. Every partial product is kept
with its largest entry as a separate logarithm, so nothing overflows on the way.

The sum over all descendants grows like ``(1 + mean(K_1) / (1 + beta)^2)^p``: with many variables it
certifies only for ``beta`` of the order of ``sqrt(p)``. See :mod:`nablasso.hierarchy.largest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from nablasso.hierarchy.dag import Node
    from nablasso.hierarchy.grid import Grid

Array = NDArray[np.float64]

ROUNDING = 1e-14  # of the sum of absolute values
MAX_BYTES = 2**28  # of the factors S; larger grids go without this bound


class Scaled(NamedTuple):
    """``matrix * exp(log)``."""

    matrix: Array
    log: float

    def times(self, factor: Array) -> Scaled:
        """Elementwise product, scaled back to a largest entry of one."""
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = self.matrix * factor
        size = float(np.abs(matrix).max())
        if not np.isfinite(size):
            return Scaled(np.full_like(matrix, np.inf), 0.0)
        if size == 0:
            return Scaled(np.zeros_like(matrix), 0.0)
        return Scaled(matrix / size, self.log + float(np.log(size)))

    def total(self) -> float:
        """Sum of the entries, with what rounding may have taken; infinite where it overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            rounding = ROUNDING * np.abs(self.matrix).sum()
            total = float((self.matrix.sum() + rounding) * np.exp(self.log))
        return total if np.isfinite(total) else np.inf


def factor(grid: Grid, g: int, level: int) -> Array:
    """``S_{g, level}`` relative to level 0, (n, n)."""
    n = len(grid.X)
    out = np.zeros((n, n))
    weight = 0.0
    for j in range(level, grid.q + 1):
        weight += grid.beta**j
        if j == 0:
            out += 1 / weight**2
        else:
            F = grid.levels[g][j - 1].train
            out += (F / weight**2) @ F.T
    return out


def summed_sources(grid: Grid, hull: set[Node], dual: Array, limit: float = np.inf) -> float:
    """Largest value of (21) over the sources of the complement.

    Infinite where it exceeds ``limit``, or where the factors need too much memory.
    """
    n, p = len(grid.X), grid.n_variables
    if 8.0 * n * n * p > MAX_BYTES or () not in hull:
        return np.inf
    moved = dual * grid.base.train[:, 0]
    start = Scaled(np.outer(moved, moved), 0.0).times(np.ones((n, n)))
    used = sorted({g for node in hull for g, _ in node})  # type: ignore[attr-defined]
    unused = [g for g in range(p) if g not in set(used)]
    whole = grid.whole_factors
    inside = start
    for g in used:
        inside = inside.times(whole[g])
    rest, best = start, 0.0
    for g in unused:
        rest = rest.times(whole[g])
    for node in grid.frontier(hull):
        levels: dict[int, int] = dict(node)  # type: ignore[call-overload]
        if len(levels) == 1 and next(iter(levels)) in unused:
            continue  # all of these together below
        product = rest
        for g in used:
            level = levels.get(g, 0)
            product = product.times(factor(grid, g, level) if level else whole[g])
        best = max(best, product.total())
        if best > limit:
            return np.inf
    if unused and _first(inside, unused, whole).times(factor(grid, unused[0], 1)).total() > limit:
        return np.inf
    for g, without in _all_but_one(inside, unused, whole):
        best = max(best, without.times(factor(grid, g, 1)).total())
    return best if best <= limit else np.inf


def _first(product: Scaled, members: list[int], factors: list[Array]) -> Scaled:
    """The product with the factors of all members but the first."""
    for g in members[1:]:
        product = product.times(factors[g])
    return product


def _all_but_one(
    product: Scaled, members: list[int], factors: list[Array]
) -> list[tuple[int, Scaled]]:
    """For each member the product with all the others' factors."""
    if len(members) == 1:
        return [(members[0], product)]
    if not members:
        return []
    half = len(members) // 2
    out = []
    for mine, others in ((members[:half], members[half:]), (members[half:], members[:half])):
        part = product
        for g in others:
            part = part.times(factors[g])
        out += _all_but_one(part, mine, factors)
    return out
