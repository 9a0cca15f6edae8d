r"""The whole algorithm, from thirty rows to a million: propose, price, check.

One number in nats compares everything: the gain in log evidence minus what the choice costs.

**Few rows** (:func:`decide`, models on an n x n factor). *Propose*: kernels of eight families walk
on 300 rows; each ranking of the columns is cut where its price is least. *Price*: the best are
tuned and pruned, columns that the evidence asks for join, every family is tried on what was found;
then on all rows, up to 600, by the families that led. What residuals make suspect of noise and
target is searched under if it promises half a log n, and stays if all rows agree. *Check*: without
a column left-out rows must be clearly worse than with all that were found. Then copies.

**Many rows** (:func:`on_many_rows`, terms on sums over all rows). *Propose*: scores of residuals
for every column, pair and triple. *Price*: what gains more than the log of the looks enters.
*Check*: what does not earn its price leaves; the next residuals judge the rest.

**Both** beyond 650 rows: kernels on 600 see functions of many columns at once, terms on all rows
have the power; fresh rows judge what only kernels found (:mod:`~nablasso.search.predictor`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from nablasso.progress import track
from nablasso.regression.terms import Posterior
from nablasso.search.assumptions import suspicions
from nablasso.search.check import check, to_the_end, with_copies
from nablasso.search.few import Decision, FewRows
from nablasso.search.growth import Growth

Steps = tuple[Callable[[Decision], Decision], ...]
ROUNDS, SUSPECTED = 24, 5  # of terms, of assumptions at most; most are silent after four to six
GLIMPSE, MORE_STEPS = 4, 8  # of tuning: a family at first; one worth more, or on more rows
SHARES = (3, 2, 5, 6, 3, 1)  # of the time that proposing, comparing, ... take


def decide(rows: FewRows, *, verbose: int = 0) -> Decision:
    """The best decision on few rows; after an interrupt the best so far, which says so."""
    best = nothing = started(rows.first(rows.rules.walked_rows))
    repeated = partial(on_all, rows)
    steps: Steps = (proposed, compared, repeated, assumed, checked, finished)
    try:
        for step in track(steps, len(steps), "searching", verbose=verbose, shares=SHARES):
            best = step(best)
    except KeyboardInterrupt:
        if best is nothing:
            raise
        best = replace(best, interrupted=True)
    return best


def on_many_rows(growth: Growth) -> Posterior:
    """The model of terms in which nothing changes any more."""
    growth.begin()
    model = None
    for _ in range(ROUNDS):
        if (shortlist := growth.propose()) is None:
            break
        model = growth.price(shortlist)
        growth.check(model)
    return growth.sums(()) if model is None else model


def search(rows: FewRows) -> Decision:
    """Propose, price and check, under the assumption of the rows."""
    return checked(compared(proposed(started(rows))))


def started(few: FewRows) -> Decision:
    """Nothing but what is kept: 0 nats."""
    return Decision(few, few.smallest(few.families[0]))


def proposed(best: Decision) -> Decision:
    """The best proposals, tuned and pruned; the best of these grown."""
    few = best.few
    first = sorted(few.proposals(), key=lambda made: made[0])[: few.rules.followed]
    hopeful = [made for made in first if made[0] < first[0][0] + few.hopeless]
    tried = [best.model, *(few.backward(few.tune(*made[1:])) for made in hopeful)]
    model = few.forward(min(tried, key=lambda model: model.price))
    return replace(best, model=model, tried=(*tried, model))


def compared(best: Decision) -> Decision:
    """All families on the groups found; another that wins is pruned and grown too."""
    if not len(best.model.groups):
        return best
    few, model = best.few, best.model
    same = {other.family.name: other for other in best.tried if other.same_groups(model)}
    first = [few.tune(f, model.groups, steps=GLIMPSE) for f in few.families if f.name not in same]
    hopeless = min([model.price, *(one.price for one in first)]) + few.hopeless
    new = [few.retune(m, steps=MORE_STEPS) if m.price < hopeless else m for m in first]
    other = min([model, *same.values(), *new], key=lambda m: m.price)
    model = model if other is model else few.forward(few.backward(other))
    return replace(best, model=model, tried=(*best.tried, *new))


def on_all(rows: FewRows, best: Decision) -> Decision:
    """Once more on all rows, which ask for more than the first did; those who led propose."""
    if best.few is rows:
        return best
    order = sorted((m for m in best.tried if len(m.groups)), key=lambda model: model.price)
    led = tuple(dict.fromkeys(model.family for model in order))[: rows.rules.followed]
    few = replace(rows, families=led or rows.families)
    again = proposed(replace(best, few=few, model=few.retune(best.model)))
    return compared(replace(again, few=rows))


def assumed(best: Decision) -> Decision:
    """Searched again under what residuals make suspect, as long as the total falls."""
    first, failed = best, set[str]()
    for _ in range(SUSPECTED):
        found = suspicions(best.few, best.model, failed)
        worst = min(found, key=lambda suspicion: suspicion.total, default=None)
        if worst is None or worst.total >= best.total - 0.5 * np.log(len(best.few.X)):
            break
        again = searched_under(best, best.few.under(worst.assumption))
        if again.total >= best.total:
            failed.add(worst.kind)
            continue
        best = replace(again, plain=first)
    return best if best is first else replace(compared(best), gained=first.total - best.total)


def searched_under(best: Decision, few: FewRows) -> Decision:
    """What was found, or is proposed on some rows, under another assumption; then on all rows."""
    again = proposed(started(few.first(few.rules.walked_rows)))
    if again.few is few:
        return again
    better = min(again.few.retune(best.model), again.model, key=lambda model: model.price)
    model = few.forward(few.backward(few.retune(better)), tries=1)
    return replace(again, few=few, model=model, tried=(model,))


def checked(best: Decision) -> Decision:
    """Left-out rows must be worse without each group."""
    model, clear = check(best.few, best.model)
    return replace(best, model=model, clear=clear)


def finished(best: Decision) -> Decision:
    """With copies, tuned to the end."""
    return replace(best, model=to_the_end(best.few, with_copies(best.few, best.model), best.tried))
