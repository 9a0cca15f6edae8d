"""A density of one or two variables, as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.estimators.density import DensityEstimator
from nablasso.estimators.validation import check_new_data, column_indices, feature_names
from nablasso.inspection.canvas import BLUE, SEQUENTIAL, open_axes, shorten, tidy
from nablasso.types import Array

MARGIN = 0.12  # of the range of the data, on both sides
MAX_POINTS = 2000


@dataclass
class DensityDisplay:
    """A density with the rows it was fitted on: a curve, or contours.

    Parameters
    ----------
    grids : list of one or two arrays
        Points of each variable.
    density : array, shape (g,) or (g, h)
        Density with respect to Lebesgue measure.
    names : list of str
        The variables.
    points : array, shape (n, 1) or (n, 2)
        The rows.

    Attributes
    ----------
    ax_, figure_
        Set by :meth:`plot`.
    """

    grids: list[Array]
    density: Array
    names: list[str]
    points: Array
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        features: Sequence[str | int] | None = None,
        grid_size: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted density.

        Parameters
        ----------
        estimator : fitted PSDDensity or PSDDensityCV
        X : array-like, shape (n_samples, n_features)
            Rows to show.
        features : one or two names or places, optional
            The marginal of these variables; all of them by default, where there are no more than
            two.
        grid_size : int, optional
            Points per variable: 300 for one, 80 for two.
        ax : matplotlib Axes, optional

        Returns
        -------
        DensityDisplay
        """
        if not isinstance(estimator, DensityEstimator):
            raise InvalidParameterError(
                f"DensityDisplay needs a fitted density, such as PSDDensity; got {estimator!r}."
            )
        X, d = check_new_data(estimator, X), estimator.n_features_in_
        chosen = np.arange(d)
        if features is not None:
            chosen = np.unique(column_indices(estimator, features, "features"))
        if not 1 <= len(chosen) <= 2:
            raise InvalidParameterError(
                f"A density is drawn of one or two variables; got {len(chosen)}. Name them in "
                "features: their marginal is drawn."
            )
        points = X[:, chosen]
        size = grid_size or (300 if len(chosen) == 1 else 80)
        grids = [_grid(column, size) for column in points.T]
        mesh = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(grids))
        if len(chosen) == d:
            values = estimator.density_.values(mesh)
        else:
            values = estimator.marginal(chosen).values(mesh)
        names = feature_names(estimator)
        shape = tuple(map(len, grids))
        listed = [names[a] for a in chosen]
        return cls(grids, np.asarray(values).reshape(shape), listed, points).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        ax = open_axes(ax, type(self).__name__, (6.6, 4.6))
        if len(self.grids) == 1:
            self._curve(ax)
        else:
            self._contours(ax)
        ax.set_xlabel(shorten(self.names[0], 60))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _curve(self, ax: Any) -> None:
        (grid,) = self.grids
        ax.hist(self.points[:, 0], bins="auto", density=True, color="0.88", label="rows")
        ax.fill_between(grid, self.density, color=BLUE, alpha=0.15, linewidth=0)
        ax.plot(grid, self.density, color=BLUE, linewidth=2, label="density")
        tidy(ax)
        ax.set_ylim(bottom=min(0.0, float(self.density.min())))
        ax.set_ylabel("density")
        ax.legend(frameon=False, fontsize=9)

    def _contours(self, ax: Any) -> None:
        levels = _mass_levels(self.density)
        colours = [*levels, max(float(self.density.max()), levels[-1] * (1 + 1e-9))]
        ax.contourf(*self.grids, self.density.T, levels=colours, cmap=SEQUENTIAL)
        ax.plot(*self.points[:MAX_POINTS].T, ".", color="0.15", markersize=3, alpha=0.4)
        ax.contour(*self.grids, self.density.T, levels=levels, colors=BLUE, linewidths=0.9)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylabel(shorten(self.names[1], 60))
        ax.set_title(
            "lines hold 95, 90, 75, 50, 25 % of the probability",
            fontsize=9,
            loc="left",
            color="0.3",
        )


def _grid(values: Array, size: int) -> Array:
    margin = MARGIN * (float(np.ptp(values)) or 1.0)
    return np.linspace(values.min() - margin, values.max() + margin, size)


def _mass_levels(density: Array) -> list[float]:
    """Heights whose upper sets hold 95, 90, 75, 50 and 25 % of the probability on the grid."""
    ordered = np.sort(np.maximum(density.ravel(), 0.0))[::-1]
    share = np.cumsum(ordered) / ordered.sum()
    heights = [
        float(ordered[np.searchsorted(share, part)]) for part in (0.95, 0.9, 0.75, 0.5, 0.25)
    ]
    return sorted(set(heights))
