r"""What predicts: functions in the units of the target.

A part is ``y(x) = E[t^{-1}(m + s (f(x) + e))]`` with ``f`` a posterior mean, ``m, s`` the unit of
what was explained, ``t`` the warp if any, and ``e`` the left-out residuals, over which is averaged
(without a warp that is the plain mean). Where anything was assumed, the best families without
assumptions, tuned on the columns found, take its place if left-out rows are predicted better:
squared errors are not what evidence looks at. (Means of several families, by shares that left-out
rows chose or by equal ones, were tried on 7 real tables of 500 rows, 16 small ones and stored
problems: they gain on the first, lose as much as they gain on the second, and lose on the last.)

Predictions stay within one range of the targets seen, of ``y`` and of ``t(y)``: polynomials of far
points say nothing, and a target that its logarithm explains is not far below its least value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from nablasso.regression.noise import PLAIN, Warp
from nablasso.regression.spread import Spread
from nablasso.search.few import Decision, FewRows, Model
from nablasso.spaces import Function
from nablasso.types import Array, Index

UNWARPED = 3  # families that are tried without assumptions
SMEARED = 200  # residuals that a warped prediction is averaged over
ROOM = 1.0  # ranges beyond the targets seen


class Part(Protocol):
    """A function of standardised inputs."""

    @property
    def columns(self) -> Index | Sequence[int]:
        """Inputs that it depends on."""

    def values(self, Z: Array) -> Array:
        """At points (m, d)."""

    def gradients(self, Z: Array) -> Array:
        """Per standardised unit, (m, d)."""


@dataclass(frozen=True)
class Unwarped:
    """A fitted function in the units of the target.

    ``errors`` are left-out ones in its own units, in increasing order, at the ``levels`` of their
    distribution. A row counts by its precision: what is taken for an outlier must not be
    averaged back through an exponential.
    """

    function: Function
    mean: float
    deviation: float
    warp: Warp | None
    errors: Array
    levels: Array
    spread: Spread | None = None  # how sure the function is

    @property
    def columns(self) -> Index:
        """Those of the function."""
        return self.function.columns

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
        spread = np.interp((np.arange(SMEARED) + 0.5) / SMEARED, self.levels, self.errors)
        total = np.zeros_like(t)
        for e in spread:
            total += self.warp.back(t + self.deviation * e)
        return total / SMEARED


@dataclass(frozen=True)
class Predictor:
    """A sum of parts with their shares, and how it errs at rows that were left out.

    ``left_out`` are the predictions of these rows, ``observed`` their targets, ``weights`` theirs,
    adding up to one; ``low`` and ``high`` bound the targets seen; in units of ``warp`` errors are
    even.
    """

    parts: tuple[Part, ...]
    shares: Array
    left_out: Array
    observed: Array
    weights: Array
    low: float
    high: float
    warp: Warp | None = None

    @property
    def columns(self) -> Index:
        """Those of its parts."""
        return np.unique(np.concatenate([np.empty(0), *(p.columns for p in self.parts)])).astype(
            np.intp
        )

    def values(self, Z: Array) -> Array:
        """Predictions at standardised points."""
        each = zip(self.shares, self.parts, strict=True)
        y = np.sum([w * part.values(Z) for w, part in each], axis=0)
        return np.asarray(np.clip(y, *self.limits))

    @property
    def limits(self) -> Array:
        """One range beyond the targets seen, in their own unit and where errors are even."""
        ends = np.array([self.low, self.high])
        room = ROOM * np.ptp(ends) * np.array([-1.0, 1.0])
        if self.warp is None or not np.ptp(ends):
            return np.asarray(ends + room)
        even = self.warp(ends)
        warped = self.warp.back(even + ROOM * np.ptp(even) * np.array([-1.0, 1.0]))
        return np.array([max(ends[0] + room[0], warped[0]), min(ends[1] + room[1], warped[1])])

    def gradients(self, Z: Array) -> Array:
        """Their gradients per standardised unit."""
        each = zip(self.shares, self.parts, strict=True)
        return np.asarray(np.sum([w * part.gradients(Z) for w, part in each], axis=0))

    @property
    def residuals(self) -> Array:
        """Left-out errors, in units in which they are even."""
        return self.even(self.observed) - self.even(self.left_out)

    def even(self, y: Array) -> Array:
        """Targets in units in which errors are even."""
        return y if self.warp is None else self.warp(y)

    def back(self, t: Array) -> Array:
        """Targets again."""
        return t if self.warp is None else self.warp.back(t)


def predictor_of(decision: Decision, columns: Index | None = None) -> Predictor:
    """Of a decision, as a function of a table of which ``columns`` are those searched."""
    few, y, p = decision.few, decision.few.targets[:, 0], decision.few.influence
    part, left_out = min(_parts(decision), key=lambda made: float(p @ (y - made[1]) ** 2))
    if columns is not None:
        part = replace(part, function=replace(part.function, columns=columns[part.columns]))
    return Predictor(
        (part,),
        np.ones(1),
        left_out,
        y,
        few.weights / few.weights.sum(),
        float(y.min()),
        float(y.max()),
        few.assumption.warp,
    )


def _parts(decision: Decision) -> Iterator[tuple[Unwarped, Array]]:
    """The model, and those without assumptions on its columns, with their left-out predictions.

    What explains rows best under uneven noise or a warp need not have the smallest error.
    """
    few, groups = decision.few, decision.model.groups
    yield _part(few, decision.model)
    if decision.plain is None or not len(groups):
        return
    plain = few.under(replace(PLAIN, serial=few.assumption.serial))  # neighbours tell of each other
    tried = sorted(decision.plain.tried, key=lambda model: model.price)
    families = list(dict.fromkeys(model.family for model in tried if len(model.groups)))
    for family in families[:UNWARPED]:
        model = plain.tune(family, groups)
        if plain.solvable(model):
            yield _part(plain, model)


def _part(few: FewRows, model: Model) -> tuple[Unwarped, Array]:
    mean, deviation = (float(part[0]) for part in few.unit)
    solved = few.solved(model)
    errors = solved.left_out()[0][:, 0]
    spread = Spread(float(np.exp(model.noise)), few.shape, float(solved.units[0]))
    order = np.argsort(errors, kind="stable")
    p = few.precisions[order] / few.precisions.sum()
    made = Unwarped(
        few.function(model),
        mean,
        deviation,
        few.assumption.warp,
        errors[order],
        np.cumsum(p) - 0.5 * p,
        spread,
    )
    return made, made.back(mean + deviation * (few.Y[:, 0] - errors))


def left_out(decision: Decision) -> Array:
    """Predictions of rows that were left out, in the units of the target."""
    return _part(decision.few, decision.model)[1]


def parts_of(functions: Sequence[Part]) -> Predictor:
    """The mean of functions, as they are: log-odds have no targets to err at."""
    none = np.empty(0)
    shares = np.full(len(functions), 1.0 / len(functions))
    return Predictor(tuple(functions), shares, none, none, none, -np.inf, np.inf)
