r"""Hierarchical whitening (section 5.2 of Bach, 2009).

The features of a node are projected at the data onto the orthogonal complement of the span of all
its ancestors' features, in the weighted inner product and with the constant among the ancestors.
This lowers the correlation between relevant and irrelevant nodes and changes nothing in what can be
represented. Features of new points subtract the same combination of the ancestors' features.

Projected kernels have no product formula. Outside a hull their sizes are bounded, in the weighted
metric, by ``||Phi_w' (I - P_w) alpha||^2 <= ||Phi_w||_F^2 sum_k alpha_k^2 / p_k`` with
``||Phi_w||_F^2 = sum_k p_k prod_i K_{i,w_i}(x_k, x_k)``: the enumeration of
:mod:`nablasso.hierarchy.largest` bounds all of them, if less sharply than without whitening.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nablasso.hierarchy.blocks import Block
from nablasso.hierarchy.dag import Hierarchy, Node, Outside, hull_of
from nablasso.hierarchy.explicit import DagHierarchy
from nablasso.hierarchy.grid import Grid
from nablasso.hierarchy.largest import WORK, largest_outside

Array = NDArray[np.float64]

DEPENDENT = 1e-8  # relative size below which a direction is in the ancestors' span


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
    """A hierarchy with whitened kernels."""

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
        values = {v: self.size(v, dual) / self.weight(v) ** 2 for v in nodes if v not in hull}
        found = sorted((v for v in values if values[v] > enough), key=lambda v: -values[v])
        return Outside(max(values.values(), default=0.0), found, "largest")
