"""What residuals make suspect: assumptions worth a search, each with the total it promises."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nablasso.regression.models import ADDITIVE, LINEAR, FewRows, Model
from nablasso.regression.noise import (
    CORRELATIONS,
    DEGREES,
    SHARES,
    Assumption,
    in_time,
    lag_correlation,
    tail_weights,
    warps,
)
from nablasso.search.few import backward, proposals
from nablasso.types import Array, Index

FIRST_SERIAL = (0.9, 1.0)
FEW_VALUES = 4  # of a target up to which it has a distribution of its own, not noise


class Suspicion(NamedTuple):
    """An assumption for all rows, and the total it promises."""

    kind: str
    assumption: Assumption
    total: float


def suspicions(
    rows: FewRows, few: FewRows, model: Model, failed: Collection[str] = ()
) -> Iterator[Suspicion]:
    """All assumptions next to the one at hand, but those that failed, judged at the model found.

    Serial noise comes first, if target or residuals correlate from row to row and rows may be in
    time: nothing else is believed before.
    """
    own = rows.assumption
    if few.Y.shape[1] > 1:
        return
    if own.serial is None and "serial" not in failed and _in_time(few, model):
        yield Suspicion("serial", replace(own, serial=FIRST_SERIAL), -np.inf)
        return
    if len(np.unique(few.targets)) > FEW_VALUES:
        yield from (s for s in _judged(rows, few, model) if s.kind not in failed)


def _in_time(few: FewRows, model: Model) -> bool:
    if few.time is None:
        return False
    residuals = few.solved(model).left_out()[0][:, 0]
    looks = (lag_correlation(e, few.time) for e in (few.Y[:, 0], residuals))
    return in_time(few.targets[:, 0], few.time) and max(looks) > few.rules.clearly


def _judged(rows: FewRows, few: FewRows, model: Model) -> Iterator[Suspicion]:
    own = rows.assumption
    residuals = few.residuals(model, rows)[:, 0]
    plain = replace(own, nu=0.0, weights=None, level=None, level_price=0.0)
    for warp in (*warps(rows.targets[:, 0], residuals[: len(few.X)], own.warp), None):
        if warp != own.warp:
            warped = replace(plain, warp=warp)
            yield Suspicion("warp", warped, judged(few, model, warped))
    if own.serial is not None:
        for serial in ((rho, share) for rho in CORRELATIONS for share in SHARES):
            moved = replace(own, serial=serial)
            yield Suspicion("serial", moved, judged(few, model, moved))
        return
    if own.level is None:
        uneven = _level(rows, few, model, residuals)
        if uneven is not None:
            yield Suspicion("level", uneven, judged(few, model, uneven))
    flat = residuals if own.level is None else residuals / np.exp(own.level / 2)
    for nu in DEGREES:
        weights, gain = tail_weights(flat, nu)
        tailed = replace(own, nu=nu, weights=weights)
        if own.nu:
            yield Suspicion("tails", tailed, judged(few, model, tailed))
        else:  # a fit that follows outliers is no judge of weights that do not
            share = len(few.X) / len(rows.X)
            total = few.total(model) - share * gain + 0.5 * float(np.log(len(few.X)))
            yield Suspicion("tails", tailed, total)


def judged(few: FewRows, model: Model, assumption: Assumption) -> float:
    """The total of a model, or of none, under another assumption: noise scaled, not tuned again."""
    other = few.under(assumption.only(np.arange(len(few.X))))
    best = other.base
    if not len(model.groups):
        return best
    cost = other.cost(len(model.groups)) + other.base
    looks = [(model.family, model.variances, model.r * np.array([0.3, 1, 3, 10]))]
    if assumption.warp != few.assumption.warp:  # a product may become a sum
        equal = np.full(len(model.groups), 1.0 / len(model.groups))
        looks.append((LINEAR, equal, np.array([0.1, 0.5])))
    for family, v, noises in looks:
        part = other.evidence(family).part(model.groups)
        best = min([best, *(part.value(v, float(r)) + cost for r in noises)])
    return best


def _level(rows: FewRows, few: FewRows, model: Model, residuals: Array) -> Assumption | None:
    """The log variance of the noise as a sum of functions of the columns and of the fit."""
    n = len(few.X)
    columns, labels = rows.X, rows.labels
    if len(model.groups):
        fit = rows.standardised(few)[:, 0] - residuals
        fit = (fit - fit[:n].mean()) / (float(fit[:n].std()) or 1.0)
        columns = np.column_stack([columns, fit])
        labels = np.append(labels, rows.n_groups)
    uneven = level_of(columns[:n], labels, few.weights, residuals[:n])
    if uneven is None:
        return None
    inner, found = uneven
    level = inner.function(found).values(columns) * float(inner.unit[1][0])
    price = inner.cost(len(found.groups))
    plain = replace(rows.assumption, nu=0.0, weights=None)
    return replace(plain, level=level - level[:n].mean(), level_price=price)


def level_of(
    columns: Array, labels: Index, weights: Array, residuals: Array
) -> tuple[FewRows, Model] | None:
    """Logs of squared residuals, and the sum of functions that explains them; None if none does."""
    squares = residuals**2
    logs = np.log(squares + 1e-3 * float(np.median(squares)) + 1e-300)
    rows = FewRows(columns, logs[:, None], weights, labels, families=(LINEAR, ADDITIVE))
    proposed = min(proposals(rows), key=lambda proposal: proposal[0], default=None)
    if proposed is None:
        return None
    found = backward(rows, rows.tune(*proposed[1:]))
    return (rows, found) if len(found.groups) else None
