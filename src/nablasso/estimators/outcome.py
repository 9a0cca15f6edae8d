"""From a decision to fitted attributes: numbers; their words are in :mod:`nablasso.answer`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from nablasso import answer as words
from nablasso.answer import WEAK, Accuracy
from nablasso.data.table import Table
from nablasso.estimators.base import CLEAR_GAIN, nothing_status
from nablasso.estimators.validation import correlated_pairs, feature_names
from nablasso.reading.doubts import (
    Evidence,
    all_relevant,
    alternatives,
    sign_only,
    support_gap,
    told_by_others,
)
from nablasso.regression.ridge import saving
from nablasso.search.check import worth as worth_of
from nablasso.search.families import GAUSSIAN
from nablasso.search.few import Decision
from nablasso.search.grown import Grown
from nablasso.search.predictor import Predictor
from nablasso.search.together import AllRows
from nablasso.spaces import Function, RepresenterSpace
from nablasso.types import Array, Index

MAX_FRESH = 1000  # rows at which slopes are averaged
LOOKED_AT = 12  # columns left out whose evidence is computed, those asked for most
VARIANCES = (1e-3, 1e-2, 0.1, 1.0)  # of such a column, over the median of the selected ones


def read_outcome(selector: Any, table: Table, decision: Decision) -> None:
    """Set the attributes that tell how far the answer can be trusted.

    After an interrupt what takes long is left out: someone waits.
    """
    few, model, d = decision.few, decision.model, len(selector.support_)
    residuals = few.solved(model).left_out()[0]
    selector.loo_r2_, gain = _gain(few.Y, residuals, few.weights)
    selector.evidence_, selector.clear_by_ = np.zeros(d), np.full(d, np.nan)
    worth = worth_of(few, model)
    for group in model.groups:
        columns = table.columns[few.labels == group]
        selector.evidence_[columns] = worth.get(int(group), 0.0)
        selector.clear_by_[columns] = decision.clear.get(int(group), np.nan)
    selector.assumptions_ = _noticed(decision, table.y_mean)
    selector.family_ = model.family.name
    selector.tried_ = [
        {
            "family": str(one.family.name),
            "columns": sorted(table.columns[np.isin(few.labels, one.groups)].tolist()),
            "price": one.price,
        }
        for one in sorted(decision.tried, key=lambda one: one.price)
    ]
    selector.runner_up_ = _runner_up(selector)
    chosen = np.flatnonzero(np.isin(few.labels, model.groups))
    selector.twins_ = correlated_pairs(table, chosen)
    evidence = None if decision.interrupted else _evidence(decision)
    selector.alternatives_ = [
        pair._replace(a=int(table.columns[pair.a]), b=int(table.columns[pair.b]))
        for pair in (alternatives(evidence) if evidence is not None and len(chosen) else ())
    ]
    selector.replaceable_ = [
        (int(table.columns[one.a]), table.columns[list(one.by)].tolist(), one.r2)
        for one in told_by_others(few.X, few.weights, few.labels, chosen)
    ]
    selector.cautions_ = _cautions(selector, table, evidence)
    selector._dropped = {} if decision.interrupted else _dropped(table, decision)
    weak = [g for g in model.groups if g not in few.kept and worth.get(int(g), 0.0) < WEAK]
    free = [g for g in model.groups if g not in few.kept]
    unsure = selector.fdr is None and bool(free) and len(weak) == len(free)
    selector.selection_status_ = _status(selector, gain, unsure, few.targets)


def read_all_rows(
    selector: Any,
    grown: Sequence[Grown],
    joined: Index,
    predictors: Sequence[Predictor | Function],
    rows: AllRows,
) -> None:
    """What terms on all rows say takes the place of what the sample said.

    ``joined`` columns were found by the sample alone. Slopes are those of the predictor at fresh
    rows. What certifies a column is the group lasso on the sums of all rows; where that took too
    long, the sample's certificate stands for columns that both found.
    """
    d = len(selector.support_)
    found = np.union1d(
        joined, np.concatenate([np.asarray(g.columns, dtype=np.intp) for g in grown])
    )
    sampled = selector.support_.copy()
    selector.support_ = np.isin(np.arange(d), found)
    selector.support_certified_ &= sampled == selector.support_
    proofs = [one.certified for one in grown if one.certified is not None]
    if len(proofs) == len(grown):  # on the sums of all rows, over all columns
        agreed = np.all([np.isin(np.arange(d), sorted(proof)) for proof in proofs], axis=0)
        selector.support_certified_ = agreed & ~np.isin(np.arange(d), joined)
    selector.importance_bounds_[~(sampled & selector.support_)] = 0.0, np.inf
    selector.importance_bounds_[~selector.support_] = 0.0
    evidence = np.where(np.isin(np.arange(d), joined), selector.evidence_, 0.0)
    for one in grown:
        for column, gain in one.gain.items():
            evidence[column] = max(evidence[column], gain)
    selector.evidence_ = evidence
    selector.clear_by_[~selector.support_] = np.nan
    Z, weights = rows.standardised(rows.fresh[:MAX_FRESH]), rows.weights[rows.fresh[:MAX_FRESH]]
    p = weights / weights.sum()
    unit = 1.0
    for predictor in predictors:
        if isinstance(predictor, Predictor) and len(predictor.observed):
            y, residuals = rows.y[rows.fresh][:, None], predictor.residuals[:, None]
            unit = float(y.std()) or 1.0
            selector.loo_r2_, _ = _gain(y, residuals, predictor.weights)
    slopes = [np.sqrt(p @ predictor.gradients(Z) ** 2) / unit for predictor in predictors]
    norms = np.max(slopes, axis=0)
    selector.slopes_ = np.where(selector.support_, norms, 0.0)
    selector.family_ = "terms"
    noticed = {g.reason for g in grown if g.loss not in ("squares", "labels")}
    selector.assumptions_ = [words.said("all rows", reason=reason) for reason in sorted(noticed)]
    selector.runner_up_, selector._dropped = None, {}
    chosen = np.flatnonzero(selector.support_)
    inside = set(chosen.tolist())
    selector.twins_ = [(a, b) for a, b in selector.twins_ if a in inside]
    selector.alternatives_ = [
        pair for pair in selector.alternatives_ if pair.a in inside and pair.b not in inside
    ]
    labels = np.unique(selector._labels[rows.columns], return_inverse=True)[1]
    place = np.flatnonzero(np.isin(rows.columns, chosen))
    told = rows.fresh if len(rows.fresh) > rows.n_searched else np.arange(rows.n_searched)
    selector.replaceable_ = [
        (int(rows.columns[one.a]), rows.columns[list(one.by)].tolist(), one.r2)
        for one in told_by_others(rows.Z[told], rows.weights[told], labels, place)
    ]
    weak = evidence[chosen].max(initial=0.0) < WEAK and not len(joined)
    selector.selection_status_ = _status(selector, CLEAR_GAIN, weak, rows.y)


def _status(selector: Any, gain: float, unsure: bool, y: Array) -> str:
    if not selector.support_.any():
        return nothing_status(y)
    if gain < CLEAR_GAIN or unsure:
        return "too few rows"
    if selector.cautions_:
        return "doubtful"
    stand_ins = selector.twins_ or selector.alternatives_ or selector.replaceable_
    return "replaceable" if stand_ins else "clear"


def _gain(Y: Array, residuals: Array, weights: Array) -> tuple[float, float]:
    """R2 of left-out residuals, and the gain over the mean in standard errors."""
    baseline = np.sum((Y - np.average(Y, axis=0, weights=weights)) ** 2, axis=1)
    return saving([(baseline, np.sum(residuals**2, axis=1))], weights)


def _noticed(decision: Decision, mean: float) -> list[str]:
    """Sentences about noise and target, and what they gained; y was searched less its mean."""
    few, assumed = decision.few, decision.few.assumption
    said = []
    if assumed.warp is not None:
        warp = assumed.warp.moved(mean)
        y = few.targets[:, 0] + mean
        counts = bool((y >= 0).all() and np.allclose(y, np.round(y), atol=1e-9))
        said.append(words.said("counts" if counts else "skewed", warp=warp))
    if assumed.weights is not None:
        small = int(np.sum(assumed.weights < 0.5))
        said.append(words.said("tails", degrees=assumed.nu, n_small=small))
    if assumed.level is not None:
        factor = float(np.exp(np.ptp(assumed.level) / 2))
        said.append(words.said("uneven", factor=factor))
    if assumed.serial is not None:
        said.append(words.said("serial", correlation=assumed.serial[0]))
    if said and math.isfinite(decision.gained):
        said.append(words.said("gained", nats=decision.gained))
    return said


def _runner_up(selector: Any) -> tuple[list[int], float] | None:
    """The best other set of columns, and by how many nats it lost.

    One of those tried, or the selected ones without the one that is worth least.
    """
    own = sorted(np.flatnonzero(selector.support_).tolist())
    worth = {a: float(selector.evidence_[a]) for a in own if selector.evidence_[a] > 0}
    same = [one["price"] for one in selector.tried_ if one["columns"] == own]
    found = [
        (one["columns"], float(one["price"] - min(same)))
        for one in selector.tried_
        if same and one["columns"] != own
    ]
    if worth:
        least = min(worth.values())
        found.append(([a for a in own if worth.get(a) != least], least))
    return min(found, key=lambda one: one[1], default=None)


Dropped = tuple[float, float, tuple[float, float] | None]


def _dropped(table: Table, decision: Decision) -> dict[int, Dropped]:
    """For columns left out: nats that they add and cost, R2 of left-out rows without and with them.

    The slope of the evidence in its variance says of every group whether it asks for it at all;
    those that ask most are put in, with the best of a few variances and all else as it is, on the
    rows that a walk takes.
    """
    model = decision.model
    few = decision.few.first(decision.few.rules.walked_rows)
    if not len(model.groups) or few.n_groups == len(model.groups):
        return {}
    evidence, r = few.evidence(model.family), float(np.exp(model.noise))
    asked = evidence.outside(model.groups, model.variances, r)
    outside = np.setdiff1d(np.arange(few.n_groups), model.groups)
    if not np.isfinite(asked[outside]).all():
        return {}
    k = len(np.unique(model.ties))
    costs = few.cost(model.paid + 1, k + 1) - few.cost(model.paid, k)
    own = evidence.part(model.groups).solve(model.variances, r)
    if own is None:
        return {}
    before = _gain(few.Y, own.left_out()[0], few.weights)[0]
    best = sorted(outside, key=lambda g: asked[g])[:LOOKED_AT]
    found: dict[int, Dropped] = {}
    for g in outside:
        gain, scores = 0.0, None
        if g in best and asked[g] < 0:
            part = evidence.part(np.append(model.groups, g))
            tried = [
                np.append(model.variances, share * np.median(model.variances))
                for share in VARIANCES
            ]
            values = [part.value(v, r) for v in tried]
            gain = max(own.value - min(values), 0.0)
            solved = part.solve(tried[int(np.argmin(values))], r) if gain > 0 else None
            if solved is not None and not few.classes and few.assumption.warp is None:
                scores = before, _gain(few.Y, solved.left_out()[0], few.weights)[0]
        for a in table.columns[few.labels == g]:
            found[int(a)] = (float(gain), float(costs), scores)
    return found


def _evidence(decision: Decision) -> Evidence | None:
    """What left-out rows are compared by."""
    few, model = decision.few, decision.model
    if not few.X.shape[1]:
        return None
    function = few.function(model)
    p = few.weights / few.weights.sum()
    y = few.Y[:, 0] if few.Y.shape[1] == 1 else few.Y
    if function.space is None or model.family.smooth:
        # the kernel of features knows its own columns only: distances stand for it
        kernel, columns = GAUSSIAN.kernel, function.columns
        scales = np.full(len(columns), 1 / np.sqrt(max(2 * len(columns), 1)))
        return Evidence(kernel, few.X, y, p, columns, scales, few.classes)
    assert isinstance(function.space, RepresenterSpace)
    kernel, scales = function.space.kernel, function.space.scales
    return Evidence(kernel, few.X, y, p, function.columns, scales, few.classes)


def _cautions(selector: Any, table: Table, evidence: Evidence | None) -> list[str]:
    """Sentences about what derivatives cannot see here."""
    names = [feature_names(selector)[a] for a in table.columns]
    found = []
    if evidence is not None and evidence.y.ndim == 1:
        parts, step = support_gap(evidence), sign_only(evidence)
        if parts:
            told = ", ".join(names[a] for a in parts)
            found.append(words.said("parts", names=told, n_names=len(parts)))
        if step is not None:
            found.append(words.said("step", name=names[step[0]], change=step[1]))
    inside = selector.evidence_[selector.support_]
    unsure = 2 * np.sum(inside < WEAK) > len(inside)  # one weak column says nothing of the others
    everything = all_relevant(selector.slopes_, selector.support_)
    if selector.always_keep is None and unsure and everything:
        found.append(
            words.said("everything", n_selected=len(inside), n_columns=len(selector.support_))
        )
    return found


def accuracy_of_numbers(observed: Array, predicted: Array, weights: Array, how: str) -> Accuracy:
    """R2 and error of left-out rows."""
    p = weights / weights.sum()
    error = float(p @ (observed - predicted) ** 2)
    spread = float(p @ (observed - p @ observed) ** 2)
    share = error / spread if spread > 0 else 1.0
    return Accuracy(len(observed), how, 1 - share, math.sqrt(error), math.sqrt(share))


def accuracy_of_classes(codes: Index, shares: Array, weights: Array, how: str) -> Accuracy:
    """Accuracy, log-loss and AUC (with more than two classes the mean over pairs of them)."""
    k = shares.shape[1]
    p = weights / weights.sum()
    present = np.unique(codes)
    auc = None
    if len(present) == k:
        auc = (
            float(roc_auc_score(codes, shares[:, 1], sample_weight=p))
            if k == 2
            else float(roc_auc_score(codes, shares, multi_class="ovo"))
        )
    return Accuracy(
        len(codes),
        how,
        accuracy=float(p @ (shares.argmax(axis=1) == codes)),
        guess=float(np.bincount(codes, p, minlength=k).max()),
        log_loss=float(log_loss(codes, shares, labels=np.arange(k), sample_weight=p)),
        auc=auc,
    )
