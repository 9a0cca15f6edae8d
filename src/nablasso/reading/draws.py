r"""Draws of a fitted answer: functions that the rows allow as well as the one that predicts.

* A kernel function on few rows has the posterior of a Gaussian process
  (:mod:`nablasso.regression.spread`), with a rough function of every column for what its family
  cannot bend to; a warped target is drawn before it is warped back.
* Terms on many rows have coefficients ``w ~ N(w, s^2 P)`` (:mod:`nablasso.regression.terms`).
* Landmarks alone are the rows of a kernel function, each for many; those that were added to terms
  are taken as they are: what they leave open is not in a draw.

Variances and noise are those found; that they were estimated is not in a draw either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nablasso.regression.spread import Spread
from nablasso.search.predictor import ROOM, Predictor, Unwarped
from nablasso.search.together import Terms
from nablasso.types import Array, Index

Drawn = Callable[[Array], Array]  # standardised rows (m, d) to values (m, draws)

SEED = 7
KNOTS = 512  # of the way back from a warped target


def draws_of(part: Any, count: int, centres: Array, spread: Spread | None = None) -> Drawn:
    """``count`` draws of a part of a prediction, a predictor or log-odds with their ``spread``.

    ``centres`` (k, d) are points besides the rows of the fit at which kernel functions are drawn.
    """
    if isinstance(part, Predictor):
        return _of_sum(part, count, centres)
    if isinstance(part, Unwarped):
        return _of_unwarped(part, count, centres)
    if isinstance(part, Terms):
        return _of_terms(part, count)
    if spread is None:
        return lambda Z: np.tile(part.values(Z)[:, None], (1, count))
    differences = spread.draws(part, centres, count, SEED)
    return lambda Z: np.asarray(part.values(Z)[:, None] + differences(Z))


def _of_sum(predictor: Predictor, count: int, centres: Array) -> Drawn:
    parts = [draws_of(part, count, centres) for part in predictor.parts]
    room = ROOM * (predictor.high - predictor.low)
    ends = predictor.low - room, predictor.high + room

    def drawn(Z: Array) -> Array:
        each = zip(predictor.shares, parts, strict=True)
        return np.asarray(np.clip(sum(w * part(Z) for w, part in each), *ends))

    return drawn


def _of_unwarped(part: Unwarped, count: int, centres: Array) -> Drawn:
    if part.spread is None:
        return lambda Z: np.tile(part.values(Z)[:, None], (1, count))
    differences = part.spread.draws(part.function, centres, count, SEED)

    def drawn(Z: Array) -> Array:
        t = part.function.values(Z)[:, None] + differences(Z)
        t = part.mean + part.deviation * t
        if part.warp is None:
            return np.asarray(t)
        knots = np.linspace(t.min(), t.max(), KNOTS)
        return np.interp(t, knots, part.back(knots))

    return drawn


def _of_terms(part: Terms, count: int) -> Drawn:
    grown = part.grown
    model, state = grown.model, grown.state
    e, V = np.linalg.eigh(model.P)
    root = V * np.sqrt(np.maximum(e, 0.0)) * np.sqrt(model.noise.dispersion)
    noise = np.random.default_rng(SEED).standard_normal((len(e), count))
    moved = np.zeros((len(state.coefficients), count))
    moved[_places(grown)] = root @ noise

    def drawn(Z: Array) -> Array:
        X = Z * part.scale + part.centre
        design = state.design
        F = design.rows(lambda j, k: state.columns[j].at(X[:, j], k), len(X))
        eta = F @ state.coefficients
        eta = np.clip(eta[:, None] + F @ moved, *grown.limits)
        return eta if part.odds else state.response.prediction(eta, grown.smear)

    return drawn


def _places(grown: Any) -> Index:
    """Where the coefficients of the posterior are among those of the state."""
    model, design = grown.model, grown.state.design
    places = np.zeros(len(model.inside_at), dtype=np.intp)
    for term, own in model.place.items():
        places[own] = design.at[term]
    return places


def degrees_of(part: Any, columns: Index, spread: Spread | None = None) -> float:
    """Effective degrees of freedom that some columns have in a part of a prediction.

    What a kernel function loses when they are held constant; of terms, all that hold one of them.
    Landmarks that were added to terms count for nothing, as in draws.
    """
    if isinstance(part, Predictor):
        each = zip(part.shares, part.parts, strict=True)
        return float(sum(share * degrees_of(one, columns) for share, one in each))
    if isinstance(part, Terms):
        model, own = part.grown.model, set(columns.tolist())
        kept = 1 - model.P.diagonal() * model.D
        inside = [places for term, places in model.place.items() if own & set(term)]
        return float(sum(kept[places].sum() for places in inside))
    spread = getattr(part, "spread", spread)
    function = getattr(part, "function", part)
    if spread is None:
        return 0.0
    return spread.degrees(function) - spread.degrees(function, columns)
