r"""A DAG of your own: trees, pyramids over images, substrings.

:class:`KernelDag` is what you write: nodes, edges and a kernel per node. Small graphs are listed
(:class:`ExplicitDag`): everything outside a hull is then looked at node by node, and (21) is summed
exactly. Graphs too large to list give the sum, or anything larger, themselves:
``descendant_kernel(t, X, weight)`` returns a matrix that is at least

.. math:: \sum_{w \in D(t)} \Big(\sum_{v \in A(w) \cap D(t)} d_v\Big)^{-2} K_w

in the order of positive semi-definite matrices. Without it there is no certificate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.exceptions import CyclicGraphError, InvalidParameterError
from nablasso.hierarchy.blocks import Block, KernelBlock
from nablasso.hierarchy.dag import Hierarchy, Node, Outside, hull_of

Array = NDArray[np.float64]


class KernelDag(ABC):
    """A directed acyclic graph with a kernel on every node."""

    @abstractmethod
    def sources(self) -> list[Hashable]:
        """Nodes without parents."""

    @abstractmethod
    def children(self, node: Hashable) -> list[Hashable]:
        """Nodes one step down."""

    @abstractmethod
    def parents(self, node: Hashable) -> list[Hashable]:
        """Nodes one step up."""

    @abstractmethod
    def kernel(self, node: Hashable, X: Array, Z: Array) -> Array:
        """Kernel of a node, (len(X), len(Z)), from rows of all columns (standardised)."""

    def columns(self, node: Hashable) -> Iterable[int] | None:  # noqa: ARG002
        """Columns that the node's kernel looks at; None: all."""
        return None

    def all_nodes(self) -> list[Hashable] | None:
        """Every node, where the graph is small enough to list it."""
        return None

    def descendant_kernel(
        self,
        node: Hashable,  # noqa: ARG002
        X: Array,  # noqa: ARG002
        weight: Callable[[Hashable], float],  # noqa: ARG002
    ) -> Array | None:
        """The sum of (21) at the rows of ``X``, or an upper bound; None: unknown."""
        return None


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
        children: Mapping[Hashable, Iterable[Hashable]],
        kernel: Callable[[Hashable, Array, Array], Array],
        columns: Mapping[Hashable, Iterable[int]] | None = None,
    ) -> None:
        self._children: dict[Hashable, list[Hashable]] = {v: list(c) for v, c in children.items()}
        for below in list(self._children.values()):
            for node in below:
                self._children.setdefault(node, [])
        self._parents: dict[Hashable, list[Hashable]] = {v: [] for v in self._children}
        for node, below in self._children.items():
            for child in below:
                self._parents[child].append(node)
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
        self._check_acyclic()

    def sources(self) -> list[Hashable]:
        """Nodes without parents."""
        return [node for node, above in self._parents.items() if not above]

    def children(self, node: Hashable) -> list[Hashable]:
        """Nodes one step down."""
        return self._children[node]

    def parents(self, node: Hashable) -> list[Hashable]:
        """Nodes one step up."""
        return self._parents[node]

    def kernel(self, node: Hashable, X: Array, Z: Array) -> Array:
        """Kernel of a node."""
        return self._kernel(node, X, Z)

    def columns(self, node: Hashable) -> Iterable[int] | None:
        """Columns of a node."""
        return None if self._columns is None else self._columns[node]

    def all_nodes(self) -> list[Hashable]:
        """Every node."""
        return list(self._children)

    def _check_acyclic(self) -> None:
        """Depth-first search that remembers the way it came."""
        state: dict[Hashable, int] = {}
        for root in self._children:
            way: list[tuple[Hashable, int]] = [(root, 0)] if root not in state else []
            while way:
                node, k = way[-1]
                state[node] = 1
                if k == len(self._children[node]):
                    state[node] = 2
                    way.pop()
                    continue
                way[-1] = (node, k + 1)
                child = self._children[node][k]
                if state.get(child) == 1:
                    names = [v for v, _ in way]
                    cycle = [*names[names.index(child) :], child]
                    raise CyclicGraphError(
                        "The graph of kernels must have no cycle; got "
                        f"{' -> '.join(map(str, cycle))}. Remove one of these edges."
                    )
                if child not in state:
                    way.append((child, 0))


class DagHierarchy(Hierarchy):
    """A user's DAG on given data."""

    def __init__(
        self,
        dag: KernelDag,
        X: Array,
        weights: Array,
        *,
        beta: float = 2.0,
        root_weight: float = 1.0,
        rank: int | None = None,
    ) -> None:
        self.dag, self.X, self.weights, self.rank = dag, X, weights, rank
        self.beta, self.root_weight = float(beta), float(root_weight)
        self._blocks: dict[Node, Block] = {}
        self._depths: dict[Node, int] = {}

    def sources(self) -> list[Node]:
        """Nodes without parents."""
        return list(self.dag.sources())

    def children(self, node: Node) -> list[Node]:
        """Nodes one step down."""
        return list(self.dag.children(node))

    def parents(self, node: Node) -> list[Node]:
        """Nodes one step up."""
        return list(self.dag.parents(node))

    def depth(self, node: Node) -> int:
        """Length of the shortest path from a source."""
        if node not in self._depths:
            above = self.parents(node)
            self._depths[node] = 1 + min(map(self.depth, above)) if above else 0
        return self._depths[node]

    def weight(self, node: Node) -> float:
        """``beta^depth``; ``root_weight`` for sources."""
        depth = self.depth(node)
        return self.beta**depth if depth else self.root_weight

    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of a node."""
        columns = self.dag.columns(node)
        return tuple(range(self.X.shape[1])) if columns is None else tuple(columns)

    def block(self, node: Node) -> Block:
        """Features of a node."""
        if node not in self._blocks:
            kernel: Any = partial(self.dag.kernel, node)
            self._blocks[node] = KernelBlock(kernel, self.X, self.rank)
        return self._blocks[node]

    def outside(
        self,
        hull: set[Node],
        dual: Array,
        enough: float,
        work: float = 0.0,  # noqa: ARG002
    ) -> Outside:
        """(21) at every source of the complement; listed graphs also by the largest kernel."""
        total = max((self.descendant_sum(t, dual) for t in self.frontier(hull)), default=0.0)
        nodes = self.dag.all_nodes()
        if nodes is None:
            return Outside(total, [], "sum")
        values = {v: self.size(v, dual) / self.weight(v) ** 2 for v in nodes if v not in hull}
        largest = max(values.values(), default=0.0)
        if min(total, largest) <= enough:
            return Outside(min(total, largest), [], "sum" if total < largest else "largest")
        found = sorted((v for v in values if values[v] > enough), key=lambda v: -values[v])
        return Outside(min(total, largest), found, "sum" if total < largest else "largest")

    def descendant_sum(self, node: Node, dual: Array) -> float:
        """The sum of (21) below a node, or the user's bound of it."""
        given = self.dag.descendant_kernel(node, self.X, self.weight)
        if given is not None:
            return float(dual @ given @ dual)
        nodes = self.dag.all_nodes()
        if nodes is None:
            return np.inf
        total = 0.0
        for w in nodes:
            ancestors = hull_of(self, [w])
            if node in ancestors:
                below = [v for v in ancestors if node in hull_of(self, [v])]
                total += self.size(w, dual) / sum(map(self.weight, below)) ** 2
        return total
