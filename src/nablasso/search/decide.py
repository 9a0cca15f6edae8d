r"""The whole algorithm, from thirty rows to a million: propose, price, check.

One number in nats compares everything: the gain in log evidence minus what the choice costs.

**Few rows** (:func:`decide`, models on an n x n factor). *Propose*: kernels of eight families walk
on 300 rows; each ranking of the columns is cut where its price is least. *Price*: the best are
tuned and pruned, columns that the evidence asks for join, every family is tried on what was found;
what residuals make suspect of noise and target is searched under if it promises half a log n, and
kept unless left-out rows are clearly worse predicted under it.
*Check*: without a column left-out rows must be clearly worse than with all that were found. Then
all rows up to 600, and copies.

**Many rows** (:func:`on_many_rows`, terms on sums over all rows). *Propose*: scores of residuals
for every column, pair and triple. *Price*: what gains more than the log of the looks enters.
*Check*: what does not earn its price leaves; the next residuals judge the rest.

**Both** from 650 rows on: kernels on 600 see functions of many columns at once, terms on all rows
have the power; fresh rows judge what only kernels found (:mod:`nablasso.prediction.together`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nablasso.progress import track
from nablasso.regression.models import FewRows
from nablasso.regression.ridge import paired
from nablasso.regression.terms import Posterior
from nablasso.search.assumptions import suspicions
from nablasso.search.check import check, to_the_end, with_copies
from nablasso.search.few import Decision, backward, forward, hopeless, proposals
from nablasso.search.growth import Growth

ROUNDS, SUSPECTED = 24, 5  # of terms, of assumptions at most; most are silent after four to six
GLIMPSE, MORE_STEPS = 4, 8  # of tuning: a family at first; one worth more, or on more rows
SHARES = (7, 4, 5, 2, 2)  # of the time that proposing, comparing, ... take


def decide(rows: FewRows, *, verbose: int = 0) -> Decision:
    """The best decision on few rows; after an interrupt the best so far, which says so."""
    best = nothing = started(rows, rows.rules.walked_rows)
    steps = (proposed, compared, assumed, checked, finished)
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


def search(rows: FewRows, n: int) -> Decision:
    """Propose, price and check on the first ``n`` rows, under their assumption."""
    return checked(compared(proposed(started(rows, n))))


def started(rows: FewRows, n: int) -> Decision:
    """Nothing but what is kept, on the first ``n`` rows: 0 nats."""
    return Decision(rows, few := rows.first(n), few.tune(few.families[0], few.kept))


def proposed(best: Decision) -> Decision:
    """The best proposals, tuned and pruned; the best of these grown."""
    few = best.few
    first = sorted(proposals(few), key=lambda made: made[0])[: few.rules.followed]
    hopeful = [made for made in first if made[0] < first[0][0] + hopeless(few)]
    tried = [best.model, *(backward(few, few.tune(*made[1:])) for made in hopeful)]
    model = forward(few, min(tried, key=lambda model: model.price))
    return replace(best, model=model, tried=(*tried, model))


def compared(best: Decision) -> Decision:
    """All families on the groups found; another that wins is pruned and grown too."""
    if not len(best.model.groups):
        return best
    few, model = best.few, best.model
    same = {
        other.family.name: other for other in best.tried if set(other.groups) == set(model.groups)
    }
    first = [few.tune(f, model.groups, steps=GLIMPSE) for f in few.families if f.name not in same]
    least = min([model.price, *(one.price for one in first)]) + hopeless(few)
    new = [few.retune(m, steps=MORE_STEPS) if m.price < least else m for m in first]
    other = min([model, *same.values(), *new], key=lambda m: m.price)
    model = model if other is model else forward(few, backward(few, other))
    return replace(best, model=model, tried=(*best.tried, *new))


def assumed(best: Decision) -> Decision:
    """Searched again under what residuals make suspect, as long as the total falls.

    Serial noise must gain so much a row: an order of rows need not be time.
    """
    first, failed = best, set[str]()
    for _ in range(SUSPECTED):
        found = suspicions(best.rows, best.few, best.model, failed)
        worst = min(found, key=lambda suspicion: suspicion.total, default=None)
        if worst is None or worst.total >= best.total - 0.5 * np.log(len(best.few.X)):
            break
        again = proposed(started(best.rows.under(worst.assumption), len(best.few.X)))
        first_serial = again.few.assumption.serial and not best.few.assumption.serial
        least = len(best.few.X) * best.rows.rules.serial_nats if first_serial else 0.0
        if again.total >= best.total - least:
            failed.add(worst.kind)
            continue
        best = replace(again, plain=first)
    if best is first:
        return best
    best = replace(compared(best), gained=first.total - best.total)
    return first if misled(first, best) else best


def misled(plain: Decision, best: Decision) -> bool:
    """Whether left-out rows are clearly worse predicted under what was assumed."""
    if best.few.assumption.serial is not None:
        return False
    y = best.few.targets[:, 0]
    own, other = (one.few.explained(one.model)[1] for one in (best, plain))
    gain = paired((y - own) ** 2 - (y - other) ** 2, best.few.influence)
    return gain.mean > plain.few.rules.clearly * gain.error


def checked(best: Decision) -> Decision:
    """Left-out rows must be worse without each group."""
    model, clear = check(best.few, best.model)
    return replace(best, model=model, clear=clear)


def finished(best: Decision) -> Decision:
    """Tuned, pruned and grown on all rows, where columns that join must pass the check too."""
    few, model = best.rows, best.model
    if len(few.X) > len(best.few.X) and len(model.groups):
        more = forward(few, backward(few, few.retune(model, steps=MORE_STEPS)), tries=1)
        model, joined = check(few, more, trusted=model.groups)
        best = replace(best, clear=best.clear | joined)
    return replace(best, few=few, model=to_the_end(few, with_copies(few, model)))
