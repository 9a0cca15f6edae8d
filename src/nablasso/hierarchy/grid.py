r"""The directed grid ``{0..q}^p``, products of one level per variable, and its two variants.

A node is the sorted tuple of its ``(variable, level)`` pairs with levels of at least 1; ``()`` is
the root. A child raises one level by one, depth is the sum of the levels, and the ancestors of a
node are the nodes below it in every level. Variables are columns, or groups of columns: the kernel
of a group at a level is the mean of its columns' kernels.

Level 0 is divided out. Where it is not constant (Gauss-Hermite) every node carries the product of
all variables' level-0 functions as a common factor, so that a node costs what its own few variables
cost, however many others there are.

:class:`Flat` has no products, :class:`Whitened` projects every node off its ancestors.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.base import clone

from nablasso.errors import InvalidParameterError
from nablasso.hierarchy.bounds import (
    WORK,
    Tables,
    factor,
    largest_outside,
    missing_nodes,
    summed_sources,
    tables,
)
from nablasso.hierarchy.dag import (
    Block,
    DagHierarchy,
    FeatureBlock,
    Hierarchy,
    KernelBlock,
    Node,
    Outside,
    ProductBlock,
    hull_of,
)
from nablasso.hierarchy.decompositions import Decomposition
from nablasso.types import Array, Index

Pairs = tuple[tuple[int, int], ...]

CACHE_BYTES = 2**28  # of product nodes' features
RATIOS_AT_ONCE = 4096  # nodes whose products are held at a time
DEPENDENT = 1e-8  # relative size below which a direction is in the ancestors' span


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
class Base:
    """The product of all level-0 functions."""

    decompositions: tuple[Decomposition, ...]

    def features(self, Z: Array) -> Array:
        """One column."""
        out = np.ones((len(Z), 1))
        for column, decomposition in enumerate(self.decompositions):
            out *= zeroth(decomposition, Z[:, column])
        return out


class One:
    """The constant 1."""

    def features(self, Z: Array) -> Array:
        """One column of ones."""
        return np.ones((len(Z), 1))


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
    """All products of one level per variable, on given data.

    Parameters
    ----------
    X : array, shape (n, d)
    weights : array, shape (n,)
    decomposition : Decomposition
        Fitted to every column.
    labels : array of int, shape (d,), optional
        Group number of each column; each its own by default.
    beta, root_weight : float
        ``d_v = beta^depth``, ``root_weight`` at the root.
    rank : int, optional
        Largest rank of a node.
    """

    def __init__(
        self,
        X: Array,
        weights: Array,
        decomposition: Decomposition,
        labels: Index | None = None,
        *,
        beta: float = 2.0,
        root_weight: float = 1.0,
        rank: int | None = None,
    ) -> None:
        self.X, self.weights, self.rank = X, weights, rank
        self.beta, self.root_weight = float(beta), float(root_weight)
        labels = np.arange(X.shape[1]) if labels is None else labels
        fitted = tuple(clone(decomposition).fitted(x, weights) for x in X.T)
        names = np.unique(labels)
        self.members = [tuple(np.flatnonzero(labels == name).tolist()) for name in names]
        self.q = decomposition.n_levels() - 1
        self.levels = [
            [self._level(members, fitted, level) for level in range(1, self.q + 1)]
            for members in self.members
        ]
        self.constant_base = all(
            (zeroth(part, x) == 1).all() for part, x in zip(fitted, X.T, strict=True)
        )
        base = One() if self.constant_base else Base(fitted)
        self.base: Block = FeatureBlock(base.features, X)
        self._cache: OrderedDict[Node, Block] = OrderedDict()
        self._bytes = 0

    def _level(
        self, members: tuple[int, ...], fitted: tuple[Decomposition, ...], level: int
    ) -> Block:
        made = Level(members, tuple(fitted[a] for a in members), level)
        if all(fitted[a].features(self.X[:1, a], level) is not None for a in members):
            return FeatureBlock(made.features, self.X)
        return KernelBlock(made.kernel, self.X, self.rank)

    @cached_property
    def tables(self) -> Tables:
        """What the bound of :mod:`nablasso.hierarchy.bounds` needs."""
        return tables(self)

    @cached_property
    def whole_factors(self) -> list[Array]:
        """``S_{i,0}`` of every variable (:mod:`nablasso.hierarchy.bounds`)."""
        return [factor(self, g, 0) for g in range(self.n_variables)]

    @property
    def n_variables(self) -> int:
        """``p``."""
        return len(self.members)

    def sources(self) -> list[Node]:
        """The root."""
        return [()]

    def children(self, node: Node) -> list[Node]:
        """One level raised by one."""
        return [
            child for child in (self._raised(node, g) for g in range(self.n_variables)) if child
        ]

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

    def weight(self, node: Node) -> float:
        """``beta^depth``."""
        depth = sum(level for _, level in node)  # type: ignore[attr-defined]
        return self.beta**depth if node != () else self.root_weight

    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of the node's variables."""
        return tuple(a for g, _ in node for a in self.members[g])  # type: ignore[attr-defined]

    def block(self, node: Node) -> Block:
        """Features of a node; products are kept while there is room."""
        pairs: Pairs = node  # type: ignore[assignment]
        if not pairs:
            return self.base
        plain = self.constant_base
        parts = [self.levels[g][level - 1] for g, level in pairs]
        if plain and len(parts) == 1:
            return parts[0]
        if node in self._cache:
            self._cache.move_to_end(node)
            return self._cache[node]
        made = ProductBlock(parts if plain else [self.base, *parts], self.rank)
        self._cache[node] = made
        self._bytes += made.train.nbytes
        while self._bytes > CACHE_BYTES and len(self._cache) > 1:
            self._bytes -= self._cache.popitem(last=False)[1].train.nbytes
        return made

    def missing(self, hull: set[Node], dual: Array, limit: float) -> list[Node]:
        """Products of at most two variables that violate (27)."""
        return missing_nodes(self, hull, dual, limit)

    def outside(self, hull: set[Node], dual: Array, enough: float, work: float = WORK) -> Outside:
        """The smaller of two bounds: (21), and each kernel paying for itself."""
        found = largest_outside(self, hull, dual, enough, work)
        if found.bound <= enough:
            return found
        total = summed_sources(self, hull, dual, found.bound)
        if total >= found.bound:
            return found
        return Outside(total, found.violators if total > enough else [], "sum")


class Joined(Block):
    """Features of several blocks next to each other: the sum of their kernels."""

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.train = np.column_stack([block.train for block in blocks])

    def evaluate(self, Z: Array) -> Array:
        """All parts' features."""
        return np.column_stack([block.evaluate(Z) for block in self.blocks])

    def without_data(self) -> Joined:
        """Without the features at the data, its own and its parts'."""
        slim = super().without_data()
        slim.blocks = [block.without_data() for block in self.blocks]
        return slim


class Null:
    """No features."""

    def features(self, Z: Array) -> Array:
        """A matrix without columns."""
        return np.zeros((len(Z), 0))


class Flat(Hierarchy):
    r"""Multiple kernel learning: the levels of a grid without products, the sparse additive model.

    Nodes are ``((variable, level),)``: the levels of a decomposition one by one, or all of a
    variable's levels as one kernel, ``((variable, 1),)``. Weights are one, and the norm is ``sum_v
    ||f_v||``.

    The elastic-net form hangs all kernels under a root ``()`` whose kernel is null (section 5.2):

    .. math:: \Omega(f) = \mu \sum_v \|f_v\| + (1 - \mu) \Big(\sum_v \|f_v\|^2\Big)^{1/2} .

    Every node outside a hull has no ancestor outside but itself, so the largest kernel outside is
    the dual norm itself: conditions (20) and (21) are one and the certificate is exact.

    Parameters
    ----------
    grid : Grid
    join : bool
        One kernel per variable instead of one per level.
    l1_ratio : float
        ``mu``, in (0, 1]; below one the elastic-net form.
    """

    def __init__(self, grid: Grid, *, join: bool = True, l1_ratio: float = 1.0) -> None:
        self.grid, self.join, self.l1_ratio = grid, join, float(l1_ratio)
        self.X, self.weights, self.members = grid.X, grid.weights, grid.members
        levels = range(1, 2 if join else grid.q + 1)
        self.nodes: list[Node] = [((g, j),) for g in range(grid.n_variables) for j in levels]
        self.blocks: dict[Node, Block] = {
            ((g, j),): Joined(grid.levels[g]) if join else grid.levels[g][j - 1]
            for g in range(grid.n_variables)
            for j in levels
        }
        self.rooted = self.l1_ratio < 1
        self.blocks[()] = FeatureBlock(Null().features, grid.X)

    def sources(self) -> list[Node]:
        """The null root, or all nodes."""
        return [()] if self.rooted or not self.nodes else list(self.nodes)

    def children(self, node: Node) -> list[Node]:
        """All nodes for the root, none for the others."""
        return list(self.nodes) if node == () else []

    def parents(self, node: Node) -> list[Node]:
        """The root, if there is one."""
        return [()] if self.rooted and node != () else []

    def frontier(self, hull: set[Node]) -> list[Node]:
        """All nodes outside."""
        if self.rooted and () not in hull:
            return [()]
        return [node for node in self.nodes if node not in hull]

    def weight(self, node: Node) -> float:
        """One; with a root ``mu``, and ``1 - mu`` for the root."""
        if not self.rooted:
            return 1.0
        return self.l1_ratio if node != () else 1 - self.l1_ratio

    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of the node's variable."""
        return self.grid.columns(node)

    def block(self, node: Node) -> Block:
        """Features of a node."""
        return self.blocks[node]

    def outside(
        self,
        hull: set[Node],
        dual: Array,
        enough: float,
        work: float = 0.0,  # noqa: ARG002
    ) -> Outside:
        """The largest kernel outside: exact."""
        found = self.largest_of([v for v in self.nodes if v not in hull], dual, enough)
        return found._replace(rule="exact")


class WhiteBlock(Block):
    """Features of a node minus their projection on those of its ancestors."""

    def __init__(self, block: Block, ancestors: list[Block], weights: Array) -> None:
        self.block, self.ancestors = block, ancestors
        root = np.sqrt(weights)[:, None]
        A = self._stacked([part.train for part in ancestors], len(weights))
        self.mix = np.linalg.lstsq(root * A, root * block.train, rcond=DEPENDENT)[0]
        rest = block.train - A @ self.mix
        largest = np.sqrt(np.max(weights @ block.train**2, initial=0.0))
        kept = np.sqrt(weights @ rest**2) > DEPENDENT * largest
        self.kept = np.flatnonzero(kept)
        self.train = rest[:, self.kept]

    def evaluate(self, Z: Array) -> Array:
        """Features of new points with the same combination subtracted."""
        A = self._stacked([part.evaluate(Z) for part in self.ancestors], len(Z))
        return np.asarray((self.block.evaluate(Z) - A @ self.mix)[:, self.kept])

    def without_data(self) -> WhiteBlock:
        """Without the features at the data, its own and its parts'."""
        slim = super().without_data()
        slim.block = self.block.without_data()
        slim.ancestors = [part.without_data() for part in self.ancestors]
        return slim

    def _stacked(self, parts: list[Array], n: int) -> Array:
        return np.column_stack([np.ones((n, 1)), *parts])


class Whitened(Hierarchy):
    r"""A hierarchy with whitened kernels (section 5.2 of Bach, 2009).

    The features of a node are projected at the data onto the orthogonal complement of the span of
    all its ancestors' features, in the weighted inner product and with the constant among the
    ancestors. This lowers the correlation between relevant and irrelevant nodes and changes nothing
    in what can be represented. Features of new points subtract the same combination of the
    ancestors' features.

    Projected kernels have no product formula. Outside a hull their sizes are bounded, in the
    weighted metric, by ``||Phi_w' (I - P_w) alpha||^2 <= ||Phi_w||_F^2 sum_k alpha_k^2 / p_k`` with
    ``||Phi_w||_F^2 = sum_k p_k prod_i K_{i,w_i}(x_k, x_k)``: the enumeration of
    :mod:`nablasso.hierarchy.bounds` bounds all of them, if less sharply than without whitening.
    """

    def __init__(self, inner: Grid | DagHierarchy) -> None:
        self.inner = inner
        self.X, self.weights = inner.X, inner.weights
        self.members = getattr(inner, "members", None)
        self._blocks: dict[Node, Block] = {}

    def sources(self) -> list[Node]:
        """Nodes without parents."""
        return self.inner.sources()

    def children(self, node: Node) -> list[Node]:
        """Nodes one step down."""
        return self.inner.children(node)

    def parents(self, node: Node) -> list[Node]:
        """Nodes one step up."""
        return self.inner.parents(node)

    def frontier(self, hull: set[Node]) -> list[Node]:
        """Sources of the complement of a hull."""
        return self.inner.frontier(hull)

    def weight(self, node: Node) -> float:
        """``d_v``."""
        return self.inner.weight(node)

    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of a node and, through whitening, of its ancestors: the same."""
        return self.inner.columns(node)

    def block(self, node: Node) -> Block:
        """Whitened features."""
        if node not in self._blocks:
            above = sorted(hull_of(self.inner, [node]) - {node}, key=repr)
            ancestors = [self.inner.block(v) for v in above]
            self._blocks[node] = WhiteBlock(self.inner.block(node), ancestors, self.weights)
        return self._blocks[node]

    def outside(self, hull: set[Node], dual: Array, enough: float, work: float = WORK) -> Outside:
        """Bound by Frobenius norms on grids, exact on listed graphs."""
        if isinstance(self.inner, Grid):
            return largest_outside(self.inner, hull, dual, enough, work, whitened=self)
        nodes = self.inner.dag.all_nodes()
        if nodes is None:
            return Outside(np.inf, [], "none")
        return self.largest_of([v for v in nodes if v not in hull], dual, enough)
