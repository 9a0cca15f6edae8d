r"""Paths along ``alpha``, and where they begin.

With the square of the norm no finite ``alpha`` gives ``f = 0``: as ``alpha`` grows the function
shrinks, on the hull of one source. ``alpha_max`` is the value above which that hull alone is
selected, between a thousandth and ten times the ``alpha`` at which that source alone is shrunk by
half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from nablasso.hierarchy.dag import Node, hull_of
from nablasso.hierarchy.norm import dual_bound
from nablasso.hierarchy.search import Found, Search

Array = NDArray[np.float64]

LOWEST, HIGHEST = 1e-3, 10.0  # of the scale
HALVINGS = 8


def largest_alpha(search: Search) -> float:
    """``alpha_max``."""
    hierarchy = search.hierarchy
    null = search.null_dual()
    root = hull_of(hierarchy, [search.best_source()])
    frontier = hierarchy.frontier(root)
    size = max((hierarchy.size(v, null) for v in root), default=0.0)
    nodes = list(root)
    if frontier and size <= 1e-20 * float(null @ null):  # the sources' kernels are null or constant
        best = search.ranked(frontier, null)[0]
        nodes = [*nodes, best]
    scale = _scale(search, nodes)
    if not scale > 0:
        return 1.0
    low, high = np.log(LOWEST * scale), np.log(HIGHEST * scale)
    others = hierarchy.frontier(set(nodes))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _more_enter(search, nodes, others, float(np.exp(middle))):
            low = middle
        else:
            high = middle
    return float(np.exp(high))


def _scale(search: Search, nodes: list[Node]) -> float:
    """``alpha`` at which the function on these nodes is shrunk by half (squared loss)."""
    p = search.sample.weights
    d = sum(search.hierarchy.weight(node) for node in nodes)
    total = 0.0
    for node in nodes:
        F = search.hierarchy.block(node).train
        F = F - p @ F if search.sample.fit_intercept else F
        total = max(total, float(np.einsum("i,ij,ij->", p, F, F)))
    return 2 * total / d**2


def _more_enter(search: Search, nodes: list[Node], others: list[Node], alpha: float) -> bool:
    """Whether a source outside violates (20) at ``alpha``.

    All nodes but one are its ancestors with null functions, so the best weights are ``d / sum d``.
    """
    problem = search.problem(nodes, alpha)
    point = problem.evaluate(problem.d / problem.d.sum())
    bound = dual_bound(point.weights, point.sizes)[0]
    hierarchy = search.hierarchy
    return any(
        hierarchy.size(v, point.dual) > bound * hierarchy.weight(v) ** 2 * (1 + 1e-6)
        for v in others
    )


def walk(
    search: Search, alphas: Iterable[float], keep: list[Node] | None = None
) -> Iterator[Found]:
    """Solutions at decreasing ``alphas``, each started from the one before."""
    start: Found | None = None
    for alpha in alphas:
        start = search.run(float(alpha), start, keep)
        yield start
