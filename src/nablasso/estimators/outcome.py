"""From a decision to fitted attributes, and from attributes to the one answer.

Everything here is numbers; what they are in words is said in :mod:`nablasso.answer`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import log_loss, roc_auc_score

from nablasso import answer as words
from nablasso.answer import (
    WEAK,
    Accuracy,
    Answer,
    Certificate,
    Column,
    Interaction,
    Replacement,
    Rival,
)
from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.estimators.base import CLEAR_GAIN, nothing_status
from nablasso.estimators.explained import facts_of_columns
from nablasso.estimators.validation import correlated_pairs, feature_names
from nablasso.reading import (
    Evidence,
    all_relevant,
    alternatives,
    sign_only,
    support_gap,
    told_by_others,
)
from nablasso.regression.paired import saving
from nablasso.search.check import worth as worth_of
from nablasso.search.decide import Decision
from nablasso.search.families import GAUSSIAN
from nablasso.search.grown import Grown
from nablasso.search.predictor import AllRows, Predictor
from nablasso.spaces import Function, RepresenterSpace
from nablasso.types import Array, Index

MAX_FRESH = 1000  # rows at which slopes are averaged
LOOKED_AT = 12  # columns left out whose evidence is computed, those asked for most
VARIANCES = (1e-3, 1e-2, 0.1, 1.0)  # of such a column, over the median of the selected ones


# ------------------------------------------------------------------ attributes of the one call


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
    selector.assumptions_ = [words.all_rows_sentence(reason) for reason in sorted(noticed)]
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
    return saving(baseline, np.sum(residuals**2, axis=1), weights)


def _noticed(decision: Decision, mean: float) -> list[str]:
    """Sentences about noise and target, and what they gained; y was searched less its mean."""
    few, assumed = decision.few, decision.few.assumption
    said = []
    if assumed.warp is not None:
        warp = assumed.warp.moved(mean)
        y = few.targets[:, 0] + mean
        counts = bool((y >= 0).all() and np.allclose(y, np.round(y), atol=1e-9))
        said.append(words.skewed_sentence(str(warp), counts))
    if assumed.weights is not None:
        small = int(np.sum(assumed.weights < 0.5))
        said.append(words.tails_sentence(assumed.nu, small))
    if assumed.level is not None:
        factor = float(np.exp(np.ptp(assumed.level) / 2))
        said.append(words.uneven_sentence(factor))
    if assumed.serial is not None:
        said.append(words.serial_sentence(assumed.serial[0]))
    if said and math.isfinite(decision.gained):
        said.append(words.gained_sentence(decision.gained))
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
            found.append(words.parts_caution([names[a] for a in parts]))
        if step is not None:
            found.append(words.step_caution(names[step[0]], step[1]))
    inside = selector.evidence_[selector.support_]
    unsure = 2 * np.sum(inside < WEAK) > len(inside)  # one weak column says nothing of the others
    everything = all_relevant(selector.slopes_, selector.support_)
    if selector.always_keep is None and unsure and everything:
        found.append(words.everything_caution(len(inside), len(selector.support_)))
    return found


# ------------------------------------------------------------------------------------ how accurate


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


# --------------------------------------------------------------------- the answer, from attributes


@dataclass(frozen=True)
class Columns:
    """Names of the columns of the table, and which columns of ``X`` each of them is."""

    names: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]  # of the columns of X
    categories: frozenset[str]

    @property
    def owner(self) -> dict[int, int]:
        """Column of the table behind each column of ``X``."""
        return {a: k for k, parts in enumerate(self.parts) for a in parts}

    def is_category(self, k: int) -> bool:
        """Whether the columns of ``X`` encode a category."""
        return self.names[k] in self.categories


def columns_of(names: Sequence[str], categories: Mapping[str, Sequence[str]] | None) -> Columns:
    """Columns of the table in the order of their first columns of ``X``."""
    owner = {column: name for name, own in (categories or {}).items() for column in own}
    unknown = [column for column in owner if column not in set(names)]
    if unknown:
        raise InvalidParameterError(
            f"categories names columns that are not there: {', '.join(unknown[:10])}. The columns "
            f"are {', '.join(list(names)[:10])} ..."
        )
    parts: dict[str, list[int]] = {}
    for a, name in enumerate(names):
        parts.setdefault(owner.get(name, name), []).append(a)
    listed = tuple(tuple(own) for own in parts.values())
    return Columns(tuple(parts), listed, tuple(names), frozenset(categories or {}))


def columns_of_table(model: Any) -> Columns:
    """Columns of the table that a model was fitted to, and the numbers that were made of them."""
    encoding = model._encoding
    return Columns(
        tuple(column.name for column in encoding.columns),
        tuple(tuple(int(a) for a in own) for own in encoding.players),
        tuple(encoding.names),
        frozenset(column.name for column in encoding.columns if column.kind == "category"),
    )


def answer_of(
    model: Any,
    n_rows: int,
    columns: Columns | None = None,
    *,
    target: str = "y",
    groups: Mapping[str, Sequence[str]] | None = None,
    classes: Mapping[str, int] | None = None,
) -> Answer:
    """Everything that the fitted attributes of any selector say.

    Parameters
    ----------
    model : fitted selector
    n_rows : int
        Rows that were given.
    columns : Columns, optional
        Names, and what belongs to one category; by default those of the fit.
    target : str
    groups : mapping of str to columns of the table, optional
        That were selected as a whole.
    classes : mapping of label to number of rows, optional

    Returns
    -------
    Answer
    """
    columns = columns_of(feature_names(model), None) if columns is None else columns
    owner = {name: group for group, own in (groups or {}).items() for name in own}
    stand_ins = _stand_ins(model, columns)
    found = [
        _column(model, k, columns, owner.get(columns.names[k]), tuple(stand_ins.get(k, ())))
        for k in range(len(columns.names))
    ]
    found.sort(key=lambda column: (not column.selected, -column.size))
    n_searched = int(getattr(model, "n_rows_searched_", n_rows))
    runner_up = getattr(model, "runner_up_", None)
    rivals = () if runner_up is None else (Rival(_names(columns, runner_up[0]), runner_up[1]),)
    return Answer(
        target=target,
        method=type(model).__name__,
        task="classification" if is_classifier(model) else "regression",
        n_rows=max(n_rows, n_searched),
        n_searched=n_searched,
        columns=tuple(found),
        status=_status_of(model),
        interactions=merged_interactions(getattr(model, "interactions_", ()), columns),
        accuracy=_accuracy(model, n_rows),
        rivals=rivals,
        family=str(getattr(model, "family_", "")),
        noticed=tuple(getattr(model, "assumptions_", ())),
        cautions=tuple(getattr(model, "cautions_", ())),
        notes=tuple(_notes(model)),
        certificate=_certificate(model),
        classes={} if classes is None else dict(classes),
    )


def _status_of(model: Any) -> str:
    """An interrupt comes first."""
    folds, asked = _n_folds(model), getattr(model, "cv", None)
    cut = isinstance(asked, int) and 0 < folds < asked
    if cut or getattr(model, "solver_status_", "") == words.INTERRUPTED:
        return words.INTERRUPTED
    return str(getattr(model, "selection_status_", "clear"))


def _n_folds(model: Any) -> int:
    return sum(key.startswith("split") for key in getattr(model, "cv_results_", ()))


def _column(
    model: Any, k: int, columns: Columns, group: str | None, stand_ins: tuple[Replacement, ...]
) -> Column:
    own, selected = list(columns.parts[k]), bool(model.support_[list(columns.parts[k])].any())
    kinds = set(model.feature_kinds_[own].tolist()) if hasattr(model, "feature_kinds_") else {""}
    kind = str(kinds.pop()) if len(kinds) == 1 else ""
    if columns.is_category(k) and kind != "constant":
        kind = "category"
    explained = hasattr(model, "_explanation")
    strength = np.asarray(
        getattr(model, "slopes_" if explained else "feature_importances_", model.support_),
        dtype=float,
    )
    told = _explained(model, own) if explained and selected else {}
    bounds = getattr(model, "importance_bounds_", None)
    certified = getattr(model, "support_certified_", None)
    evidence, clear_by = (getattr(model, name, None) for name in ("evidence_", "clear_by_"))
    p_values, screened = getattr(model, "p_values_", None), getattr(model, "screened_", None)
    adds = [facts for a in own if (facts := getattr(model, "_dropped", {}).get(a)) is not None]
    best = max(adds, key=lambda facts: facts[0], default=(None, None, None))
    out = screened is not None and not screened[own].any() and kind != "constant"
    return Column(
        name=columns.names[k],
        selected=selected,
        kind=kind,
        strength=_size(strength[own]),
        bounds=None
        if bounds is None
        else (_finite(_size(bounds[own, 0])), _finite(_size(bounds[own, 1]))),
        **told,
        evidence=None if evidence is None else _finite(max(evidence[own])),
        clear_by=None if clear_by is None else _finite(max(clear_by[own])),
        p_value=None if p_values is None else float(min(p_values[own])),
        certified=None if certified is None else bool(certified[own].all()),
        group=group,
        levels=_levels(columns, k) or _levels_of_table(model, columns.names[k]),
        replaceable=stand_ins if selected else (),
        reason="" if selected else "screened" if out else "priced" if adds else "",
        adds=None if selected else best[0],
        costs=None if selected else best[1],
        scores=None if selected else best[2],
    )


def _explained(model: Any, own: list[int]) -> dict[str, Any]:
    """Share with its interval, slope and direction of some columns; shares of several add up."""
    facts = facts_of_columns(model)
    each = [facts[a] for a in own if a in facts]
    if len(each) == 1:
        return each[0]
    shares = {name: sum(one[name] for one in each) for name in ("share", "low", "high")}
    return shares | {"direction": "differs"} if each else {}


def _levels(columns: Columns, k: int) -> tuple[str, ...] | None:
    """Levels of a category by the names of its columns, ``column=level``."""
    if not columns.is_category(k):
        return None
    start = len(columns.names[k]) + 1
    return tuple(columns.labels[a][start:] for a in columns.parts[k])


def _levels_of_table(model: Any, name: str) -> tuple[str, ...] | None:
    """Levels of a category of the table."""
    encoding = getattr(model, "_encoding", None)
    found = [c.levels for c in encoding.columns if c.name == name] if encoding is not None else []
    return (found[0] or None) if found else None


def _size(values: Iterable[float]) -> float:
    """One number as it is; those of several columns by the norm that the penalty gives a group."""
    numbers = [float(value) for value in values]
    return numbers[0] if len(numbers) == 1 else math.hypot(*numbers)


def _finite(value: float) -> float | None:
    """Plain data have no infinity and no NaN."""
    return float(value) if math.isfinite(value) else None


def _names(columns: Columns, places: Iterable[int]) -> tuple[str, ...]:
    """Columns of the table behind columns of ``X``, each once."""
    return tuple(dict.fromkeys(columns.names[columns.owner[int(a)]] for a in places))


def _stand_ins(model: Any, columns: Columns) -> dict[int, list[Replacement]]:
    """For each column of the table what could stand for it, the closest first."""
    found: dict[int, list[Replacement]] = {}

    def add(a: int, one: Replacement) -> None:
        own = found.setdefault(columns.owner[a], [])
        if columns.names[columns.owner[a]] not in one.by and one.by not in [o.by for o in own]:
            own.append(one)

    for a, b in getattr(model, "twins_", ()):
        add(a, Replacement("twin", _names(columns, [b])))
        add(b, Replacement("twin", _names(columns, [a])))
    for a, b, ours, theirs in getattr(model, "alternatives_", ()):
        add(a, Replacement("alternative", _names(columns, [b]), ours=ours, theirs=theirs))
    for a, by, r2 in getattr(model, "replaceable_", ()):
        add(a, Replacement("together", _names(columns, by), r2=r2))
    return found


def merged_interactions(pairs: Any, columns: Columns) -> tuple[Interaction, ...]:
    """Shares of columns of the table that act together; those of a category's columns add up."""
    shares: dict[tuple[str, ...], float] = {}
    for pair in pairs:
        if isinstance(pair, str):  # products by name, see the notes
            return ()
        *places, share = pair
        names = tuple(sorted(set(_names(columns, places))))
        if len(names) > 1:
            shares[names] = shares.get(names, 0.0) + float(share)
    found = [Interaction(names, share) for names, share in shares.items()]
    return tuple(sorted(found, key=lambda one: -one.share))


def _accuracy(model: Any, n_rows: int) -> Accuracy | None:
    """What the fit measured on left-out rows."""
    made = getattr(model, "_accuracy", None)
    if made is not None:
        return made  # type: ignore[no-any-return]
    n_folds = _n_folds(model)
    if n_folds and hasattr(model, "best_score_"):
        how, score = f"{n_folds} folds of {words.counted(n_rows, 'row')}", float(model.best_score_)
        if is_classifier(model):
            return Accuracy(n_rows, how, log_loss=_finite(-score))
        r2 = _finite(getattr(model, "loo_r2_", math.nan))
        return Accuracy(n_rows, how, r2, rmse=math.sqrt(max(-score, 0.0)))
    r2 = _finite(getattr(model, "loo_r2_", math.nan))
    if r2 is None:
        return None
    return Accuracy(n_rows, words.left_out_words(n_rows), r2)


def _notes(model: Any) -> Iterable[str]:
    """What only one method has to say."""
    products = getattr(model, "interactions_", ())
    if any(isinstance(product, str) for product in products):
        yield words.products_sentence(products)
    if hasattr(model, "penalised_hull_") and len(model.hull_) < len(model.penalised_hull_):
        yield words.pruned_sentence(len(model.hull_), len(model.penalised_hull_))
    spectrum = getattr(model, "spectrum_", None)
    if spectrum is not None and model.support_.any():
        q, total = len(model.components_), float(spectrum.sum())
        yield words.directions_sentence(q, float(spectrum[:q].sum()) / total if total else 1.0)
    yield from getattr(model, "table_notes_", ())
    screened = getattr(model, "screened_", None)
    if screened is not None and not screened.all():
        yield words.screened_sentence(int(screened.sum()), len(screened))


def _certificate(model: Any) -> Certificate | None:
    """The problem that was solved; none where nothing was selected automatically."""
    gap = getattr(model, "dual_gap_", None)
    if gap is None or getattr(model, "kernel_", "") is None:
        return None
    shown = {
        "alpha": "alpha_",
        "ridge": "ridge_",
        "length scale": "length_scale_",
        "bandwidth": "bandwidth_",
    }
    parameters: dict[str, float | str] = {
        label: float(getattr(model, name)) for label, name in shown.items() if hasattr(model, name)
    }
    if hasattr(model, "kernel_"):
        parameters["kernel"] = words.short_kernel(repr(model.kernel_))
    proven, of, state = None, None, ""
    certified, support = getattr(model, "support_certified_", None), model.support_
    if hasattr(model, "evidence_"):
        problem = str(model.certificate_)
        proven, of = int(np.sum(model.support_certified_[support])), int(support.sum())
    elif hasattr(model, "certified_"):
        problem = words.counted(model.n_kernels_, "kernel")
        state = words.kernels_state(bool(model.certified_), str(model.search_status_))
    else:
        problem = words.STATED_PROBLEM
        if certified is not None:
            proven, of = int(np.sum(certified)), len(certified)
    return Certificate(
        problem, float(gap), float(model.relative_gap_), proven, of, state, parameters
    )
