"""What is inside a fitted model, and plots of it: its path, its graph of kernels, its directions.

**The regularisation path** is that of derivative, sparse gradient and hierarchical estimators, with
or without cross-validation: everything but ``alpha`` as it was fitted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

import nablasso.estimators as families
from nablasso.errors import InvalidParameterError
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.cross_validation import Path, path
from nablasso.estimators.derivative import DerivativeEstimator
from nablasso.estimators.display import colour_bar, name_axes, shorten, subtitle
from nablasso.estimators.sparse_gradient import SparseGradientEstimator
from nablasso.estimators.validation import column_indices, feature_names, group_labels
from nablasso.inspection import canvas
from nablasso.types import Array

LINES = 8  # variables of a path with a colour and a name
BARS = 20  # variables with a bar, where a path has no importances
LARGEST_AREA, SMALLEST_AREA = 900.0, 40.0  # of the nodes of a graph, in square points
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_NODES = 60  # that still can be read
LOADINGS = 12  # variables of a direction with a bar
NEGLIGIBLE = 0.01  # of the largest loading


def single_fit(model: Any) -> Any:
    """The estimator without cross-validation that has the parameters of a fitted one."""
    check_is_fitted(model)
    kind = getattr(families, type(model).__name__.removesuffix("CV"), None)
    if kind is None or isinstance(model, AutomaticSelector) or not hasattr(model, "alpha_"):
        raise InvalidParameterError(
            "A path belongs to a fitted derivative, sparse gradient or hierarchical estimator; "
            f"got {model!r}."
        )
    known = model.get_params(deep=False)
    names = kind().get_params(deep=False)
    fitted: dict[str, Any] = {"alpha": float(model.alpha_)}
    if isinstance(model, DerivativeEstimator):
        fitted |= {"ridge": float(model.ridge_), "length_scale": float(model.length_scale_)}
    if known.get("feature_groups") is not None:  # by number, so that arrays will do
        fitted["feature_groups"] = group_labels(model, known["feature_groups"]).tolist()
    if known.get("always_keep") is not None:
        fitted["always_keep"] = column_indices(model, known["always_keep"], "always_keep").tolist()
    if "beta" in getattr(model, "best_params_", {}):
        fitted["beta"] = model.best_params_["beta"]
    return kind(**{name: known[name] for name in names if name in known} | fitted)


@dataclass
class PathDisplay(canvas.Display):
    """A regularisation path: importance of each variable against alpha, largest alpha left.

    Paths without importances (hierarchical kernels) are drawn as bars over the alphas at which a
    variable is selected.
    """

    path: Path

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Self:
        """The path that a fitted selector lies on, with the options of :func:`nablasso.path`."""
        along = path(single_fit(estimator), X, y, sample_weight, **options)
        return cls(replace(along, chosen=float(estimator.alpha_)))

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
            axes: Any = ax.get_xaxis_transform()
            ax.text(self.path.chosen, 1.01, "chosen", transform=axes, ha="center", fontsize=9)
        return ax

    def _lines(self, ax: Any, importances: Any) -> None:
        alphas, names = self.path.alphas, self.path.names
        order = np.argsort(-importances.max(axis=0), kind="stable")
        order = order[importances.max(axis=0)[order] > 0]
        for a in order[LINES:]:
            ax.plot(alphas, importances[:, a], color="0.8", linewidth=1)
        for colour, a in zip(canvas.COLOURS, order[:LINES], strict=False):
            ax.plot(alphas, importances[:, a], color=colour, linewidth=2, label=shorten(names[a]))
        canvas.tidy(ax)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("importance")
        canvas.legend(ax)
        if len(order) > LINES:
            subtitle(ax, f"grey: {len(order) - LINES} weaker variables")

    def _bars(self, ax: Any) -> None:
        path = self.path
        entered = path.entered
        order = np.argsort(-entered, kind="stable")
        order = order[entered[order] > 0][:BARS]
        for place, a in enumerate(order):
            inside = path.alphas[path.support[:, a]]
            chosen = path.chosen is None or entered[a] >= path.chosen
            looks: Any = {"color": canvas.BLUE if chosen else canvas.GREY, "markersize": 8}
            ax.plot(inside, np.full(len(inside), place), "s-", linewidth=6, **looks)
        canvas.tidy(ax)
        ax.grid(visible=False, axis="y")
        canvas.rows_down(ax, [path.names[a] for a in order])
        if (entered > 0).sum() > BARS:
            subtitle(ax, f"the first {BARS} of {int((entered > 0).sum())}")


@dataclass
class DagDisplay(canvas.Display):
    """The hull of a hierarchical model, one row per depth.

    Areas are proportional to the weights ``zeta`` of the nodes' kernels; sinks, the nodes without
    selected children, are filled. A product of variables hangs below the products it extends.
    """

    weights: dict[Hashable, float]  # zeta of every selected node
    depths: dict[Hashable, int]
    parents: dict[Hashable, list[Hashable]]
    sinks: set[Hashable]
    labels: dict[Hashable, str]

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The hull of a fitted :class:`~nablasso.HierarchicalKernelRegressor` or its like.

        The nodes of a DAG of your own are drawn under their own names. Of more than 60 nodes the
        heaviest are drawn, with all nodes above them.
        """
        if not hasattr(estimator, "_parents") or not hasattr(estimator, "_depths"):
            raise InvalidParameterError(
                "DagDisplay needs a fitted estimator over a hierarchy of kernels, such as "
                f"HierarchicalKernelRegressor; got {estimator!r}."
            )
        columns = [shorten(name, 14) for name in feature_names(estimator)]

        def names(node: Any) -> str:
            if estimator.dag is not None:
                return shorten(str(node))
            powers = ("" if level == 1 else str(level).translate(SUPERSCRIPT) for _, level in node)
            each = zip(node, powers, strict=True)
            return " ".join(columns[a] + power for (a, _), power in each) or "1"

        kept = _heaviest(estimator.active_set_, estimator._parents)
        return cls(
            weights={node: estimator.active_set_[node] for node in kept},
            depths={node: estimator._depths[node] for node in kept},
            parents={node: [v for v in estimator._parents[node] if v in kept] for node in kept},
            sinks=set(estimator.sinks_) & set(kept),
            labels={node: names(node) for node in kept},
        )

    @property
    def places(self) -> dict[Hashable, tuple[float, float]]:
        """Place of each node: depth downwards; rows are ordered by the places of the parents."""
        places: dict[Hashable, tuple[float, float]] = {}

        def below_its_parents(node: Hashable) -> tuple[float, str]:
            above = [places[parent][0] for parent in self.parents[node]]
            return float(np.mean(above or [0])), self.labels[node]

        sizes = Counter(self.depths.values())
        widest = max(sizes.values(), default=1)
        for depth in sorted(sizes):
            row = [node for node, own in self.depths.items() if own == depth]
            row.sort(key=below_its_parents)
            half = (len(row) / widest) ** 0.5 if len(row) > 1 else 0.0
            for node, x in zip(row, np.linspace(-half, half, len(row)), strict=True):
                places[node] = (float(x), -float(depth))
        return places

    def _draw(self, ax: Any) -> Any:
        places, sizes = self.places, Counter(self.depths.values())
        rows, widest = [-depth for depth in sorted(sizes)], max(sizes.values(), default=1)
        size = np.clip([1.5 + widest, 1.2 * len(rows) + 1], [6, 3], [16, 9])
        ax = self._open(ax, tuple(size.tolist()))
        largest = max(self.weights.values(), default=0.0) or 1.0
        for node, (x, y) in places.items():
            for parent in self.parents[node]:
                ax.plot([places[parent][0], x], [places[parent][1], y], color="0.8", zorder=1)
        for node, (x, y) in places.items():
            area = SMALLEST_AREA + (LARGEST_AREA - SMALLEST_AREA) * self.weights[node] / largest
            fill = canvas.BLUE if node in self.sinks else "white"
            ax.scatter(
                [x], [y], s=area, color=fill, edgecolors=canvas.BLUE, linewidths=1.5, zorder=2
            )
            looks: Any = {"ha": "center", "va": "top", "fontsize": 8, "zorder": 3}
            looks |= {"textcoords": "offset points", "rotation": 0 if widest <= 9 else 25}
            ax.annotate(self.labels[node], (x, y), (0.0, -float(np.sqrt(area)) / 2 - 3), **looks)
        ax.set_yticks(rows, [str(-y) for y in rows])
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


@dataclass
class EdrDisplay(canvas.Display):
    """Loadings of the directions, and the rows projected on them.

    One direction: the target against it. Two or more: the first two against each other, coloured
    by the target. After :meth:`plot`, ``axes_`` are those of loadings and projections, ``ax_`` the
    latter.
    """

    size = (9.5, 4.4)
    components: Array  # (q, d), the directions in standardised columns
    shares: Array  # (q,), of the gradients' covariance that each explains
    names: list[str]
    projections: Array  # (n, q)
    y: Any  # (n,), the target, or labels
    is_classes: bool = False

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any) -> Self:
        """The directions of a fitted sparse gradient model, and rows to project on them."""
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
            canvas.tidy(axes)
        left.grid(visible=False, axis="y")
        self.axes_ = [left, right]
        return right

    def _loadings(self, ax: Any) -> None:
        shown = min(2, len(self.components))
        size = np.abs(self.components[:shown]).max(axis=0)
        order = np.argsort(-size, kind="stable")
        order = order[size[order] > NEGLIGIBLE * size.max()][:LOADINGS]
        height, places = 0.75 / shown, np.arange(len(order))
        for k in range(shown):
            share = f" ({self.shares[k]:.0%})" if k < len(self.shares) else ""
            looks = {"color": canvas.COLOURS[k], "label": f"direction {k + 1}{share}"}
            at = places + (k - (shown - 1) / 2) * height
            ax.barh(at, self.components[k, order], height=height, **looks)
        ax.axvline(0, color="0.3", linewidth=1)
        canvas.rows_down(ax, [self.names[a] for a in order], 20)
        ax.set_xlabel("loading, per standard deviation")
        place: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0}
        ax.legend(frameon=False, fontsize=9, ncols=shown, handlelength=1, **place)

    def _rows(self, ax: Any) -> None:
        labels, colours = np.empty(0), self.y
        if self.is_classes:
            labels, colours = np.unique(self.y, return_inverse=True)
        alone = self.projections.shape[1] == 1
        second = colours if alone else self.projections[:, 1]
        looks: Any = {"cmap": "viridis", "s": 18, "linewidths": 0}
        points = ax.scatter(self.projections[:, 0], second, c=colours, **looks)
        if self.is_classes:
            names = [shorten(str(label)) for label in labels]
            ax.legend(points.legend_elements(num=None)[0], names, frameon=False, fontsize=9)
        elif not alone:
            colour_bar(ax, points, "target")
        name_axes(ax, "direction 1", "target" if alone else "direction 2")
