r"""Kernels on a directed acyclic graph: what the search asks of it, and graphs of your own.

Nodes are hashable. ``A(w)`` are the ancestors of a node and ``D(w)`` its descendants, the node
itself included in both. Weights are ``d_v = beta^depth(v)`` with ``depth`` the length of the
shortest path from a source, and ``root_weight`` for the sources.

A *hull* is a set that holds all ancestors of its members: patterns that the norm can select are
hulls. *Sources* of its complement are the nodes outside whose parents are all inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from functools import cached_property, partial, reduce
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, Self

import numpy as np

from nablasso.errors import CyclicGraphError, InvalidParameterError
from nablasso.spaces import LowRank, first_pivots, low_rank
from nablasso.types import Array, Mask

Node = Hashable

CACHE_BYTES = 2**28  # of nodes' features
DEPENDENT = 1e-8  # relative size below which a direction is in the ancestors' span


class NodeBlock(ABC):
    """The feature space of a node: ``k_w(x, x') = phi_w(x).phi_w(x')``.

    ``train`` is ``phi_w`` at the data, (n, r), :meth:`evaluate` elsewhere. Products of kernels are
    row-wise Kronecker products of features. Where those have more columns than there are rows, or
    than the rank allowed, the product matrix is decomposed anew (:func:`nablasso.spaces.low_rank`):
    a node never costs more than n x min(n, rank) numbers.
    """

    train: Array
    inner: tuple[NodeBlock, ...] = ()  # what it is made of
    factored: LowRank | None = None  # its own kernel decomposed, where there are no features

    def without_data(self) -> Self:
        """A copy that can be evaluated but does not hold the data."""
        slim = copy(self)
        slim.train = np.empty((0, self.train.shape[1]))
        slim.inner = tuple(block.without_data() for block in self.inner)
        if self.factored is not None:
            slim.factored = self.factored._replace(train=slim.train)
        return slim

    @abstractmethod
    def evaluate(self, Z: Array) -> Array:
        """Features of new points, (m, r)."""


class FeatureBlock(NodeBlock):
    """Features given by a function of the points."""

    def __init__(self, function: Callable[[Array], Array], X: Array) -> None:
        self.function = function
        self.train = function(X)

    def evaluate(self, Z: Array) -> Array:
        """The function itself."""
        return self.function(Z)


class KernelBlock(NodeBlock):
    """Features of a kernel, from its pivot rows."""

    factored: LowRank

    def __init__(
        self, kernel: Callable[[Array, Array], Array], X: Array, rank: int | None = None
    ) -> None:
        self.kernel = kernel
        self.factored = low_rank(kernel(X, X), rank)
        self.points = X[self.factored.pivots]
        self.train = self.factored.train

    def evaluate(self, Z: Array) -> Array:
        """From the kernel with the pivot rows."""
        return self.factored.features(self.kernel(Z, self.points))


class ProductBlock(NodeBlock):
    """Product of blocks."""

    def __init__(self, blocks: Iterable[NodeBlock], rank: int | None = None) -> None:
        self.inner = tuple(blocks)
        parts = [block.train for block in self.inner]
        n, r = len(parts[0]), int(np.prod([part.shape[1] for part in parts]))
        if r > (n if rank is None else min(n, rank)):
            self.factored = _of_product(parts, rank)
            self.pivot_parts = [part[self.factored.pivots] for part in parts]
            self.train = self.factored.train
        else:
            self.train = kronecker(parts)

    def evaluate(self, Z: Array) -> Array:
        """Products of the parts' features."""
        parts = [block.evaluate(Z) for block in self.inner]
        if self.factored is None:
            return kronecker(parts)
        return self.factored.features(_gram(parts, self.pivot_parts))


def _of_product(parts: list[Array], rank: int | None) -> LowRank:
    """Of the product of kernels; the first few pivots need no more than as many columns."""
    if rank is None or 2 * rank >= len(parts[0]):
        return low_rank(_gram(parts, parts), rank)
    diagonal = np.prod([np.sum(part**2, axis=1) for part in parts], axis=0)
    return first_pivots(
        diagonal, lambda pivot: np.prod([part @ part[pivot] for part in parts], axis=0), rank
    )


class SumBlock(NodeBlock):
    """Features of blocks next to each other, the sum of their kernels; of none, the null kernel."""

    def __init__(self, blocks: Iterable[NodeBlock], n_rows: int) -> None:
        self.inner = tuple(blocks)
        self.train = np.column_stack([np.empty((n_rows, 0)), *(b.train for b in self.inner)])

    def evaluate(self, Z: Array) -> Array:
        """All parts' features."""
        return np.column_stack([np.empty((len(Z), 0)), *(b.evaluate(Z) for b in self.inner)])


class WhiteBlock(NodeBlock):
    """Features of a node minus their projection on those of its ancestors and the constant."""

    def __init__(self, block: NodeBlock, ancestors: Iterable[NodeBlock], weights: Array) -> None:
        self.inner = (block, *ancestors)
        F, A = self._parts(part.train for part in self.inner)
        root = np.sqrt(weights)[:, None]
        self.mix = np.linalg.lstsq(root * A, root * F, rcond=DEPENDENT)[0]
        rest = F - A @ self.mix
        largest = np.sqrt(np.max(weights @ F**2, initial=0.0))
        self.kept = np.flatnonzero(np.sqrt(weights @ rest**2) > DEPENDENT * largest)
        self.train = rest[:, self.kept]

    def evaluate(self, Z: Array) -> Array:
        """Features of new points with the same combination subtracted."""
        F, A = self._parts(part.evaluate(Z) for part in self.inner)
        return np.asarray((F - A @ self.mix)[:, self.kept])

    def _parts(self, features: Iterable[Array]) -> tuple[Array, Array]:
        F, *above = features
        return F, np.column_stack([np.ones((len(F), 1)), *above])


def kronecker(parts: list[Array]) -> Array:
    """Row-wise Kronecker product of feature matrices."""
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), parts)


def _gram(left: list[Array], right: list[Array]) -> Array:
    """Elementwise product of the kernels of matching parts."""
    return reduce(np.multiply, (a @ b.T for a, b in zip(left, right, strict=True)))


class Outside(NamedTuple):
    """What is known of the nodes outside a hull at a dual point."""

    bound: float  # of the squared dual norm of what is left outside
    violators: list[Node]  # nodes whose own a_w / d_w^2 exceeds the threshold, worst first
    rule: str  # which bound was used


class Hierarchy(ABC):
    r"""A DAG with a kernel on every node, on given data.

    ``weights`` (n,) of the rows add up to one; ``d_v = beta^depth``, at sources ``root_weight``;
    ``rank`` is the largest rank of a node. With ``whiten`` (section 5.2 of Bach, 2009) the features
    of a node are projected at the data onto the orthogonal complement of the span of all its
    ancestors' features, in the weighted inner product and with the constant among the ancestors.
    This lowers the correlation between relevant and irrelevant nodes and changes nothing in what
    can be represented. Features of new points subtract the same combination of the ancestors'.
    """

    members: list[tuple[int, ...]] | None = None  # columns of the variables nodes are made of

    def __init__(
        self,
        X: Array,
        weights: Array,
        *,
        beta: float = 2.0,
        root_weight: float = 1.0,
        rank: int | None = None,
        whiten: bool = False,
    ) -> None:
        self.X, self.weights, self.rank, self.whiten = X, weights, rank, whiten
        self.beta, self.root_weight = float(beta), float(root_weight)
        self._blocks: dict[tuple[Node, bool], NodeBlock] = {}
        self._bytes = 0
        self._depths: dict[Node, int] = {}

    @abstractmethod
    def sources(self) -> list[Node]:
        """Nodes without parents."""

    @abstractmethod
    def parents(self, node: Node) -> list[Node]:
        """Nodes one step up."""

    @abstractmethod
    def frontier(self, hull: set[Node]) -> list[Node]:
        """Sources of the complement of a hull."""

    @abstractmethod
    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of the data that the node's kernel looks at."""

    @abstractmethod
    def plain_block(self, node: Node) -> NodeBlock:
        """The node's features, not whitened."""

    @abstractmethod
    def outside(self, hull: set[Node], dual: Array, enough: float, work: float) -> Outside:
        """Bound the dual norm of all that lies outside ``hull`` at a dual point (n,).

        A bound of at most ``enough`` need not be made sharper; ``work`` limits the search for a
        sharper one.
        """

    def depth(self, node: Node) -> int:
        """Length of the shortest path from a source."""
        if node not in self._depths:
            self._depths[node] = min((1 + self.depth(v) for v in self.parents(node)), default=0)
        return self._depths[node]

    def weight(self, node: Node) -> float:
        """``d_v = beta^depth``; ``root_weight`` for sources."""
        depth = self.depth(node)
        return self.beta**depth if depth else self.root_weight

    def block(self, node: Node, *, whiten: bool | None = None) -> NodeBlock:
        """The node's features, whitened as asked for; made once, and kept while there is room."""
        whiten = self.whiten if whiten is None else whiten
        key = (node, whiten)
        if key in self._blocks:
            return self._blocks[key]
        if whiten:
            above = sorted(hull_of(self, [node]) - {node}, key=repr)
            parts = [self.block(v, whiten=False) for v in (node, *above)]
            made: NodeBlock = WhiteBlock(parts[0], parts[1:], self.weights)
        else:
            made = self.plain_block(node)
        self._bytes += made.train.nbytes
        if self._bytes > CACHE_BYTES:
            self._blocks, self._bytes = {}, made.train.nbytes
        self._blocks[key] = made
        return made

    def missing(self, hull: set[Node], dual: Array, limit: float) -> list[Node]:  # noqa: ARG002
        """Nodes beyond the sources of the complement that are certainly missing, worst first."""
        return []

    def size(self, node: Node, dual: Array) -> float:
        """``a_w = alpha' K_w alpha``."""
        h = self.block(node).train.T @ dual
        return float(h @ h)

    def ratios(self, nodes: list[Node], dual: Array) -> Array:
        """``a_w / d_w^2`` of some nodes."""
        return np.array([self.size(v, dual) / self.weight(v) ** 2 for v in nodes])

    def largest_of(self, nodes: list[Node], dual: Array, enough: float) -> Outside:
        """The largest of listed nodes, and those above ``enough``."""
        ratios = self.ratios(nodes, dual)
        order = np.argsort(-ratios, kind="stable")
        violators = [nodes[k] for k in order if ratios[k] > enough]
        return Outside(float(ratios.max(initial=0.0)), violators, "largest")


def hull_of(hierarchy: Hierarchy, nodes: Iterable[Node]) -> set[Node]:
    """All ancestors of some nodes."""
    hull: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in hull:
            hull.add(node)
            waiting.extend(hierarchy.parents(node))
    return hull


def ordered(nodes: set[Node]) -> list[Node]:
    """A fixed order of a set of nodes."""
    return sorted(nodes, key=lambda node: (len(node) if isinstance(node, tuple) else 0, repr(node)))


def shallow_first(hierarchy: Hierarchy, nodes: Iterable[Node]) -> list[Node]:
    """A fixed order in which every node comes behind its ancestors: all beginnings extend hulls."""
    return sorted(ordered(set(nodes)), key=lambda node: len(hull_of(hierarchy, [node])))


def ancestor_matrix(hierarchy: Hierarchy, nodes: list[Node]) -> Mask:
    """``[v, w]`` is true where ``v`` is an ancestor of ``w``; ``nodes`` must form a hull."""
    place = {node: k for k, node in enumerate(nodes)}
    matrix = np.eye(len(nodes), dtype=bool)
    parents = {node: hierarchy.parents(node) for node in nodes}
    for node in TopologicalSorter(parents).static_order():
        for parent in parents[node]:
            matrix[:, place[node]] |= matrix[:, place[parent]]
    return matrix


class KernelDag(Hierarchy):
    r"""A directed acyclic graph of your own with a kernel on every node.

    Trees, pyramids over images, substrings: nodes (``sources``, ``children``, ``parents``) and a
    ``kernel`` for each. Small graphs are listed (:class:`ExplicitDag`): everything outside a hull
    is then looked at node by node, and (21) is summed exactly. Graphs too large to list give the
    sum, or anything larger, themselves: ``descendant_kernel(t, X, weight)`` returns a matrix that
    is at least

    .. math:: \sum_{w \in D(t)} \Big(\sum_{v \in A(w) \cap D(t)} d_v\Big)^{-2} K_w

    in the order of positive semi-definite matrices. Without it there is no certificate. A graph
    becomes a hierarchy with data (:meth:`on`).
    """

    _kernel_of: Callable[[Node, Array, Array], Array]  # of the graph without data

    def __init__(self) -> None:
        """No data yet."""

    @abstractmethod
    def children(self, node: Node) -> list[Node]:
        """Nodes one step down."""

    @abstractmethod
    def kernel(self, node: Node, X: Array, Z: Array) -> Array:
        """Kernel of a node, (len(X), len(Z)), from rows of all columns (standardised)."""

    def frontier(self, hull: set[Node]) -> list[Node]:
        """Sources of the complement of a hull."""
        near = [*self.sources(), *(child for node in hull for child in self.children(node))]
        outside = (v for v in dict.fromkeys(near) if v not in hull)
        return [v for v in outside if all(parent in hull for parent in self.parents(v))]

    def columns(self, node: Node) -> tuple[int, ...]:  # noqa: ARG002
        """Columns that the node's kernel looks at: all by default."""
        return tuple(range(self.X.shape[1]))

    def all_nodes(self) -> list[Node] | None:
        """Every node, where the graph is small enough to list it."""
        return None

    def descendant_kernel(
        self,
        node: Node,  # noqa: ARG002
        X: Array,  # noqa: ARG002
        weight: Callable[[Node], float],  # noqa: ARG002
    ) -> Array | None:
        """The sum of (21) at the rows of ``X``, or an upper bound; None: unknown."""
        return None

    def on(self, X: Array, weights: Array, **options: Any) -> Self:
        """The hierarchy of this graph on given data; options as in :class:`Hierarchy`."""
        made = copy(self)
        Hierarchy.__init__(made, X, weights, **options)
        made._kernel_of = self.kernel
        return made

    def plain_block(self, node: Node) -> NodeBlock:
        """Features of a node, from its kernel."""
        return KernelBlock(partial(self._kernel_of, node), self.X, self.rank)

    def outside(self, hull: set[Node], dual: Array, enough: float, work: float = 0.0) -> Outside:  # noqa: ARG002
        """(21) at every source of the complement; listed graphs also by the largest kernel."""
        nodes, total = self.all_nodes(), np.inf
        if not self.whiten:
            total = max((self.descendant_sum(t, dual) for t in self.frontier(hull)), default=0.0)
        if nodes is None:
            return Outside(total, [], "none" if self.whiten else "sum")
        listed = self.largest_of([v for v in nodes if v not in hull], dual, enough)
        if listed.bound <= total:
            return listed
        return Outside(total, listed.violators if total > enough else [], "sum")

    def descendant_sum(self, node: Node, dual: Array) -> float:
        """The sum of (21) below a node, or the user's bound of it."""
        given = self.descendant_kernel(node, self.X, self.weight)
        if given is not None:
            return float(dual @ given @ dual)
        nodes = self.all_nodes()
        if nodes is None:
            return np.inf
        below = self._ancestors[nodes.index(node)]
        sums = np.array([self.weight(v) for v in nodes]) * below @ self._ancestors
        return float(sum(self.size(nodes[k], dual) / sums[k] ** 2 for k in np.flatnonzero(below)))

    @cached_property
    def _ancestors(self) -> Mask:
        return ancestor_matrix(self, self.all_nodes() or [])


class ExplicitDag(KernelDag):
    """A listed graph.

    Parameters
    ----------
    children : mapping of node to iterable of nodes
        Nodes that appear only as children have none.
    kernel : callable
        ``kernel(node, X, Z)`` returns (len(X), len(Z)).
    columns : mapping of node to columns, optional
        What each node looks at; all by default.
    """

    def __init__(
        self,
        children: Mapping[Node, Iterable[Node]],
        kernel: Callable[[Node, Array, Array], Array],
        columns: Mapping[Node, Iterable[int]] | None = None,
    ) -> None:
        self._children: dict[Node, list[Node]] = {v: list(c) for v, c in children.items()}
        self._parents: dict[Node, list[Node]] = {v: [] for v in self._children}
        for node, below in list(self._children.items()):
            for child in below:
                self._children.setdefault(child, [])
                self._parents.setdefault(child, []).append(node)
        if not self._children:
            raise InvalidParameterError("A DAG needs at least one node; got none.")
        absent = [node for node in self._children if columns is not None and node not in columns]
        if absent:
            raise InvalidParameterError(
                f"columns must say what every node looks at; got nothing for "
                f"{', '.join(map(repr, absent[:5]))}. Add them, or leave columns out: every node "
                "then looks at all."
            )
        self._kernel, self._columns = kernel, columns
        try:
            TopologicalSorter(self._parents).prepare()
        except CycleError as error:
            raise CyclicGraphError(
                "The graph of kernels must have no cycle; got "
                f"{' -> '.join(map(str, error.args[1]))}. Remove one of these edges."
            ) from error

    def sources(self) -> list[Node]:
        """Nodes without parents."""
        return [node for node, above in self._parents.items() if not above]

    def children(self, node: Node) -> list[Node]:
        """Nodes one step down."""
        return self._children[node]

    def parents(self, node: Node) -> list[Node]:
        """Nodes one step up."""
        return self._parents[node]

    def kernel(self, node: Node, X: Array, Z: Array) -> Array:
        """Kernel of a node."""
        return self._kernel(node, X, Z)

    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of a node."""
        return super().columns(node) if self._columns is None else tuple(self._columns[node])

    def all_nodes(self) -> list[Node]:
        """Every node."""
        return list(self._children)
