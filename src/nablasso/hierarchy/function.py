"""A function on a hull: one coefficient vector per node, evaluated anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nablasso.hierarchy.blocks import Block
from nablasso.hierarchy.dag import Hierarchy, Node
from nablasso.hierarchy.search import Found

Array = NDArray[np.float64]
Index = NDArray[np.intp]

STEP = 1e-5  # of central differences, in standardised units


@dataclass(frozen=True)
class HullFunction:
    """``intercept + sum_w phi_w(z).coef_w``; ``columns`` of the input go to the hierarchy."""

    intercept: float
    columns: Index
    parts: dict[Node, tuple[Block, Array]]
    used: Index  # columns of the input that the function depends on

    def values(self, Z: Array) -> Array:
        """Values at standardised points ``Z`` (m, d)."""
        inner, out = Z[:, self.columns], np.full(len(Z), self.intercept)
        for block, coef in self.parts.values():
            out += block.evaluate(inner) @ coef
        return out

    def part(self, node: Node, Z: Array) -> Array:
        """Component of one node; zero outside the hull."""
        if node not in self.parts:
            return np.zeros(len(Z))
        block, coef = self.parts[node]
        return np.asarray(block.evaluate(Z[:, self.columns]) @ coef)

    def gradients(self, Z: Array) -> Array:
        """Gradients in standardised units by central differences, (m, d)."""
        out = np.zeros(Z.shape)
        for column in self.used:
            above, below = Z.copy(), Z.copy()
            above[:, column] += STEP
            below[:, column] -= STEP
            out[:, column] = (self.values(above) - self.values(below)) / (2 * STEP)
        return out


def function_of(hierarchy: Hierarchy, found: Found, columns: Index) -> HullFunction:
    """The penalised function of a solution."""
    owner, coef = found.problem.owner, found.point.coef
    parts = {node: (hierarchy.block(node), coef[owner == k]) for k, node in enumerate(found.hull)}
    return assemble(hierarchy, parts, found.point.intercept, columns)


def assemble(
    hierarchy: Hierarchy, parts: dict[Node, tuple[Block, Array]], intercept: float, columns: Index
) -> HullFunction:
    """A function that no longer holds the data."""
    used = sorted({a for node in parts for a in hierarchy.columns(node)})
    slim = {node: (block.without_data(), coef) for node, (block, coef) in parts.items()}
    return HullFunction(intercept, columns, slim, columns[np.array(used, dtype=np.intp)])
