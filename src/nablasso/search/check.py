"""The check: what would be lost on left-out rows, and in nats, without each group.

And groups that share a variance: copies, which rows do not tell apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy.sparse.csgraph import connected_components

from nablasso.data.table import absolute_correlations
from nablasso.regression.models import FEWER_STEPS, NO_GROUPS, FewRows, Model
from nablasso.regression.ridge import paired
from nablasso.search.few import free, hopeless, lost
from nablasso.types import Array, Index

COPY_STEPS, LAST_STEPS = 15, 30  # of tuning
LAST_ROWS = 500  # up to which the last tuning takes all its steps

Losses = tuple[Array, Array, Array, Array]


def check(few: FewRows, model: Model, trusted: Index = NO_GROUPS) -> tuple[Model, dict[int, float]]:
    """Drop groups without which left-out rows are not clearly worse; how clear the rest are.

    Without a group, tuned again, the left-out absolute errors or log densities must be worse by
    ``clearly`` standard errors, or the error by a tenth, than with *all* groups that were found:
    of columns that stand in for one another each may be spared, but not all. For classes clearly
    more labels must be mistaken, or the price of the log-odds not clearly fall: least squares takes
    the jump of a label for something to explain.
    Groups that are ``trusted`` stay, and those without which the evidence breaks down are clear
    beyond measure (infinity). A group is looked at again after another has left only if it was
    the least clear: what is left becomes more needed, not less.
    """
    clear: dict[int, float] = {}
    looks: dict[int, Model] = {}  # without each group, since the last one left
    first, left_out, odds = model, cache(partial(_left_out, few)), cache(partial(_odds_price, few))
    while (there := free(few, model, trusted)).size:
        g = min(there, key=lambda g: (clear.get(int(model.groups[g]), -np.inf), g))
        name = int(model.groups[g])
        if name in looks and clear[name] >= few.rules.clearly:
            return model, {int(m): clear[int(m)] for m in model.groups[there]}
        if name in looks:
            model, looks = looks[name], {}
            continue
        looks[name], clear[name] = _without(few, model, g, first, left_out, odds)
    return model, {}


def _without(
    few: FewRows,
    model: Model,
    position: int,
    first: Model,
    left_out: Callable[[Model], Losses],
    odds: Callable[[Model], float],
) -> tuple[Model, float]:
    """The model without a group; standard errors by which left-out rows are worse than at first."""
    if not few.classes and few.folds is None and lost(few, model, position) > 2 * hopeless(few):
        return model, np.inf
    trial = few.without(model, position)
    new, own = left_out(trial), left_out(first)
    clear, mistaken = _clear(few, new, own), _in_errors(few, new[2] - own[2], own[3])
    if few.classes and mistaken <= few.rules.clearly <= clear:
        clear = 0.0 if -np.inf < odds(trial) < odds(model) - few.rules.copy_nats else clear
    return trial, clear


def _left_out(few: FewRows, model: Model) -> Losses:
    """Losses (smaller is better), log densities, mistaken labels, weights of the rows or folds."""
    solved = few.solved(model)
    if few.folds is None:
        residuals, densities = solved.left_out()
        losses, wrong = np.abs(residuals).sum(axis=1), _wrong(few, residuals)
        w = few.copies
        losses *= np.sqrt(few.precisions if w is None else few.precisions / w)
        return losses, densities, wrong, few.weights
    found = []
    for fold in few.folds:  # one by one, for folds may overlap
        residuals, density = solved.left_out([fold])
        w, size = few.weights[fold], float(few.weights[fold].sum())
        share = float(w @ _wrong(few, residuals)[fold]) / size
        if few.score is not None:
            found.append((-few.score(few, residuals[fold], fold), 0.0, share, size))
        else:
            error = float(w @ np.abs(residuals[fold]).sum(axis=1))
            found.append((error / size, float(density[0]) / size, share, size))
    losses, densities, wrong, sizes = np.array(found).T
    return losses, densities, wrong, sizes


def _wrong(few: FewRows, residuals: Array) -> Array:
    """Whether a left-out row is put into a wrong class: 1 or 0; 0 where there are no classes."""
    if not few.classes:
        return np.zeros(len(residuals))
    T, fit = few.targets, few.targets - residuals * few.unit[1]
    if T.shape[1] == 1:
        return np.asarray(fit[:, 0] * T[:, 0] <= 0, dtype=float)
    return np.asarray(fit.argmax(axis=1) != T.argmax(axis=1), dtype=float)


def _clear(few: FewRows, new: Losses, own: Losses) -> float:
    """Standard errors by which ``new`` is worse."""
    weights = own[3]
    changes = new[0] - own[0], own[1] - new[1]
    worse = max(_in_errors(few, change, weights) for change in changes)
    if few.score is None and weights @ new[0] > (1 + few.rules.tenth) * (weights @ own[0]):
        worse = max(worse, few.rules.clearly)
    return worse


def worth(few: FewRows, model: Model) -> dict[int, float]:
    """Nats that leaving out a group, with its copies, would cost; tuned again with few rows."""
    found: dict[int, float] = {}
    n_ties = len(model.logs)
    tuned = model.value - few.value(model, model.variances) if n_ties else 0.0  # the prior's part
    for tie in range(n_ties):
        groups = model.groups[model.ties == tie]
        if np.isin(groups, few.kept).any():
            continue
        nats = lost(few, model, tie) + tuned
        if len(few.X) <= few.rules.walked_rows:
            nats = few.without(model, tie).value - model.value
        nats -= few.cost(n_ties) - few.cost(n_ties - 1)
        found.update(dict.fromkeys(groups.tolist(), nats))
    return found


def _odds_price(few: FewRows, model: Model) -> float:
    """Price of the groups of a model as log-odds; minus infinity where these cannot be had."""
    if not len(model.groups):
        return 0.0
    value = 0.0
    for one, y in zip(few.log_odds(model), few.targets.T, strict=True):
        if one is None and np.ptp(y) > 0:
            return -np.inf
        value += 0.0 if one is None else one.mode.value
    return value + few.cost(len(model.logs))


def _in_errors(few: FewRows, change: Array, weights: Array) -> float:
    """A mean change, over rows or folds, in standard errors."""
    copied = few.copies is not None and few.folds is None
    mean, error = paired(change, weights, copied=copied)
    return mean / max(error, 1e-300)


def with_copies(few: FewRows, model: Model) -> Model:
    """Near copies of the groups, tied to their variance, unless the price speaks against it.

    The same evidence, and no price for a copy. What is kept by decree says nothing of its copies.
    """
    if not len(model.groups):
        return model
    alike = _likeness(few, model.groups)
    kept = np.flatnonzero(np.isin(model.groups, few.kept))
    alike[kept], alike[:, model.groups[kept]] = 0.0, 0.0
    alike[kept, model.groups[kept]] = 1.0
    tied = _tied(alike, model, few.rules.copy)
    if tied is None or (few.most is not None and len(tied[0]) > few.most):
        return model
    trial = few.tune(model.family, tied[0], tied[2], steps=COPY_STEPS, ties=tied[1])
    joined = np.setdiff1d(tied[0], model.groups)
    least = float(alike[:, joined].max(axis=0).min(initial=1.0))
    nearness = (least - few.rules.copy) / max(1 - few.rules.copy, 1e-9)
    return trial if trial.price < model.price + few.rules.copy_nats * nearness else model


def _likeness(few: FewRows, groups: Index) -> Array:
    """Largest correlation between the columns of groups and those of all groups."""
    columns = np.flatnonzero(np.isin(few.labels, groups))
    alike = absolute_correlations(few.X, few.weights / few.weights.sum(), columns)
    own, out = np.zeros(few.n_groups, dtype=np.intp), np.zeros((len(groups), few.n_groups))
    own[groups] = np.arange(len(groups))
    np.maximum.at(out, (own[few.labels[columns], None], few.labels), alike)
    return out


def to_the_end(few: FewRows, model: Model) -> Model:
    """Tuned to the end."""
    steps = LAST_STEPS if len(few.X) <= LAST_ROWS else FEWER_STEPS
    return few.retune(model, steps=steps, tolerance=1e-7)


def _tied(alike: Array, model: Model, least: float) -> tuple[Index, Index, Array] | None:
    """Groups at least so alike to those of the model, the tie of each, and a start."""
    groups = model.groups
    members = np.union1d(np.flatnonzero((alike >= least).any(axis=0)), groups)
    label = connected_components(alike[:, groups] >= least)[1]
    ties = label[np.argmax(alike[:, members], axis=0)]
    n_ties = int(ties.max()) + 1
    if len(members) == len(groups) and n_ties == len(groups):
        return None
    v = np.exp(model.logs)
    logs = [np.log(v[label == t].sum() / np.sum(ties == t)) for t in range(n_ties)]
    return members, ties.astype(np.intp), np.append(logs, model.noise)
