r"""The predictor: the model that was decided on, back in the units of the target.

``y(x) = E[t^{-1}(m + s (f(x) + e))]`` with ``f`` the posterior mean, ``m, s`` the unit of what was
explained, ``t`` the warp if any, and ``e`` the left-out residuals, over which is averaged (without
a warp that is the plain mean). Predictions stay within one range of the targets seen: polynomials
of far points say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nablasso.search.assumptions import Assumption, Warp
from nablasso.search.decide import Decision
from nablasso.search.few import FewRows, Model
from nablasso.spaces import Function
from nablasso.types import Array, Index

SMEARED = 200  # residuals that a warped prediction is averaged over
ROOM = 1.0  # ranges beyond the targets seen
RIVALS = ("quadratic", "cubic", "Gaussian", "bent pairs")  # of a warp, on the target itself


@dataclass(frozen=True)
class Predictor:
    """Values, gradients and errors of a fitted function of standardised inputs.

    ``residuals`` (n,) are left-out ones in the units of ``function``, ``left_out`` the predictions
    in those of the target, ``observed``; ``low`` and ``high`` bound the targets seen, ``noise`` is
    that of the model, over the variance of its kernel.
    """

    function: Function
    mean: float
    deviation: float
    residuals: Array
    weights: Array
    left_out: Array
    observed: Array
    low: float
    high: float
    noise: float
    warp: Warp | None = None

    def values(self, Z: Array) -> Array:
        """Predictions at standardised points."""
        return self._bounded(self._back(self.mean + self.deviation * self.function.values(Z)))

    def gradients(self, Z: Array) -> Array:
        """Their gradients per standardised unit."""
        slopes = self.deviation * self.function.gradients(Z)
        if self.warp is None:
            return slopes
        t, step = self.mean + self.deviation * self.function.values(Z), 1e-4 * self.deviation
        bend = (self._back(t + step) - self._back(t - step)) / (2 * step)
        return np.asarray(slopes * bend[:, None])

    def interval(self, Z: Array, half: float) -> Array:
        """Ends (m, 2) of ``f(x) -+ half``, in the units of the target."""
        f = self.mean + self.deviation * self.function.values(Z)
        ends = np.column_stack([f - self.deviation * half, f + self.deviation * half])
        return ends if self.warp is None else self.warp.back(ends)

    def on_columns(self, columns: Index) -> Predictor:
        """As a function of a table of which these are the columns."""
        function = replace(self.function, columns=columns[self.function.columns])
        return replace(self, function=function)

    def _back(self, t: Array) -> Array:
        if self.warp is None:
            return t
        spread = np.quantile(self.residuals, (np.arange(SMEARED) + 0.5) / SMEARED)
        total = np.zeros_like(t)
        for e in spread:
            total += self.warp.back(t + self.deviation * e)
        return total / SMEARED

    def _bounded(self, y: Array) -> Array:
        room = ROOM * (self.high - self.low)
        return np.clip(y, self.low - room, self.high + room)


def predictor_of(decision: Decision) -> Predictor:
    """Of the model decided on, or of the plain target on its columns where that predicts better."""
    own = _predictor(decision.few, decision.model)
    if own.warp is None or not len(decision.model.groups):
        return own
    plain = decision.few.under(Assumption(serial=decision.few.assumption.serial))
    rivals = [family for family in decision.few.families if family.name in RIVALS]
    if not rivals:
        return own
    ties = decision.model.ties
    tuned = [plain.tune(family, decision.model.groups, ties=ties) for family in rivals]
    other = _predictor(plain, min(tuned, key=lambda model: model.price))
    y = decision.few.targets[:, 0]
    errors = [float(np.mean((y - one.left_out) ** 2)) for one in (own, other)]
    return own if errors[0] <= errors[1] else other


def _predictor(few: FewRows, model: Model) -> Predictor:
    mean, deviation = (float(part[0]) for part in few.unit)
    residuals = few.solved(model).left_out()[0][:, 0]
    y = few.targets[:, 0]
    made = Predictor(
        few.function(model),
        mean,
        deviation,
        residuals,
        few.weights / few.weights.sum(),
        y,
        y,
        float(y.min()),
        float(y.max()),
        float(np.exp(model.noise)),
        few.assumption.warp,
    )
    left_out = made._back(mean + deviation * (few.Y[:, 0] - residuals))
    return replace(made, left_out=left_out)
