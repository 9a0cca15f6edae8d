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

**More rows than an n x n factor holds.** Terms of one, two or three columns are grown on all rows
(:mod:`nablasso.search.grown`), so power grows with the rows; a kernel on a sample of them
(:mod:`nablasso.search.decide`) sees functions of many columns at once, which terms cannot. Two
questions are put to *fresh* rows, on which the sample's kernel was not tuned:

* **Columns that only the sample found** join if its function explains what the terms leave over:
  with ``e`` the residuals of the terms and ``g`` the difference of the two predictions,
  ``e^2 - (e - a g)^2``, ``a`` at its best and positive, must be clearly positive.
* **Landmarks**: ridge regression of ``e`` over all other rows on the sample's kernel,
  ``(K_ml K_lm + r K_mm) u = K_ml e``, O(n m^2), is added to the terms if fresh rows are better
  predicted with it. That need not be clear: its columns are in already, no column is at stake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular

from nablasso.regression.noise import PLAIN, Warp
from nablasso.regression.paired import paired
from nablasso.regression.spread import Spread
from nablasso.search.few import Decision, FewRows, Model
from nablasso.search.grown import Grown
from nablasso.search.rules import Rules
from nablasso.spaces import Function, RepresenterSpace
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
    kernel = few.function(decision.model)
    part, left_out = min(_parts(decision), key=lambda made: float(p @ (y - made[1]) ** 2))
    if columns is not None:
        kernel = replace(kernel, columns=columns[kernel.columns])
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
        kernel,
        float(np.exp(decision.model.noise)),
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


def parts_of(functions: Sequence[Part]) -> Predictor:
    """The mean of functions, as they are: log-odds have no targets to err at."""
    none = np.empty(0)
    shares = np.full(len(functions), 1.0 / len(functions))
    return Predictor(tuple(functions), shares, none, none, none, -np.inf, np.inf)


WORK = 3e10  # products of the landmarks' sums
LANDMARKS = (300, 1000)
BLOCK = 4096
FLOOR = 1e-9  # of the mean diagonal, added to it


@dataclass(frozen=True)
class AllRows:
    """A fair sample of all rows in an order that means nothing: searched ones, fresh ones, others.

    Column ``a`` of ``Z`` is column ``columns[a]`` of ``d``, in units ``(x - centre) / scale``;
    columns that are not there are constant. ``shift`` is added to the targets of the search.
    """

    Z: Array
    y: Array
    weights: Array
    columns: Index
    centre: Array
    scale: Array
    n_searched: int
    n_fresh: int
    shift: float = 0.0

    @property
    def fresh(self) -> Index:
        """Rows that judge."""
        return np.arange(self.n_searched, self.n_searched + self.n_fresh)

    @property
    def others(self) -> Index:
        """All other rows."""
        return np.setdiff1d(np.arange(len(self.y)), self.fresh)

    def standardised(self, rows: Index) -> Array:
        """Inputs of some rows, all columns."""
        Z = np.zeros((len(rows), len(self.centre)))
        Z[:, self.columns] = self.Z[rows]
        return Z


@dataclass(frozen=True)
class Terms:
    """Terms of raw inputs as a function of standardised ones: of the target, or log-odds."""

    grown: Grown
    centre: Array
    scale: Array
    odds: bool = False

    @property
    def columns(self) -> Sequence[int]:
        """Those of the terms."""
        return self.grown.columns

    def values(self, Z: Array) -> Array:
        """Predictions, or log-odds."""
        X = Z * self.scale + self.centre
        return self.grown.predictor(X) if self.odds else self.grown.predict(X)

    def left_out(self, Z: Array, y: Array, weights: Array) -> Array:
        """Predictions of rows that the terms have seen as if they had not."""
        return self.grown.left_out(Z * self.scale + self.centre, y, weights)

    def gradients(self, Z: Array) -> Array:
        """Their gradients per standardised unit."""
        X = Z * self.scale + self.centre
        slopes = self.grown.state.slopes(X) if self.odds else self.grown.gradient(X)
        return np.asarray(slopes * self.scale)


def predictor_of_all(
    rules: Rules, terms: Grown | None, sample: Predictor, rows: AllRows, *, full: bool = False
) -> tuple[Predictor, Index]:
    """What predicts from all rows, and the columns that only the sample found and that join.

    ``sample`` predicts from the rows searched alone, as a function of all columns; none of its own
    columns join where the answer is ``full``.
    """
    mean = float(rows.weights @ rows.y / rows.weights.sum())
    base = (
        Function(mean, np.empty(0, dtype=np.intp))
        if terms is None
        else Terms(terms, rows.centre, rows.scale)
    )
    function = sample.kernel
    assert function is not None
    extra = np.setdiff1d(function.columns, () if terms is None else terms.columns)
    fresh = rows.fresh
    Z, y, weights = rows.standardised(fresh), rows.y[fresh], rows.weights[fresh]
    plain = base.left_out(Z, y, weights) if isinstance(base, Terms) else base.values(Z)
    other = sample.values(Z) + rows.shift
    joins = terms is None or (
        not (full and len(extra)) and _explains(y - plain, other - plain, weights, rules.clearly)
    )
    landmarks = None
    if len(function.columns) and (joins or not len(extra)):
        tried = _landmarks(function, sample.noise, base, rows, rows.others)
        gain = paired((y - plain) ** 2 - (y - plain - tried.values(Z)) ** 2, weights)
        landmarks = tried if terms is None or gain.mean > 0 else None
    left_out = plain if landmarks is None else plain + landmarks.values(Z)
    if landmarks is not None:  # what fresh rows agreed to is fitted on them too
        landmarks = _landmarks(function, sample.noise, base, rows, np.arange(len(rows.y)))
    parts = (base,) if landmarks is None else (base, landmarks)
    made = Predictor(
        parts,
        np.ones(len(parts)),
        left_out,
        y,
        weights / weights.sum(),
        float(rows.y.min()),
        float(rows.y.max()),
    )
    return made, extra if joins else extra[:0]


def odds_of_all(
    rules: Rules,
    terms: Grown,
    sample: Function,
    rows: AllRows,
    labels: Array,
    *,
    full: bool = False,
) -> tuple[Predictor, Index]:
    """Log-odds of labels -1 and 1 from all rows, and the sample's own columns that join."""
    extra = np.setdiff1d(sample.columns, terms.columns)
    Z, y, weights = rows.standardised(rows.fresh), labels[rows.fresh], rows.weights[rows.fresh]
    grown = Terms(terms, rows.centre, rows.scale, odds=True)
    parts: list[list[Part]] = [[grown], [grown, sample], [sample]]
    candidates = [parts_of(some) for some in parts]
    losses = [np.logaddexp(0, -y * one.values(Z)) for one in candidates]
    best = int(np.argmin([float(weights @ loss) for loss in losses]))
    gain = paired(losses[0] - losses[best], weights)
    if len(extra) and (full or not gain.mean > rules.clearly * gain.error):
        best = 0
    return candidates[best], extra if best else extra[:0]


def _explains(e: Array, g: Array, weights: Array, clearly: float) -> bool:
    """Whether a multiple of ``g`` is clearly in ``e``."""
    size = float(weights @ g**2)
    a = float(weights @ (e * g)) / size if size > 0 else 0.0
    gain = paired(e**2 - (e - a * g) ** 2, weights)
    return a > 0 and gain.mean > clearly * gain.error


def _landmarks(
    function: Function, noise: float, base: Part, rows: AllRows, used: Index
) -> Function:
    """The sample's kernel on what the terms leave over at some rows.

    Solved in the features ``K_l. L^{-T}``, ``L L' = K_mm``, in which the norm is that of numbers.
    """
    space, columns = function.space, function.columns
    assert isinstance(space, RepresenterSpace)
    wanted = int(np.clip(np.sqrt(WORK / len(used)), *LANDMARKS))
    more = rows.others[rows.n_searched :][: max(wanted - len(space.X), 0)]
    X = np.vstack([space.X, rows.standardised(more)[:, columns]])[:wanted]
    centres = RepresenterSpace(space.kernel, X, space.scales)
    m = len(X)
    gram = centres.gram.copy()
    gram.flat[:: m + 1] += FLOOR * float(np.trace(gram)) / m
    L = cholesky(gram, lower=True)
    G, c = np.zeros((m + 1, m + 1)), np.zeros(m + 1)
    for start in range(0, len(used), BLOCK):
        part = used[start : start + BLOCK]
        Z, w = rows.standardised(part), rows.weights[part]
        K = space.kernel(X * space.scales, Z[:, columns] * space.scales)
        features = np.vstack([solve_triangular(L, K, lower=True), np.ones(len(part))])
        G += (features * w) @ features.T
        c += features @ (w * (rows.y[part] - base.values(Z)))
    G.flat[: m * (m + 1) : m + 2] += noise
    solution = solve(G, c, assume_a="pos")
    u = solve_triangular(L, solution[:m], lower=True, trans="T")
    return Function(float(solution[m]), columns, centres, u)
