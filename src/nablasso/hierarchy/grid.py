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
    """One level of one variable: its columns and their fitted decompositions."""

    columns: tuple[int, ...]
    decompositions: tuple[Decomposition, ...]
    level: int

    def features(self, Z: Array) -> Array:
        """Features relative to level 0, (m, rank)."""
        parts = []
        for column, decomposition in zip(self.columns, self.decompositions, strict=True):
            part = decomposition.features(Z[:, column], self.level)
            assert part is not None
            parts.append(part / zeroth(decomposition, Z[:, column]))
        return np.asarray(np.column_stack(parts) / np.sqrt(len(self.columns)))

    def kernel(self, Z: Array, Y: Array) -> Array:
        """Kernel relative to level 0, (m, n)."""
        total = np.zeros((len(Z), len(Y)))
        for column, decomposition in zip(self.columns, self.decompositions, strict=True):
            z, y = Z[:, column], Y[:, column]
            scale = zeroth(decomposition, z) * zeroth(decomposition, y).T
            total += decomposition.kernel(z, y, self.level) / scale
        return np.asarray(total / len(self.columns))


@dataclass(frozen=True)
class LevelZero:
    """The product of level-0 functions; of none, the constant 1."""

    decompositions: tuple[Decomposition, ...]

    def features(self, Z: Array) -> Array:
        """One column."""
        parts = [zeroth(part, z) for part, z in zip(self.decompositions, Z.T, strict=False)]
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
        fitted = tuple(decomposition.fitted(x, weights) for x in X.T)
        self.members = [tuple(np.flatnonzero(labels == g).tolist()) for g in np.unique(labels)]
        self.q = decomposition.n_levels() - 1
        self.levels = [
            [self._level(members, fitted, level) for level in range(1, self.q + 1)]
            for members in self.members
        ]
        self.constant_base = all(
            (zeroth(part, x) == 1).all() for part, x in zip(fitted, X.T, strict=True)
        )
        base = LevelZero(() if self.constant_base else fitted)
        self.base: NodeBlock = FeatureBlock(base.features, X)

    def _level(
        self, members: tuple[int, ...], fitted: tuple[Decomposition, ...], level: int
    ) -> NodeBlock:
        made = Level(members, tuple(fitted[a] for a in members), level)
        if all(fitted[a].features(self.X[:1, a], level) is not None for a in members):
            return FeatureBlock(made.features, self.X)
        return KernelBlock(made.kernel, self.X, self.rank)

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

    def children(self, node: Node) -> list[Node]:
        """One level raised by one."""
        return [v for v in (self._raised(node, g) for g in range(self.n_variables)) if v]

    def parents(self, node: Node) -> list[Node]:
        """One level lowered by one."""
        pairs: Pairs = node  # type: ignore[assignment]
        return [
            pairs[:k] + (((g, level - 1),) if level > 1 else ()) + pairs[k + 1 :]
            for k, (g, level) in enumerate(pairs)
        ]

    def frontier(self, hull: set[Node]) -> list[Node]:
        """Sources of the complement: first levels, pairs of those inside, and what else they make.

        A product of three variables needs all its pairs inside: only those partners are tried.
        """
        if () not in hull:
            return [()]
        firsts: list[Node] = [((g, 1),) for g in range(self.n_variables)]
        active = [g for g, first in enumerate(firsts) if first in hull]
        pairs: list[Node] = [
            ((g, 1), (h, 1)) for k, g in enumerate(active) for h in active[k + 1 :]
        ]
        inside: list[Pairs] = sorted(hull - {()})  # type: ignore[arg-type]
        partners: dict[int, set[int]] = {g: set() for g in active}
        for node in inside:
            if len(node) == 2:
                (g, _), (h, _) = node
                partners[g].add(h)
                partners[h].add(g)
        parents: dict[Node, int] = {}  # of a child, those inside
        for node in inside:
            own = {g for g, _ in node}
            shared = set.intersection(*(partners[g] for g in own))
            for g in sorted(own if node[0][1] == 1 and len(node) == 1 else own | shared):
                child = self._raised(node, g)
                if child is not None and child not in hull:
                    parents[child] = parents.get(child, 0) + 1
        rest = [child for child, count in parents.items() if count == len(child)]  # type: ignore[arg-type]
        return [*(node for node in firsts + pairs if node not in hull), *rest]

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

    def _raised(self, node: Node, g: int) -> Node | None:
        """The node with the level of one variable raised by one; None above ``q``."""
        pairs: Pairs = node  # type: ignore[assignment]
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

    def children(self, node: Node) -> list[Node]:
        """All nodes for the root, none for the others."""
        return list(self.nodes) if node == () else []

    def parents(self, node: Node) -> list[Node]:
        """The root, if there is one."""
        return [()] if self.rooted and node != () else []

    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of the node's variable."""
        return self.grid.columns(node)

    def plain_block(self, node: Node) -> NodeBlock:
        """Features of a node."""
        pairs: Pairs = node  # type: ignore[assignment]
        return SumBlock([b for g, _ in pairs for b in self.grid.levels[g]], len(self.X))

    def outside(self, hull: set[Node], dual: Array, enough: float, work: float = 0.0) -> Outside:  # noqa: ARG002
        """The largest kernel outside: exact."""
        found = self.largest_of([v for v in self.nodes if v not in hull], dual, enough)
        return found._replace(rule="exact")
