"""How the prediction depends on two variables together, as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from nablasso.inspection.canvas import open_axes, shorten
from nablasso.inspection.dependence import PairDependence, pair_dependence


@dataclass
class PairDisplay:
    """Contours of the partial dependence on two variables.

    Parameters
    ----------
    dependence : PairDependence
        The numbers.
    points : array, shape (n, 2), optional
        Rows to show on top: where the contours rest on data.

    Attributes
    ----------
    ax_, figure_
        Set by :meth:`plot`.
    """

    dependence: PairDependence
    points: Any = None
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

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

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        pair = self.dependence
        ax = open_axes(ax, type(self).__name__, (6.6, 5.0))
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
        bar = ax.figure.colorbar(filled, ax=ax)
        bar.outline.set_visible(False)
        bar.set_label(pair.unit)
        share = f"{pair.strength:.0%} of the variation is joint; points: rows"
        ax.set_title(share, fontsize=9, loc="left", color="0.3")
        self.ax_, self.figure_ = ax, ax.figure
        return self
