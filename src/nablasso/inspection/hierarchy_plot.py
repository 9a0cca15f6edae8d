"""The selected nodes of a hierarchy as a drawing of their graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from nablasso.exceptions import InvalidParameterError, MissingExtraError

LARGEST = 900.0  # area of the node of largest weight, in square points
SMALLEST = 40.0


def plot_hierarchy(model: Any, ax: Any = None) -> Any:
    """Draw the hull of a fitted model, one row per depth.

    Areas are proportional to the weights ``zeta`` of the nodes' kernels; sinks, the nodes without
    selected children, are filled.

    Parameters
    ----------
    model : HierarchicalKernelRegressor or another estimator with ``active_set_``
        The nodes of a DAG of your own are drawn under their own names.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError(
            'plot_hierarchy needs matplotlib; install it with pip install "nablasso[plot]".'
        ) from error
    if ax is None:
        ax = pyplot.figure(figsize=(8, 5)).add_subplot()
    depths, parents = graph_of(model)
    places = positions(depths)
    sinks = set(model.sinks_)
    largest = max(model.active_set_.values(), default=0.0) or 1.0
    for node, (x, y) in places.items():
        for parent in parents[node]:
            if parent in places:
                ax.plot([places[parent][0], x], [places[parent][1], y], color="0.7", zorder=1)
    for node, (x, y) in places.items():
        share = model.active_set_[node] / largest
        colour = "tab:blue" if node in sinks else "white"
        area = SMALLEST + (LARGEST - SMALLEST) * share
        ax.scatter([x], [y], s=area, color=colour, edgecolors="tab:blue", zorder=2)
        beside = (np.sqrt(area) / 2 + 2, 0)  # points from the middle of the node
        ax.annotate(
            label(node, model),
            (x, y),
            xytext=beside,
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=8,
            zorder=3,
        )
    ax.set_yticks(sorted({y for _, y in places.values()}))
    ax.set_yticklabels([str(int(-y)) for y in sorted({y for _, y in places.values()})])
    ax.set_xticks([])
    ax.set_ylabel("depth")
    ax.margins(0.15)
    return ax


def graph_of(model: Any) -> tuple[dict[Any, int], dict[Any, list[Any]]]:
    """Depth and parents of every selected node."""
    if not hasattr(model, "_parents") or not hasattr(model, "_depths"):
        raise InvalidParameterError(
            "plot_hierarchy needs a fitted estimator over a hierarchy of kernels, such as "
            f"HierarchicalKernelRegressor; got {model!r}."
        )
    return model._depths, model._parents


def positions(depths: dict[Any, int]) -> dict[Any, tuple[float, float]]:
    """Place of each node: depth downwards, spread evenly from -1 to 1 within a depth."""
    rows: dict[int, list[Any]] = {}
    for node, depth in depths.items():
        rows.setdefault(depth, []).append(node)
    places = {}
    for depth, row in rows.items():
        xs = np.linspace(-1, 1, len(row)) if len(row) > 1 else np.zeros(1)
        for node, x in zip(row, xs, strict=True):
            places[node] = (float(x), -float(depth))
    return places


def label(node: Any, model: Any) -> str:
    """A node in words: ``x3^2 x7``; nodes of a user's DAG by their own names."""
    if model._names is None:
        return str(node)
    names = getattr(model, "feature_names_in_", None)
    parts = []
    for column, level in node:
        name = str(names[column]) if names is not None else f"x{column}"
        parts.append(name if level == 1 else f"{name}^{level}")
    return " ".join(parts) if parts else "1"
