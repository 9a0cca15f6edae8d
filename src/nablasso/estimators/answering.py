"""From the fitted attributes of any selector to the one :class:`~nablasso.answer.Answer`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from nablasso import answer as words
from nablasso.answer import Accuracy, Answer, Certificate, Column, Interaction, Replacement, Rival
from nablasso.data.cells import listed
from nablasso.estimators.explained import facts_of_columns
from nablasso.estimators.validation import column_indices, feature_names


def answer_of(model: Any, n_rows: int, *, target: str = "y") -> Answer:
    """Everything that the fitted attributes of any selector say; ``n_rows`` rows were given."""
    names, groups, stand_ins = feature_names(model), _groups(model), _stand_ins(model)
    facts = facts_of_columns(model) if hasattr(model, "_explanation") else {}
    found = [
        _column(model, a, name, facts.get(a, {}), groups.get(a), tuple(stand_ins.get(a, ())))
        for a, name in enumerate(names)
    ]
    found.sort(key=lambda column: (not column.selected, -column.size))
    n_searched = int(getattr(model, "n_rows_searched_", n_rows))
    runner_up = getattr(model, "runner_up_", None)
    rivals = () if runner_up is None else (Rival(_names(model, runner_up[0]), runner_up[1]),)
    return Answer(
        target=target,
        method=type(model).__name__,
        task="classification" if is_classifier(model) else "regression",
        n_rows=max(n_rows, n_searched),
        n_searched=n_searched,
        columns=tuple(found),
        status=_status_of(model),
        interactions=_interactions(model),
        accuracy=_accuracy(model, n_rows),
        rivals=rivals,
        family=str(getattr(model, "family_", "")),
        noticed=tuple(getattr(model, "assumptions_", ())),
        cautions=tuple(getattr(model, "cautions_", ())),
        notes=tuple(_notes(model)),
        certificate=_certificate(model),
    )


def _groups(model: Any) -> dict[int, str]:
    """Groups that were given by name, by the places of their columns."""
    groups = getattr(model, "feature_groups", None)
    if not isinstance(groups, Mapping):
        return {}
    return {
        int(a): str(name)
        for name, own in groups.items()
        for a in column_indices(model, [own] if isinstance(own, str) else own, "feature_groups")
    }


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
    model: Any,
    a: int,
    name: str,
    explained: dict[str, Any],
    group: str | None,
    stand_ins: tuple[Replacement, ...],
) -> Column:
    def of(attribute: str) -> Any:
        values = getattr(model, attribute, None)
        return None if values is None else values[a]

    selected, kind = bool(model.support_[a]), str(of("feature_kinds_") or "")
    strength = of("slopes_" if hasattr(model, "_explanation") else "feature_importances_")
    bounds, evidence, clear_by = of("importance_bounds_"), of("evidence_"), of("clear_by_")
    p_value, certified, screened = of("p_values_"), of("support_certified_"), of("screened_")
    adds, costs, scores = getattr(model, "_dropped", {}).get(a, (None, None, None))
    reason = "" if adds is None else "priced"
    if screened is not None and not screened and kind != "constant":
        reason = "screened"
    return Column(
        name=name,
        selected=selected,
        kind=kind,
        strength=float(selected if strength is None else strength),
        bounds=None if bounds is None else (_finite(bounds[0]), _finite(bounds[1])),
        **explained if selected else {},
        evidence=None if evidence is None else _finite(evidence),
        clear_by=None if clear_by is None else _finite(clear_by),
        p_value=None if p_value is None else float(p_value),
        certified=None if certified is None else bool(certified),
        group=group,
        levels=_levels(model, a),
        replaceable=stand_ins if selected else (),
        **{} if selected else {"reason": reason, "adds": adds, "costs": costs, "scores": scores},
    )


def _levels(model: Any, a: int) -> tuple[str, ...] | None:
    """Levels of a category of the table."""
    encoding = getattr(model, "_encoding", None)
    return None if encoding is None else encoding.columns[a].levels or None


def _finite(value: float) -> float | None:
    """Plain data have no infinity and no NaN."""
    return float(value) if math.isfinite(value) else None


def _names(model: Any, places: Iterable[int]) -> tuple[str, ...]:
    names = feature_names(model)
    return tuple(names[int(a)] for a in places)


def _stand_ins(model: Any) -> dict[int, list[Replacement]]:
    """For each column what could stand for it, the closest first."""
    found: dict[int, list[Replacement]] = {}

    def add(a: int, one: Replacement) -> None:
        own = found.setdefault(int(a), [])
        if one.by not in [other.by for other in own]:
            own.append(one)

    for a, b in getattr(model, "twins_", ()):
        add(a, Replacement("twin", _names(model, [b])))
        add(b, Replacement("twin", _names(model, [a])))
    for a, b, ours, theirs in getattr(model, "alternatives_", ()):
        add(a, Replacement("alternative", _names(model, [b]), ours=ours, theirs=theirs))
    for a, by, r2 in getattr(model, "replaceable_", ()):
        add(a, Replacement("together", _names(model, by), r2=r2))
    return found


def _interactions(model: Any) -> tuple[Interaction, ...]:
    """Shares of columns that act together; products by name are among the notes."""
    pairs = [one for one in getattr(model, "interactions_", ()) if not isinstance(one, str)]
    found = [
        Interaction(tuple(sorted(_names(model, pair))), float(share)) for *pair, share in pairs
    ]
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
    return Accuracy(n_rows, words.said("left out", n_rows=n_rows), r2)


def _notes(model: Any) -> Iterable[str]:
    """What only one method has to say."""
    products = getattr(model, "interactions_", ())
    if any(isinstance(product, str) for product in products):
        yield words.said("products", products=listed(products))
    if hasattr(model, "penalised_hull_") and len(model.hull_) < len(model.penalised_hull_):
        yield words.said("pruned", n_kept=len(model.hull_), n_penalised=len(model.penalised_hull_))
    spectrum = getattr(model, "spectrum_", None)
    if spectrum is not None and model.support_.any():
        q, total = len(model.components_), float(spectrum.sum())
        share = float(spectrum[:q].sum()) / total if total else 1.0
        yield words.said("directions", n_some=q, share=share)
    faint = getattr(model, "faint_", None)
    if faint is not None and faint.any():
        names = [feature_names(model)[a] for a in np.flatnonzero(faint)]
        yield words.said("faint", n_names=len(names), names=listed(names))
    yield from getattr(model, "table_notes_", ())
    screened = getattr(model, "screened_", None)
    if screened is not None and not screened.all():
        yield words.said("screened", n_left=int(screened.sum()), n_columns=len(screened))


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
        kind = "certified" if model.certified_ else "not certified"
        state = words.said(kind, reason=model.search_status_)
    else:
        problem = words.said("stated")
        if certified is not None:
            proven, of = int(np.sum(certified)), len(certified)
    return Certificate(
        problem, float(gap), float(model.relative_gap_), proven, of, state, parameters
    )
