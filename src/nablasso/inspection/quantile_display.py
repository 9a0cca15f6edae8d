"""Conditional quantiles, or mean and noise, along one variable, as a plot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from nablasso.errors import InvalidParameterError
from nablasso.estimators.nonnegative_regressors import MeanAndNoise, Quantiles, weighted_quantiles
from nablasso.estimators.validation import check_new_data, column_indices, feature_names
from nablasso.inspection.canvas import BLUE, end_labels, open_axes, shorten, tidy
from nablasso.inspection.response import without_names
from nablasso.types import Array

NORMAL_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # of a Gaussian's quantiles
MAX_POINTS = 2000


@dataclass
class QuantileDisplay:
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

    Attributes
    ----------
    ax_, figure_
        Set by :meth:`plot`.
    """

    grid: Array
    quantiles: Array
    levels: Array
    name: str
    points: Array | None = None
    others: int = 0
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

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

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        ax = open_axes(ax, type(self).__name__)
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
            ax.set_title(f"{some} at the median", fontsize=9, loc="left", color="0.3")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _quantiles(estimator: Any, at: Array) -> tuple[Array, Array]:
    """Levels, and the quantiles at some rows."""
    plain = without_names(estimator)
    if isinstance(plain, Quantiles):
        return np.asarray(plain.levels_), np.reshape(plain.predict(at), (len(at), -1))
    mean, deviation = plain.predict(at, return_std=True)
    levels = np.array(NORMAL_LEVELS)
    return levels, np.asarray(mean[:, None] + deviation[:, None] * ndtri(levels))
