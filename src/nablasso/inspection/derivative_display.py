"""How the prediction depends on one variable, and how steeply, as a plot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from nablasso.inspection.canvas import BLUE, ORANGE, open_axes, shorten, split_axes, tidy
from nablasso.inspection.dependence import Dependence, partial_dependence


@dataclass
class DerivativeDisplay:
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

    dependence: Dependence
    ax_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

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

    def plot(self, ax: Any = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        curve, who = self.dependence, type(self).__name__
        if curve.kind == "category":
            axes = [open_axes(ax, who, (6.4, float(np.clip(1 + 0.4 * len(curve.grid), 2.5, 9))))]
            self._category(axes[0])
        else:
            axes = split_axes(ax, who, (6.4, 5.6), (2, 1), heights=(3, 2))
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
        axes[0].set_title(title, fontsize=9, loc="left", color="0.3")
        self.ax_, self.axes_, self.figure_ = axes[0], axes, axes[0].figure
        return self

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
