r"""What predicts classes: log-odds of each label, -1 or 1, against the rest.

**Few rows.** The model that won and, where the evidence of the labels gains by them, models in
which all other columns have a variance (*faint* ones), each tuned for the log-odds
(:mod:`nablasso.regression.laplace`), in the shares of the least loss of left-out rows together.

**All rows.** The kernels of least price on the columns that terms found, and on the sample's own
besides, are tuned for the log-odds and fitted to all rows on landmarks, alone and beside the terms,

.. math:: \min_c \sum_i w_i \log(1 + e^{-y_i (t_i + F_i^\top c)}) + \tfrac r2 |c|^2 ,

by Newton's method, ``t`` the log-odds of the terms, or 0, ``F`` the features of
:class:`~nablasso.prediction.together.Landmarks`. Fresh rows, without which each was fitted, give
the shares; the sample's own columns join where these rows are clearly nearer with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import solve

from nablasso.losses import Logistic
from nablasso.prediction.predictor import Predictor, beside, stacked, with_faint
from nablasso.prediction.together import (
    LANDMARKS,
    ROUNDING,
    WORK,
    AllRows,
    Contender,
    Landmarks,
    averaged,
    on_columns,
)
from nablasso.regression.laplace import LEAST_WEIGHT, LogOdds, Tuned, left_out_odds
from nablasso.regression.models import NO_GROUPS, FewRows, Model
from nablasso.regression.noise import Unwarped
from nablasso.regression.spread import Spread
from nablasso.search.few import Decision
from nablasso.search.grown import Grown
from nablasso.spaces import Function
from nablasso.types import Array, Index

NEWTON_STEPS, HALVINGS = 20, 6
SETTLED = 1e-4  # of the objective, a row
LOGISTIC = Logistic()


def odds_of(decision: Decision, columns: Index) -> Iterator[tuple[Predictor, Array]]:
    """Log-odds of each target as a function of a table, and those of its rows when left out.

    Of the table ``columns`` are those searched.
    """
    few, model, p = decision.few, decision.model, decision.few.weights
    total = float(p.sum())  # a class that is not there is rare
    counts = np.clip(p @ (few.targets > 0), 0.5, total - 0.5)
    levels = np.log(counts / (total - counts)).tolist()
    models = [model, *_with_faint(decision)] if len(model.groups) else []
    for level, y, tuned in zip(levels, few.targets.T, _tuned(few, models), strict=True):
        made = [one for one in tuned if one is not None]
        if not made:
            nothing = Function(level, NO_GROUPS)
            yield Predictor((nothing,), np.ones(1)), np.full(len(y), level)
            continue
        L = np.column_stack([odds for _, odds in made])
        shares = stacked(L, y, p, LOGISTIC)
        used = zip(made, shares, strict=True)
        parts = tuple(part.on(columns) for (part, _), share in used if share)
        yield Predictor(parts, shares[shares > 0]), L @ shares


def _with_faint(decision: Decision) -> Iterator[Model]:
    """Models of labels in which all columns that were not found have a variance."""
    few = decision.few
    if decision.faint and few.folds is None and few.most is None:
        for _, own in beside(few, decision.model, tuned=True):
            wider = with_faint(few, own, few.rules.surprise)
            if wider is not None:
                yield wider


def _tuned(few: FewRows, models: Sequence[Model]) -> Iterator[list[tuple[Unwarped, Array] | None]]:
    """For each target the log-odds of models, tuned, and those of its rows when left out.

    None where they cannot be had: the class is not among the rows.
    """
    found = [few.log_odds(model) for model in models]
    for k, y in enumerate(few.targets.T):
        each = ((model, own[k]) for model, own in zip(models, found, strict=True))
        yield [None if own is None else _odds(few, model, own, y) for model, own in each]


def _odds(few: FewRows, model: Model, tuned: Tuned, y: Array) -> tuple[Unwarped, Array]:
    own, space = few.space(model, np.exp(tuned.logs))
    b, u, r = tuned.mode.intercept, tuned.mode.u, float(np.exp(tuned.noise))
    made = Unwarped(Function(b, own, space, u), Spread(r, tuned.mode.noise, 1 / r))
    return made, left_out_odds(space.gram, u, b, y, few.weights, few.copies)


def odds_of_all(
    decision: Decision, columns: Index, terms: Sequence[Grown], rows: AllRows, targets: Array
) -> tuple[list[Predictor], Index]:
    """Log-odds of ``targets`` (n, q) of all rows, and the sample's own columns that join.

    ``terms`` are those of each target.
    """
    few = decision.few
    found = frozenset(a for own in terms for a in own.columns)
    kernels = _cheapest(decision, columns, found)
    wanted = int(np.clip(np.sqrt(WORK / targets.size), *LANDMARKS))
    Z, weights = rows.standardised(rows.fresh), rows.weights[rows.fresh]
    best, joined = list[Predictor](), frozenset[int]()
    tuned = _tuned(few, [model for _, model in kernels])
    for own, y, made in zip(terms, targets.T, tuned, strict=True):
        grown, here = replace(own, centre=rows.centre, scale=rows.scale), replace(rows, y=y)
        alone = Contender((grown,), grown.left_out(Z, rows.y[rows.fresh], weights), found, LOGISTIC)
        candidates = [alone]
        for one, (names, _) in zip(made, kernels, strict=True):
            if one is not None:
                function, beside_terms = one[0].on(columns).function, alone._replace(named=names)
                noise = one[0].spread.noise
                candidates += _on_landmarks(function, noise, beside_terms, here, wanted)
        agreed = _agreed(candidates, found, few.rules.clearly, y[rows.fresh], weights)
        chosen, names = averaged(agreed, y[rows.fresh], weights)
        best.append(Predictor(chosen.parts, chosen.shares))
        joined |= names
    return best, np.array(sorted(joined - found), dtype=np.intp)


def _cheapest(
    decision: Decision, columns: Index, found: frozenset[int]
) -> list[tuple[frozenset[int], Model]]:
    """Models of least price, with and without faint ones, on the columns found, and on more.

    With the columns that each stands for. Prices are those on all rows searched.
    """
    few = decision.few
    best = dict[tuple[frozenset[int], bool], tuple[float, Model]]()
    tuned = on_columns(decision, few, columns, sorted(found), own=few.most is None)
    for _, model, groups in tuned:
        names = found.union(columns[np.isin(few.labels, groups)].tolist())
        kind = names, len(model.groups) > len(groups)
        price = few.value(model, model.variances) + few.cost(len(model.logs))
        if kind not in best or price < best[kind][0]:
            best[kind] = price, model
    return [(names, model) for (names, _), (_, model) in best.items()]


def _agreed(
    candidates: Sequence[Contender], found: frozenset[int], clearly: float, y: Array, weights: Array
) -> Sequence[Contender]:
    """Those with other columns than ``found`` only if the nearest of them is clearly nearer."""

    def nearest(some: Sequence[Contender]) -> Contender:
        return min(some, key=lambda one: one.error(y, weights))

    without = [one for one in candidates if one.named <= found]
    clear = nearest(candidates).nearer(nearest(without), y, weights, clearly)
    return candidates if clear else without


def _on_landmarks(
    function: Function, noise: float, terms: Contender, rows: AllRows, wanted: int
) -> Iterator[Contender]:
    """A kernel's log-odds of all rows, alone and beside terms; it stands for their columns."""
    marks = Landmarks.of(function, rows, wanted)
    Z = rows.standardised(np.arange(len(rows.y)))
    F, ridge = marks.features(Z), np.append(np.full(len(marks.L), noise), 0.0)
    for parts in ((), terms.parts):
        base = sum((part.values(Z) for part in parts), np.zeros(len(Z)))
        judged = _newton(F, base, ridge, rows, rows.others)
        whole = marks.function(_newton(F, base, ridge, rows, np.arange(len(Z)), judged))
        left_out = judged @ F[:, rows.fresh]
        if parts:
            yield terms._replace(parts=(*parts, whole), left_out=left_out + terms.left_out)
        else:
            eta = whole.intercept + marks.space.gram @ whole.u
            bend = np.maximum(LOGISTIC.curvature(eta, eta), LEAST_WEIGHT)
            of_each = noise * len(eta) / float(rows.weights.sum())  # a landmark stands for many
            part = Unwarped(whole, Spread(of_each, 1 / bend, 1 / noise))
            yield terms._replace(parts=(part,), left_out=left_out)


def _newton(
    F: Array, base: Array, ridge: Array, rows: AllRows, used: Index, start: Array | None = None
) -> Array:
    """Coefficients of features ``F`` (m + 1, n) beside the log-odds ``base``, from some rows."""
    F, base, y, w = F[:, used], base[used], rows.y[used], rows.weights[used]
    c = np.zeros(len(F)) if start is None else start

    def objective(c: Array) -> float:
        return float(w @ LOGISTIC.value(y, base + c @ F) + 0.5 * ridge @ c**2)

    value = objective(c)
    for _ in range(NEWTON_STEPS):
        z, W = LogOdds.working(base + c @ F, y, w)
        H = (F * W) @ F.T
        H.flat[:: len(H) + 1] += ridge + ROUNDING * float(np.trace(H))
        step, share = solve(H, F @ (W * (z - base)), assume_a="pos") - c, 1.0
        while (new := objective(c + share * step)) > value and share > 0.5**HALVINGS:
            share /= 2
        if new > value - SETTLED * float(w.sum()):
            return c if new > value else c + share * step
        c, value = c + share * step, new
    return c
