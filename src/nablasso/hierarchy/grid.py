r"""The directed grid ``{0..q}^p``, products of one level per variable, and its flat variant.

A node is the sorted tuple of its ``(variable, level)`` pairs with levels of at least 1; ``()`` is
the root. A child raises one level by one, depth is the sum of the levels, and the ancestors of a
node are the nodes below it in every level. Variables are columns, or groups of columns: the kernel
of a group at a level is the mean of its columns' kernels.

Level 0 is divided out. Where it is not constant (Gauss-Hermite) every node carries the product of
all variables' level-0 functions as a common factor, so that a node costs what its own few variables
cost. Whitened kernels have no product formula; outside a hull their sizes are bounded by
``||Phi_w' (I - P_w) alpha||^2 <= ||Phi_w||_F^2 sum_k alpha_k^2 / p_k`` with
``||Phi_w||_F^2 = sum_k p_k prod_i K_{i,w_i}(x_k, x_k)``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.hierarchy import bounds
from nablasso.hierarchy.dag import (
    FeatureBlock,
    Hierarchy,
    KernelBlock,
    Node,
    NodeBlock,
    Outside,
    ProductBlock,
    SumBlock,
)
from nablasso.hierarchy.decompositions import Decomposition
from nablasso.types import Array, Index

Pairs = tuple[tuple[int, int], ...]

RATIOS_AT_ONCE = 4096  # nodes whose products are held at a time


@dataclass(frozen=True)
class Level:
    """One level of the columns of one variable, relative to level 0."""

    columns: tuple[int, ...]
    decompositions: tuple[Decomposition, ...]  # fitted to the columns
    level: int

    def features(self, Z: Array) -> Array:
        """Features, (m, rank)."""
        parts = []
        for own, z in zip(self.decompositions, Z[:, self.columns].T, strict=True):
            part = own.features(z, self.level)
            assert part is not None
            parts.append(part / zeroth(own, z))
        return np.asarray(np.column_stack(parts) / np.sqrt(len(parts)))

    def kernel(self, Z: Array, Y: Array) -> Array:
        """Kernel, (m, n)."""
        columns = Z[:, self.columns].T, Y[:, self.columns].T
        parts = [
            own.kernel(z, y, self.level) / (zeroth(own, z) * zeroth(own, y).T)
            for own, z, y in zip(self.decompositions, *columns, strict=True)
        ]
        return np.asarray(np.mean(parts, axis=0))


@dataclass(frozen=True)
class LevelZero:
    """The product of the level-0 functions of all columns."""

    decomposition: Decomposition

    def features(self, Z: Array) -> Array:
        """One column."""
        parts = [zeroth(self.decomposition, z) for z in Z.T]
        return np.asarray(np.prod([np.ones((len(Z), 1)), *parts], axis=0))


def zeroth(decomposition: Decomposition, z: Array) -> Array:
    """Level 0 as a feature, (m, 1)."""
    part = decomposition.features(z, 0)
    if part is None:  # a user's own without features: rank one, so its diagonal tells all
        part = np.sqrt(np.array([decomposition.kernel(v, v, 0)[0, 0] for v in z[:, None]]))[:, None]
    if part.shape[1] != 1:
        raise InvalidParameterError(
            f"Level 0 of a decomposition must have rank one; {decomposition!r} has "
            f"{part.shape[1]} features there."
        )
    return part


class Grid(Hierarchy):
    """All products of one level per variable, on given data; options as in :class:`Hierarchy`.

    ``decomposition`` is fitted to every column; ``labels`` (d,) are group numbers of the columns,
    each its own by default.
    """

    members: list[tuple[int, ...]]

    def __init__(
        self,
        X: Array,
        weights: Array,
        decomposition: Decomposition,
        labels: Index | None = None,
        **options: Any,
    ) -> None:
        super().__init__(X, weights, **options)
        labels = np.arange(X.shape[1]) if labels is None else labels
        self.members = [tuple(np.flatnonzero(labels == g).tolist()) for g in np.unique(labels)]
        self.q = decomposition.n_levels() - 1
        fitted = [[decomposition.fitted(X[:, a], weights) for a in own] for own in self.members]
        self.levels = [
            [self._block(Level(own, tuple(parts), level)) for level in range(1, self.q + 1)]
            for own, parts in zip(self.members, fitted, strict=True)
        ]
        self.base: NodeBlock = FeatureBlock(LevelZero(decomposition).features, X)
        self.constant_base = bool((self.base.train == 1).all())

    def _block(self, level: Level) -> NodeBlock:
        if level.decompositions[0].features(self.X[:1, 0], level.level) is None:
            return KernelBlock(level.kernel, self.X, self.rank)
        return FeatureBlock(level.features, self.X)

    @cached_property
    def tables(self) -> bounds.Tables:
        """What the bounds need of every level."""
        return bounds.tables(self)

    @cached_property
    def whole_factors(self) -> list[Array]:
        """``S_{i,0}`` of every variable."""
        return [bounds.factor(self, g, 0) for g in range(self.n_variables)]

    @property
    def n_variables(self) -> int:
        """``p``."""
        return len(self.members)

    def sources(self) -> list[Node]:
        """The root."""
        return [()]

    def parents(self, node: Node) -> list[Node]:
        """One level lowered by one."""
        pairs: Pairs = node  # type: ignore[assignment]
        return [
            pairs[:k] + (((g, level - 1),) if level > 1 else ()) + pairs[k + 1 :]
            for k, (g, level) in enumerate(pairs)
        ]

    def frontier(self, hull: set[Node]) -> list[Node]:
        """Sources of the complement: nodes outside that are children of all their parents.

        A product of three variables needs all its pairs inside: only those partners are tried.
        """
        if () not in hull:
            return [()]
        inside: list[Pairs] = sorted(hull)  # type: ignore[arg-type]
        active = {g for g in range(self.n_variables) if ((g, 1),) in hull}
        partners: dict[int, set[int]] = {g: set() for g in active}
        for node in inside:
            if len(node) == 2:
                (g, _), (h, _) = node
                partners[g].add(h)
                partners[h].add(g)
        parents: Counter[Pairs] = Counter()  # of a child, those inside
        for node in inside:
            tried = set(range(self.n_variables)) if not node else active
            if self.depth(node) > 1:
                own = [g for g, _ in node]
                tried = {*own, *set.intersection(*(partners[g] for g in own))}
            children = (self._raised(node, g) for g in sorted(tried))
            parents.update(child for child in children if child and child not in hull)
        return [child for child, count in parents.items() if count == len(child)]

    def ratios(self, nodes: list[Node], dual: Array) -> Array:
        """``a_w / d_w^2``, products of rank one by tables instead of one by one."""
        if self.whiten:
            return super().ratios(nodes, dual)
        out, t = np.full(len(nodes), np.nan), self.tables
        moved = dual * self.base.train[:, 0]
        for length in {len(node) for node in nodes} - {0}:  # type: ignore[arg-type]
            places = [k for k, node in enumerate(nodes) if len(node) == length]  # type: ignore[arg-type]
            pairs = np.array([nodes[k] for k in places])  # (nodes, length, 2)
            columns = pairs[:, :, 0] * self.q + pairs[:, :, 1] - 1
            for start in range(0, len(places), RATIOS_AT_ONCE):
                some = columns[start : start + RATIOS_AT_ONCE]
                with np.errstate(over="ignore", invalid="ignore"):
                    products = t.signed[:, some[:, 0]]
                    for column in some.T[1:]:
                        products *= t.signed[:, column]
                    out[places[start : start + RATIOS_AT_ONCE]] = (moved @ products) ** 2
        for k in np.flatnonzero(~np.isfinite(out)):  # levels of larger rank, the root, overflows
            out[k] = self.size(nodes[k], dual) / self.weight(nodes[k]) ** 2
        return out

    def _raised(self, pairs: Pairs, g: int) -> Pairs | None:
        """The node with the level of one variable raised by one; None above ``q``."""
        for k, (variable, level) in enumerate(pairs):
            if variable == g:
                above = (*pairs[:k], (g, level + 1), *pairs[k + 1 :])
                return above if level < self.q else None
            if variable > g:
                return (*pairs[:k], (g, 1), *pairs[k:])
        return (*pairs, (g, 1))

    def depth(self, node: Node) -> int:
        """Sum of the levels."""
        return sum(level for _, level in node)  # type: ignore[attr-defined]

    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of the node's variables."""
        return tuple(a for g, _ in node for a in self.members[g])  # type: ignore[attr-defined]

    def plain_block(self, node: Node) -> NodeBlock:
        """Features of a node: of one level, or of a product."""
        pairs: Pairs = node  # type: ignore[assignment]
        parts = [self.levels[g][level - 1] for g, level in pairs]
        if not parts or not self.constant_base:
            parts = [self.base, *parts]
        return parts[0] if len(parts) == 1 else ProductBlock(parts, self.rank)

    def missing(self, hull: set[Node], dual: Array, limit: float) -> list[Node]:
        """Products of at most two variables that violate (27); none known of whitened kernels."""
        return [] if self.whiten else bounds.missing_nodes(self, hull, dual, limit)

    def outside(
        self, hull: set[Node], dual: Array, enough: float, work: float = bounds.WORK
    ) -> Outside:
        """The smaller of two bounds: (21), and each kernel paying for itself."""
        found = bounds.largest_outside(self, hull, dual, enough, work)
        if found.bound <= enough or self.whiten:
            return found
        total = bounds.summed_sources(self, hull, dual, found.bound)
        if total >= found.bound:
            return found
        return Outside(total, found.violators if total > enough else [], "sum")


class Flat(Hierarchy):
    r"""Multiple kernel learning: the variables of a grid without products, an additive model.

    Nodes are ``((variable, 1),)``, all of a variable's levels but the constant as one kernel.
    Weights are one, and the norm is ``sum_v ||f_v||``. With ``l1_ratio`` (``mu``, in (0, 1]) below
    one all kernels hang under a root ``()`` whose kernel is null, the elastic-net form (section
    5.2):

    .. math:: \Omega(f) = \mu \sum_v \|f_v\| + (1 - \mu) \Big(\sum_v \|f_v\|^2\Big)^{1/2} .

    Every node outside a hull has no ancestor outside but itself, so the largest kernel outside is
    the dual norm itself: conditions (20) and (21) are one and the certificate is exact.
    """

    def __init__(self, grid: Grid, *, l1_ratio: float = 1.0) -> None:
        root_weight = 1 - l1_ratio if l1_ratio < 1 else 1.0
        super().__init__(grid.X, grid.weights, beta=l1_ratio, root_weight=root_weight)
        self.grid, self.members = grid, grid.members
        self.nodes: list[Node] = [((g, 1),) for g in range(grid.n_variables)]
        self.rooted = l1_ratio < 1 or not self.nodes

    def sources(self) -> list[Node]:
        """The null root, or all nodes."""
        return [()] if self.rooted else list(self.nodes)

    def parents(self, node: Node) -> list[Node]:
        """The root, if there is one."""
        return [()] if self.rooted and node != () else []

    def frontier(self, hull: set[Node]) -> list[Node]:
        """All nodes outside, below a root that is inside."""
        if self.rooted and () not in hull:
            return [()]
        return [v for v in self.nodes if v not in hull]

    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of the node's variable."""
        return self.grid.columns(node)

    def plain_block(self, node: Node) -> NodeBlock:
        """Features of a node."""
        pairs: Pairs = node  # type: ignore[assignment]
        return SumBlock([b for g, _ in pairs for b in self.grid.levels[g]], len(self.X))

    def outside(self, hull: set[Node], dual: Array, enough: float, work: float = 0.0) -> Outside:  # noqa: ARG002
        """The largest kernel outside: exact."""
        found = self.largest_of(self.frontier(hull), dual, enough)
        return found._replace(rule="exact")
