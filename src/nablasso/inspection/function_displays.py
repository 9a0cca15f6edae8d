"""Plots of what a fitted function does: curves, pairs, interactions, densities and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from nablasso.answer import percent
from nablasso.data.table import weighted_quantiles
from nablasso.errors import InvalidParameterError
from nablasso.estimators.display import (
    Dependence,
    PairDependence,
    draw_curve,
    draw_pair,
    name_axes,
    shorten,
    subtitle,
)
from nablasso.estimators.nonnegative import PSDDensity
from nablasso.estimators.nonnegative_regressors import (
    HeteroscedasticRegressor,
    MultiQuantileRegressor,
)
from nablasso.estimators.validation import (
    behind,
    check_new_data,
    column_indices,
    feature_names,
    players,
)
from nablasso.inspection import canvas
from nablasso.inspection.dependence import (
    inspected_columns,
    pair_dependence,
    partial_dependence,
    without_names,
)
from nablasso.inspection.sobol import interaction_shares
from nablasso.types import Array

MARGIN = 0.12  # of the range of the data, on both sides of a density
MAX_POINTS = 2000
CELL = 0.94  # side of a cell of a map
STRONGEST_CELL = 0.5  # share of the colour in its darkest cell: numbers stay readable on it
NORMAL_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # of a Gaussian's quantiles


@dataclass
class DerivativeDisplay(canvas.Display):
    """Partial dependence of one variable above, its derivative below, both with bands.

    The upper band holds the middle of the rows' own curves, each moved to the same mean: as thin
    as a line where the variable does not interact (probabilities stay where they are). The lower
    band holds the middle of the rows' derivatives: where it lies on one side of zero, nearly all
    rows agree on the direction.

    After :meth:`plot`, ``ax_`` are the upper axes and ``axes_`` both.
    """

    size = (6.4, 5.6)
    dependence: Dependence

    @classmethod
    def of(cls, estimator: Any, X: Any, feature: str | int, **options: Any) -> Self:
        """The dependence of a fitted regressor or classifier on one variable, by name or place.

        ``X`` are rows to average over, ``options`` those of :func:`partial_dependence`.
        """
        return cls(partial_dependence(estimator, X, feature, **options))

    def _draw(self, ax: Any) -> Any:
        curve = self.dependence
        if curve.kind == "category":
            height = float(np.clip(1 + 0.4 * len(curve.grid), 2.5, 9))
            axes = [self._open(ax, (6.4, height))]
        else:
            axes = self._split(ax, (2, 1), height_ratios=(3, 2))
            axes[0].sharex(axes[1])
            steps = Dependence(  # the derivatives, or steps between levels, as a curve of their own
                name=curve.name,
                column=curve.column,
                kind=curve.kind,
                unit="slope" if curve.kind == "continuous" else "step",
                grid=curve.slope_grid,
                mean=curve.slope_mean,
                band_low=curve.slope_low,
                band_high=curve.slope_high,
            )
            draw_curve(axes[1], steps, canvas.ORANGE)
            axes[1].axhline(0, color="0.3", linewidth=1)
        draw_curve(axes[0], curve, canvas.BLUE)
        if curve.kind != "category":
            axes[0].tick_params(labelbottom=False)
            axes[0].set_xlabel("")
        for one in axes:
            canvas.tidy(one)
        ticks = "; ticks: every 5 % of the data" if curve.kind == "continuous" else ""
        subtitle(axes[0], f"mean prediction{ticks}")
        self.axes_ = axes
        return axes[0]


@dataclass
class PairDisplay(canvas.Display):
    """Contours of the partial dependence on two variables, and the rows that they rest on."""

    dependence: PairDependence
    points: Any = None  # (n, 2)

    @classmethod
    def of(cls, estimator: Any, X: Any, features: Sequence[str | int], **options: Any) -> Self:
        """The dependence of a fitted regressor or classifier on two variables, by name or place.

        ``X`` are rows to average over, ``options`` those of :func:`pair_dependence`.
        """
        pair = pair_dependence(estimator, X, features, **options)
        own = players(estimator)
        return cls(pair, check_new_data(estimator, X)[:, [own[a][0] for a in pair.columns]])

    def _draw(self, ax: Any) -> Any:
        ax = self._open(ax, (6.6, 5.0))
        draw_pair(ax, self.dependence, self.points)
        return ax


@dataclass
class InteractionDisplay(canvas.Display):
    """Shares of the variance of all pairs: dark cells act together.

    ``columns`` and their ``names`` are in the order of the map.
    """

    pairs: list[tuple[int, int, float]]  # places and shares
    columns: list[int]
    names: list[str]

    @classmethod
    def of(
        cls, estimator: Any, X: Any, *, columns: Sequence[str | int] | None = None, **options: Any
    ) -> Self:
        """The interactions of a fitted regressor or classifier.

        Of ``columns`` by name or place; by default of the selected ones, at most 15. ``X`` are rows
        to average over, ``options`` those of :func:`interaction_shares`.
        """
        chosen, names = inspected_columns(estimator, columns).tolist(), feature_names(estimator)
        pairs = interaction_shares(estimator, X, chosen, **options)
        return cls(pairs, chosen, [names[a] for a in chosen])

    @property
    def matrix(self) -> Any:
        """Shares as a symmetric matrix, (p, p), nan on the diagonal."""
        place = {a: k for k, a in enumerate(self.columns)}
        out = np.full((len(place), len(place)), np.nan)
        for a, b, share in self.pairs:
            out[place[a], place[b]] = out[place[b], place[a]] = share
        return out

    def _draw(self, ax: Any) -> Any:
        p = len(self.columns)
        side = min(9.0, 2.8 + 0.55 * p)
        ax = self._open(ax, (side + 0.6, side))
        top = max((share for *_, share in self.pairs), default=0.0) or 1.0
        for (i, j), share in np.ndenumerate(self.matrix):
            if np.isfinite(share):
                ink = STRONGEST_CELL * share / top
                ax.bar(j, CELL, CELL, i - CELL / 2, color=canvas.BLUE, alpha=ink, linewidth=0)
                looks = {"ha": "center", "va": "center", "fontsize": 9 if p <= 8 else 7}
                ax.text(j, i, percent(share), color="0.2", **looks)
        labels = [shorten(name, 20) for name in self.names]
        ax.set_xticks(range(p), labels, rotation=40, ha="right", rotation_mode="anchor")
        canvas.rows_down(ax, self.names, 20)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        subtitle(ax, "share of the variance together")
        return ax


@dataclass
class DensityDisplay(canvas.Display):
    """A density of one or two variables with the rows it was fitted on: a curve, or contours."""

    grids: list[Array]  # points of each variable
    density: Array  # (g,) or (g, h), with respect to Lebesgue measure
    names: list[str]
    points: Array  # (n, 1) or (n, 2)

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        *,
        features: Sequence[str | int] | None = None,
        grid_size: int | None = None,
    ) -> Self:
        """The values of a fitted :class:`~nablasso.PSDDensity` on a grid, and rows ``X`` to show.

        The marginal of ``features``, one or two names or places; by default of all variables where
        there are no more than two. ``grid_size`` points per variable: 300 for one, 80 for two.
        """
        if not isinstance(estimator, PSDDensity):
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
        low, high = points.min(axis=0), points.max(axis=0)
        room = MARGIN * np.where(high > low, high - low, 1.0)
        grids = list(np.linspace(low - room, high + room, size).T)
        mesh = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(grids))
        if len(chosen) == d:
            values = estimator.density_.values(mesh)
        else:
            values = estimator.marginal(chosen).values(mesh)
        names = feature_names(estimator)
        shape = tuple(map(len, grids))
        listed = [names[a] for a in chosen]
        return cls(grids, np.asarray(values).reshape(shape), listed, points)

    def _draw(self, ax: Any) -> Any:
        ax = self._open(ax, (6.6, 4.6))
        if len(self.grids) == 1:
            (grid,) = self.grids
            ax.hist(self.points[:, 0], bins="auto", density=True, color="0.88", label="rows")
            ax.fill_between(grid, 0.0, self.density, color=canvas.BLUE, alpha=0.18, linewidth=0)
            ax.plot(grid, self.density, color=canvas.BLUE, linewidth=2, label="density")
            canvas.tidy(ax)
            ax.set_ylim(bottom=min(0.0, float(self.density.min())))
            ax.legend(frameon=False, fontsize=9)
        else:
            levels = _mass_levels(self.density)
            colours = [*levels, max(float(self.density.max()), levels[-1] * (1 + 1e-9))]
            ax.contourf(*self.grids, self.density.T, levels=colours, cmap=canvas.SEQUENTIAL)
            ax.plot(*self.points[:MAX_POINTS].T, ".", color="0.15", markersize=3, alpha=0.4)
            ax.contour(
                *self.grids, self.density.T, levels=levels, colors=canvas.BLUE, linewidths=0.9
            )
            ax.spines[["top", "right"]].set_visible(False)
            subtitle(ax, "lines hold 95, 90, 75, 50, 25 % of the probability")
        name_axes(ax, self.names[0], self.names[1] if self.names[1:] else "density")
        return ax


def _mass_levels(density: Array) -> list[float]:
    """Heights whose upper sets hold 95, 90, 75, 50 and 25 % of the probability on the grid."""
    ordered = np.sort(np.maximum(density.ravel(), 0.0))[::-1]
    share = np.cumsum(ordered) / ordered.sum()
    parts = (0.95, 0.9, 0.75, 0.5, 0.25)
    return sorted({float(ordered[np.searchsorted(share, part)]) for part in parts})


@dataclass
class QuantileDisplay(canvas.Display):
    """Quantiles of the target along one variable, the others at their medians."""

    grid: Array  # (g,)
    quantiles: Array  # (g, n_levels), increasing along the levels
    levels: Array
    name: str
    points: Array | None = None  # (n, 2): the variable and the target
    others: int = 0  # variables at their medians

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: Any = None, *, feature: str | int = 0, grid_size: int = 150
    ) -> Self:
        """The quantiles of a fitted model along one variable, by name or place.

        The model is a :class:`~nablasso.MultiQuantileRegressor`, or a
        :class:`~nablasso.HeteroscedasticRegressor`, of which quantiles are those of the Gaussian
        with its mean and noise level. ``y`` are targets to show as points.
        """
        if not isinstance(estimator, MultiQuantileRegressor | HeteroscedasticRegressor):
            raise InvalidParameterError(
                "QuantileDisplay needs a fitted MultiQuantileRegressor or "
                f"HeteroscedasticRegressor; got {estimator!r}."
            )
        X, numbers = check_new_data(estimator, X), behind(estimator)
        (place,) = column_indices(estimator, [feature], "feature").tolist()
        name, own = feature_names(estimator)[place], players(estimator)[place]
        if not len(own):
            raise InvalidParameterError(f"{name} does not vary. Name another column.")
        a = int(own[0])
        grid = np.linspace(X[:, a].min(), X[:, a].max(), grid_size)
        middle = [weighted_quantiles(column, np.ones(len(X)), np.array([0.5]))[0] for column in X.T]
        at = np.tile(np.array(middle), (grid_size, 1))
        at[:, a] = grid
        plain = without_names(numbers)
        if isinstance(plain, MultiQuantileRegressor):
            levels, quantiles = np.asarray(plain.levels_), plain.predict(at).reshape(len(at), -1)
        else:
            mean, deviation = plain.predict(at, return_std=True)
            levels = np.array(NORMAL_LEVELS)
            quantiles = mean[:, None] + deviation[:, None] * ndtri(levels)
        points = None if y is None else np.column_stack([X[:, a], np.asarray(y, dtype=float)])
        return cls(grid, quantiles, levels, name, points, estimator.n_features_in_ - 1)

    def _draw(self, ax: Any) -> Any:
        ax = self._open(ax)
        if self.points is not None:
            x, y = self.points[:MAX_POINTS].T
            canvas.dots(ax, x, y, "0.45", markersize=3.5, alpha=0.5, zorder=1)
        lower = self.quantiles.T[: len(self.levels) // 2]
        for low, high in zip(lower, self.quantiles.T[::-1], strict=False):
            ax.fill_between(self.grid, low, high, color=canvas.BLUE, alpha=0.14, linewidth=0)
        each = list(zip(self.levels, self.quantiles.T, strict=True))
        for shade, (level, curve) in zip(np.linspace(1, 0.5, len(each)), each[::-1], strict=True):
            width = 2.2 if abs(level - 0.5) < 1e-9 else 1.1
            looks: Any = {"color": canvas.BLUE, "alpha": shade, "linewidth": width}
            ax.plot(self.grid, curve, label=f"{100 * level:.4g} %", **looks)
        canvas.tidy(ax)
        ax.set_xlim(self.grid[0], self.grid[-1])
        canvas.legend(ax)
        name_axes(ax, self.name, "target")
        if self.others:
            some = "1 variable" if self.others == 1 else f"{self.others} variables"
            subtitle(ax, f"{some} at the median")
        return ax
