r"""The whole algorithm: propose, price, check.

**Propose.** Kernels of eight families walk (:mod:`~nablasso.search.families`), each ending in a
ranking of the columns that is cut where its price is least.

**Price.** One number, in nats, compares everything: minus the log evidence, half a log n for each
variance, the log of the number of ways to choose the columns (:mod:`~nablasso.search.few`). The
best proposals are tuned and pruned; columns that the evidence asks for join; every family is tried
on the columns found. Assumptions about noise and target compete by the same number
(:mod:`~nablasso.search.assumptions`): one that promises half a log n is searched under, and
stays if the total falls.

**Check.** Without a column left-out rows must be clearly worse. Then more rows, copies, and the
last tuning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from nablasso.progress import track
from nablasso.search.assumptions import Suspicion, rows_in_time, suspicions
from nablasso.search.check import check, one_variance, with_copies
from nablasso.search.few import FewRows, Model
from nablasso.types import Index

ROUNDS = 4  # of assumptions
MORE_STEPS, LAST_STEPS = 8, 30  # of tuning on more rows, and at the end
LAST_ROWS = 500  # up to which the last tuning takes all its steps


@dataclass(frozen=True)
class Decision:
    """The model that won and what it rests on.

    ``rows`` are all rows under the assumption that won, ``few`` the first of them, on which the
    model was tuned. ``clear`` tells for each group that could have gone how many standard errors
    left-out rows are worse without it; ``tried`` are other models; ``history`` tells which
    assumptions were searched under, what each gained in nats, and whether it stayed; ``plain`` is
    the decision on the target itself where a warp of it won.
    """

    rows: FewRows
    few: FewRows
    model: Model
    clear: dict[int, float] = field(default_factory=dict)
    tried: tuple[Model, ...] = ()
    history: tuple[tuple[str, float, bool], ...] = ()
    plain: Decision | None = None
    interrupted: bool = False

    @property
    def total(self) -> float:
        """In nats, under its assumption."""
        return self.few.total(self.model)


def decide(rows: FewRows, *, verbose: int = 0) -> Decision:
    """The best decision; after an interrupt the best so far, which says so."""
    found: list[Decision] = []
    try:
        for better in track(_steps(rows), 3, "searching", verbose=verbose):
            found.append(better)
    except KeyboardInterrupt:
        if not found:
            raise
        return replace(found[-1], interrupted=True)
    return found[-1]


def _steps(rows: FewRows) -> Iterator[Decision]:
    """Ever better decisions."""
    yield (best := compared(proposed(rows, rows.rules.walked_rows, rows.rules.followed)))
    yield (best := checked(assumed(best)))
    yield finished(best)


def search(rows: FewRows, n: int) -> Decision:
    """Propose, price and check on the first ``n`` rows, under their assumption."""
    return checked(compared(proposed(rows, n, rows.rules.followed)))


def proposed(rows: FewRows, n: int, n_followed: int) -> Decision:
    """The best of so many proposals, tuned, pruned and grown."""
    few = rows.first(n)
    followed: dict[tuple[object, ...], Model] = {}
    for _, family, groups, x in sorted(few.proposals(), key=lambda proposal: proposal[0]):
        key = (family.name, *sorted(groups.tolist()))
        if key not in followed and len(followed) < n_followed:
            followed[key] = few.backward(few.tune(family, groups, x))
    tried = [few.smallest(few.families[0]), *followed.values()]
    best = few.forward(min(tried, key=lambda model: model.price))
    return Decision(rows, few, best, tried=(*tried, best))


def compared(best: Decision) -> Decision:
    """All families on the groups found; another that wins is pruned and grown too."""
    few, model, tried = best.few, best.model, list(best.tried)
    if not len(model.groups):
        return best
    tried += [m for m in few.families_on(model, tried) if m not in tried]
    other = min([model, *tried], key=lambda m: m.price)
    model = model if other is model else few.forward(few.backward(other))
    return replace(best, model=model, tried=tuple(tried))


def checked(best: Decision) -> Decision:
    """Left-out rows must be worse without each group."""
    model, clear = check(best.few, best.model)
    return replace(best, model=model, clear=clear)


def assumed(best: Decision) -> Decision:
    """Searched again under what residuals make suspect, as long as the total falls."""
    failed: set[str] = set()
    for turn in range(ROUNDS + 1):
        look = suspicions if turn else rows_in_time
        least = best.total - 0.5 * np.log(len(best.few.X))
        found = [s for s in look(best.rows, best.few, best.model) if s.kind not in failed]
        worst = min(found, key=lambda suspicion: suspicion.total, default=None)
        if worst is None or worst.total >= least:
            if turn:
                break
            continue
        again = _searched(best, worst)
        better = again.total < best.total
        failed |= set() if better else {worst.kind}
        history = (*best.history, (worst.kind, best.total - again.total, better))
        unwarped = best if better and best.rows.assumption.warp is None else best.plain
        best = replace(again if better else best, history=history, plain=unwarped)
    return compared(best) if any(stayed for *_, stayed in best.history) else best


def _searched(best: Decision, suspicion: Suspicion) -> Decision:
    """Under the suspected assumption; from the model at hand where that only moves."""
    rows, n = best.rows.under(suspicion.assumption), len(best.few.X)
    if not suspicion.moves or not len(best.model.groups):
        return proposed(rows, n, rows.rules.followed // 2)
    few = rows.first(n)
    model = few.forward(few.backward(few.retune(best.model)))
    return replace(best, rows=rows, few=few, model=model, tried=(model,))


def finished(best: Decision) -> Decision:
    """Tuned, pruned and grown on all rows; with copies; tuned to the end."""
    few, small = best.rows, best.few
    if len(few.X) > len(small.X) and len(best.model.groups):
        best = on_more_rows(best)
    model = with_copies(few, best.model)
    return replace(best, few=few, model=_tuned_to_the_end(few, small, model, best.tried))


def on_more_rows(best: Decision) -> Decision:
    """Tuned, pruned and grown again from there; columns that join must pass the check too."""
    few, model = best.rows, best.model
    near = model.price + few.rules.copy_nats
    rivals = [m for m in best.tried if m.same_groups(model) and m.family != model.family]
    rivals = [m for m in rivals if m.price < near][:1]
    tuned = [few.retune(m, steps=MORE_STEPS) for m in (model, *rivals)]
    better = few.forward(few.backward(min(tuned, key=lambda m: m.price)), tries=1)
    better, joined = check(few, better, trusted=model.groups)
    return replace(best, few=few, model=better, clear=best.clear | joined)


def _tuned_to_the_end(
    few: FewRows, small: FewRows, model: Model, tried: tuple[Model, ...]
) -> Model:
    """One variance for each group or for all of them, whichever is worth more."""
    if not len(model.groups):
        return model
    own = model if small is few else small.retune(model, steps=MORE_STEPS)
    shared = one_variance(small, own, tried)
    if shared is not None:
        if small is not few:
            shared = few.retune(shared, paid=shared.paid, steps=MORE_STEPS)
        model = min(model, shared, key=lambda m: m.price)
    steps = LAST_STEPS if len(few.X) <= LAST_ROWS else MORE_STEPS
    return few.retune(model, paid=model.paid, steps=steps, tolerance=1e-7)


def keep_all(rows: FewRows) -> Decision:
    """Nothing to decide: the best family on what is kept."""
    return settle(Decision(rows, rows, rows.smallest(rows.families[0])), rows.kept)


def settle(decision: Decision, groups: Index) -> Decision:
    """The best family on given groups, tuned to the end."""
    few = decision.few
    tuned = [few.tune(family, groups) for family in few.families]
    best = min(tuned, key=lambda model: model.price)
    return replace(
        decision, model=_tuned_to_the_end(few, few, best, tuple(tuned)), tried=tuple(tuned)
    )
