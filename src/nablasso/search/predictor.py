r"""What predicts: functions in the units of the target.

A part is ``y(x) = E[t^{-1}(m + s (f(x) + e))]`` with ``f`` a posterior mean, ``m, s`` the unit of
what was explained, ``t`` the warp if any, and ``e`` the left-out residuals, over which is averaged
(without a warp that is the plain mean). Where a warp won, the best of the models of the plain
target, on the columns found, takes its place if left-out rows are predicted better: squared errors
are not what evidence looks at. (Means of several families, by shares that left-out rows chose or by
equal ones, were tried on 22 real tables and on the stored problems: they gain on some and lose as
much on others.)

Predictions stay within one range of the targets seen: polynomials of far points say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from nablasso.search.assumptions import Warp
from nablasso.search.decide import Decision
from nablasso.search.few import FewRows, Model
from nablasso.spaces import Function
from nablasso.types import Array, Index

SMEARED = 200  # residuals that a warped prediction is averaged over
ROOM = 1.0  # ranges beyond the targets seen


class Part(Protocol):
    """A function of standardised inputs."""

    def values(self, Z: Array) -> Array:
        """At points (m, d)."""

    def gradients(self, Z: Array) -> Array:
        """Per standardised unit, (m, d)."""


@dataclass(frozen=True)
class Unwarped:
    """A fitted function in the units of the target; ``errors`` are left-out ones, in its own."""

    function: Function
    mean: float
    deviation: float
    warp: Warp | None
    errors: Array

    def values(self, Z: Array) -> Array:
        """Predictions."""
        return self.back(self.mean + self.deviation * self.function.values(Z))

    def gradients(self, Z: Array) -> Array:
        """Their slopes."""
        slopes = self.deviation * self.function.gradients(Z)
        if self.warp is None:
            return slopes
        t, step = self.mean + self.deviation * self.function.values(Z), 1e-4 * self.deviation
        bend = (self.back(t + step) - self.back(t - step)) / (2 * step)
        return np.asarray(slopes * bend[:, None])

    def back(self, t: Array) -> Array:
        """The mean of the target where the mean of what was explained is ``t``."""
        if self.warp is None:
            return t
        spread = np.quantile(self.errors, (np.arange(SMEARED) + 0.5) / SMEARED)
        total = np.zeros_like(t)
        for e in spread:
            total += self.warp.back(t + self.deviation * e)
        return total / SMEARED


@dataclass(frozen=True)
class Predictor:
    """A sum of parts with their shares, and how it errs at rows that were left out.

    ``left_out`` are the predictions of these rows, ``observed`` their targets, ``weights`` theirs,
    adding up to one; ``low`` and ``high`` bound the targets seen; in units of ``warp`` errors are
    even. ``kernel`` is the function of the model decided on and ``noise`` its noise, over the
    variance of its kernel.
    """

    parts: tuple[Part, ...]
    shares: Array
    left_out: Array
    observed: Array
    weights: Array
    low: float
    high: float
    warp: Warp | None = None
    kernel: Function | None = None
    noise: float = 0.0

    def values(self, Z: Array) -> Array:
        """Predictions at standardised points."""
        room = ROOM * (self.high - self.low)
        each = zip(self.shares, self.parts, strict=True)
        y = np.sum([w * part.values(Z) for w, part in each], axis=0)
        return np.asarray(np.clip(y, self.low - room, self.high + room))

    def gradients(self, Z: Array) -> Array:
        """Their gradients per standardised unit."""
        each = zip(self.shares, self.parts, strict=True)
        return np.asarray(np.sum([w * part.gradients(Z) for w, part in each], axis=0))

    @property
    def residuals(self) -> Array:
        """Left-out errors, in units in which they are even."""
        return self._even(self.observed) - self._even(self.left_out)

    def interval(self, Z: Array, half: float) -> Array:
        """Ends (m, 2) of the prediction ``-+ half`` in units in which errors are even."""
        t = self._even(self.values(Z))
        ends = np.column_stack([t - half, t + half])
        return ends if self.warp is None else self.warp.back(ends)

    def _even(self, y: Array) -> Array:
        return y if self.warp is None else self.warp(y)


def predictor_of(decision: Decision, columns: Index | None = None) -> Predictor:
    """Of a decision, as a function of a table of which ``columns`` are those searched."""
    few, y, p = decision.few, decision.few.targets[:, 0], decision.few.precisions
    kernel = few.function(decision.model)
    part, left_out = min(_parts(decision), key=lambda made: float(p @ (y - made[1]) ** 2))
    if columns is not None:
        kernel = replace(kernel, columns=columns[kernel.columns])
        function = replace(part.function, columns=columns[part.function.columns])
        part = replace(part, function=function)
    return Predictor(
        (part,),
        np.ones(1),
        left_out,
        y,
        few.weights / few.weights.sum(),
        float(y.min()),
        float(y.max()),
        few.assumption.warp,
        kernel,
        float(np.exp(decision.model.noise)),
    )


def _parts(decision: Decision) -> Iterator[tuple[Unwarped, Array]]:
    """The model, and those of the plain target on its columns, with their left-out predictions."""
    few, groups = decision.few, decision.model.groups
    yield _part(few, decision.model)
    if decision.plain is None or few.assumption.warp is None:
        return
    unwarped = few.under(decision.plain.rows.assumption.only(np.arange(len(few.X))))
    for other in decision.plain.tried:
        inside = np.flatnonzero(np.isin(other.groups, groups))
        if len(inside) and unwarped.solvable(part := other.only(inside)):
            yield _part(unwarped, part)


def _part(few: FewRows, model: Model) -> tuple[Unwarped, Array]:
    mean, deviation = (float(part[0]) for part in few.unit)
    errors = few.solved(model).left_out()[0][:, 0]
    made = Unwarped(few.function(model), mean, deviation, few.assumption.warp, errors)
    return made, made.back(mean + deviation * (few.Y[:, 0] - errors))


def parts_of(functions: Sequence[Part]) -> Predictor:
    """The mean of functions, as they are: log-odds have no targets to err at."""
    none = np.empty(0)
    shares = np.full(len(functions), 1.0 / len(functions))
    return Predictor(tuple(functions), shares, none, none, none, -np.inf, np.inf)
