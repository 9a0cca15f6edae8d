r"""How sure a prediction is: where a new y lies, and which functions the rows allow.

**Intervals** come from left-out residuals, without a split. The residual ``r_i`` of row ``i``,
predicted from all the others, is distributed nearly as the error at a new row. With ``s(x) > 0``
the level of the noise, ``prediction -+ q s(x)`` covers a new y with probability about ``level``
when q is the ``ceil(level (n + 1))``-th smallest ``|r_i| / s_{-i}``. With weights ``p`` (adding up
to one) q is the smallest number with

.. math:: \sum_{|r_i| \le q\, s_{-i}} p_i \ge \mathrm{level}\,(1 + 1/n), \qquad
          n = 1 / \sum_i p_i^2

which is the same for equal weights. Where the right side exceeds one no finite q will do.

**The level** is ``s(x) = exp(h(x) / 2)`` with ``h`` a sum of functions of the selected columns and
of the prediction, found by the search of uneven noise (:mod:`nablasso.search.assumptions`) on the
logs of the squared residuals. Where nothing explains these better than its price, ``s`` is one.
``s_{-i}`` is the left-out prediction; new rows have no level beyond those of the rows seen.

**Draws** of a fitted answer are functions that the rows allow as well as the one that predicts:

* A kernel function on few rows has the posterior of a Gaussian process
  (:mod:`nablasso.prediction.predictor`), with a rough function of every column for what its family
  cannot bend to; a warped target is drawn before it is warped back.
* Terms on many rows have coefficients ``w ~ N(w, s^2 P)`` (:mod:`nablasso.regression.terms`).
* Landmarks alone are the rows of a kernel function, each for many; those that were added to terms
  are taken as they are: what they leave open is not in a draw.

Variances and noise are those found; that they were estimated is not in a draw either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nablasso.data.table import mean_one
from nablasso.errors import InvalidParameterError, warn
from nablasso.prediction.factors import Scaled
from nablasso.prediction.predictor import Predictor
from nablasso.regression.noise import Unwarped
from nablasso.search.assumptions import level_of
from nablasso.search.grown import Grown
from nablasso.spaces import Function
from nablasso.types import Array, Index

Drawn = Callable[[Array], Array]  # standardised rows (m, d) to values (m, draws)

ROUNDING = 1e-12
ROWS = 600  # that the level is fitted to
SEED = 7
KNOTS = 512  # of the way back from a warped target


def interval_half_width(residuals: Array, weights: Array, level: float) -> float:
    """Half the width of the interval that covers a new y, in units of the level of the noise.

    From left-out residuals over their levels, with weights that add up to one. Infinite, with a
    warning, when the rows are too few for the ``level``.
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


def draws_of(part: Any, count: int, centres: Array) -> Drawn:
    """``count`` draws of a part of a prediction, of a predictor or of log-odds.

    ``centres`` (k, d) are points besides the rows of the fit at which kernel functions are drawn.
    """
    if isinstance(part, Predictor):
        each = [
            (w, draws_of(one, count, centres))
            for w, one in zip(part.shares, part.parts, strict=True)
        ]
        room = part.room * (part.high - part.low)

        def added(Z: Array) -> Array:
            values = sum(w * one(Z) for w, one in each)
            return np.asarray(np.clip(values, part.low - room, part.high + room))

        return added
    if isinstance(part, Scaled):
        one, other = (draws_of(inner, count, centres) for inner in (part.function, part.factor))
        return lambda Z: part.centre + one(Z) * other(Z)
    if isinstance(part, Grown):
        return _of_terms(part, count)
    if not isinstance(part, Unwarped):
        return lambda Z: np.tile(part.values(Z)[:, None], (1, count))
    differences = part.spread.draws(part.function, centres, count, SEED)

    def drawn(Z: Array) -> Array:
        t = part.function.values(Z)[:, None] + differences(Z)
        t = np.asarray(part.mean + part.deviation * t)
        if part.warp is None:
            return t
        knots = np.linspace(t.min(), t.max(), KNOTS)  # of the way back to the units of the target
        return np.interp(t, knots, part.back(knots))

    return drawn


def _of_terms(grown: Grown, count: int) -> Drawn:
    model, state = grown.model, grown.state
    e, V = np.linalg.eigh(model.P)
    root = V * np.sqrt(np.maximum(e, 0.0)) * np.sqrt(model.noise.dispersion)
    noise = np.random.default_rng(SEED).standard_normal((len(e), count))
    moved = np.zeros((len(state.coefficients), count))
    apart = root @ noise
    moved[0] = apart[0]  # the intercept
    for term, own in model.place.items():
        moved[state.design.at[term]] = apart[own]

    def drawn(Z: Array) -> Array:
        F = grown.rows(Z)
        eta = F @ state.coefficients
        eta = np.clip(eta[:, None] + F @ moved, *grown.limits)
        return eta if grown.odds else state.response.prediction(eta, grown.smear)

    return drawn


def degrees_of(part: Any, columns: Index) -> float:
    """Effective degrees of freedom that some columns have in a part of a prediction.

    What a kernel function loses when they are held constant; of terms, all that hold one of them.
    Landmarks that were added to terms count for nothing, as in draws.
    """
    if isinstance(part, Predictor):
        each = zip(part.shares, part.parts, strict=True)
        return float(sum(share * degrees_of(one, columns) for share, one in each))
    if isinstance(part, Scaled):
        return degrees_of(part.function, columns) + degrees_of(part.factor, columns)
    if isinstance(part, Grown):
        model, own = part.model, set(columns.tolist())
        kept = 1 - model.P.diagonal() * model.D
        inside = [places for term, places in model.place.items() if own & set(term)]
        return float(sum(kept[places].sum() for places in inside))
    if not isinstance(part, Unwarped):
        return 0.0
    return part.spread.degrees(part.function) - part.spread.degrees(part.function, columns)
