r"""What predicts from more rows than an n x n factor holds.

Terms of one, two or three columns are grown on all rows (:mod:`nablasso.search.grown`), so power
grows with the rows; a kernel on a sample of them (:mod:`nablasso.search.decide`) sees functions of
many columns at once, which terms cannot. The kernel is tuned anew on the columns that the terms
found, and on these with the sample's own besides if its price and the check want them so; rough
ones beside each, for more rows show what few take for noise. They are fitted to all rows on
landmarks, ridge regression of ``e``, the target or what the terms leave over,

.. math:: (K_{ml} K_{lm} + r K_{mm}) u = K_{ml} e, \qquad O(n m^2)

for both; where the sample's target was explained through its logarithm, so is ``e`` the target's,
alone. *Fresh* rows, on which it was not tuned, judge the terms (their predictions there are
those without these rows), the kernel, and both together: what the nearest has of the sample's own
columns joins, and those on its columns have the shares of least squared error there
(:func:`~nablasso.prediction.predictor.stacked`); faint columns predict without joining. The kernel
that is nearest there comes a second time, on twice the landmarks, if it is nearer than terms alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular

from nablasso.losses import Loss
from nablasso.prediction.predictor import (
    SQUARED,
    Predictor,
    Summand,
    beside,
    stacked,
    with_faint,
    with_states,
    without_assumptions,
)
from nablasso.regression.models import NO_GROUPS, ROUGH, FewRows, Model
from nablasso.regression.noise import Unwarped
from nablasso.regression.ridge import paired
from nablasso.regression.spread import Spread
from nablasso.search.check import check
from nablasso.search.few import Decision
from nablasso.search.grown import Grown
from nablasso.spaces import Function, RepresenterSpace
from nablasso.types import Array, Index

WORK = 1e10  # products of one kernel's sums; thrice as many gain half a per cent at 17 000 rows
LANDMARKS = (300, 1000)
RICHER = 2  # times as many for the nearest kernel: RMSE -4 % on protein (1 split), -5 on kin8nm (2)
BLOCK = 4096
ROUNDING = 1e-14  # of the trace of the sums, added to their diagonal
FLOOR = 1e-9  # of the mean diagonal, added to it


@dataclass(frozen=True)
class AllRows:
    """A fair sample of all rows in an order that means nothing: searched ones, fresh ones, others.

    Column ``a`` of ``Z`` is column ``columns[a]`` of ``d``, in units ``(x - centre) / scale``;
    columns that are not there are constant.
    """

    Z: Array
    y: Array
    weights: Array
    columns: Index
    centre: Array
    scale: Array
    n_searched: int
    n_fresh: int

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


def predictor_of_all(
    decision: Decision, columns: Index, terms: Grown | None, rows: AllRows, *, full: bool = False
) -> tuple[Predictor, Index]:
    """What predicts from all rows, and the columns that only the sample found and that join.

    Column ``a`` of those searched is column ``columns[a]`` of the table; none of the sample's own
    join where the answer is ``full``.
    """
    Z, y, weights = rows.standardised(rows.fresh), rows.y[rows.fresh], rows.weights[rows.fresh]
    candidates, found = list[Contender](), frozenset[int]()
    if terms is not None:
        grown = replace(terms, centre=rows.centre, scale=rows.scale)
        found = frozenset(terms.columns)
        candidates.append(Contender((grown,), grown.left_out(Z, y, weights), found))
    alone, inside = candidates[:], None if terms is None else terms.columns

    def on_landmarks(few: FewRows, model: Model, groups: Index, wanted: int) -> Iterator[Contender]:
        function, noise = few.function(model), model.r
        function = replace(function, columns=columns[function.columns])
        named = found.union(columns[np.isin(few.labels, groups)].tolist())
        warp = few.assumption.warp and few.assumption.warp.moved(_mean(decision, rows))
        even = rows if warp is None else replace(rows, y=warp(rows.y))
        others = alone if warp is None else []
        level = _level(even)
        bases = [level, *(one.parts[0] for one in others)]
        (judged, *without), (whole, *added) = _landmarks(function, noise, bases, even, wanted)
        assert whole.space is not None  # alone they are the rows of a fit, each for many
        m, left_out = len(whole.space.X), level.intercept + judged.values(Z)
        errors = even.y[rows.fresh] - left_out
        error = float(weights @ errors**2) / float(weights.sum())
        spread = Spread(noise * m / float(rows.weights.sum()), np.ones(m), error / noise)
        part = Unwarped(whole, spread, level.intercept, 1.0, warp, errors, weights)
        yield Contender((part,), part.back(left_out), named)
        for one, less, more in zip(others, without, added, strict=True):
            yield Contender((*one.parts, more), one.left_out + less.values(Z), named)

    wanted = int(np.clip(np.sqrt(WORK / len(rows.y)), *LANDMARKS))
    kernels = list[tuple[Contender, tuple[FewRows, Model, Index]]]()
    for tuned in _tuned(decision, columns, inside, rows, own=not full):
        kernels += [(one, tuned) for one in on_landmarks(*tuned, wanted)]
    candidates += [one for one, _ in kernels]
    if kernels and len(rows.others) > wanted:
        one, tuned = min(kernels, key=lambda made: made[0].error(y, weights))
        if all(one.nearer(other, y, weights) for other in alone):
            candidates += on_landmarks(*tuned, RICHER * wanted)
    nothing = _level(rows)
    best, named = averaged(candidates or [Contender((nothing,), nothing.values(Z))], y, weights)
    best = replace(best, low=float(rows.y.min()), high=float(rows.y.max()))
    return best, np.array(sorted(named - found), dtype=np.intp)


class Contender(NamedTuple):
    """A sum of parts, its predictions of rows that it has not seen, and the columns it stands for.

    Those of its parts, but for faint ones.
    """

    parts: tuple[Summand, ...]
    left_out: Array
    named: frozenset[int] = frozenset()
    loss: Loss = SQUARED

    def error(self, y: Array, weights: Array) -> float:
        """Loss of rows that it has not seen."""
        return float(weights @ self.loss.value(y, self.left_out))

    def nearer(self, other: Contender, y: Array, weights: Array, errors: float = 1.0) -> bool:
        """Whether its loss is smaller by more than so many standard errors."""
        own, theirs = (self.loss.value(y, one.left_out) for one in (self, other))
        gain = paired(theirs - own, weights)
        return bool(gain.mean > errors * gain.error)

    @property
    def faint(self) -> bool:
        """Whether it has columns that it does not stand for."""
        return any(int(a) not in self.named for part in self.parts for a in part.columns)


def averaged(
    candidates: Sequence[Contender], y: Array, weights: Array
) -> tuple[Predictor, frozenset[int]]:
    """The sum of candidates of least error with no columns but the nearest's, and these columns.

    Faint columns are used if the nearest with them is nearer by more than a standard error.
    """

    def nearest(some: Sequence[Contender]) -> Contender:
        return min(some, key=lambda one: one.error(y, weights))

    best, plain = nearest(candidates), nearest([one for one in candidates if not one.faint])
    best, faint = (best, True) if best.nearer(plain, y, weights) else (plain, False)
    used = [one for one in candidates if one.named <= best.named and (faint or not one.faint)]
    L = np.column_stack([one.left_out for one in used])
    shares = stacked(L, y, weights, best.loss)
    chosen = [one for one, share in zip(used, shares, strict=True) if share]
    parts = list({id(part): part for one in chosen for part in one.parts}.values())
    inside = [[any(part is own for own in one.parts) for one in used] for part in parts]
    p, whole = weights / weights.sum(), np.asarray(inside @ shares)
    warps = {getattr(part, "warp", None) for part in parts}
    warp = warps.pop() if len(warps) == 1 else None
    return Predictor(tuple(parts), whole, L @ shares, y, p, warp=warp), best.named


def _mean(decision: Decision, rows: AllRows) -> float:
    """What targets of the search are short of those of all rows."""
    return float(rows.y[0] - decision.few.targets[0, 0])


def _tuned(
    decision: Decision, columns: Index, found: Sequence[int] | None, rows: AllRows, *, own: bool
) -> Iterator[tuple[FewRows, Model, Index]]:
    """Models of the target, and of its warp if it has one, whose end no row is beyond.

    With the groups that each stands for; nothing is assumed of the noise.
    """
    few, warp = without_assumptions(decision.few), decision.few.assumption.warp
    yield from on_columns(decision, few, columns, found, own=own)
    if warp is not None:
        reaching = warp.reaching(rows.y - _mean(decision, rows))
        few = few.under(replace(few.assumption, warp=reaching))
        yield from on_columns(decision, few, columns, found, own=own)


def on_columns(
    decision: Decision, few: FewRows, columns: Index, found: Sequence[int] | None, *, own: bool
) -> Iterator[tuple[FewRows, Model, Index]]:
    """The sample's kernel on columns found, on its ``own`` besides, and with the faint ones.

    Without terms (None) what the sample found is what there is, whatever its price.
    """
    family, noise = decision.model.family, decision.model.noise
    logs = dict(zip(decision.model.groups.tolist(), np.log(decision.model.variances), strict=True))
    usual = float(np.median(list(logs.values()))) if logs else 0.0

    def tuned(groups: Index) -> Model:
        return few.tune(
            family, groups, np.array([*(logs.get(int(g), usual) for g in groups), noise])
        )

    inside = decision.model.groups if found is None else few.labels[np.isin(columns, found)]
    inside = np.unique(inside)
    model = tuned(inside)
    if len(model.groups) and np.isin(found or (), columns).all() and few.solvable(model):
        yield from _with_rougher(few, model)
        if own and decision.faint and few.folds is None:
            fewer = few.first(few.rules.walked_rows)
            for _, one in beside(fewer, model):
                wider = with_faint(fewer, one, 0.0)  # fresh rows judge
                if wider is not None and few.solvable(wider):
                    yield few, wider, inside
    more = np.union1d(inside, decision.model.groups).astype(np.intp)
    if own and len(more) > len(inside):
        wide, _ = check(few, tuned(more), trusted=inside if len(inside) else more)
        if len(wide.groups) > len(inside) and wide.price < model.price and few.solvable(wide):
            yield from _with_rougher(few, wide)


def _with_rougher(few: FewRows, model: Model) -> Iterator[tuple[FewRows, Model, Index]]:
    """A model and, where families compete, rough kernels on its columns and on their states."""
    yield few, model, model.groups
    if len(few.families) == 1:
        return
    rough = model if model.family is ROUGH else few.tune(ROUGH, model.groups)
    if rough is not model and few.solvable(rough):
        yield few, rough, model.groups
    stated = with_states(few, rough, few.rules.surprise)
    if stated is not None:
        yield few, stated, model.groups


def _level(rows: AllRows) -> Function:
    """The mean of the target."""
    return Function(float(rows.weights @ rows.y / rows.weights.sum()), NO_GROUPS)


class Landmarks(NamedTuple):
    """Rows whose kernels functions are sums of, ``sum_l u_l k(z_l, .) + b``.

    In their features ``K_l. L^{-T}``, ``L L' = K_mm``, the norm is that of numbers; one is last.
    """

    columns: Index
    space: RepresenterSpace
    L: Array

    @classmethod
    def of(cls, function: Function, rows: AllRows, wanted: int) -> Landmarks:
        """The rows of a function of the table, and as many others as are wanted."""
        space, columns = function.space, function.columns
        assert isinstance(space, RepresenterSpace)
        more = rows.others[rows.n_searched :][: max(wanted - len(space.X), 0)]
        X = np.vstack([space.X, rows.standardised(more)[:, columns]])[:wanted]
        centres = RepresenterSpace(space.kernel, X, space.scales)
        gram = centres.gram.copy()
        gram.flat[:: len(X) + 1] += FLOOR * float(np.trace(gram)) / len(X)
        return cls(columns, centres, cholesky(gram, lower=True))

    def features(self, Z: Array) -> Array:
        """Of points (n, d) of the table, (m + 1, n)."""
        X, scales = self.space.X, self.space.scales
        K = self.space.kernel(X * scales, Z[:, self.columns] * scales)
        return np.vstack([solve_triangular(self.L, K, lower=True), np.ones(len(Z))])

    def function(self, c: Array) -> Function:
        """The function of the table with these coefficients (m + 1,) of the features."""
        u = solve_triangular(self.L, c[:-1], lower=True, trans="T")
        return Function(float(c[-1]), self.columns, self.space, u)


def _landmarks(
    function: Function, noise: float, bases: Sequence[Summand], rows: AllRows, wanted: int
) -> Iterator[list[Function]]:
    """A kernel on what some functions leave over each: without the fresh rows, and with them."""
    marks = Landmarks.of(function, rows, wanted)
    m = len(marks.L)
    G, c = np.zeros((m + 1, m + 1)), np.zeros((m + 1, len(bases)))
    G.flat[: m * (m + 1) : m + 2] = noise
    for used in (rows.others, rows.fresh):
        for start in range(0, len(used), BLOCK):
            part = used[start : start + BLOCK]
            Z, w = rows.standardised(part), rows.weights[part]
            features = marks.features(Z)
            G += (features * w) @ features.T
            left = np.column_stack([rows.y[part] - base.values(Z) for base in bases])
            c += features @ (w[:, None] * left)
        rounding = ROUNDING * float(np.trace(G)) * np.eye(m + 1)
        solution = solve(G + rounding, c, assume_a="pos")
        yield [marks.function(own) for own in solution.T]
