"""How a prediction depends on a category that several 0/1 columns encode together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nablasso.data.table import check_weights
from nablasso.errors import InvalidParameterError
from nablasso.estimators.validation import check_new_data, column_indices, feature_names
from nablasso.inspection.dependence import Dependence, bands_of, sample_rows
from nablasso.inspection.response import response_of
from nablasso.types import Array

MOST = 50  # levels


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
    if len(patterns) > MOST:
        raise InvalidParameterError(
            f"A category has at most {MOST} levels; the columns of {name!r} take {len(patterns)} "
            "different values. Look at one column at a time."
        )
    response = response_of(model, target)
    rows, p = sample_rows(X, weights, max_rows)
    curves = np.empty((len(patterns), len(rows)))
    for k, pattern in enumerate(patterns):
        moved = rows.copy()
        moved[:, places] = pattern
        curves[k] = response.values(moved)
    mean = curves @ p
    moved_curves = curves if response.is_probability else curves - curves.mean(0) + mean.mean()
    low, high = bands_of(moved_curves, p, levels)
    nothing = np.empty(0)
    own = [feature_names(model)[a] for a in places] if labels is None else list(labels)
    words = [label.removeprefix(f"{name}=") for label in own]
    return Dependence(
        name=name,
        column=int(places[0]),
        kind="category",
        unit=response.unit,
        grid=np.arange(len(patterns), dtype=float),
        mean=mean,
        band_low=low,
        band_high=high,
        slope_grid=nothing,
        slope_mean=nothing,
        slope_low=nothing,
        slope_high=nothing,
        levels=(float(levels[0]), float(levels[1])),
        quantiles=nothing,
        labels=tuple(_label(pattern, words) for pattern in patterns),
    )


def _label(pattern: Array, words: list[str]) -> str:
    """The level whose column is one."""
    on = [word for word, value in zip(words, pattern, strict=True) if value]
    if on:
        return " + ".join(on)
    return f"not {words[0]}" if len(words) == 1 else "none of them"
