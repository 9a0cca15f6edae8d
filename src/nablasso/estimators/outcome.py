"""Reading what an automatic estimator found: how sure, what instead, which pairs, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.estimators.found import Found
from nablasso.estimators.reading import CLEAR_GAIN, correlated_pairs
from nablasso.estimators.screened import read_screening, screening_words, searched_columns
from nablasso.estimators.validation import feature_names
from nablasso.metric import Fit, Sample, Selection
from nablasso.metric.paired import paired
from nablasso.metric.twins import COPY, group_correlations
from nablasso.preparation import Table
from nablasso.reading import (
    Evidence,
    all_relevant,
    alternatives,
    discrete_columns,
    interactions,
    sign_only,
    support_gap,
)

Array = NDArray[np.float64]
Index = NDArray[np.intp]

STABLE = 0.9  # selected in so many folds: that all columns are in is no accident
UNSTABLE = 0.5  # selected in fewer folds than this: another draw of rows may tell otherwise
NEGLIGIBLE = 0.05  # cross derivatives in deviations of the target that are not worth a sentence
MAX_PAIRED = 15  # selected columns up to which pairs are looked at
MAX_ROWS = 300  # rows at which cross derivatives are averaged


def read_outcome(selector: Any, table: Table, found: Found) -> None:
    """Set the attributes that tell how far the answer can be trusted."""
    sample, selection, chosen, fit = found.sample, found.selection, found.chosen, found.refit.fit
    d = len(selector.support_)
    selector.products_, selector.joined_ = _second_look(table, found, d)
    selector.loo_r2_, gain = _gain(sample, fit.residuals)
    found_in = np.zeros(sample.n_groups)
    selector.held_out_r2_ = np.nan  # where nothing is to be decided, nothing is held out
    if selection is not None:
        found_in = frequencies(sample, selection)
        residuals = selection.held_out_residuals(sample)
        seen = np.isfinite(residuals).all(axis=1)
        rows = sample.rows(np.flatnonzero(seen))
        selector.held_out_r2_, _ = _gain(rows, residuals[seen])
    selector.selection_frequencies_ = np.zeros(d)
    selector.selection_frequencies_[table.columns] = found_in[sample.labels]
    selector.tried_ = [] if selection is None else _tried(selection)
    selector.twins_ = correlated_pairs(table, fit.columns)
    ranked = chosen if selection is None else np.intersect1d(chosen, selection.ranked)
    decided = ranked[~sample.kept[ranked]]
    selector.screened_, selector.added_back_ = read_screening(table, sample, fit, d)
    table, sample, fit = searched_columns(table, sample, fit)
    selector.alternatives_ = _alternatives(sample, table, fit)
    selector.interactions_ = _interactions(sample, table, fit)
    selector.cautions_ = _cautions(selector, sample, table, fit)
    unstable = selector.fdr is None and bool(np.any(found_in[decided] < UNSTABLE))
    selector.selection_status_ = _status(selector, gain, unstable)


def _second_look(
    table: Table, found: Found, d: int
) -> tuple[list[tuple[tuple[int, ...], float]], NDArray[np.bool_]]:
    """The products that brought variables in, and these variables."""
    products = [
        (tuple(sorted(int(table.columns[a]) for a in one.columns)), one.probability)
        for one in found.products
    ]
    joined = np.zeros(d, dtype=bool)
    if found.products and found.selection is not None:
        groups = np.setdiff1d(found.chosen, found.selection.chosen)
        joined[table.columns[found.sample.columns(groups)]] = True
    return products, joined


def _status(selector: Any, gain: float, unstable: bool) -> str:
    if not selector.support_.any():
        return "none found"
    if gain < CLEAR_GAIN or unstable:
        return "too few rows"
    if selector.cautions_:
        return "doubtful"
    return "twins" if selector.twins_ or selector.alternatives_ else "clear"


def _gain(sample: Sample, residuals: Array) -> tuple[float, float]:
    """R2 of left-out residuals, and the gain over the mean in standard errors."""
    weights = sample.weights
    baseline = np.sum((sample.Y - weights @ sample.Y) ** 2, axis=1)
    gain = baseline - np.sum(residuals**2, axis=1)
    mean, error = paired(gain, weights)
    size = float(weights @ baseline)
    return (mean / size if size > 0 else 0.0), (mean / error if error > 0 else 0.0)


def frequencies(sample: Sample, selection: Selection) -> Array:
    """Share of folds in which a group, or a near copy of it, is among the first of the ranking."""
    size = selection.best.sizes[selection.size]
    votes = np.zeros((len(selection.best.folds), sample.n_groups), dtype=bool)
    for vote, fold in zip(votes, selection.best.folds, strict=True):
        vote[fold.order[:size]] = True
    copies = group_correlations(sample, selection.chosen) >= COPY
    shares = votes.mean(axis=0)
    for group, alike in zip(selection.chosen, copies, strict=True):
        shares[group] = votes[:, alike].any(axis=1).mean()
    return np.asarray(shares)


def _tried(selection: Selection) -> list[dict[str, Any]]:
    """The candidates that were judged out of sample, the chosen one first."""
    return [
        {
            "trail": str(candidate.trail),
            "error": float(candidate.curve.min()),
            "n_groups": candidate.sizes[int(np.argmin(candidate.curve))],
            "n_folds": len(candidate.folds),
        }
        for candidate in selection.candidates
    ]


def _evidence(sample: Sample, fit: Fit) -> Evidence | None:
    """What one target's fit rests on; with several targets there is no single one."""
    if fit.space is None or sample.Y.shape[1] > 1:
        return None
    y, kernel = sample.Y[:, 0], fit.space.kernel
    return Evidence(kernel, sample.X, y, sample.weights, fit.columns, fit.space.scales)


def _alternatives(sample: Sample, table: Table, fit: Fit) -> list[tuple[int, int]]:
    evidence = _evidence(sample, fit)
    if evidence is None:
        return []
    found = alternatives(evidence)
    return [(int(table.columns[pair.a]), int(table.columns[pair.b])) for pair in found]


def _interactions(sample: Sample, table: Table, fit: Fit) -> list[tuple[int, int, float]]:
    """Pairs of selected columns by decreasing cross derivative, the largest over the targets."""
    if not 2 <= len(fit.columns) <= MAX_PAIRED:
        return []
    Z, weights = sample.X[:MAX_ROWS], sample.weights[:MAX_ROWS]
    weights, discrete = weights / weights.sum(), discrete_columns(sample.X)
    strongest: dict[tuple[int, int], float] = {}
    for target in range(sample.Y.shape[1]):
        for pair in interactions(fit.function(target), Z, weights, fit.columns, discrete):
            a, b = sorted((int(table.columns[pair.a]), int(table.columns[pair.b])))
            strongest[a, b] = max(strongest.get((a, b), 0.0), float(pair.strength))
    order = sorted(strongest.items(), key=lambda item: -item[1])
    return [(a, b, strength) for (a, b), strength in order]


def _cautions(selector: Any, sample: Sample, table: Table, fit: Fit) -> list[str]:
    """Sentences about what derivatives cannot see here."""
    names = [feature_names(selector)[a] for a in table.columns]
    found: list[str | None] = []
    evidence = _evidence(sample, fit)
    if evidence is None and sample.Y.shape[1] == 1 and sample.X.shape[1]:
        nothing = np.empty(0, dtype=np.intp)
        kernel = selector._starts(*sample.X.shape)[0].kernel
        y = sample.Y[:, 0]
        evidence = Evidence(kernel, sample.X, y, sample.weights, nothing, np.empty(0))
    if evidence is not None:
        found = [support_gap(evidence, names), sign_only(evidence, names)]
    stable = selector.selection_frequencies_[selector.support_] >= STABLE
    if selector.always_keep is None and not stable.all():
        found.append(all_relevant(selector.feature_importances_, selector.support_))
    return [sentence for sentence in found if sentence]


def describe(selector: Any) -> str:
    """The answer in a sentence first, then how far it can be trusted."""
    names = feature_names(selector)
    order = np.argsort(-selector.feature_importances_, kind="stable")
    chosen = [a for a in order if selector.support_[a]]
    lines = [_headline(selector, names, chosen)]
    if chosen:
        judged = (
            f"R2 on held-out rows {selector.held_out_r2_:.3f} with the metric learned anew, l"
            if selector.tried_
            else "L"
        )
        lines.append(f"{judged}eave-one-out R2 {selector.loo_r2_:.3f} on the selected variables.")
        pairs = [
            f"{names[a]} x {names[b]} ({strength:.2f})"
            for a, b, strength in selector.interactions_[:3]
            if strength >= NEGLIGIBLE
        ]
        if pairs:
            lines.append(f"Strongest interactions: {', '.join(pairs)}.")
    lines += [
        f"The product of {', '.join(names[a] for a in columns)} goes with what the fit without it "
        f"left over (p = {probability:.1g}, all products tried being paid for), which brought in "
        "what was not found otherwise."
        for columns, probability in selector.products_
    ]
    if selector.selection_status_ == "too few rows":
        lines.append(_doubt(selector, names, chosen))
    lines += [f"{names[a]} could be replaced by {names[b]}." for a, b in selector.alternatives_]
    lines += selector.cautions_
    lines += screening_words(selector, names)
    if chosen:
        lines.append(
            f"Certificate: derivative lasso with {selector.kernel_!r} in the learned metric, alpha "
            f"{selector.alpha_:.3g}, ridge {selector.ridge_:.3g}, duality gap "
            f"{selector.dual_gap_:.1e} ({selector.relative_gap_:.1e} of the objective at zero)."
        )
    if selector.tried_ and chosen:
        best = selector.tried_[0]
        lines.append(
            f"Found by the best of {len(selector.tried_)} metrics judged out of sample: "
            f"{best['trail']}."
        )
    if selector.refits_:
        lines.append(
            f"The predictor is kernel ridge regression with {selector.refits_[0]['kernel']}: the "
            f"most likely of {len(selector.refits_)} on the selected variables."
        )
    return "\n".join(lines)


def _doubt(selector: Any, names: list[str], chosen: list[int]) -> str:
    """Why the status is "too few rows"."""
    rare = [
        names[a]
        for a in chosen
        if selector.selection_frequencies_[a] < UNSTABLE and not selector.joined_[a]
    ]
    if rare and selector.p_values_ is None:
        return (
            f"Too few rows to be sure of {', '.join(rare)}: other rows may put other variables in "
            "their place."
        )
    return (
        "Too few rows: the selected variables predict left-out rows not clearly better than the "
        "mean."
    )


def _headline(selector: Any, names: list[str], chosen: list[int]) -> str:
    d = len(names)
    if not chosen:
        return (
            f"None of the {d} variables was found to matter: no set of them predicts held-out rows "
            "clearly better than the mean. Either they do not matter, or the rows are too few."
        )
    parts = []
    for a in chosen:
        detail = f"{selector.feature_importances_[a]:.2f}"
        if selector.p_values_ is not None:
            detail += f", p = {selector.p_values_[a]:.2g}"
        elif selector.joined_[a]:
            detail += ", by a product"
        elif selector.tried_:
            detail += f", in {selector.selection_frequencies_[a]:.0%} of the folds"
        parts.append(f"{names[a]} ({detail})")
    what = f"{len(chosen)} of {d} variables matter" if selector.tried_ else "All are kept as asked"
    return f"{what}: {', '.join(parts)}."
