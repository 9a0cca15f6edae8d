r"""Kernels on a directed acyclic graph: what the search asks of it.

Nodes are hashable. ``A(w)`` are the ancestors of a node and ``D(w)`` its descendants, the node
itself included in both. Weights are ``d_v = beta^depth(v)`` with ``depth`` the length of the
shortest path from a source, and ``root_weight`` for the sources.

A *hull* is a set that holds all ancestors of its members: patterns that the norm can select are
hulls. *Sources* of its complement are the nodes outside whose parents are all inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.hierarchy.blocks import Block

Array = NDArray[np.float64]
Node = Hashable


class Outside(NamedTuple):
    """What is known of the nodes outside a hull at a dual point.

    ``bound`` is an upper bound of ``max_kappa``, the squared dual norm of what is left outside;
    ``violators`` are nodes outside whose own ``a_w / d_w^2`` exceeds the threshold, worst first;
    ``rule`` says which bound was used.
    """

    bound: float
    violators: list[Node]
    rule: str


class Hierarchy(ABC):
    """A DAG with a kernel on every node, on given data."""

    weights: Array  # of the rows, adding up to one

    @abstractmethod
    def sources(self) -> list[Node]:
        """Nodes without parents."""

    @abstractmethod
    def children(self, node: Node) -> list[Node]:
        """Nodes one step down."""

    @abstractmethod
    def parents(self, node: Node) -> list[Node]:
        """Nodes one step up."""

    @abstractmethod
    def weight(self, node: Node) -> float:
        """``d_v``."""

    @abstractmethod
    def block(self, node: Node) -> Block:
        """The node's features."""

    @abstractmethod
    def columns(self, node: Node) -> tuple[int, ...]:
        """Columns of the data that the node's kernel looks at."""

    @abstractmethod
    def outside(self, hull: set[Node], dual: Array, enough: float, work: float) -> Outside:
        """Bound the dual norm of all that lies outside ``hull`` at a dual point (n,).

        A bound of at most ``enough`` need not be made sharper; ``work`` limits the search for a
        sharper one.
        """

    def missing(self, hull: set[Node], dual: Array, limit: float) -> list[Node]:  # noqa: ARG002
        """Nodes beyond the sources of the complement that are certainly missing, worst first."""
        return []

    def size(self, node: Node, dual: Array) -> float:
        """``a_w = alpha' K_w alpha``."""
        h = self.block(node).train.T @ dual
        return float(h @ h)

    def frontier(self, hull: set[Node]) -> list[Node]:
        """Sources of the complement of a hull."""
        found: dict[Node, None] = {s: None for s in self.sources() if s not in hull}
        for node in hull:
            for child in self.children(node):
                if child in hull or child in found:
                    continue
                if all(parent in hull for parent in self.parents(child)):
                    found[child] = None
        return list(found)


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


def sinks_of(hierarchy: Hierarchy, hull: set[Node]) -> set[Node]:
    """Extreme points: members without children inside."""
    return hull - {parent for node in hull for parent in hierarchy.parents(node)}


def ancestor_matrix(hierarchy: Hierarchy, nodes: list[Node]) -> NDArray[np.bool_]:
    """``[v, w]`` is true where ``v`` is an ancestor of ``w``; ``nodes`` must form a hull."""
    place = {node: k for k, node in enumerate(nodes)}
    matrix = np.eye(len(nodes), dtype=bool)
    done: set[Node] = set()

    def fill(node: Node) -> None:
        if node in done:
            return
        for parent in hierarchy.parents(node):
            fill(parent)
            matrix[:, place[node]] |= matrix[:, place[parent]]
        done.add(node)

    for node in nodes:
        fill(node)
    return matrix
