"""Plots of what a fitted function does: along one variable, over two, and which pairs interact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nablasso.estimators.validation import column_indices, feature_names
from nablasso.inspection.canvas import (
    BLUE,
    ORANGE,
    SEQUENTIAL,
    Display,
    colour_bar,
    shorten,
    subtitle,
    tidy,
)
from nablasso.inspection.dependence import (
    Dependence,
    PairDependence,
    pair_dependence,
    partial_dependence,
)
from nablasso.inspection.response import default_columns, interaction_strengths
from nablasso.reading import Interaction


@dataclass
class DerivativeDisplay(Display):
    """Partial dependence of one variable above, its derivative below, both with bands.

    The upper band holds the middle of the rows' own curves, each moved to the same mean: as thin
    as a line where the variable does not interact (probabilities stay where they are). The lower
    band holds the middle of the rows' derivatives: where it lies on one side of zero, nearly all
    rows agree on the direction.

    Parameters
    ----------
    dependence : Dependence
        The numbers.

    Attributes
    ----------
    ax_, figure_
        The upper axes and their figure, set by :meth:`plot`.
    axes_ : list
        Both axes.
    """

    size = (6.4, 5.6)
    dependence: Dependence

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, feature: str | int, *, ax: Any = None, **options: Any
    ) -> Self:
        """Compute and draw the dependence on one variable.

        Parameters
        ----------
        estimator : fitted regressor or classifier
        X : array-like, shape (n_samples, n_features)
            Rows to average over.
        feature : str or int
            Name or place of the variable.
        ax : matplotlib Axes, optional
            Its place is divided in two.
        **options
            Of :func:`partial_dependence`: ``target``, ``grid_size``, ``levels``, ...

        Returns
        -------
        DerivativeDisplay
        """
        return cls(partial_dependence(estimator, X, feature, **options)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        curve = self.dependence
        if curve.kind == "category":
            height = float(np.clip(1 + 0.4 * len(curve.grid), 2.5, 9))
            axes = [self._open(ax, (6.4, height))]
            self._category(axes[0])
        else:
            axes = self._split(ax, (2, 1), height_ratios=(3, 2))
            (self._discrete if curve.kind == "discrete" else self._continuous)(*axes)
            above, below = axes
            below.axhline(0, color="0.3", linewidth=1)
            above.tick_params(labelbottom=False)
            above.set_ylabel(curve.unit)
            below.set_ylabel("slope" if curve.kind == "continuous" else "step")
            below.set_xlabel(shorten(curve.name, 60))
        for one in axes:
            tidy(one)
        share = f"{curve.levels[1] - curve.levels[0]:.0%} of the rows"
        title = f"mean prediction; bars: {share}"
        if curve.kind == "continuous":
            title = f"mean prediction; band: {share}; ticks: every 5 % of the data"
        subtitle(axes[0], title)
        self.axes_ = axes
        return axes[0]

    def _continuous(self, above: Any, below: Any) -> None:
        """Curves in their bands, and ticks where the data are."""
        curve = self.dependence
        low, high = curve.band_low, curve.band_high
        above.fill_between(curve.grid, low, high, color=BLUE, alpha=0.18, linewidth=0)
        above.plot(curve.grid, curve.mean, color=BLUE, linewidth=2)
        low, high = curve.slope_low, curve.slope_high
        below.fill_between(curve.slope_grid, low, high, color=ORANGE, alpha=0.2, linewidth=0)
        below.plot(curve.slope_grid, curve.slope_mean, color=ORANGE, linewidth=2)
        inside = curve.quantiles[curve.quantiles >= curve.grid[0]]
        inside = inside[inside <= curve.grid[-1]]
        at = above.get_xaxis_transform()
        where = np.zeros(len(inside))
        above.plot(inside, where, "|", color="0.35", markersize=9, clip_on=False, transform=at)
        above.sharex(below)

    def _discrete(self, above: Any, below: Any) -> None:
        """Levels as points with bars, and the differences between them."""
        curve = self.dependence
        levels = (curve.grid, curve.mean, curve.band_low, curve.band_high)
        steps = (curve.slope_grid, curve.slope_mean, curve.slope_low, curve.slope_high)
        above.plot(curve.grid, curve.mean, color=BLUE, linewidth=1, alpha=0.5)
        for axes, (at, mean, low, high), colour in ((above, levels, BLUE), (below, steps, ORANGE)):
            axes.vlines(at, low, high, color=colour, alpha=0.3, linewidth=6)
            axes.plot(at, mean, "o", color=colour, markersize=7)
            axes.set_xticks(curve.grid)
            margin = 0.08 * float(np.ptp(curve.grid)) or 1.0
            axes.set_xlim(curve.grid[0] - margin, curve.grid[-1] + margin)

    def _category(self, ax: Any) -> None:
        """Levels one below the other, the highest first."""
        curve = self.dependence
        order = np.argsort(-curve.mean, kind="stable")
        places = np.arange(len(order))
        low, high = curve.band_low[order], curve.band_high[order]
        ax.hlines(places, low, high, color=BLUE, alpha=0.3, linewidth=6)
        ax.plot(curve.mean[order], places, "o", color=BLUE, markersize=7)
        ax.set_yticks(places, [shorten(curve.labels[k]) for k in order])
        ax.invert_yaxis()
        ax.set_xlabel(curve.unit)
        ax.set_ylabel(shorten(curve.name, 40))


@dataclass
class PairDisplay(Display):
    """Contours of the partial dependence on two variables.

    Parameters
    ----------
    dependence : PairDependence
        The numbers.
    points : array, shape (n, 2), optional
        Rows to show on top: where the contours rest on data.
    """

    dependence: PairDependence
    points: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Sequence[str | int],
        *,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute and draw the dependence on two variables.

        Parameters
        ----------
        estimator : fitted regressor or classifier
        X : array-like, shape (n_samples, n_features)
            Rows to average over.
        features : two names or places
        ax : matplotlib Axes, optional
        **options
            Of :func:`pair_dependence`: ``target``, ``grid_size``, ``max_rows``, ...

        Returns
        -------
        PairDisplay
        """
        pair = pair_dependence(estimator, X, features, **options)
        return cls(pair, np.asarray(X, dtype=float)[:, list(pair.columns)]).plot(ax)

    def _draw(self, ax: Any) -> Any:
        pair = self.dependence
        ax = self._open(ax, (6.6, 5.0))
        filled = ax.contourf(pair.grid_a, pair.grid_b, pair.mean.T, levels=14, cmap="viridis")
        lines = ax.contour(
            filled, levels=filled.levels[::2], colors="white", linewidths=0.7, alpha=0.8
        )
        ax.clabel(lines, fontsize=8, fmt="%.3g")
        if self.points is not None:
            ax.plot(*self.points.T, ".", color="black", markersize=3, alpha=0.35)
        ax.set_xlim(pair.grid_a[0], pair.grid_a[-1])
        ax.set_ylim(pair.grid_b[0], pair.grid_b[-1])
        ax.set_xlabel(shorten(pair.names[0], 60))
        ax.set_ylabel(shorten(pair.names[1], 60))
        colour_bar(ax, filled, pair.unit)
        subtitle(ax, f"{pair.strength:.0%} of the variation is joint; points: rows")
        return ax


@dataclass
class InteractionDisplay(Display):
    """Root mean squared cross derivatives of all pairs: dark cells act together.

    Parameters
    ----------
    pairs : list of Interaction
        Tuples ``(a, b, strength)``.
    columns : list of int
        The variables, in the order of the map.
    names : list of str
        Their names.

    Attributes
    ----------
    image_
        The map, set by :meth:`plot`.
    """

    pairs: list[Interaction]
    columns: list[int]
    names: list[str]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        columns: Sequence[str | int] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute and draw the interactions of a fitted model.

        Parameters
        ----------
        estimator : fitted regressor or classifier
        X : array-like, shape (n_samples, n_features)
            Rows to average over.
        columns : list of names or places, optional
            By default the selected variables, at most 15.
        ax : matplotlib Axes, optional
        **options
            Of :func:`interaction_strengths`: ``target``, ``unit``, ``max_rows``, ...

        Returns
        -------
        InteractionDisplay
        """
        chosen = (
            default_columns(estimator)
            if columns is None
            else column_indices(estimator, columns, "columns")
        )
        pairs = interaction_strengths(estimator, X, list(chosen), **options)
        names = feature_names(estimator)
        listed = [int(a) for a in chosen]
        return cls(pairs, listed, [names[a] for a in listed]).plot(ax)

    @property
    def matrix(self) -> Any:
        """Strengths as a symmetric matrix, (p, p), nan on the diagonal."""
        place = {a: k for k, a in enumerate(self.columns)}
        out = np.full((len(place), len(place)), np.nan)
        for a, b, strength in self.pairs:
            out[place[a], place[b]] = out[place[b], place[a]] = strength
        return out

    def _draw(self, ax: Any) -> Any:
        p = len(self.columns)
        side = min(9.0, 2.8 + 0.55 * p)
        ax = self._open(ax, (side + 0.6, side))
        values = self.matrix
        top = float(np.nanmax(values)) if self.pairs else 0.0
        self.image_ = ax.imshow(values, cmap=SEQUENTIAL, vmin=0, vmax=top or 1.0)
        labels = [shorten(name, 20) for name in self.names]
        ax.set_xticks(range(p), labels, rotation=40, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(p), labels)
        ax.spines[:].set_visible(False)
        ax.set_xticks(np.arange(p + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(p + 1) - 0.5, minor=True)
        ax.grid(visible=True, which="minor", color="white", linewidth=2)
        ax.tick_params(which="both", length=0)
        for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
            dark = values[i, j] > 0.6 * (top or 1.0)
            ax.text(
                j,
                i,
                f"{values[i, j]:.2f}",
                ha="center",
                va="center",
                color="white" if dark else "0.25",
                fontsize=9 if p <= 8 else 7,
            )
        colour_bar(ax, self.image_, "mean size of the cross derivative", shrink=0.7)
        return ax
