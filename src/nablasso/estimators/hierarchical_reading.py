"""What a search over kernels found: nodes by the user's names, importances."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from nablasso.data.table import Table
from nablasso.hierarchy import Found, Hierarchy
from nablasso.types import Array, Index


def variables(hierarchy: Hierarchy, table: Table) -> list[int] | None:
    """Input column that stands for each variable of a grid: its group's first; None for a DAG."""
    if hierarchy.members is None:
        return None
    return [int(table.columns[list(columns)].min()) for columns in hierarchy.members]


def renamed(node: Any, names: list[int] | None) -> Hashable:
    """A node in the user's columns."""
    if names is None:
        return node  # type: ignore[no-any-return]
    return tuple(sorted((names[g], level) for g, level in node))


def table_node(node: Any, names: list[int] | None) -> Hashable:
    """The search's own name of a user's node; None where there is none."""
    if names is None:
        return node  # type: ignore[no-any-return]
    if not all(column in names for column, _ in node):
        return None
    return tuple(sorted((names.index(column), int(level)) for column, level in node))


def is_product(node: Any) -> bool:
    """Whether a node is a tuple of pairs of whole numbers."""
    return isinstance(node, tuple | list) and all(
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(isinstance(number, int | np.integer) for number in pair)
        for pair in node
    )


def in_order(
    hierarchy: Hierarchy, nodes: Iterable[Any], names: list[int] | None
) -> dict[Hashable, int]:
    """Nodes in the user's columns with their depths, shallow ones first."""
    depths = {
        renamed(node, names): hierarchy.depth(node) if names is None else sum(j for _, j in node)
        for node in nodes
    }
    return {name: depths[name] for name in sorted(depths, key=lambda v: (depths[v], str(v)))}


def importances_of(hierarchy: Hierarchy, found: Found, origin: Index, d: int) -> Array:
    """Deviation of the part of f that involves each column, in deviations of the target."""
    problem, sample = found.problem, found.problem.sample
    parts: dict[int, Array] = {}
    for k, node in enumerate(found.hull):
        mine = problem.owner == k
        values = problem.Phi[:, mine] @ found.point.coef[mine]
        for column in hierarchy.columns(node):
            parts[column] = parts.get(column, 0.0) + values
    out, p = np.zeros(d), sample.weights
    scale = 1.0
    if sample.loss.translates:
        scale = float(np.sqrt(p @ (sample.y - p @ sample.y) ** 2)) or 1.0
    for column, values in parts.items():
        out[origin[column]] = np.sqrt(p @ (values - p @ values) ** 2) / scale
    return out


def interactions_of(
    names: list[str], hierarchy: Hierarchy, table: Table, strength: dict[Hashable, float]
) -> list[str]:
    """Sets of variables that the function has products of, strongest first."""
    if hierarchy.members is None:
        return []
    shown = {}
    for columns in hierarchy.members:
        inputs = np.sort(table.columns[list(columns)])
        listed = ", ".join(names[a] for a in inputs)
        shown[int(inputs[0])] = listed if len(inputs) == 1 else f"({listed})"
    found: dict[tuple[int, ...], float] = {}
    for node, size in strength.items():
        product = tuple(column for column, _ in node)  # type: ignore[attr-defined]
        if len(product) > 1 and size > 0:
            found[product] = float(np.hypot(found.get(product, 0.0), size))
    order = sorted(found, key=lambda product: (-found[product], product))
    return [f"{' * '.join(shown[a] for a in each)} (order {len(each)})" for each in order]
