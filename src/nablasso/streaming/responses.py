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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from nablasso.types import Array

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
    no outlier.
    """

    name: Literal["squares", "huber", "tukey", "counts", "labels"]
    centre: float = 0.0
    scale: float = 1.0
    log: bool = False
    deviation: float = 1.0
    positive: float = 1.0
    excess: float = 0.0

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

    def start(self, mean: float) -> float:
        """The constant predictor for targets of this mean; zero where y is centred."""
        if self.name == "counts":
            return float(np.log(mean))
        if self.name == "labels":
            return float(np.log(mean / (1 - mean)))
        return 0.0

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
