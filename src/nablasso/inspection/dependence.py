r"""How a prediction depends on one variable, and on two: the numbers behind plots and reports.

With the other columns as they are in the rows, weights ``p_i`` adding up to one,

.. math::
    m(t) = \sum_i p_i\, f(t, x_{i,-a}), \qquad
    s_i(t) = \partial_a f(t, x_{i,-a}), \qquad m'(t) = \sum_i p_i\, s_i(t).

``m`` is the partial dependence. Of the automatic estimators it is known how sure it is: ``low`` and
``high`` hold it with 90 % probability at each ``t``, by draws of the fitted function
(:mod:`nablasso.reading.draws`). That is not what rows differ by: the band of the rows holds, at
each ``t``, the middle of the rows' own curves, each moved to the mean of ``m``: it is as thin as a
line exactly when the variable acts the same in all rows, that is without interactions. Curves of
probabilities are not moved: they have to stay between 0 and 1. The band of slopes holds the middle
of the ``s_i(t)``. Slopes are central differences over a thousandth of the column's deviation. A
discrete column has no slope at its levels: differences between neighbouring levels, over their
distance, stand between them.

For two variables ``m(t, u)`` is taken on a grid. Its double centring is what the two do together
beyond what each does alone.

Cost: three evaluations of f per row and grid point (one per pair of grid points), at most
``max_rows`` rows: the first in the canonical order of :mod:`nablasso.data.table`, a fair sample
that does not depend on the order of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import is_classifier

from nablasso.data.table import check_weights
from nablasso.errors import InvalidParameterError
from nablasso.estimators.explained import drawn_predictions
from nablasso.estimators.nablasso import AutomaticSelector
from nablasso.estimators.nonnegative_regressors import weighted_quantiles
from nablasso.estimators.tables import behind, players
from nablasso.estimators.validation import check_new_data, column_indices, feature_names
from nablasso.inspection.response import (
    InspectedFunction,
    class_code,
    response_of,
    sample_rows,
)
from nablasso.reading import discrete_columns
from nablasso.types import Array, Index

STEP = 1e-3  # of the column's deviation
MOST_LEVELS = 50  # of a category
SURE, DRAWS, SURE_ROWS = 0.9, 100, 64  # of the band of the function: level, draws, rows
ENDS = (0.02, 0.98)  # quantiles between which a continuous column is looked at


@dataclass(frozen=True)
class Dependence:
    """Partial dependence of a prediction on one variable, in the units of the table.

    Parameters
    ----------
    name, column, kind
        The variable, its (first) place, and ``"continuous"``, ``"discrete"`` or ``"category"``.
    unit : str
        What the values are: ``"prediction"`` or ``"probability of ..."``.
    grid, mean, band_low, band_high : arrays, shape (g,)
        Points, partial dependence, and the band of the rows' curves between ``levels``.
    slope_grid, slope_mean, slope_low, slope_high : arrays, shape (s,)
        Derivatives at the same points; of a discrete column between its levels.
    levels : (float, float)
        The quantiles of the bands.
    quantiles : array, shape (21,)
        Quantiles of the observed values, every five per cent: where the data are.
    labels : tuple of str
        Of a category: what each point of the grid stands for.
    low, high : arrays, shape (g,)
        Where the partial dependence itself lies, with 90 % probability; empty where not known.
    """

    name: str
    column: int
    kind: str
    unit: str
    grid: Array
    mean: Array
    band_low: Array
    band_high: Array
    slope_grid: Array
    slope_mean: Array
    slope_low: Array
    slope_high: Array
    levels: tuple[float, float]
    quantiles: Array
    labels: tuple[str, ...] = ()
    low: Array = field(default_factory=lambda: np.empty(0))
    high: Array = field(default_factory=lambda: np.empty(0))

    @property
    def band(self) -> tuple[Array, Array, str]:
        """What is drawn around the mean: where the function lies, else what rows differ by."""
        if len(self.low):
            return self.low, self.high, f"the function lies here ({SURE:.0%} sure)"
        share = f"{self.levels[1] - self.levels[0]:.0%}"
        return self.band_low, self.band_high, f"{share} of the rows (no confidence band)"

    @property
    def effect(self) -> float:
        """How far the partial dependence moves, from its lowest to its highest value."""
        return float(np.ptp(self.mean))

    @property
    def direction(self) -> str:
        """The shape in a word: rises, falls, bends, flat or (categories) differs."""
        way = float(np.abs(np.diff(self.mean)).sum())
        if way <= 1e-9 * max(1.0, float(np.abs(self.mean).max())):
            return "flat"
        if self.labels:
            return "differs"
        net = float(self.mean[-1] - self.mean[0]) / way
        return "rises" if net > 0.9 else "falls" if net < -0.9 else "bends"

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings and lists."""
        return {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in vars(self).items()
        } | {"levels": list(self.levels), "labels": list(self.labels)}


@dataclass(frozen=True)
class PairDependence:
    """Partial dependence on two variables.

    Parameters
    ----------
    names, columns
        The two variables and their places.
    unit : str
        What the values are.
    grid_a, grid_b : arrays, shapes (g,) and (h,)
    mean : array, shape (g, h)
        Partial dependence on both.
    """

    names: tuple[str, str]
    columns: tuple[int, int]
    unit: str
    grid_a: Array
    grid_b: Array
    mean: Array

    @property
    def joint(self) -> Array:
        """What the two do together beyond what each does alone, (g, h): doubly centred."""
        rows, columns = self.mean.mean(axis=1, keepdims=True), self.mean.mean(axis=0)
        return np.asarray(self.mean - rows - columns + self.mean.mean())

    @property
    def strength(self) -> float:
        """Share of the variation over the grid that is joint, between 0 and 1."""
        total = float(np.var(self.mean))
        return float(np.var(self.joint)) / total if total > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings and lists."""
        return {
            "names": list(self.names),
            "columns": list(self.columns),
            "unit": self.unit,
            "grid_a": self.grid_a.tolist(),
            "grid_b": self.grid_b.tolist(),
            "mean": self.mean.tolist(),
            "strength": self.strength,
        }


def partial_dependence(
    model: Any,
    X: Any,
    column: str | int,
    *,
    target: Any = None,
    grid_size: int = 40,
    levels: tuple[float, float] = (0.1, 0.9),
    sample_weight: Any = None,
    max_rows: int = 300,
) -> Dependence:
    """How a fitted model's prediction depends on one variable.

    Parameters
    ----------
    model : estimator
        Fitted regressor or classifier.
    X : array-like, shape (n_samples, n_features)
        Rows to average over: those of the fit, or others.
    column : str or int
        Name or place of the variable.
    target : label, optional
        The class whose probability is looked at; the second of two by default.
    grid_size : int, default=40
        Points of a continuous column; a discrete one is looked at in its levels.
    levels : (float, float), default=(0.1, 0.9)
        Quantiles over the rows that the bands lie between.
    sample_weight : array-like, shape (n_samples,), optional
    max_rows : int, default=300
        Rows averaged over.

    Returns
    -------
    Dependence

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import DerivativeLasso
    >>> from nablasso.inspection import partial_dependence
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = DerivativeLasso("linear").fit(X, 3 * X[:, 0])
    >>> curve = partial_dependence(model, X, "x0")
    >>> curve.direction, round(float(curve.slope_mean[0]), 1)
    ('rises', 3.0)
    """
    _check(grid_size, levels)
    a = _column(model, column)
    X = check_new_data(model, X)
    weights = check_weights(sample_weight, len(X))
    if behind(model) is not model:
        shared = {"target": target, "levels": levels, "max_rows": max_rows}
        return _of_table(model, X, a, weights, grid_size=grid_size, **shared)
    response = response_of(model, target)
    rows, p = sample_rows(X, weights, max_rows)
    grid, discrete = _grid(X[:, a], weights, grid_size)
    curves = _curves(response, rows, a, grid)
    if discrete:
        slope_grid = (grid[1:] + grid[:-1]) / 2
        slopes = np.diff(curves, axis=0) / np.diff(grid)[:, None]
    else:
        step, slope_grid = STEP * (float(X[:, a].std()) or 1.0), grid
        slopes = _curves(response, rows, a, grid + step) - _curves(response, rows, a, grid - step)
        slopes /= 2 * step
    low, high = _sure(model, response, target, rows, p, np.array([a]), grid[:, None], curves @ p)
    return _summarised(
        curves,
        p,
        response,
        levels,
        slopes=slopes,
        low=low,
        high=high,
        name=feature_names(model)[a],
        column=a,
        kind="discrete" if discrete else "continuous",
        grid=grid,
        slope_grid=slope_grid,
        quantiles=weighted_quantiles(X[:, a], weights, np.linspace(0, 1, 21)),
    )


def _of_table(
    model: Any, X: Array, a: int, weights: Array, *, grid_size: int, **options: Any
) -> Dependence:
    """Of one column of an encoded table, by the numbers that were made of it.

    Of a date by its days; rows in which a number is missing are not averaged over.
    """
    column, own = model._encoding.columns[a], players(model)[a]
    if not len(own):
        raise InvalidParameterError(f"{column.name} does not vary; there is nothing to look at.")
    if column.kind == "category":
        labels = [part[1:] for part in column.parts]
        found = category_dependence(
            behind(model),
            X,
            own.tolist(),
            name=column.name,
            labels=labels,
            sample_weight=weights,
            **options,
        )
        if len(column.levels) == 2:  # one 0/1 column: zero is the first level
            words = tuple(column.levels[int(k == labels[0])] for k in found.labels)
            found = replace(found, labels=words)
    else:
        weights = weights * (X[:, own[-1]] == 0) if column.missing else weights
        found = partial_dependence(
            behind(model), X, int(own[0]), grid_size=grid_size, sample_weight=weights, **options
        )
    return replace(found, name=column.name, column=a)


def pair_dependence(
    model: Any,
    X: Any,
    columns: Sequence[str | int],
    *,
    target: Any = None,
    grid_size: int = 20,
    sample_weight: Any = None,
    max_rows: int = 100,
) -> PairDependence:
    """How a fitted model's prediction depends on two variables together.

    Parameters
    ----------
    model : estimator
        Fitted regressor or classifier.
    X : array-like, shape (n_samples, n_features)
        Rows to average over.
    columns : two names or places
    target : label, optional
        The class whose probability is looked at; the second of two by default.
    grid_size : int, default=20
        Points per continuous column.
    sample_weight : array-like, shape (n_samples,), optional
    max_rows : int, default=100
        Rows averaged over.

    Returns
    -------
    PairDependence
    """
    _check(grid_size)
    if len(columns) != 2:
        raise InvalidParameterError(f"A pair is two columns; got {list(columns)!r}.")
    a, b = (_column(model, column) for column in columns)
    if a == b:
        raise InvalidParameterError(f"A pair is two different columns; got {list(columns)!r}.")
    X = check_new_data(model, X)
    weights = check_weights(sample_weight, len(X))
    if behind(model) is not model:
        places = [_one_number(model, c) for c in (a, b)]
        found = pair_dependence(
            behind(model),
            X,
            places,
            target=target,
            grid_size=grid_size,
            sample_weight=weights,
            max_rows=max_rows,
        )
        return replace(found, columns=(a, b))
    response = response_of(model, target)
    rows, p = sample_rows(X, weights, max_rows)
    (grid_a, _), (grid_b, _) = (_grid(X[:, c], weights, grid_size) for c in (a, b))
    mean = np.empty((len(grid_a), len(grid_b)))
    for k, value in enumerate(grid_a):
        moved = rows.copy()
        moved[:, a] = value
        mean[k] = _curves(response, moved, b, grid_b) @ p
    names = feature_names(model)
    return PairDependence((names[a], names[b]), (a, b), response.unit, grid_a, grid_b, mean)


def _one_number(model: Any, a: int) -> int:
    """The column of numbers that stands for a column of the table in a pair."""
    column, own = model._encoding.columns[a], players(model)[a]
    if not len(own) or (column.kind == "category" and len(own) > 1):
        raise InvalidParameterError(
            f"A pair must be columns of numbers or of two levels; {column.name!r} has "
            f"{len(column.levels)} levels. Look at it alone."
        )
    return int(own[0])


def category_dependence(
    model: Any,
    X: Any,
    columns: Sequence[str | int],
    *,
    name: str,
    labels: Sequence[str] | None = None,
    target: Any = None,
    levels: tuple[float, float] = (0.1, 0.9),
    sample_weight: Any = None,
    max_rows: int = 300,
) -> Dependence:
    """Mean prediction with all rows in each level of a category.

    Parameters
    ----------
    model : estimator
        Fitted regressor or classifier.
    X : array-like, shape (n_samples, n_features)
        Rows to average over.
    columns : list of names or places
        The 0/1 columns, best named ``name=level``; all zero is a level too where it occurs.
    name : str
        Of the category.
    labels : list of str, optional
        What each column stands for; by default its name, without ``name=`` in front.
    target : label, optional
        The class whose probability is looked at; the second of two by default.
    levels : (float, float), default=(0.1, 0.9)
        Quantiles over the rows that the bands lie between.
    sample_weight : array-like, shape (n_samples,), optional
    max_rows : int, default=300

    Returns
    -------
    Dependence
        Of kind ``"category"``, one point per level, without slopes.
    """
    places = column_indices(model, columns, "columns")
    X = check_new_data(model, X)
    weights = check_weights(sample_weight, len(X))
    patterns = np.unique(X[weights > 0][:, places], axis=0)[::-1]
    if len(patterns) > MOST_LEVELS:
        raise InvalidParameterError(
            f"A category has at most {MOST_LEVELS} levels; the columns of {name!r} take "
            f"{len(patterns)} different values. Look at one column at a time."
        )
    response = response_of(model, target)
    rows, p = sample_rows(X, weights, max_rows)
    curves = np.empty((len(patterns), len(rows)))
    for k, pattern in enumerate(patterns):
        moved = rows.copy()
        moved[:, places] = pattern
        curves[k] = response.values(moved)
    nothing = np.empty(0)
    low, high = _sure(model, response, target, rows, p, places, patterns, curves @ p)
    own = [feature_names(model)[a] for a in places] if labels is None else list(labels)
    words = [label.removeprefix(f"{name}=") for label in own]
    return _summarised(
        curves,
        p,
        response,
        levels,
        slopes=np.empty((0, len(rows))),
        low=low,
        high=high,
        name=name,
        column=int(places[0]),
        kind="category",
        grid=np.arange(len(patterns), dtype=float),
        slope_grid=nothing,
        quantiles=nothing,
        labels=tuple(_level(pattern, words) for pattern in patterns),
    )


def _level(pattern: Array, words: list[str]) -> str:
    """The level whose column is one."""
    on = [word for word, value in zip(words, pattern, strict=True) if value]
    if on:
        return " + ".join(on)
    return f"not {words[0]}" if len(words) == 1 else "none of them"


def _check(grid_size: int, levels: tuple[float, float] = (0.1, 0.9)) -> None:
    if grid_size < 2:
        raise InvalidParameterError(f"grid_size must be at least 2; got {grid_size!r}.")
    if not 0 <= levels[0] < levels[1] <= 1:
        raise InvalidParameterError(
            f"levels must be two increasing numbers between 0 and 1; got {levels!r}."
        )


def _column(model: Any, column: str | int) -> int:
    return int(column_indices(model, [column], "column")[0])


def _grid(values: Array, weights: Array, size: int) -> tuple[Array, bool]:
    """Points of one column, and whether it is discrete."""
    values = values[weights > 0]
    if discrete_columns(values[:, None])[0]:
        return np.unique(values), True
    low, high = weighted_quantiles(values, weights[weights > 0], np.array(ENDS))
    if low == high:
        low, high = values.min(), values.max()
    return np.linspace(low, high, size), False


def _curves(response: InspectedFunction, rows: Array, column: int, grid: Array) -> Array:
    """f at every row with the column at every point of the grid, (g, n)."""
    points = np.tile(rows, (len(grid), 1))
    points[:, column] = np.repeat(grid, len(rows))
    return response.values(points).reshape(len(grid), len(rows))


def _summarised(
    curves: Array,  # (g, n)
    p: Array,
    response: InspectedFunction,
    levels: tuple[float, float],
    *,
    slopes: Array,  # (s, n)
    **facts: Any,
) -> Dependence:
    """Means over the rows, and the bands that the rows' own curves and slopes lie in."""
    mean = curves @ p
    moved = curves if response.is_probability else curves - curves.mean(axis=0) + mean.mean()
    band_low, band_high = _bands(moved, p, levels)
    slope_low, slope_high = _bands(slopes, p, levels)
    return Dependence(
        unit=response.unit,
        mean=mean,
        band_low=band_low,
        band_high=band_high,
        slope_mean=slopes @ p,
        slope_low=slope_low,
        slope_high=slope_high,
        levels=(float(levels[0]), float(levels[1])),
        **facts,
    )


def _sure(
    model: Any,
    response: InspectedFunction,
    target: Any,
    rows: Array,
    p: Array,
    columns: Index,
    settings: Array,
    mean: Array,
) -> tuple[Array, Array]:
    """Where the partial dependence lies with probability ``SURE``; nothing where not known."""
    if not isinstance(model, AutomaticSelector):
        return np.empty(0), np.empty(0)
    rows, p = rows[:SURE_ROWS], p[:SURE_ROWS] / p[:SURE_ROWS].sum()
    points = np.tile(rows, (len(settings), 1))
    points[:, columns] = np.repeat(settings, len(rows), axis=0)
    code = class_code(model, target) if is_classifier(model) else 0
    drawn = drawn_predictions(model, points, DRAWS, code).reshape(len(settings), len(rows), DRAWS)
    apart = np.einsum("i,gib->gb", p, drawn - response.values(points).reshape(*drawn.shape[:2], 1))
    half = float(ndtri((1 + SURE) / 2)) * np.sqrt(np.mean(apart**2, axis=1))
    ends = (0.0, 1.0) if is_classifier(model) else (-np.inf, np.inf)
    return np.clip(mean - half, *ends), np.clip(mean + half, *ends)


def _bands(values: Array, weights: Array, levels: tuple[float, float]) -> tuple[Array, Array]:
    """Weighted quantiles over the rows at each point."""
    if not len(values):  # a constant column has no slopes
        return np.empty(0), np.empty(0)
    both = np.array([weighted_quantiles(at, weights, np.array(levels)) for at in values])
    return both[:, 0], both[:, 1]
