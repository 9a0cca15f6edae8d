"""Few rows: which groups a model stands on, by its price (:mod:`nablasso.regression.models`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from nablasso.regression.evidence import Walked, walk
from nablasso.regression.models import FEWER_STEPS, NO_GROUPS, Family, FewRows, Model
from nablasso.types import Array, Index

SIZES = (*range(1, 11), 12, 14, 17, 20)  # at which a ranking is cut
TRIES = 3  # columns that are tried each time one may join
HOPELESS = 10.0  # nats beyond four prices

Proposal = tuple[float, Family, Index, Array]  # price, and what is to be tuned


@dataclass(frozen=True)
class Decision:
    """The model that won on few rows, all rows under its assumption, and what it rests on.

    ``few`` are the rows it was tuned on, ``clear`` the standard errors by which left-out rows are
    worse without each group, ``plain`` the decision before anything was assumed, ``gained`` the
    nats by which assumptions lowered the total; ``faint`` columns may predict unless said.
    """

    rows: FewRows
    few: FewRows
    model: Model
    clear: dict[int, float] = field(default_factory=dict)
    tried: tuple[Model, ...] = ()
    plain: Decision | None = None
    gained: float = 0.0
    interrupted: bool = False
    faint: bool = True

    @property
    def total(self) -> float:
        """In nats, under its assumption."""
        return self.few.total(self.model)


def proposals(few: FewRows) -> Iterator[Proposal]:
    """For each family that walks: its ranking, cut where the price is least."""
    for family in few.families if few.Y.any() and few.n_groups else ():
        walked = walk(few.evidence(family)) if family.walks else None
        if walked is not None:
            yield _cut(few, family, walked)


def _cut(few: FewRows, family: Family, walked: Walked) -> Proposal:
    order, v, r = walked
    first = np.argsort(~np.isin(order, few.kept), kind="stable")
    order, v = order[first], np.maximum(v[first], 1e-300)
    missing = np.setdiff1d(few.kept, order)
    order = np.concatenate([missing, order])
    v = np.concatenate([np.full(len(missing), float(np.median(v))), v])
    evidence, n_kept = few.evidence(family), len(few.kept)
    most = min(len(order), few.n_groups if few.most is None else few.most)
    sizes = [k for k in SIZES if n_kept < k <= most] or [max(n_kept, min(1, most))]
    prices = [evidence.part(order[:k]).value(v[:k], r) + few.cost(k) for k in sizes]
    best = int(np.argmin(prices))
    k = sizes[best]
    return prices[best], family, order[:k], np.append(np.log(v[:k]), np.log(r))


def backward(few: FewRows, model: Model) -> Model:
    """Drop one group at a time, tuned again without it, as long as the price falls."""
    while (there := free(few, model)).size:
        forced = few.most is not None and len(model.groups) > few.most
        losses = {int(g): lost(few, model, g) for g in there}
        trials = []
        for g in sorted(losses, key=losses.__getitem__)[:2]:
            if losses[g] > hopeless(few) and not forced:
                break
            trials.append(few.without(model, g))
            if trials[-1].price < model.price:
                break
        best = min(trials, key=lambda trial: trial.price, default=model)
        if best.price >= model.price and not forced:
            return model
        model = best
    return model


def forward(few: FewRows, model: Model, tries: int = TRIES) -> Model:
    """Take in the group whose variance the evidence asks for, as long as the price falls."""
    most = few.n_groups if few.most is None else few.most
    while 0 < len(model.groups) < most:
        evidence = few.evidence(model.family)
        asked = evidence.outside(model.groups, model.variances, model.r)
        best = model
        for g in np.argsort(asked, kind="stable")[:tries]:
            if not asked[g] < 0:
                break
            x = np.concatenate([model.logs, [np.median(model.logs) - 1.0, model.noise]])
            groups = np.append(model.groups, g)
            trial = few.tune(model.family, groups, x, steps=FEWER_STEPS)
            best = min(best, trial, key=lambda model: model.price)
        if best is model:
            return model
        model = best
    return model


def hopeless(few: FewRows) -> float:
    """Nats that tuning again does not make up for: four prices and ten more, a target."""
    return float(few.Y.shape[1] * (4 * (few.cost(1) - few.cost(0)) + HOPELESS))


def free(few: FewRows, model: Model, trusted: Index = NO_GROUPS) -> Index:
    """Positions of the groups that may go."""
    return np.flatnonzero(~np.isin(model.groups, np.append(few.kept, trusted)))


def lost(few: FewRows, model: Model, tie: int) -> float:
    """Nats that a model loses without a group, or a tie of copies, nothing tuned again."""
    return few.value(model, np.where(model.ties == tie, 0.0, model.variances)) - model.value
