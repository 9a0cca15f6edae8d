"""The selected kernels of a hierarchy as a drawing of their graph."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.estimators.validation import feature_names
from nablasso.inspection.canvas import BLUE, open_axes, shorten

LARGEST = 900.0  # area of the node of largest weight, in square points
SMALLEST = 40.0
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST = 60  # nodes that still can be read


@dataclass
class DagDisplay:
    """The hull of a hierarchical model, one row per depth.

    Areas are proportional to the weights ``zeta`` of the nodes' kernels; sinks, the nodes without
    selected children, are filled. A product of variables hangs below the products it extends.

    Parameters
    ----------
    weights : dict of node to float
        ``zeta`` of every selected node.
    depths : dict of node to int
    parents : dict of node to list of nodes
    sinks : set of nodes
    labels : dict of node to str

    Attributes
    ----------
    ax_, figure_
        Set by :meth:`plot`.
    """

    weights: dict[Hashable, float]
    depths: dict[Hashable, int]
    parents: dict[Hashable, list[Hashable]]
    sinks: set[Hashable]
    labels: dict[Hashable, str]
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the hull of a fitted model.

        Parameters
        ----------
        estimator : HierarchicalKernelRegressor or another estimator with ``active_set_``
            The nodes of a DAG of your own are drawn under their own names. Of more than 60 nodes
            the heaviest are drawn, with all nodes above them.
        ax : matplotlib Axes, optional

        Returns
        -------
        DagDisplay
        """
        if not hasattr(estimator, "_parents") or not hasattr(estimator, "_depths"):
            raise InvalidParameterError(
                "DagDisplay needs a fitted estimator over a hierarchy of kernels, such as "
                f"HierarchicalKernelRegressor; got {estimator!r}."
            )
        kept = _heaviest(estimator.active_set_, estimator._parents)
        return cls(
            weights={node: estimator.active_set_[node] for node in kept},
            depths={node: estimator._depths[node] for node in kept},
            parents={node: [v for v in estimator._parents[node] if v in kept] for node in kept},
            sinks=set(estimator.sinks_) & set(kept),
            labels={node: _label(node, estimator) for node in kept},
        ).plot(ax)

    @property
    def places(self) -> dict[Hashable, tuple[float, float]]:
        """Place of each node: depth downwards; rows are ordered by the places of the parents."""
        rows: dict[int, list[Hashable]] = {}
        for node, depth in self.depths.items():
            rows.setdefault(depth, []).append(node)
        places: dict[Hashable, tuple[float, float]] = {}
        widest = max(map(len, rows.values()), default=1)
        for depth in sorted(rows):
            above = {
                node: float(
                    np.mean([places[v][0] for v in self.parents[node] if v in places] or [0])
                )
                for node in rows[depth]
            }
            row = sorted(rows[depth], key=lambda node: (above[node], self.labels[node]))
            half = (len(row) / widest) ** 0.5 if len(row) > 1 else 0.0
            for node, x in zip(row, np.linspace(-half, half, len(row)), strict=True):
                places[node] = (float(x), -float(depth))
        return places

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        places = self.places
        rows = sorted({y for _, y in places.values()})
        widest = max((sum(y == row for _, y in places.values()) for row in rows), default=1)
        size = (
            float(np.clip(1.5 + 1.0 * widest, 6, 16)),
            float(np.clip(1.2 * len(rows) + 1, 3, 9)),
        )
        ax = open_axes(ax, type(self).__name__, size)
        largest = max(self.weights.values(), default=0.0) or 1.0
        for node, (x, y) in places.items():
            for parent in self.parents[node]:
                ax.plot([places[parent][0], x], [places[parent][1], y], color="0.8", zorder=1)
        for node, (x, y) in places.items():
            area = SMALLEST + (LARGEST - SMALLEST) * self.weights[node] / largest
            fill = BLUE if node in self.sinks else "white"
            ax.scatter([x], [y], s=area, color=fill, edgecolors=BLUE, linewidths=1.5, zorder=2)
            ax.annotate(
                self.labels[node],
                (x, y),
                xytext=(0, -np.sqrt(area) / 2 - 3),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=8,
                rotation=0 if widest <= 9 else 25,
                zorder=3,
            )
        ax.set_yticks(rows, [str(int(-y)) for y in rows])
        ax.set_xticks([])
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        ax.set_ylabel("depth")
        ax.margins(0.12, 0.25)
        ax.set_title(
            "area: weight of the kernel; filled: nothing selected below",
            fontsize=9,
            loc="left",
            color="0.3",
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _heaviest(
    weights: dict[Hashable, float], parents: dict[Hashable, list[Hashable]]
) -> dict[Hashable, None]:
    """The heaviest nodes and all above them, about as many as can be read, in the given order."""
    kept: set[Hashable] = set()
    for node in sorted(weights, key=lambda node: -weights[node]):
        chain, line = {node}, [node]
        while line:
            new = [v for v in parents[line.pop()] if v in weights and v not in chain]
            chain.update(new)
            line.extend(new)
        if len(kept | chain) > MOST:
            break
        kept |= chain
    return {node: None for node in weights if node in kept}


def _label(node: Any, model: Any) -> str:
    """A node in words: ``x3² x7``; nodes of a user's DAG by their own names."""
    if model._names is None:
        return shorten(str(node))
    names = feature_names(model)
    parts = [
        shorten(names[column], 14) + ("" if level == 1 else str(level).translate(SUPERSCRIPT))
        for column, level in node
    ]
    return " ".join(parts) if parts else "1"
