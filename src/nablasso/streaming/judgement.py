r"""Which loss: what the target is, and what residuals say about the noise.

Decided from the fair sample: what kind of numbers y are. Decided from the residuals' sums, every
round: whether Student noise describes them better than normal noise, by more than so many
nats a row; then a row's influence is bounded (Huber's loss first, then Tukey's).

With the histogram of ``|r|`` both log likelihoods are sums over its cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import gammaln

from nablasso.errors import InvalidDataError
from nablasso.streaming.passes import CELLS, SIZES, Sums
from nablasso.streaming.responses import Response
from nablasso.types import Array

Kind = Literal["auto", "number", "count", "positive", "label"]

FREEDOMS = (1.5, 3.0, 6.0)  # degrees of freedom of Student noise that are tried
SKEWED = 0.5  # third moment from which on the log of a positive y is looked at
MAD = 1.4826  # deviations of a normal variable in its median absolute value


@dataclass(frozen=True)
class Judgement:
    """The response in force, why, and where its predictor starts."""

    response: Response
    reason: str
    start: float


def first_judgement(kind: Kind, y: Array, weight: Array) -> Judgement:
    """What the sampled targets say."""
    if not np.isfinite(y).all():
        raise InvalidDataError("y must be finite; drop the rows where it is missing.")
    mean = float(weight @ y / weight.sum())
    if kind == "label":
        return label_judgement(y, weight, 1.0)
    if kind == "count" or (kind == "auto" and _are_counts(y, weight)):
        response = Response("counts")
        return Judgement(response, "counts, with a log link", response.start(mean))
    if kind == "positive":
        if (y <= 0).any():
            raise InvalidDataError("A positive target was promised, but y has values up to 0.")
        centre, scale = _units(np.log(y), weight)
        return Judgement(Response("squares", centre, scale, log=True), "log of y", 0.0)
    centre, scale = _units(y, weight)
    return Judgement(Response("squares", centre, scale), "squares: no sign of tails", 0.0)


def label_judgement(y: Array, weight: Array, positive: float) -> Judgement:
    """One class against the rest."""
    response = Response("labels", positive=positive)
    share = float(weight @ response.target(y) / weight.sum())
    if not 0 < share < 1:
        raise InvalidDataError(
            f"Labels need two classes; the sampled rows have {'only' if share else 'no'} "
            f"{positive:g}. Check the target."
        )
    return Judgement(response, "labels, by the logistic loss", response.start(share))


def is_skewed(y: Array, weight: Array) -> bool:
    """Positive numbers whose log may be the better target."""
    if not (y > 0).all():
        return False
    p = weight / weight.sum()
    r = y - p @ y
    return bool(p @ r**3 > SKEWED * (p @ r**2) ** 1.5)


def _are_counts(y: Array, weight: Array) -> bool:
    """Whole numbers from zero on, more than two of them, zero not rare."""
    whole = bool((y >= 0).all() and (y == np.round(y)).all())
    return whole and len(np.unique(y)) > 2 and float(weight[y == 0].sum()) > 0.02 * weight.sum()


def _units(y: Array, weight: Array) -> tuple[float, float]:
    """Mean and deviation of the middle half, and of all rows where that is constant."""
    order = np.argsort(y, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    low, middle, high = y[order][np.searchsorted(share, [0.25, 0.5, 0.75])]
    scale = float(high - low) / 1.349
    if scale <= 0:
        middle = weight @ y / weight.sum()
        scale = float(np.sqrt(weight @ (y - middle) ** 2 / weight.sum()))
    return float(middle), scale if scale > 0 else 1.0


def deviation_of(sizes: Array) -> float:
    """Robust deviation of residuals from the histogram of the log of their size."""
    middle = np.searchsorted(np.cumsum(sizes), sizes.sum() / 2)
    return float(np.exp(middle / CELLS - SIZES) * MAD)


def student_gain(sizes: Array) -> float:
    """Nats a row by which Student noise of some scale beats normal noise."""
    r2 = np.exp(2 * (np.arange(len(sizes)) / CELLS - SIZES))
    p = sizes / sizes.sum()
    normal = -0.5 * np.log(2 * np.pi * (p @ r2)) - 0.5
    scales = deviation_of(sizes) * np.exp(np.linspace(-1, 0.5, 16))
    best = -np.inf
    for nu in FREEDOMS:
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * nu)
        for s in scales:
            best = max(best, constant - np.log(s) - (nu + 1) / 2 * (p @ np.log1p(r2 / (nu * s**2))))
    return float(best - normal)


def judged(before: Judgement, residual: Sums, tails: float) -> tuple[Judgement, bool]:
    """The judgement after a look at residuals, and whether the loss changed."""
    response = before.response
    if response.name == "counts":
        above, scale = residual["excess"]
        excess = max(float(above / max(scale, 1e-300)), 0.0)
        return replace(before, response=replace(response, excess=excess)), False
    if response.name == "labels":
        return before, False
    heavy = student_gain(residual["sizes"])
    if heavy < tails + np.log(float(residual["rows"])) / float(residual["rows"]):
        if response.bounded:
            return replace(before, response=replace(response, name="squares")), True
        return before, False
    after = replace(
        response,
        name="tukey" if response.bounded else "huber",
        deviation=deviation_of(residual["sizes"]),
    )
    reason = f"bounded influence: Student noise is better by {heavy:.2g} nats a row"
    return replace(before, response=after, reason=reason), after.name != response.name


def serial_filter(residual: Sums, clear: float) -> tuple[float, ...]:
    """The filter that makes residuals white, where they correlate with those of the row before."""
    none, one, two = residual["lagged"] / max(float(residual["lagged"][0]), 1e-300)
    if abs(one) * np.sqrt(float(residual["rows"])) < clear:
        return ()
    first, second = np.linalg.solve([[none, one], [one, none]], [one, two])
    return float(first), float(second)
