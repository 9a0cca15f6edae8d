r"""What a row contributes: the score, the weight and the loss of its target at a prediction.

Every loss is a working least squares problem: with the predictor ``eta`` a row has a score ``g``
(minus the derivative of the loss) and a weight ``v`` (its curvature, or a bound of it), and a step
solves ``sum v (g / v - delta)^2``. Targets and predictors are in units of the response's ``scale``.

| name | loss | score | weight |
|---|---|---|---|
| squares | r^2 / 2 | r | 1 |
| bounded | Huber's, then Tukey's | w(r) r | w(r) |
| counts | negative binomial, m = exp(eta) | (y - m) / (1 + k m) | m / (1 + k m) |
| labels | log(1 + exp(eta)) - y eta | y - m | m (1 - m) |

``squares`` and ``bounded`` may look at ``log y`` (``log=True``) where y is positive and skewed.

Which loss: the fair sample says what kind of numbers y are; the residuals' sums say every round
whether Student noise describes them better than normal noise, by more than so many nats a row; then
a row's influence is bounded (Huber's loss first, then Tukey's). With the histogram of ``|r|`` both
log likelihoods are sums over its cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import gammaln

from nablasso.data.table import weighted_quantiles
from nablasso.errors import InvalidDataError
from nablasso.types import Array

Sums = dict[str, Array]

CELLS = 40  # of the histogram of log|residual|, for a factor of e: 2.5 % of a deviation
SIZES = 30  # factors of e below and above one that the histogram covers
FREEDOMS = (1.5, 3.0, 6.0)  # degrees of freedom of Student noise that are tried
SKEWED = 0.5  # third moment from which on the log of a positive y is looked at
MAD = 1.4826  # deviations of a normal variable in its median absolute value
HUBER = 1.5  # deviations from which on Huber's loss is linear: the first steps
TUKEY = 4.685  # deviations beyond which Tukey's weight is zero: 95 % as exact on normal noise
STEEP = 30.0  # exp of more is no number of a table
LEAST_WEIGHT = 0.03  # of a label: far-off predictions may still turn back


class Work(NamedTuple):
    """Scores, weights and losses of rows."""

    score: Array
    weight: Array
    loss: Array


@dataclass(frozen=True)
class Response:
    """A loss, and the units of its target.

    ``centre`` and ``scale`` are those of y (of log y with ``log``); ``deviation`` is the noise's in
    these units, for the bounded losses; ``positive`` is the class that a label counts as one;
    ``excess`` is ``k`` of counts: their variance is ``m + k m^2``, and what no term explains yet is
    no outlier. ``start`` is the constant predictor of the sampled targets, zero where y is centred;
    ``reason`` says why it is this loss.
    """

    name: Literal["squares", "huber", "tukey", "counts", "labels"]
    centre: float = 0.0
    scale: float = 1.0
    log: bool = False
    deviation: float = 1.0
    positive: float = 1.0
    excess: float = 0.0
    start: float = 0.0
    reason: str = field(default="squares: no sign of tails", compare=False)

    @property
    def least_squares(self) -> bool:
        """Whether the target's own unit is profiled out of the evidence."""
        return self.name == "squares"

    @property
    def bounded(self) -> bool:
        """Whether a row's influence is bounded."""
        return self.name in ("huber", "tukey")

    def target(self, y: Array) -> Array:
        """Targets in the response's units."""
        if self.name == "labels":
            return np.asarray(y == self.positive, dtype=float)
        if self.log:
            y = np.log(y)
        return np.asarray((y - self.centre) / self.scale)

    def work(self, t: Array, eta: Array) -> Work:
        """Score, weight and loss of targets ``t`` at predictors ``eta``."""
        if self.name == "counts":
            eta = np.minimum(eta, STEEP)
            mean = np.exp(eta)
            spread = 1 + self.excess * mean
            loss = np.log(spread) / self.excess if self.excess > 0 else mean
            return Work((t - mean) / spread, mean / spread, loss + t * np.log(spread) - t * eta)
        if self.name == "labels":
            mean = 1 / (1 + np.exp(-np.clip(eta, -STEEP, STEEP)))
            loss = np.logaddexp(0.0, eta) - t * eta
            return Work(t - mean, np.maximum(mean * (1 - mean), LEAST_WEIGHT), loss)
        r = t - eta
        if self.name == "squares":
            return Work(r, np.ones_like(r), r**2 / 2)
        size = np.abs(r) / self.deviation
        if self.name == "huber":
            w = HUBER / np.maximum(size, HUBER)
            loss = np.where(size < HUBER, size**2 / 2, HUBER * size - HUBER**2 / 2)
        else:
            inside = np.maximum(1 - (size / TUKEY) ** 2, 0.0)
            w, loss = inside**2, TUKEY**2 / 6 * (1 - inside**3)
        return Work(w * r, w, loss * self.deviation**2)

    def moments(self, t: Array, eta: Array) -> Array:
        """Rows' parts of the excess of counts: what it explains of their variance, over m^2."""
        if self.name != "counts":
            return np.zeros((2, len(t)))
        mean = np.exp(np.minimum(eta, STEEP))
        weight = 1 / (1 + self.excess * mean) ** 2
        return np.stack([weight * ((t - mean) ** 2 - mean), weight * mean**2])

    def log_volume(self, y: Array) -> float:
        """Log of how much the units stretch y: what compares densities of different targets."""
        return float(len(y) * np.log(self.scale) + (np.log(y).sum() if self.log else 0.0))

    def prediction(self, eta: Array, smear: float = 1.0) -> Array:
        """Predictions in the units of y; ``smear`` is the mean of exp(noise) where y has a log."""
        if self.name == "counts":
            return np.asarray(np.exp(np.minimum(eta, STEEP)))
        if self.name == "labels":
            return np.asarray(1 / (1 + np.exp(-np.clip(eta, -STEEP, STEEP))))
        y = self.centre + self.scale * eta
        return np.asarray(np.exp(y) * smear if self.log else y)

    def slope(self, eta: Array, smear: float = 1.0) -> Array:
        """Derivative of the prediction in ``eta``."""
        if self.name == "counts":
            return self.prediction(eta)
        if self.name == "labels":
            mean = self.prediction(eta)
            return np.asarray(mean * (1 - mean))
        return self.scale * (self.prediction(eta, smear) if self.log else np.ones_like(eta))


# --- which loss ---


def first_response(y: Array, weight: Array) -> Response:
    """What the sampled targets say."""
    if _are_counts(y, weight):
        start = float(np.log(weight @ y / weight.sum()))
        return Response("counts", start=start, reason="counts, with a log link")
    return Response("squares", *_units(y, weight))


def log_response(y: Array, weight: Array) -> Response | None:
    """The log of positive numbers that are skewed as the target: it may be the better one."""
    if not (y > 0).all():
        return None
    p = weight / weight.sum()
    r = y - p @ y
    skewed = p @ r**3 > SKEWED * (p @ r**2) ** 1.5
    return Response("squares", *_units(np.log(y), weight), log=True) if skewed else None


def label_response(y: Array, weight: Array, positive: float) -> Response:
    """One class against the rest."""
    share = float(weight @ (y == positive) / weight.sum())
    if not 0 < share < 1:
        raise InvalidDataError(
            f"Labels need two classes; the sampled rows have {'only' if share else 'no'} "
            f"{positive:g}. Check the target."
        )
    start = float(np.log(share / (1 - share)))
    reason = "labels, by the logistic loss"
    return Response("labels", positive=positive, start=start, reason=reason)


def _are_counts(y: Array, weight: Array) -> bool:
    """Whole numbers from zero on, more than two of them, zero not rare."""
    whole = bool((y >= 0).all() and (y == np.round(y)).all())
    return whole and len(np.unique(y)) > 2 and float(weight[y == 0].sum()) > 0.02 * weight.sum()


def _units(y: Array, weight: Array) -> tuple[float, float]:
    """Mean and deviation of the middle half, and of all rows where that is constant."""
    low, middle, high = weighted_quantiles(y, weight, [0.25, 0.5, 0.75])
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


def judged(before: Response, residual: Sums, tails: float) -> tuple[Response, bool]:
    """The response after a look at residuals, and whether the loss changed."""
    if before.name == "counts":
        above, scale = residual["excess"]
        return replace(before, excess=max(float(above / max(scale, 1e-300)), 0.0)), False
    if before.name == "labels":
        return before, False
    heavy = student_gain(residual["sizes"])
    if heavy < tails + np.log(float(residual["rows"])) / float(residual["rows"]):
        return replace(before, name="squares"), before.bounded
    after = replace(
        before,
        name="tukey" if before.bounded else "huber",
        deviation=deviation_of(residual["sizes"]),
        reason=f"bounded influence: Student noise is better by {heavy:.2g} nats a row",
    )
    return after, after.name != before.name


def serial_filter(residual: Sums, clear: float) -> tuple[float, ...]:
    """The filter that makes residuals white, where they correlate with those of the row before."""
    none, one, two = residual["lagged"] / max(float(residual["lagged"][0]), 1e-300)
    if abs(one) * np.sqrt(float(residual["rows"])) < clear:
        return ()
    first, second = np.linalg.solve([[none, one], [one, none]], [one, two])
    return float(first), float(second)
