"""Plots of what is inside a fitted model: its path, its graph of kernels, its directions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from nablasso.errors import InvalidParameterError
from nablasso.estimators.alpha_path import Path
from nablasso.estimators.sparse_gradient_base import SparseGradientEstimator
from nablasso.estimators.validation import feature_names
from nablasso.inspection.canvas import (
    BLUE,
    COLOURS,
    GREY,
    Display,
    colour_bar,
    end_labels,
    shorten,
    subtitle,
    tidy,
)
from nablasso.inspection.paths import path_of
from nablasso.types import Array

LINES = 8  # variables of a path with a colour and a name
BARS = 20  # variables with a bar, where a path has no importances
LARGEST_AREA, SMALLEST_AREA = 900.0, 40.0  # of the nodes of a graph, in square points
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_NODES = 60  # that still can be read
LOADINGS = 12  # variables of a direction with a bar
NEGLIGIBLE = 0.01  # of the largest loading


@dataclass
class PathDisplay(Display):
    """A regularisation path: importance of each variable against alpha, largest alpha left.

    Paths without importances (hierarchical kernels) are drawn as bars over the alphas at which a
    variable is selected.

    Parameters
    ----------
    path : Path
        Alphas, support, importances and names.

    Examples
    --------
    >>> from nablasso import DerivativeLasso, path
    >>> from nablasso.datasets import make_product
    >>> from nablasso.inspection import PathDisplay
    >>> data = make_product(40, 3, random_state=0)
    >>> along = path(DerivativeLasso(), data.X, data.y, n_alphas=5)
    >>> display = PathDisplay.from_path(along)  # doctest: +SKIP
    """

    path: Path

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        n_alphas: int = 30,
    ) -> Self:
        """The path that a fitted selector lies on.

        Parameters
        ----------
        estimator : fitted selector
            A derivative, sparse gradient, hierarchical or automatic one, with or without CV.
        X : array-like, shape (n_samples, n_features)
            The rows of the fit.
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
        n_alphas : int, default=30
        """
        return cls(path_of(estimator, X, y, sample_weight, n_alphas=n_alphas))

    @classmethod
    def from_path(
        cls,
        path: Path,
        *,
        names: Sequence[str] | None = None,
        chosen: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a path that was computed before.

        Parameters
        ----------
        path : Path
        names : list of str, optional
            Of the columns; by default those of the path.
        chosen : float, optional
            An alpha to mark.
        ax : matplotlib Axes, optional

        Returns
        -------
        PathDisplay
        """
        listed = path.names if names is None else [str(name) for name in names]
        return cls(replace(path, names=listed, chosen=chosen)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = self._open(ax)
        if self.path.importances is None:
            self._bars(ax)
        else:
            self._lines(ax, self.path.importances)
        ax.set_xscale("log")
        alphas = self.path.alphas
        if len(alphas) > 1:
            ax.set_xlim(alphas[0] * 1.02, alphas[-1])
        ax.set_xlabel("alpha  (fewer variables ← → more variables)")
        if self.path.chosen is not None and alphas[-1] <= self.path.chosen <= alphas[0]:
            ax.axvline(self.path.chosen, color="0.25", linestyle="--", linewidth=1)
            ax.annotate(
                "chosen",
                (self.path.chosen, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                color="0.25",
            )
        return ax

    def _lines(self, ax: Any, importances: Any) -> None:
        alphas, names = self.path.alphas, self.path.names
        order = np.argsort(-importances.max(axis=0), kind="stable")
        order = order[importances.max(axis=0)[order] > 0]
        for a in order[LINES:]:
            ax.plot(alphas, importances[:, a], color="0.8", linewidth=1)
        labels = []
        for colour, a in zip(COLOURS, order[:LINES], strict=False):
            ax.plot(alphas, importances[:, a], color=colour, linewidth=2, label=shorten(names[a]))
            labels.append((float(importances[-1, a]), names[a], colour))
        tidy(ax)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("importance")
        end_labels(ax, labels)
        if len(order) > LINES:
            ax.set_title(f"grey: {len(order) - LINES} weaker variables", fontsize=9, loc="left")

    def _bars(self, ax: Any) -> None:
        path = self.path
        entered = path.entered
        order = np.argsort(-entered, kind="stable")
        order = order[entered[order] > 0][:BARS]
        ratio = path.alphas[1] / path.alphas[0] if len(path.alphas) > 1 else 0.5
        for place, a in enumerate(order):
            inside = path.alphas[path.support[:, a]]
            lefts, widths = inside * ratio**0.5, inside * (ratio**-0.5 - ratio**0.5)
            colour = BLUE if path.chosen is None or entered[a] >= path.chosen else GREY
            ax.barh(np.full(len(inside), place), widths, left=lefts, height=0.6, color=colour)
        tidy(ax)
        ax.grid(visible=False, axis="y")
        ax.set_yticks(range(len(order)), [shorten(path.names[a]) for a in order])
        ax.invert_yaxis()
        if (entered > 0).sum() > BARS:
            ax.set_title(f"the first {BARS} of {int((entered > 0).sum())}", fontsize=9, loc="left")


@dataclass
class DagDisplay(Display):
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
    """

    weights: dict[Hashable, float]
    depths: dict[Hashable, int]
    parents: dict[Hashable, list[Hashable]]
    sinks: set[Hashable]
    labels: dict[Hashable, str]

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The hull of a fitted model.

        Parameters
        ----------
        estimator : HierarchicalKernelRegressor or another estimator with ``active_set_``
            The nodes of a DAG of your own are drawn under their own names. Of more than 60 nodes
            the heaviest are drawn, with all nodes above them.
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
            labels={node: _node_name(node, estimator) for node in kept},
        )

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

    def _draw(self, ax: Any) -> Any:
        places = self.places
        rows = sorted({y for _, y in places.values()})
        widest = max((sum(y == row for _, y in places.values()) for row in rows), default=1)
        size = (
            float(np.clip(1.5 + 1.0 * widest, 6, 16)),
            float(np.clip(1.2 * len(rows) + 1, 3, 9)),
        )
        ax = self._open(ax, size)
        largest = max(self.weights.values(), default=0.0) or 1.0
        for node, (x, y) in places.items():
            for parent in self.parents[node]:
                ax.plot([places[parent][0], x], [places[parent][1], y], color="0.8", zorder=1)
        for node, (x, y) in places.items():
            area = SMALLEST_AREA + (LARGEST_AREA - SMALLEST_AREA) * self.weights[node] / largest
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
        subtitle(ax, "area: weight of the kernel; filled: nothing selected below")
        return ax


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
        if len(kept | chain) > MOST_NODES:
            break
        kept |= chain
    return {node: None for node in weights if node in kept}


def _node_name(node: Any, model: Any) -> str:
    """A node in words: ``x3² x7``; nodes of a user's DAG by their own names."""
    if model.dag is not None:
        return shorten(str(node))
    names = feature_names(model)
    parts = [
        shorten(names[column], 14) + ("" if level == 1 else str(level).translate(SUPERSCRIPT))
        for column, level in node
    ]
    return " ".join(parts) if parts else "1"


@dataclass
class EdrDisplay(Display):
    """Loadings of the directions, and the rows projected on them.

    One direction: the target against it. Two or more: the first two against each other, coloured
    by the target.

    Parameters
    ----------
    components : array, shape (q, d)
        The directions, in standardised columns.
    shares : array, shape (q,)
        Share of the gradients' covariance that each explains.
    names : list of str
        The columns.
    projections : array, shape (n, q)
    y : array, shape (n,)
        The target, or labels.

    Attributes
    ----------
    ax_, figure_
        The axes of the projections and their figure, set by :meth:`plot`.
    axes_ : list
        Loadings and projections.
    """

    size = (9.5, 4.4)
    components: Array
    shares: Array
    names: list[str]
    projections: Array
    y: Any
    is_classes: bool = False

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any) -> Self:
        """The directions of a fitted sparse gradient model.

        Parameters
        ----------
        estimator : fitted SparseGradientRegressor or SparseGradientClassifier, or their CV
        X : array-like, shape (n_samples, n_features)
            Rows to project.
        y : array-like, shape (n_samples,)
        """
        if not isinstance(estimator, SparseGradientEstimator):
            raise InvalidParameterError(
                "EdrDisplay needs a fitted sparse gradient estimator, such as "
                f"SparseGradientRegressor; got {estimator!r}."
            )
        total = float(estimator.spectrum_.sum())
        q = len(estimator.components_)
        shares = estimator.spectrum_[:q] / total if total > 0 else np.zeros(q)
        projections = np.asarray(estimator.transform(X), dtype=float)
        return cls(
            components=estimator.components_,
            shares=np.asarray(shares),
            names=feature_names(estimator),
            projections=projections,
            y=np.asarray(y),
            is_classes=is_classifier(estimator),
        )

    def _draw(self, ax: Any) -> Any:
        left, right = self._split(ax, (1, 2), width_ratios=(1, 1.25))
        self._loadings(left)
        self._rows(right)
        for axes in (left, right):
            tidy(axes)
        left.grid(visible=False, axis="y")
        self.axes_ = [left, right]
        return right

    def _loadings(self, ax: Any) -> None:
        shown = min(2, len(self.components))
        size = np.abs(self.components[:shown]).max(axis=0)
        order = np.argsort(-size, kind="stable")
        order = order[size[order] > NEGLIGIBLE * size.max()][:LOADINGS]
        height = 0.75 / shown
        for k in range(shown):
            share = f" ({self.shares[k]:.0%})" if k < len(self.shares) else ""
            ax.barh(
                np.arange(len(order)) + (k - (shown - 1) / 2) * height,
                self.components[k, order],
                height=height,
                color=COLOURS[k],
                label=f"direction {k + 1}{share}",
            )
        ax.axvline(0, color="0.3", linewidth=1)
        ax.set_yticks(range(len(order)), [shorten(self.names[a], 20) for a in order])
        ax.invert_yaxis()
        ax.set_xlabel("loading, per standard deviation")
        ax.legend(
            frameon=False,
            fontsize=9,
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=shown,
            borderaxespad=0,
            handlelength=1,
        )

    def _rows(self, ax: Any) -> None:
        first = self.projections[:, 0]
        if self.projections.shape[1] == 1:
            second, y_label = self.y, "target"
            if self.is_classes:
                labels, second = np.unique(self.y, return_inverse=True)
                ax.set_yticks(range(len(labels)), [shorten(str(label)) for label in labels])
            ax.plot(first, second, "o", color=BLUE, markersize=4, alpha=0.6, markeredgewidth=0)
        else:
            second, y_label = self.projections[:, 1], "direction 2"
            self._coloured(ax, first, second)
        ax.set_xlabel("direction 1")
        ax.set_ylabel(y_label)

    def _coloured(self, ax: Any, first: Array, second: Array) -> None:
        if not self.is_classes:
            points = ax.scatter(first, second, c=self.y, cmap="viridis", s=18, linewidths=0)
            colour_bar(ax, points, "target")
            return
        for k, label in enumerate(np.unique(self.y)):
            mine = self.y == label
            ax.plot(
                first[mine],
                second[mine],
                "os^Dv<>p"[k % 8],
                color=COLOURS[k % len(COLOURS)],
                markersize=5,
                alpha=0.7,
                markeredgewidth=0,
                label=shorten(str(label)),
            )
        ax.legend(frameon=False, fontsize=9)
