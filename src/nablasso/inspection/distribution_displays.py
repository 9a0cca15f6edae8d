"""Plots of what values are likely: densities, and quantiles along a variable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from nablasso.errors import InvalidParameterError
from nablasso.estimators.heteroscedastic import MeanAndNoise
from nablasso.estimators.psd_density import DensityEstimator
from nablasso.estimators.quantile import Quantiles, weighted_quantiles
from nablasso.estimators.validation import check_new_data, column_indices, feature_names
from nablasso.inspection.canvas import (
    BLUE,
    SEQUENTIAL,
    Display,
    end_labels,
    shorten,
    subtitle,
    tidy,
)
from nablasso.inspection.response import without_names
from nablasso.types import Array

MARGIN = 0.12  # of the range of the data, on both sides of a density
MAX_POINTS = 2000
NORMAL_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # of a Gaussian's quantiles


@dataclass
class DensityDisplay(Display):
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
    """

    grids: list[Array]
    density: Array
    names: list[str]
    points: Array

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
        grids = [_padded_grid(column, size) for column in points.T]
        mesh = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(grids))
        if len(chosen) == d:
            values = estimator._density(mesh)
        else:
            values = estimator.marginal(chosen).values(mesh)
        names = feature_names(estimator)
        shape = tuple(map(len, grids))
        listed = [names[a] for a in chosen]
        return cls(grids, np.asarray(values).reshape(shape), listed, points).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = self._open(ax, (6.6, 4.6))
        if len(self.grids) == 1:
            self._curve(ax)
        else:
            self._contours(ax)
        ax.set_xlabel(shorten(self.names[0], 60))
        return ax

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
        subtitle(ax, "lines hold 95, 90, 75, 50, 25 % of the probability")


def _padded_grid(values: Array, size: int) -> Array:
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


@dataclass
class QuantileDisplay(Display):
    """Quantiles of the target along one variable, the others at their medians.

    Parameters
    ----------
    grid : array, shape (g,)
        Values of the variable.
    quantiles : array, shape (g, n_levels)
        Increasing along the levels.
    levels : array, shape (n_levels,)
    name : str
        The variable.
    points : array, shape (n, 2), or None
        Rows and their targets.
    others : int
        Number of other variables, which are held at their medians.
    """

    grid: Array
    quantiles: Array
    levels: Array
    name: str
    points: Array | None = None
    others: int = 0

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        feature: str | int = 0,
        grid_size: int = 150,
        ax: Any = None,
    ) -> Self:
        """Draw the quantiles of a fitted model.

        Parameters
        ----------
        estimator : fitted MultiQuantileRegressor or HeteroscedasticRegressor, or their CV
            Of the second, the quantiles of the Gaussian with its mean and noise level.
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,), optional
            Targets to show as points.
        feature : str or int, default=0
            The variable on the axis.
        grid_size : int, default=150
        ax : matplotlib Axes, optional

        Returns
        -------
        QuantileDisplay
        """
        if not isinstance(estimator, Quantiles | MeanAndNoise):
            raise InvalidParameterError(
                "QuantileDisplay needs a fitted MultiQuantileRegressor or "
                f"HeteroscedasticRegressor; got {estimator!r}."
            )
        X = check_new_data(estimator, X)
        a = int(column_indices(estimator, [feature], "feature")[0])
        grid = np.linspace(X[:, a].min(), X[:, a].max(), grid_size)
        middle = [weighted_quantiles(column, np.ones(len(X)), np.array([0.5]))[0] for column in X.T]
        at = np.tile(np.array(middle), (grid_size, 1))
        at[:, a] = grid
        levels, quantiles = _quantiles(estimator, at)
        points = None if y is None else np.column_stack([X[:, a], np.asarray(y, dtype=float)])
        name, others = feature_names(estimator)[a], X.shape[1] - 1
        return cls(grid, quantiles, levels, name, points, others).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = self._open(ax)
        if self.points is not None:
            ax.plot(
                *self.points[:MAX_POINTS].T,
                "o",
                color="0.45",
                markersize=3.5,
                alpha=0.5,
                markeredgewidth=0,
                zorder=1,
            )
        p = len(self.levels)
        for k in range(p // 2):
            ax.fill_between(
                self.grid,
                self.quantiles[:, k],
                self.quantiles[:, p - 1 - k],
                color=BLUE,
                alpha=0.14,
                linewidth=0,
                zorder=2,
            )
        labels = []
        for level, curve in zip(self.levels, self.quantiles.T, strict=True):
            is_middle = abs(level - 0.5) < 1e-9
            ax.plot(
                self.grid,
                curve,
                color=BLUE,
                zorder=3,
                linewidth=2.2 if is_middle else 1.1,
                label=f"{level:.4g}",
            )
            labels.append((float(curve[-1]), f"{100 * level:.4g} %", BLUE))
        tidy(ax)
        ax.set_xlim(self.grid[0], self.grid[-1])
        end_labels(ax, labels)
        ax.set_xlabel(shorten(self.name, 60))
        ax.set_ylabel("target")
        if self.others:
            some = "1 variable" if self.others == 1 else f"{self.others} variables"
            subtitle(ax, f"{some} at the median")
        return ax


def _quantiles(estimator: Any, at: Array) -> tuple[Array, Array]:
    """Levels, and the quantiles at some rows."""
    plain = without_names(estimator)
    if isinstance(plain, Quantiles):
        return np.asarray(plain.levels_), np.reshape(plain.predict(at), (len(at), -1))
    mean, deviation = plain.predict(at, return_std=True)
    levels = np.array(NORMAL_LEVELS)
    return levels, np.asarray(mean[:, None] + deviation[:, None] * ndtri(levels))
