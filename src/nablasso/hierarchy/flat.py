r"""Multiple kernel learning: kernels without edges, the sparse additive model.

Nodes are ``((variable, level),)``: the levels of a decomposition one by one, or all of a variable's
levels as one kernel, ``((variable, 1),)``. Weights are one, and the norm is ``sum_v ||f_v||``.

The elastic-net form hangs all kernels under a root ``()`` whose kernel is null (section 5.2):

.. math:: \Omega(f) = \mu \sum_v \|f_v\| + (1 - \mu) \Big(\sum_v \|f_v\|^2\Big)^{1/2} .

Every node outside a hull has no ancestor outside but itself, so the largest kernel outside is the
dual norm itself: conditions (20) and (21) are one and the certificate is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nablasso.hierarchy.blocks import Block, FeatureBlock
from nablasso.hierarchy.dag import Hierarchy, Node, Outside
from nablasso.hierarchy.grid import Grid

Array = NDArray[np.float64]


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
    """The levels of a grid without products.

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
        values = {v: self.size(v, dual) / self.weight(v) ** 2 for v in self.nodes if v not in hull}
        found = sorted((v for v in values if values[v] > enough), key=lambda v: -values[v])
        return Outside(max(values.values(), default=0.0), found, "exact")
