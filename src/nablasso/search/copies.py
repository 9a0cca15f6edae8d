"""Groups that share a variance: copies, which rows do not tell apart, or all groups of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse.csgraph import connected_components

from nablasso.data.table import absolute_correlations
from nablasso.search.few import FEWER_STEPS, FewRows, Model
from nablasso.types import Array, Index


def with_copies(few: FewRows, model: Model) -> Model:
    """Relatives of the groups, tied to their variance: the same evidence, no price for copies.

    Near copies join unless the price speaks against it, other relatives if it speaks for it.
    What is kept by decree says nothing of its relatives.
    """
    if not len(model.groups):
        return model
    alike = _likeness(few, model.groups)
    kept = np.flatnonzero(np.isin(model.groups, few.kept))
    alike[kept], alike[:, model.groups[kept]] = 0.0, 0.0
    alike[kept, model.groups[kept]] = 1.0
    best = model
    for least in (few.rules.copy, *few.rules.relatives):
        tied = _tied(alike, model, least)
        if tied is None or (few.most is not None and len(tied[0]) > few.most):
            continue
        trial = few.tune(model.family, tied[0], tied[2], steps=15, ties=tied[1])
        near = least == few.rules.copy
        allowed = few.rules.copy_nats if near else -few.rules.relative_nats
        if trial.price < best.price + allowed:
            best = trial
    return best


def copies_of(few: FewRows, model: Model) -> Index:
    """Which groups of a model came as copies of each other, where all share a variance."""
    alike = _likeness(few, model.groups)[:, model.groups]
    for least in (1.0, few.rules.copy, *few.rules.relatives):
        n_ties, ties = connected_components(alike >= least, directed=False)
        if n_ties <= model.paid:
            break
    return np.asarray(ties, dtype=np.intp)


def _likeness(few: FewRows, groups: Index) -> Array:
    """Largest correlation between the columns of groups and those of all groups."""
    columns = np.flatnonzero(np.isin(few.labels, groups))
    alike = absolute_correlations(few.X, few.weights / few.weights.sum(), columns)
    own = np.searchsorted(np.sort(groups), few.labels[columns])
    out = np.zeros((len(groups), few.n_groups))
    np.maximum.at(out, (own[:, None], few.labels[None, :]), alike)
    return out[np.argsort(np.argsort(groups))]


def one_variance(few: FewRows, model: Model, others: Sequence[Model]) -> Model | None:
    """One variance for all groups of a model, if that is worth more than one for each."""
    paid = int(model.ties.max(initial=-1)) + 1
    if paid < 2:
        return None
    same = sorted((m for m in others if m.same_groups(model)), key=lambda m: m.price)
    families = {m.family.name: m.family for m in [model, *same]}
    one = np.zeros(len(model.groups), dtype=np.intp)
    tuned = [
        few.tune(family, model.groups, ties=one, paid=paid, steps=FEWER_STEPS)
        for family in list(families.values())[:3]
    ]
    best = min(tuned, key=lambda m: m.price)
    return best if best.price < model.price else None


def _tied(alike: Array, model: Model, least: float) -> tuple[Index, Index, Array] | None:
    """Groups at least so alike to those of the model, the tie of each, and a start."""
    groups = model.groups
    members = np.union1d(np.flatnonzero((alike >= least).any(axis=0)), groups)
    label = np.arange(len(groups))
    for i in range(len(groups)):
        for j in range(i):
            if alike[i, groups[j]] >= least:
                label[label == label[i]] = label[j]
    label = np.unique(label, return_inverse=True)[1]
    ties = label[np.argmax(alike[:, members], axis=0)]
    n_ties = int(ties.max()) + 1
    if len(members) == len(groups) and n_ties == len(groups):
        return None
    v = np.exp(model.logs)
    logs = [np.log(v[label == t].sum() / np.sum(ties == t)) for t in range(n_ties)]
    return members, ties.astype(np.intp), np.append(logs, model.noise)
