r"""Intervals of predictions from left-out residuals, without a split; wide where rows are noisy.

The residual ``r_i`` of row ``i``, predicted from all the others, is distributed nearly as the error
at a new row. With ``s(x) > 0`` the level of the noise, ``prediction -+ q s(x)`` covers a new y with
probability about ``level`` when q is the ``ceil(level (n + 1))``-th smallest ``|r_i| / s_{-i}``.
With weights ``p`` (adding up to one) q is the smallest number with

.. math:: \sum_{|r_i| \le q\, s_{-i}} p_i \ge \mathrm{level}\,(1 + 1/n), \qquad
          n = 1 / \sum_i p_i^2

which is the same for equal weights. Where the right side exceeds one no finite q will do.

**The level** is ``s(x) = exp(h(x) / 2)`` with ``h`` a sum of functions of the selected columns and
of the prediction, found by the search of uneven noise (:mod:`nablasso.search.assumptions`) on the
logs of the squared residuals. Where nothing explains these better than its price, ``s`` is one.
``s_{-i}`` is the left-out prediction; new rows have no level beyond those of the rows seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nablasso.data.table import mean_one
from nablasso.errors import InvalidParameterError, warn
from nablasso.search.assumptions import level_of
from nablasso.spaces import Function
from nablasso.types import Array, Index

ROUNDING = 1e-12
ROWS = 600  # that the level is fitted to


def interval_half_width(residuals: Array, weights: Array, level: float) -> float:
    """Half the width of the interval around a prediction, in units of the level of the noise.

    Parameters
    ----------
    residuals : array, shape (n,)
        Left-out residuals over the level of their noise.
    weights : array, shape (n,)
        Adding up to one.
    level : float
        Probability to cover, between 0 and 1.

    Returns
    -------
    float
        Infinite, with a warning, when the rows are too few for the level.
    """
    if not 0 < level < 1:
        raise InvalidParameterError(
            f"The level of an interval is a probability between 0 and 1; got {level!r}."
        )
    n_rows = 1 / float(weights @ weights)
    needed = level * (1 + 1 / n_rows) - ROUNDING
    if needed > 1:
        least = int(np.ceil(level / (1 - level) - 1e-9))  # the smallest n, level (n + 1) <= n
        warn(
            f"An interval at level {level:g} needs at least {least} rows; "
            f"{n_rows:.0f} give an infinite one. Lower the level or add rows."
        )
        return float(np.inf)
    sizes = np.abs(residuals)
    order = np.argsort(sizes, kind="stable")
    reached = np.searchsorted(np.cumsum(weights[order]), needed)
    return float(sizes[order[min(int(reached), len(order) - 1)]])


@dataclass(frozen=True)
class NoiseLevel:
    """``h`` as a function of columns and the prediction, between the ends seen.

    ``unit`` are the mean and the deviation of the predictions, ``left_out`` levels of the rows.
    """

    function: Function
    scale: float
    unit: tuple[float, float]
    left_out: Array

    def at(self, Z: Array, prediction: Array) -> Array:
        """The level of the noise at new rows."""
        h = self.scale * self.function.values(with_prediction(Z, prediction, self.unit))
        return np.asarray(np.clip(np.exp(h / 2), self.left_out.min(), self.left_out.max()))


def with_prediction(Z: Array, prediction: Array, unit: tuple[float, float]) -> Array:
    """The columns, and the prediction as one more."""
    return np.column_stack([Z, (prediction - unit[0]) / unit[1]])


def noise_level(
    Z: Array,  # (n, d) selected columns
    players: Sequence[Index],
    prediction: Array,
    residuals: Array,
    weights: Array,
) -> NoiseLevel | None:
    """What the rows say about it; None where the noise may be the same everywhere."""
    unit = float(np.mean(prediction)), float(np.std(prediction)) or 1.0
    labels = np.full(Z.shape[1] + 1, len(players), dtype=np.intp)
    for a, own in enumerate(players):
        labels[own] = a
    columns, first = with_prediction(Z, prediction, unit), slice(ROWS)
    if not len(players) or not np.any(residuals):
        return None
    found = level_of(columns[first], labels, mean_one(weights[first]), residuals[first])
    if found is None:
        return None
    rows, model = found
    function, scale = rows.function(model), float(rows.unit[1][0])
    h = function.values(columns)
    h[first] = rows.Y[:, 0] - rows.solved(model).left_out()[0][:, 0]
    return NoiseLevel(function, scale, unit, np.exp(scale * h / 2))
