"""The answer: kinds of columns, status, how far a selection can be trusted, all in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.table import Table, correlated_columns
from nablasso.estimators.validation import feature_names
from nablasso.reading import (
    Evidence,
    all_relevant,
    alternatives,
    discrete_columns,
    interactions,
    sign_only,
    support_gap,
)
from nablasso.regression.paired import saving
from nablasso.search.check import worth as worth_of
from nablasso.search.decide import Decision
from nablasso.search.families import GAUSSIAN
from nablasso.search.grown import Grown
from nablasso.search.predictor import AllRows, Predictor
from nablasso.spaces import Function, RepresenterSpace
from nablasso.types import Array, Index

TWIN_CORRELATION = 0.95
CLEAR_GAIN = 2.0  # standard errors
MANY = 2000  # selected variables whose twins are looked for


def feature_kinds(X: Array) -> NDArray[np.str_]:
    """``"constant"``, ``"discrete"`` (at most 10 values) or ``"continuous"`` per column."""
    kinds = np.where(discrete_columns(X), "discrete", "continuous")
    return np.where(np.ptp(X, axis=0) == 0, "constant", kinds)


def selection_status(selector: Any, table: Table) -> tuple[str, list[tuple[int, int]]]:
    """How far the selection can be trusted, and the pairs that could stand for each other.

    * ``"none found"``: nothing was selected.
    * ``"too few rows"``: the selected variables predict left-out rows not clearly better than the
      mean (by less than two standard errors).
    * ``"twins"``: a selected variable, of the ``MANY`` most important ones, has another one
      correlated 0.95 or more with it.
    * ``"clear"``: none of these.
    """
    chosen = np.flatnonzero(selector.support_[table.columns])
    if not chosen.size:
        return "none found", []
    if len(chosen) > MANY:
        sizes = selector.feature_importances_[table.columns[chosen]]
        chosen = np.sort(chosen[np.argsort(-sizes, kind="stable")[:MANY]])
    twins = correlated_pairs(table, chosen)
    if selector._loo_gain < CLEAR_GAIN:
        return "too few rows", twins
    return ("twins" if twins else "clear"), twins


def correlated_pairs(table: Table, chosen: Index) -> list[tuple[int, int]]:
    """Pairs (selected, other), as input columns, with correlation of at least 0.95 in size."""
    pairs, inside = [], np.zeros(table.X.shape[1], dtype=bool)
    inside[chosen] = True
    for a, partners in correlated_columns(table.X, table.weights, chosen, TWIN_CORRELATION):
        for b in partners:
            if b != a and not (inside[b] and b < a):
                pairs.append((int(table.columns[a]), int(table.columns[b])))
    return sorted(pairs)


def summary_text(selector: Any) -> str:
    """The answer in a sentence first, then the certificate."""
    names, chosen, lines = selection_in_words(selector)
    certified = int(np.sum(selector.support_certified_))
    lines.append(
        f"Duality gap {selector.dual_gap_:.1e} ({selector.relative_gap_:.1e} of the objective at "
        f"zero): exact enough to decide {certified} of {len(names)} variables."
    )
    lines.append(
        f"alpha {selector.alpha_:.3g}, ridge {selector.ridge_:.3g}, kernel {selector.kernel_!r}, "
        f"length scale {selector.length_scale_:.3g}."
    )
    return "\n".join([*lines, *trust_in_words(selector, names, chosen)])


def selection_in_words(
    selector: Any, most: int | None = None
) -> tuple[list[str], list[int], list[str]]:
    """Names of the columns, the selected ones by importance, and the sentence that lists them."""
    names = feature_names(selector)
    order = np.argsort(-selector.feature_importances_, kind="stable")
    chosen = [int(a) for a in order if selector.support_[a]]
    if not chosen:
        return names, chosen, [f"None of the {len(names)} variables was selected."]
    sizes = selector.feature_importances_
    listed = ", ".join(f"{names[a]} ({sizes[a]:.2f})" for a in chosen[:most])
    more = "" if most is None or len(chosen) <= most else " ..."
    sentence = f"{len(chosen)} of {len(names)} variables matter: {listed}{more}."
    return names, chosen, [sentence]


def trust_in_words(selector: Any, names: list[str], chosen: Collection[Any]) -> list[str]:
    """What left-out rows say, what could be replaced, and what could never be selected."""
    lines = []
    if chosen:
        lines.append(f"Leave-one-out R2 on the selected variables: {selector.loo_r2_:.3f}.")
    if selector.selection_status_ == "too few rows":
        lines.append(
            "Too few rows: the selected variables predict left-out rows not clearly better than "
            "the mean."
        )
    lines += [f"{names[a]} could be replaced by {names[b]}." for a, b in selector.twins_]
    constant = [
        n for n, kind in zip(names, selector.feature_kinds_, strict=True) if kind == "constant"
    ]
    if constant:
        lines.append(f"Constant, never selectable: {', '.join(constant)}.")
    return lines


WEAK = 3.0  # nats: odds of about twenty to one
NEGLIGIBLE = 0.05  # cross derivatives in deviations of the target that are not worth a sentence
MAX_PAIRED = 15  # selected columns up to which pairs are looked at
MAX_FRESH = 1000  # rows at which slopes are averaged
MAX_ROWS = 300  # rows at which cross derivatives are averaged


def read_outcome(selector: Any, table: Table, decision: Decision) -> None:
    """Set the attributes that tell how far the answer can be trusted."""
    few, model, d = decision.few, decision.model, len(selector.support_)
    residuals = few.solved(model).left_out()[0]
    selector.loo_r2_, gain = _gain(few.Y, residuals, few.weights)
    selector.evidence_, selector.clear_by_ = np.zeros(d), np.full(d, np.nan)
    worth = worth_of(few, model)
    for group in model.groups:
        columns = table.columns[few.labels == group]
        selector.evidence_[columns] = worth.get(int(group), 0.0)
        selector.clear_by_[columns] = decision.clear.get(int(group), np.nan)
    selector.assumptions_ = few.assumption.words(table.y_mean)
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
    evidence = _evidence(decision)
    selector.alternatives_ = (
        [
            (int(table.columns[pair.a]), int(table.columns[pair.b]))
            for pair in alternatives(evidence)
        ]
        if len(chosen) and evidence is not None
        else []
    )
    selector.interactions_ = _interactions(table, decision)
    selector.cautions_ = _cautions(selector, table, evidence)
    weak = [g for g in model.groups if g not in few.kept and worth.get(int(g), 0.0) < WEAK]
    free = [g for g in model.groups if g not in few.kept]
    unsure = selector.fdr is None and bool(free) and len(weak) == len(free)
    selector.selection_status_ = _status(selector, gain, unsure)


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
    selector.feature_importances_ = np.where(selector.support_, norms, 0.0)
    selector.family_ = "terms"
    noticed = {g.reason for g in grown if g.loss not in ("squares", "labels")}
    selector.assumptions_ = [f"On all rows: {reason}." for reason in sorted(noticed)]
    selector.runner_up_ = None
    chosen = np.flatnonzero(selector.support_)
    selector.interactions_ = []
    if 2 <= len(chosen) <= MAX_PAIRED:
        some, shares = Z[:MAX_ROWS], p[:MAX_ROWS] / p[:MAX_ROWS].sum()
        strongest: dict[tuple[int, int], float] = {}
        for predictor in predictors:
            for a, b, strength in interactions(predictor, some, shares, chosen):
                strongest[a, b] = max(strongest.get((a, b), 0.0), strength / unit)
        order = sorted(strongest.items(), key=lambda item: -item[1])
        selector.interactions_ = [(a, b, strength) for (a, b), strength in order]
    inside = set(chosen.tolist())
    for name in ("alternatives_", "twins_"):
        pairs = [(a, b) for a, b in getattr(selector, name) if a in inside]
        setattr(selector, name, [(a, b) for a, b in pairs if name == "twins_" or b not in inside])
    weak = evidence[chosen].max(initial=0.0) < WEAK and not len(joined)
    selector.selection_status_ = _status(selector, CLEAR_GAIN, weak)


def _status(selector: Any, gain: float, unsure: bool) -> str:
    if not selector.support_.any():
        return "none found"
    if gain < CLEAR_GAIN or unsure:
        return "too few rows"
    if selector.cautions_:
        return "doubtful"
    return "twins" if selector.twins_ or selector.alternatives_ else "clear"


def _gain(Y: Array, residuals: Array, weights: Array) -> tuple[float, float]:
    """R2 of left-out residuals, and the gain over the mean in standard errors."""
    baseline = np.sum((Y - np.average(Y, axis=0, weights=weights)) ** 2, axis=1)
    return saving(baseline, np.sum(residuals**2, axis=1), weights)


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


def _evidence(decision: Decision) -> Evidence | None:
    """What left-out rows are compared by; with several targets there is no single one."""
    few, model = decision.few, decision.model
    if few.Y.shape[1] > 1 or not few.X.shape[1]:
        return None
    function = few.function(model)
    p = few.weights / few.weights.sum()
    if function.space is None or model.family.smooth:
        # the kernel of features knows its own columns only: distances stand for it
        kernel, columns = GAUSSIAN.kernel, function.columns
        scales = np.full(len(columns), 1 / np.sqrt(max(2 * len(columns), 1)))
        return Evidence(kernel, few.X, few.Y[:, 0], p, columns, scales)
    assert isinstance(function.space, RepresenterSpace)
    kernel, scales = function.space.kernel, function.space.scales
    return Evidence(kernel, few.X, few.Y[:, 0], p, function.columns, scales)


def _interactions(table: Table, decision: Decision) -> list[tuple[int, int, float]]:
    """Pairs of selected columns by decreasing cross derivative, the largest over the targets."""
    few, model = decision.few, decision.model
    columns = np.flatnonzero(np.isin(few.labels, model.groups))
    if not 2 <= len(columns) <= MAX_PAIRED:
        return []
    Z, weights = few.X[:MAX_ROWS], few.weights[:MAX_ROWS]
    weights, discrete = weights / weights.sum(), discrete_columns(few.X)
    strongest: dict[tuple[int, int], float] = {}
    for target in range(few.Y.shape[1]):
        for pair in interactions(few.function(model, target), Z, weights, columns, discrete):
            a, b = sorted((int(table.columns[pair.a]), int(table.columns[pair.b])))
            strongest[a, b] = max(strongest.get((a, b), 0.0), float(pair.strength))
    order = sorted(strongest.items(), key=lambda item: -item[1])
    return [(a, b, strength) for (a, b), strength in order]


def _cautions(selector: Any, table: Table, evidence: Evidence | None) -> list[str]:
    """Sentences about what derivatives cannot see here."""
    names = [feature_names(selector)[a] for a in table.columns]
    found: list[str | None] = []
    if evidence is not None:
        found = [support_gap(evidence, names), sign_only(evidence, names)]
    strong = selector.evidence_[selector.support_] >= WEAK
    if selector.always_keep is None and not strong.all():
        found.append(all_relevant(selector.feature_importances_, selector.support_))
    return [sentence for sentence in found if sentence]


def describe(selector: Any) -> str:
    """The answer in a sentence first, then how far it can be trusted."""
    names = feature_names(selector)
    order = np.argsort(-selector.feature_importances_, kind="stable")
    chosen = [a for a in order if selector.support_[a]]
    lines = [_headline(selector, names, chosen)]
    if chosen:
        lines.append(
            f"Leave-one-out R2 {selector.loo_r2_:.3f} on the selected variables; "
            f"{selector.n_rows_searched_} rows, {selector.family_} functions."
        )
        pairs = [
            f"{names[a]} x {names[b]} ({strength:.2f})"
            for a, b, strength in selector.interactions_[:3]
            if strength >= NEGLIGIBLE
        ]
        if pairs:
            lines.append(f"Strongest interactions: {', '.join(pairs)}.")
    lines += selector.assumptions_
    lines += _doubts(selector, names, chosen)
    lines += [f"{names[a]} could be replaced by {names[b]}." for a, b in selector.alternatives_]
    lines += selector.cautions_
    n_searched = int(selector.screened_.sum())
    if n_searched < len(names):
        lines.append(f"Screening left {n_searched} of {len(names)} variables to the search.")
    if chosen:
        lines.append(
            f"Certificate of {selector.certificate_}: alpha {selector.alpha_:.3g}, "
            f"ridge {selector.ridge_:.3g}, duality gap {selector.dual_gap_:.1e} "
            f"({selector.relative_gap_:.1e} of the objective at zero)."
        )
    return "\n".join(lines)


def _doubts(selector: Any, names: list[str], chosen: list[int]) -> list[str]:
    """Weak columns, and a rival set that lost by little."""
    said = []
    if selector.selection_status_ == "too few rows":
        said.append(
            "Too few rows: the selected variables predict left-out rows not clearly better than "
            "the mean, or none of them is needed clearly."
        )
    weak = [names[a] for a in chosen if 0 < selector.evidence_[a] < WEAK]
    if weak and selector.p_values_ is None:
        said.append(
            f"Weakly supported (under {WEAK:g} nats): {', '.join(weak)}; other rows may put other "
            "variables in their place."
        )
    if selector.runner_up_ is not None and 0 <= selector.runner_up_[1] < WEAK:
        columns, lost = selector.runner_up_
        listed = ", ".join(names[a] for a in columns) or "no variable at all"
        said.append(f"Nearly as good: {listed} (behind by {lost:.1f} nats).")
    return said


def _headline(selector: Any, names: list[str], chosen: list[int]) -> str:
    d = len(names)
    if not chosen:
        return (
            f"None of the {d} variables was found to matter: no set of them explains the target "
            "better than chance would. Either they do not matter, or the rows are too few."
        )
    decided = bool(np.any(selector.evidence_ > 0))
    parts = []
    for a in chosen:
        detail = f"{selector.feature_importances_[a]:.2f}"
        if selector.p_values_ is not None:
            detail += f", p = {selector.p_values_[a]:.2g}"
        elif selector.evidence_[a] > 0:
            detail += f", {selector.evidence_[a]:.0f} nats"
        parts.append(f"{names[a]} ({detail})")
    what = f"{len(chosen)} of {d} variables matter" if decided else "All are kept as asked"
    return f"{what}: {', '.join(parts)}."
