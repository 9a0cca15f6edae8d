r"""How a prediction depends on one variable, and on two: the numbers behind plots and reports.

**The function** that is looked at is one number per row. Regressors give their prediction,
classifiers the probability of one class or, on the scale ``"log-odds"``, the decision function of
it, in which variables act together only as they do in the fitted f.

With the other columns as they are in the rows, weights ``p_i`` adding up to one,

.. math::
    m(t) = \sum_i p_i\, f(t, x_{i,-a}), \qquad
    s_i(t) = \partial_a f(t, x_{i,-a}), \qquad m'(t) = \sum_i p_i\, s_i(t).

``m`` is the partial dependence. Of the automatic estimators it is known how sure it is: ``low`` and
``high`` hold it with 90 % probability at each ``t``, by draws of the fitted function
(:mod:`nablasso.reading.intervals`). That is not what rows differ by: the band of the rows holds, at
each ``t``, the middle of the rows' own curves, each moved to the mean of ``m`` (probabilities stay
where they are): it is as thin as a line exactly when the variable acts the same in all rows. The
band of slopes holds the middle of the ``s_i(t)``, central differences over a thousandth of the
column's deviation; of a discrete column, differences between neighbouring levels over their
distance. For two variables ``m(t, u)`` is taken on a grid.

Cost: three evaluations of f per row and grid point (one per pair of grid points), at most
``max_rows`` rows: the first in the canonical order of :mod:`nablasso.data.table`, a fair sample
that does not depend on the order of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import (
    canonical_order,
    check_weights,
    discrete_columns,
    weighted_quantiles,
)
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.display import LEVELS, SURE, Dependence, PairDependence, nothing
from nablasso.estimators.explained import drawn_predictions
from nablasso.estimators.validation import (
    behind,
    check_new_data,
    column_indices,
    feature_names,
    players,
)
from nablasso.reading.shares import at_settings
from nablasso.types import Array, Index

Scale = Literal["probability", "log-odds"]

STEP = 1e-3  # of the column's deviation
DRAWS, SURE_ROWS = 100, 64  # of the band of the function
ENDS = (0.02, 0.98)  # quantiles between which a continuous column is looked at
MAX_COLUMNS = 15
BLOCK = 2000  # rows evaluated at once: the kernel matrix with the training rows has to fit


@dataclass(frozen=True)
class InspectedFunction:
    """``values`` of rows (m, d) in blocks, and their ``unit``."""

    function: Callable[[Array], Array]
    unit: str

    def values(self, X: Array) -> Array:
        """One number per row."""
        parts = [self.function(X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
        return np.asarray(np.concatenate(parts), dtype=float)


def response_of(model: Any, target: Any = None, scale: Scale = "probability") -> InspectedFunction:
    """The function that a fitted regressor or classifier predicts.

    Of a classifier that of the class ``target``, the second one by default where there are two;
    those without probabilities give their decision function on either scale.
    """
    check_is_fitted(model)
    if not hasattr(model, "predict"):
        raise InvalidParameterError(
            f"{type(model).__name__} does not predict, so there is nothing to inspect. Use a "
            "regressor or a classifier."
        )
    plain = without_names(model)
    if not is_classifier(model):
        if target is not None:
            raise InvalidParameterError(
                f"target names a class; {type(model).__name__} predicts a number. Leave it out."
            )
        return InspectedFunction(plain.predict, "prediction")
    code = class_code(model, target)
    if scale == "probability" and hasattr(model, "predict_proba"):
        unit = f"probability of {model.classes_[code]}"
        return InspectedFunction(lambda X: plain.predict_proba(X)[:, code], unit)

    def odds(X: Array) -> Array:
        values = plain.decision_function(X)
        if values.ndim > 1:
            return np.asarray(values[:, code])
        return np.asarray(values if code == 1 else -values)

    return InspectedFunction(odds, f"log-odds of {model.classes_[code]}")


def without_names(model: Any) -> Any:
    """A shallow copy that takes plain arrays: names are checked once, by the caller."""
    plain = copy(model)
    vars(plain).pop("feature_names_in_", None)
    return plain


def class_code(model: Any, target: Any) -> int:
    """Place of a class among ``classes_``."""
    labels = model.classes_.tolist()
    if target is None:
        if len(labels) == 2:
            return 1
        raise InvalidParameterError(
            f"target must name one of the {len(labels)} classes {labels}; got None."
        )
    if target not in labels:
        raise InvalidParameterError(f"target must be one of the classes {labels}; got {target!r}.")
    return int(labels.index(target))


def sample_rows(X: Array, weights: Array, max_rows: int) -> tuple[Array, Array]:
    """At most ``max_rows`` rows of positive weight, and weights adding up to one."""
    kept = np.flatnonzero(weights > 0)
    if not kept.size or max_rows < 1:
        raise InvalidDataError(
            f"At least one row of positive weight and max_rows of at least 1 are needed; got "
            f"{kept.size} rows and max_rows={max_rows}."
        )
    if len(kept) > max_rows:
        order, _ = canonical_order(X[kept], np.zeros(len(kept)), weights[kept])
        kept = kept[order[:max_rows]]
    return X[kept], weights[kept] / weights[kept].sum()


def inspected_columns(model: Any, columns: Any = None) -> Index:
    """Columns by name or place; without any the selected ones, the most important of many."""
    if columns is not None:
        return column_indices(model, columns, "columns")
    support = getattr(model, "support_", None)
    chosen = np.arange(model.n_features_in_) if support is None else np.flatnonzero(support)
    strength = getattr(model, "feature_importances_", None)
    if len(chosen) > MAX_COLUMNS and strength is not None:
        chosen = chosen[np.argsort(-np.asarray(strength)[chosen], kind="stable")]
    return np.asarray(np.sort(chosen[:MAX_COLUMNS]), dtype=np.intp)


def partial_dependence(
    model: Any,
    X: Any,
    column: str | int,
    *,
    target: Any = None,
    grid_size: int = 40,
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
    look = _Look.at(model, X, sample_weight, target, max_rows, grid_size)
    (a,) = column_indices(model, [column], "column").tolist()
    name, own = feature_names(model)[a], players(model)[a]
    if not len(own):
        raise InvalidParameterError(f"{name} does not vary; there is nothing to look at.")
    if look.model is not model:
        of = model._encoding.columns[a]
        if of.kind == "category":
            return look.category(of, own, name=name, column=a)
        if of.missing:  # rows in which a number is missing are not averaged over
            look = replace(look, weights=look.weights * (look.X[:, own[-1]] == 0))
    return look.number(int(own[0]), name=name, column=a)  # of a date its days


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
    """How a fitted model's prediction depends on two variables together, by name or place.

    The other parameters are those of :func:`partial_dependence`.
    """
    pair = column_indices(model, columns, "columns").tolist()
    if len(set(pair)) != 2 or len(pair) != 2:
        raise InvalidParameterError(f"A pair is two different columns; got {list(columns)!r}.")
    look = _Look.at(model, X, sample_weight, target, max_rows, grid_size)
    places = pair if look.model is model else [_one_number(model, a) for a in pair]
    (grid_a, _), (grid_b, _) = (look.grid(a) for a in places)
    both = (np.column_stack([np.full(len(grid_b), at), grid_b]) for at in grid_a)
    mean = np.array([look.curves(places, settings) @ look.p for settings in both])
    first, second = (feature_names(look.model)[a] for a in places)
    unit = look.response.unit
    return PairDependence((first, second), (pair[0], pair[1]), unit, grid_a, grid_b, mean)


def _one_number(model: Any, a: int) -> int:
    """The column of numbers that stands for a column of the table in a pair."""
    column, own = model._encoding.columns[a], players(model)[a]
    if not len(own) or (column.kind == "category" and len(own) > 1):
        raise InvalidParameterError(
            f"A pair must be columns of numbers or of two levels; {column.name!r} has "
            f"{len(column.levels)} levels. Look at it alone."
        )
    return int(own[0])


@dataclass(frozen=True)
class _Look:
    """A model of numbers, and rows on which some of the columns are set to values."""

    model: Any
    X: Array
    weights: Array
    target: Any
    max_rows: int
    grid_size: int
    response: InspectedFunction = field(init=False)
    rows: Array = field(init=False)  # some of X, and their weights, which add up to one
    p: Array = field(init=False)

    @classmethod
    def at(cls, model: Any, X: Any, weights: Any, target: Any, most: int, grid_size: int) -> _Look:
        """At rows as they are given."""
        if grid_size < 2:
            raise InvalidParameterError(f"grid_size must be at least 2; got {grid_size!r}.")
        rows = check_new_data(model, X)
        weights = check_weights(weights, len(rows))
        return cls(behind(model), rows, weights, target, most, grid_size)

    def __post_init__(self) -> None:
        rows, p = sample_rows(self.X, self.weights, self.max_rows)
        vars(self).update(response=response_of(self.model, self.target), rows=rows, p=p)

    def grid(self, a: int) -> tuple[Array, bool]:
        """Points of one column, and whether it is discrete."""
        values, weights = self.X[self.weights > 0, a], self.weights[self.weights > 0]
        if discrete_columns(values[:, None])[0]:
            return np.unique(values), True
        low, high = weighted_quantiles(values, weights, np.array(ENDS))
        if low == high:
            low, high = values.min(), values.max()
        return np.linspace(low, high, self.grid_size), False

    def curves(self, places: Any, settings: Array) -> Array:
        """f at every row under every setting of the places, (g, n)."""
        points = at_settings(self.rows, places, settings)
        return self.response.values(points).reshape(len(settings), -1)

    def number(self, a: int, **facts: Any) -> Dependence:
        """Along a column of numbers."""
        grid, discrete = self.grid(a)
        facts["quantiles"] = weighted_quantiles(self.X[:, a], self.weights, np.linspace(0, 1, 21))
        curves = self.curves([a], grid[:, None])
        if discrete:
            steps = (grid[1:] + grid[:-1]) / 2
            slopes = np.diff(curves, axis=0) / np.diff(grid)[:, None]
        else:
            by, steps = STEP * (float(self.X[:, a].std()) or 1.0), grid
            slopes = self.curves([a], grid[:, None] + by) - self.curves([a], grid[:, None] - by)
            slopes /= 2 * by
        facts |= {"slope_grid": steps, "slope_mean": slopes @ self.p}
        facts["slope_low"], facts["slope_high"] = _bands(slopes, self.p)
        facts |= {"kind": "discrete" if discrete else "continuous", "grid": grid}
        return self._summarised(curves, [a], grid[:, None], **facts)

    def category(self, of: Any, places: Index, **facts: Any) -> Dependence:
        """Mean prediction with all rows in each level, one point per level, without slopes."""
        patterns = np.unique(self.X[self.weights > 0][:, places], axis=0)[::-1]
        none = str(of.levels[0]) if len(of.levels) == 2 else "none of them"
        named = [[p[1:] for p, on in zip(of.parts, one, strict=True) if on] for one in patterns]
        labels = [" + ".join(on) or none for on in named]  # of two levels the first has no number
        facts |= {"kind": "category", "labels": tuple(labels)}
        facts["grid"] = np.arange(len(patterns), dtype=float)
        return self._summarised(self.curves(places, patterns), places, patterns, **facts)

    def _summarised(self, curves: Array, places: Any, settings: Array, **facts: Any) -> Dependence:
        """Mean over the rows of curves (g, n), and the band that the rows' own curves lie in."""
        mean, unit = curves @ self.p, self.response.unit
        alike = curves
        if not unit.startswith("probability"):
            alike = curves - curves.mean(axis=0) + mean.mean()
        facts["band_low"], facts["band_high"] = _bands(alike, self.p)
        facts["low"], facts["high"] = self._sure(places, settings, mean)
        return Dependence(unit=unit, mean=mean, **facts)

    def _sure(self, places: Any, settings: Array, mean: Array) -> tuple[Array, Array]:
        """Where the partial dependence lies with probability ``SURE``; nothing where not known."""
        if not isinstance(self.model, AutomaticSelector):
            return nothing(), nothing()
        classes = is_classifier(self.model)
        rows, p = self.rows[:SURE_ROWS], self.p[:SURE_ROWS]
        points, shape = at_settings(rows, places, settings), (len(settings), len(rows))
        code = class_code(self.model, self.target) if classes else 0
        drawn = drawn_predictions(self.model, points, DRAWS, code).reshape(*shape, DRAWS)
        apart = drawn - self.response.values(points).reshape(*shape, 1)
        spread = np.sqrt(np.mean(np.einsum("i,gib->gb", p / p.sum(), apart) ** 2, axis=1))
        half = float(ndtri((1 + SURE) / 2)) * spread
        ends = (0.0, 1.0) if classes else (-np.inf, np.inf)
        return np.clip(mean - half, *ends), np.clip(mean + half, *ends)


def _bands(values: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted quantiles over the rows at each point."""
    if not len(values):  # a constant column has no slopes
        return nothing(), nothing()
    both = np.array([weighted_quantiles(at, weights, np.array(LEVELS)) for at in values])
    return both[:, 0], both[:, 1]
