r"""Columns that only scale what others do.

In ``y = c + f(x) s(x) + noise`` columns of ``s`` alone have no effect of their own where ``f`` is
as often below ``c`` as above, and a search that adds functions up sees them last: as a part of a
function of all columns at once. Once ``f`` is found they are as easy to see as any others. With
``u = (y - c) / f`` and any weights,

.. math:: \sum_i w_i (y_i - c - f_i s(x_i))^2 = \sum_i w_i f_i^2 (u_i - s(x_i))^2 ,

so ``s`` is what the same search finds of ``u``, with kernels on few rows and terms on those of the
fair sample; and then ``f`` again, of ``(y - c) / s``. Columns found before that are in neither add
beside the product. ``c`` is the mean of ``y``. Errors of ``u`` have variances ``1 / f^2 + t`` up to
a factor, noise and what ``s`` still leaves over; the most likely ``t`` makes the weights.

The search is made where its first round has a term with another column that pays its price; what it
finds stays if fresh rows are clearly nearer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nablasso.data.table import mean_one
from nablasso.prediction.predictor import Predictor, Summand
from nablasso.prediction.together import AllRows, predictor_of_all
from nablasso.regression.models import NO_GROUPS, FewRows
from nablasso.regression.noise import PLAIN
from nablasso.regression.ridge import paired
from nablasso.rules import Rules
from nablasso.search.check import worth
from nablasso.search.decide import decide
from nablasso.search.few import Decision
from nablasso.search.grown import Grown, grow, promising
from nablasso.streaming.sources import Arrays
from nablasso.types import Array, Index, Mask

SHARES: tuple[float, ...] = tuple(10.0 ** (k / 2) for k in range(-4, 7))  # t f^2 on average


@dataclass(frozen=True)
class Scaled:
    """``centre + function factor``; ``scaling`` are the columns found for the factor alone."""

    centre: float
    function: Predictor
    factor: Predictor
    scaling: Index

    @property
    def columns(self) -> Index:
        """Those of both."""
        return np.union1d(self.function.columns, self.factor.columns).astype(np.intp)

    @property
    def parts(self) -> tuple[Summand, ...]:
        """Those of both."""
        return (*self.function.parts, *self.factor.parts)

    def values(self, Z: Array) -> Array:
        """At points (m, d)."""
        return np.asarray(self.centre + self.function.values(Z) * self.factor.values(Z))

    def gradients(self, Z: Array) -> Array:
        """Per standardised unit, (m, d)."""
        f, s = self.function.values(Z), self.factor.values(Z)
        slopes = s[:, None] * self.function.gradients(Z) + f[:, None] * self.factor.gradients(Z)
        return np.asarray(slopes)


@dataclass(frozen=True, eq=False)
class Quotient:
    """Targets over one of their factors, where that is large: the rows of the other one."""

    rows: AllRows
    used: Mask  # of all rows

    @classmethod
    def by(cls, rows: AllRows, f: Array, e: Array, least: float) -> Quotient:
        """Targets over ``f``, whose product with the other factor errs by ``e`` so far.

        Where ``f`` is at least so large, in units of its root mean square.
        """
        p = rows.weights / rows.weights.sum()
        used = np.abs(f) > least * np.sqrt(p @ f**2)
        weights = rows.weights * f**2 / (1 + excess(e, f, p) * f**2)
        part = replace(
            rows,
            Z=rows.Z[used],
            y=rows.y[used] / f[used],
            weights=mean_one(weights[used]),
            n_searched=int(used[: rows.n_searched].sum()),
            n_fresh=int(used[rows.fresh].sum()),
        )
        return cls(part, used)

    @property
    def smallest(self) -> int:
        """Rows searched, or rows that judge."""
        return min(self.rows.n_searched, self.rows.n_fresh)

    @cached_property
    def source(self) -> Arrays:
        """For terms."""
        rows = self.rows
        Z = rows.standardised(np.arange(len(rows.y)))
        return Arrays(Z * rows.scale + rows.centre, rows.y, rows.weights)

    @property
    def mean(self) -> float:
        """Of the quotient, at the rows that do not judge."""
        rows, others = self.rows, self.rows.others
        return float(np.average(rows.y[others], weights=rows.weights[others]))

    def only(self, columns: Collection[int]) -> Quotient:
        """Without all other columns."""
        rows, inside = self.rows, np.isin(self.rows.columns, list(columns))
        return replace(self, rows=replace(rows, Z=rows.Z[:, inside], columns=rows.columns[inside]))

    def few(self, few: FewRows, columns: Index) -> FewRows:
        """The rows searched, with nothing kept and nothing assumed.

        Column ``a`` of those given is column ``columns[a]`` of the table.
        """
        n, inside = self.rows.n_searched, np.isin(columns, self.rows.columns)
        return replace(
            few,
            X=few.X[self.used[: len(few.X)]][:, inside],
            targets=self.rows.y[:n, None],
            weights=mean_one(self.rows.weights[:n]),
            labels=np.unique(few.labels[inside], return_inverse=True)[1].astype(np.intp),
            kept=NO_GROUPS,
            time=None,
            assumption=PLAIN,
        )

    def found(
        self, few: FewRows, columns: Index, grown: Grown
    ) -> tuple[Predictor, dict[int, float]]:
        """What predicts it, and what its columns are worth, in nats."""
        decision = decide(self.few(few, columns))
        if decision.interrupted:
            raise KeyboardInterrupt
        own = self.rows.columns
        predictor, joined = predictor_of_all(decision, own, grown, self.rows)
        nats = worth(decision.few, decision.model)
        groups = dict(zip(own.tolist(), decision.few.labels.tolist(), strict=True))
        return predictor, {a: nats.get(groups[a], 0.0) for a in joined.tolist()} | dict(grown.gain)


def product_of(
    plain: Predictor,
    decision: Decision,
    columns: Index,
    terms: Grown,
    joined: Index,
    rows: AllRows,
    groups: Sequence[Sequence[int]] = (),
) -> tuple[Predictor, dict[int, float]]:
    """What predicts with a factor beside it, and the nats of columns that only scale.

    If rows ask for a factor and are clearly nearer with it; else what there is, and no columns.
    Column ``a`` of the rows searched is column ``columns[a]`` of the table; the ``plain`` predictor
    stands for those of ``terms`` and for those that ``joined``. Not where a logarithm is explained,
    for there a product is a sum, nor where rows are in time.
    """
    few, response, nothing = decision.few, terms.state.response, (plain, dict[int, float]())
    rules = replace(few.rules, tails=np.inf)  # weights are those of the errors
    named = {*terms.columns, *joined.tolist()}
    warped = any(getattr(part, "warp", None) for part in plain.parts)
    bent = response.log or response.name == "counts" or warped
    serial = terms.state.filter or few.assumption.serial
    if bent or serial or decision.interrupted or not named or not np.isfinite(rules.factor):
        return nothing
    centre = float(np.average(rows.y, weights=rows.weights))
    even = replace(rows, y=rows.y - centre)
    f = _values(plain, rows, np.full(len(rows.y), True)) - centre
    by_f = Quotient.by(even, f, even.y - f, rules.factor)
    if by_f.smallest < rules.fresh or not any(
        set(term) - named for term in promising(by_f.source, rules, groups)
    ):
        return nothing
    how: dict[str, Any] = {"time": False, "groups": groups}
    grown = grow(by_f.source, rules, **how)
    if not set(grown.columns) - named:
        return nothing
    factor, scaling = by_f.found(few, columns, grown)
    constant = replace(factor, left_out=np.full(len(factor.observed), by_f.mean))
    if not _clearly_nearer(factor, constant, rules):
        return nothing
    s = _values(factor, rows, by_f.used)
    by_s = Quotient.by(even, s, even.y - f * s, rules.factor).only(named.union(scaling))
    if by_s.smallest < rules.fresh:
        return nothing
    grown = grow(by_s.source, rules, **how)
    function, own = by_s.found(few, columns, grown)
    made = _values(function, rows, by_s.used) * s
    added, rest = list[Predictor](), dict[int, float]()
    if named - own.keys() - scaling.keys():  # what adds beside the product
        over = Quotient(replace(rows, y=even.y - made), np.full(len(rows.y), True)).only(named)
        remainder, rest = over.found(few, columns, grow(over.source, rules, **how))
        made += _values(remainder, rows, over.used)
        added = [remainder]
    alone = np.array(sorted(scaling.keys() - own.keys() - rest.keys()), dtype=np.intp)
    product = replace(
        plain,
        parts=(Scaled(centre, function, factor, alone), *added),
        shares=np.ones(1 + len(added)),
        left_out=(centre + made)[rows.fresh],
    )
    if not _clearly_nearer(product, plain, rules):
        return nothing
    return product, {a: nats for a, nats in scaling.items() if a not in named}


def _clearly_nearer(one: Predictor, other: Predictor, rules: Rules) -> bool:
    """Whether squared errors are smaller and absolute ones clearly so, at the rows that judge.

    Squares of what a missing factor leaves over have heavy tails.
    """
    first, second = (np.abs(some.observed - some.left_out) for some in (one, other))
    gain = paired(second - first, one.weights)
    smaller = float(one.weights @ first**2) < float(one.weights @ second**2)
    return smaller and bool(gain.mean > rules.clearly * gain.error)


def _values(predictor: Predictor, rows: AllRows, used: Mask) -> Array:
    """At all rows; at fresh ones that judged it as if it had not seen them."""
    values = predictor.values(rows.standardised(np.arange(len(rows.y))))
    values[rows.fresh[used[rows.fresh]]] = predictor.left_out
    return values


def excess(e: Array, f: Array, p: Array) -> float:
    """The most likely ``t`` of errors ``e`` of variances ``1 + t f^2`` up to a factor."""
    size = float(p @ f**2)
    if not size or not e.any():
        return 0.0

    def surprise(t: float) -> float:
        variances = 1 + t * f**2
        return float(p @ np.log(variances) + np.log(p @ (e**2 / variances)))

    tried = [0.0, *(share / size for share in SHARES)]
    return min(tried, key=surprise)
