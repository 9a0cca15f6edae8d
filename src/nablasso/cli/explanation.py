"""``nablasso explain``: how a saved model's prediction depends on one column, or on two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nablasso.cli.drawing import draw
from nablasso.cli.saved import Saved
from nablasso.data.encoding import check_known
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.inspection import (
    Dependence,
    DerivativeDisplay,
    PairDependence,
    PairDisplay,
    category_dependence,
    pair_dependence,
    partial_dependence,
)

SHOWN_POINTS, SHOWN_PAIR = 11, 5  # of a grid, in the printed table
SHAPES = {
    "rises": "rises with {name}",
    "falls": "falls as {name} grows",
    "bends": "rises and falls with {name}",
    "flat": "does not depend on {name}",
}


@dataclass(frozen=True)
class Explanation:
    """A sentence, a table, and what to draw."""

    sentence: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    content: dict[str, Any]
    display: Any  # drawn with plot()

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings and lists."""
        return {"sentence": self.sentence, **self.content}

    def draw(self, path: Path) -> None:
        """Write the plot."""
        draw(self.display.plot, path)


def explain(
    saved: Saved, X: pd.DataFrame, columns: Sequence[str], label: str | None = None
) -> Explanation:
    """Dependence on one column or a pair.

    Parameters
    ----------
    saved : Saved
        A model with ``predict``.
    X : DataFrame
        Rows to average over, encoded.
    columns : one or two names of the table
    label : str, optional
        The class in question.
    """
    if not hasattr(saved.model, "predict"):
        raise InvalidParameterError(
            "This model is a density; there is no prediction to explain. Use nablasso density."
        )
    if np.ndim(getattr(saved.model, "levels", 0)):
        raise InvalidParameterError(
            "This model predicts several quantiles; nablasso quantiles draws them."
        )
    if len(columns) > 2:
        raise InvalidParameterError(f"explain takes one column or two; got {len(columns)}.")
    kinds = {column.name: column for column in saved.encoding.columns}
    check_known("Column", columns, list(kinds))
    X = X.dropna()
    if not len(X):
        raise InvalidDataError("Every row has a missing cell. Give a table with whole rows.")
    wide = [name for name in columns if len(kinds[name].encoded) > 1]
    if len(columns) == 2 and wide:
        raise InvalidParameterError(
            f"A pair must be columns of numbers or of two levels; {wide[0]!r} has "
            f"{len(kinds[wide[0]].levels or ())} levels. Explain it alone."
        )
    places = [kinds[name].encoded[0] for name in columns]
    if len(columns) == 1 and kinds[columns[0]].levels is not None:
        parts = kinds[columns[0]].encoded
        return _category(
            saved, category_dependence(saved.model, X, parts, name=columns[0], target=label)
        )
    if len(columns) == 1:
        return _curve(saved, partial_dependence(saved.model, X, places[0], target=label))
    pair = pair_dependence(saved.model, X, places, target=label)
    return _surface(saved, pair, X)


def _outcome(saved: Saved, unit: str) -> str:
    return saved.target if unit == "prediction" else f"the {unit}"


def _curve(saved: Saved, curve: Dependence) -> Explanation:
    shape = SHAPES[curve.direction].format(name=curve.name)
    low, high = float(curve.mean.min()), float(curve.mean.max())
    sentence = (
        f"On average {_outcome(saved, curve.unit)} {shape}, between {low:.4g} and {high:.4g}."
    )
    slopes = (
        np.interp(curve.grid, curve.slope_grid, curve.slope_mean)
        if len(curve.slope_grid)
        else np.zeros(len(curve.grid))
    )
    places = _spread(len(curve.grid), SHOWN_POINTS)
    rows = [
        (
            f"{curve.grid[k]:.4g}",
            f"{curve.mean[k]:.4g}",
            _band(curve, k),
            f"{slopes[k]:.3g}",
        )
        for k in places
    ]
    headers = (curve.name, curve.unit.capitalize(), _share(curve), "Slope")
    return Explanation(sentence, headers, rows, curve.to_json(), DerivativeDisplay(curve))


def _surface(saved: Saved, pair: PairDependence, X: pd.DataFrame) -> Explanation:
    a, b = pair.names
    share = f"{pair.strength:.0%}"
    sentence = (
        f"{share} of how {_outcome(saved, pair.unit)} varies over {a} and {b} is joint: not the "
        "sum of what each does alone."
    )
    places_a = _spread(len(pair.grid_a), SHOWN_PAIR)
    places_b = _spread(len(pair.grid_b), SHOWN_PAIR)
    headers = (f"{a} \\ {b}", *(f"{pair.grid_b[k]:.3g}" for k in places_b))
    rows = [
        (f"{pair.grid_a[j]:.3g}", *(f"{pair.mean[j, k]:.3g}" for k in places_b)) for j in places_a
    ]
    points = X.to_numpy(dtype=float)[:, list(pair.columns)]
    return Explanation(sentence, headers, rows, pair.to_json(), PairDisplay(pair, points))


def _category(saved: Saved, curve: Dependence) -> Explanation:
    """Mean prediction if every row had this level."""
    order = [int(k) for k in np.argsort(-curve.mean, kind="stable")]
    first, last = order[0], order[-1]
    sentence = (
        f"On average {_outcome(saved, curve.unit)} is highest for {curve.name} = "
        f"{curve.labels[first]} ({curve.mean[first]:.4g}) and lowest for {curve.labels[last]} "
        f"({curve.mean[last]:.4g})."
    )
    rows = [(curve.labels[k], f"{curve.mean[k]:.4g}", _band(curve, k)) for k in order]
    headers = (curve.name, curve.unit.capitalize(), _share(curve))
    return Explanation(sentence, headers, rows, curve.to_json(), DerivativeDisplay(curve))


def _band(curve: Dependence, k: int) -> str:
    return f"{curve.band_low[k]:.4g} to {curve.band_high[k]:.4g}"


def _share(curve: Dependence) -> str:
    return f"{curve.levels[1] - curve.levels[0]:.0%} of rows"


def _spread(size: int, count: int) -> list[int]:
    """At most ``count`` places, evenly over ``size``."""
    return [int(k) for k in np.unique(np.linspace(0, size - 1, min(size, count)).round())]
