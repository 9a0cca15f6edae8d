r"""The directed grid ``{0..q}^p``: products of one level per variable.

A node is the sorted tuple of its ``(variable, level)`` pairs with levels of at least 1; ``()`` is
the root. A child raises one level by one, depth is the sum of the levels, and the ancestors of a
node are the nodes below it in every level. Variables are columns, or groups of columns: the kernel
of a group at a level is the mean of its columns' kernels.

Level 0 is divided out. Where it is not constant (Gauss-Hermite) every node carries the product of
all variables' level-0 functions as a common factor, so that a node costs what its own few variables
cost, however many others there are.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nablasso.exceptions import InvalidParameterError
from nablasso.hierarchy.blocks import Block, FeatureBlock, KernelBlock, ProductBlock
from nablasso.hierarchy.dag import Hierarchy, Node, Outside
from nablasso.hierarchy.decompositions import Decomposition
from nablasso.hierarchy.largest import WORK, Tables, largest_outside, tables
from nablasso.hierarchy.missing import missing_nodes
from nablasso.hierarchy.sums import factor, summed_sources

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Pairs = tuple[tuple[int, int], ...]

CACHE_BYTES = 2**28  # of product nodes' features


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
        """What the bound of :mod:`nablasso.hierarchy.largest` needs."""
        return tables(self)

    @cached_property
    def whole_factors(self) -> list[Array]:
        """``S_{i,0}`` of every variable (:mod:`nablasso.hierarchy.sums`)."""
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
        """Sources of the complement: first levels, and what active variables can make."""
        if () not in hull:
            return [()]
        firsts: list[Node] = [((g, 1),) for g in range(self.n_variables)]
        active = [g for g, first in enumerate(firsts) if first in hull]
        found = dict.fromkeys(first for first in firsts if first not in hull)
        for node in sorted(hull):  # type: ignore[type-var]
            for g in active if node != () else ():
                child = self._raised(node, g)
                if child is None or child in hull or child in found:
                    continue
                if all(parent in hull for parent in self.parents(child)):
                    found[child] = None
        return list(found)

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
