r"""The whole algorithm on few rows: propose, price, check.

**Propose.** Kernels of eight families walk (:mod:`~nablasso.search.families`), each ending in a
ranking of the columns that is cut where its price is least.

**Price.** One number, in nats, compares everything: minus the log evidence, half a log n for each
variance, the log of the number of ways to choose the columns (:mod:`~nablasso.search.few`). The
best proposal is tuned and pruned; columns that the evidence asks for join; every family is tried
on the columns found. Assumptions about noise and target compete by the same number
(:mod:`~nablasso.search.assumptions`): one that promises half a log n is searched under, and
stays if the total falls.

**Check.** Without a column left-out rows must be clearly worse (:mod:`~nablasso.search.check`).
Then more rows, copies, and the last tuning.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from nablasso.progress import track
from nablasso.search.assumptions import Suspicion, suspicions
from nablasso.search.check import check, one_variance, with_copies
from nablasso.search.few import FewRows, Model
from nablasso.types import Index

ROUNDS = 5  # of assumptions at most
MORE_STEPS, LAST_STEPS = 8, 30  # of tuning on more rows, and at the end
LAST_ROWS = 500  # up to which the last tuning takes all its steps


@dataclass(frozen=True)
class Decision:
    """The model that won and what it rests on.

    ``rows`` are all rows under the assumption that won, ``few`` the first of them, on which the
    model was tuned. ``clear`` tells for each group that could have gone how many standard errors
    left-out rows are worse without it; ``tried`` are other models; ``plain`` is the decision on
    the target itself where a warp of it won; ``gained`` are the nats by which assumptions about
    noise and target lowered the total.
    """

    rows: FewRows
    few: FewRows
    model: Model
    clear: dict[int, float] = field(default_factory=dict)
    tried: tuple[Model, ...] = ()
    plain: Decision | None = None
    gained: float = 0.0
    interrupted: bool = False

    @property
    def total(self) -> float:
        """In nats, under its assumption."""
        return self.few.total(self.model)


def decide(rows: FewRows, *, verbose: int = 0) -> Decision:
    """The best decision; after an interrupt the best so far, which says so."""
    best = nothing = started(rows, rows.rules.walked_rows)
    steps = (proposed, compared, assumed, checked, finished)
    try:
        for step in track(steps, len(steps), "searching", verbose=verbose) if verbose else steps:
            best = step(best)
    except KeyboardInterrupt:
        if best is nothing:
            raise
        return replace(best, interrupted=True)
    return best


def search(rows: FewRows, n: int) -> Decision:
    """Propose, price and check on the first ``n`` rows, under their assumption."""
    return checked(compared(proposed(started(rows, n))))


def started(rows: FewRows, n: int) -> Decision:
    """Nothing but what is kept, on the first ``n`` rows: 0 nats."""
    few = rows.first(n)
    return Decision(rows, few, few.smallest(few.families[0]))


def proposed(best: Decision) -> Decision:
    """The best proposals, tuned and pruned; the best of these grown."""
    few = best.few
    first = sorted(few.proposals(), key=lambda proposal: proposal[0])[: few.rules.followed]
    tried = [best.model, *(few.backward(few.tune(*proposal[1:])) for proposal in first)]
    model = few.forward(min(tried, key=lambda model: model.price))
    return replace(best, model=model, tried=(*tried, model))


def compared(best: Decision) -> Decision:
    """All families on the groups found; another that wins is pruned and grown too."""
    few, model = best.few, best.model
    if not len(model.groups):
        return best
    same = {other.family.name: other for other in best.tried if other.same_groups(model)}
    new = [few.tune(f, model.groups) for f in few.families if f.name not in same]
    other = min([model, *same.values(), *new], key=lambda m: m.price)
    model = model if other is model else few.forward(few.backward(other))
    return replace(best, model=model, tried=(*best.tried, *new))


def checked(best: Decision) -> Decision:
    """Left-out rows must be worse without each group."""
    model, clear = check(best.few, best.model)
    return replace(best, model=model, clear=clear)


def assumed(best: Decision) -> Decision:
    """Searched again under what residuals make suspect, as long as the total falls."""
    first, failed = best, set[str]()
    for _ in range(ROUNDS):
        found = suspicions(best.rows, best.few, best.model, failed)
        worst = min(found, key=lambda suspicion: suspicion.total, default=None)
        if worst is None or worst.total >= best.total - 0.5 * np.log(len(best.few.X)):
            break
        again = _searched(best, worst)
        if again.total >= best.total:
            failed.add(worst.kind)
            continue
        best = replace(again, plain=best if best.rows.assumption.warp is None else best.plain)
    if best is first:
        return best
    return replace(compared(best), gained=first.total - best.total)


def _searched(best: Decision, suspicion: Suspicion) -> Decision:
    """Under the suspected assumption; from the model at hand where that only moves."""
    here = started(best.rows.under(suspicion.assumption), len(best.few.X))
    if not suspicion.moves or not len(best.model.groups):
        return proposed(here)
    few = here.few
    model = few.forward(few.backward(few.retune(best.model)))
    return replace(here, model=model, tried=(model,))


def finished(best: Decision) -> Decision:
    """Tuned, pruned and grown on all rows, where columns that join must pass the check too."""
    few, model = best.rows, best.model
    if len(few.X) > len(best.few.X) and len(model.groups):
        more = few.forward(few.backward(few.retune(model, steps=MORE_STEPS)), tries=1)
        model, joined = check(few, more, trusted=model.groups)
        best = replace(best, clear=best.clear | joined)
    return _tuned(replace(best, few=few, model=with_copies(few, model)))


def settle(best: Decision, groups: Index) -> Decision:
    """The best family on given groups, tuned to the end."""
    tuned = [best.few.tune(family, groups) for family in best.few.families]
    model = min(tuned, key=lambda model: model.price)
    return _tuned(replace(best, model=model, tried=tuple(tuned), clear={}))


def _tuned(best: Decision) -> Decision:
    """One variance for each group or for all of them, whichever is worth more, to the end."""
    few, steps = best.few, LAST_STEPS if len(best.few.X) <= LAST_ROWS else MORE_STEPS
    model = one_variance(few, best.model, best.tried)
    return replace(best, model=few.retune(model, paid=model.paid, steps=steps, tolerance=1e-7))
