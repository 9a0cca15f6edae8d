"""From the fitted attributes of any selector to the one :class:`~nablasso.answer.Answer`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from nablasso import answer as words
from nablasso.answer import (
    Accuracy,
    Answer,
    Certificate,
    Column,
    Interaction,
    Replacement,
    Rival,
)
from nablasso.errors import InvalidParameterError
from nablasso.estimators.explained import facts_of_columns
from nablasso.estimators.validation import feature_names


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
