r"""Growing a model of terms on many rows: propose, price, check, until nothing changes.

One round is two passes over the rows.

1. **Screen**: the residuals' scores of every column, pair and (on the sample) triple, as if all
   functions were orthonormal; the best few by priced gain are the shortlist.
2. **Sums** of the model and the shortlist; then, without a further look at the rows,
   the largest priced gain **enters** (a pair brings its columns), and again, until none is left;
   where none entered, the best plain gain enters **on trial** and the next residuals judge it;
   variances are **tuned**; what does not earn its price **leaves**; a basis whose last functions
   are used **grows**.

When nothing changes any more, every term is compared with those that have a correlated column in
the place of one of its own: what came first is not always what explains most. An **exchange** stays
if the model, without what it makes needless, is then worth more.

The loss is judged on the way (:mod:`nablasso.streaming.responses`). With more rows than the fair
sample holds by far, the sample's terms start the search on all rows, with the functions that these
will use, and its rows say how much scores vary. A pass sums what no pass before has summed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from nablasso.regression.terms import (
    Noise,
    Posterior,
    Ranked,
    columns_by_gain,
    pairs_by_gain,
    price,
    product_spread,
    triple_rows,
    triples_by_gain,
)
from nablasso.rules import Rules
from nablasso.streaming.passes import Design, State, Term, degrees_of, model_sums, screen
from nablasso.streaming.responses import Response, Sums, judged, serial_filter
from nablasso.streaming.sample import CodedTable
from nablasso.types import Array, Index

FUNCTIONS = {1: 16, 2: 4, 3: 2}  # of a column in a term, by the number of its columns, to begin
MOST_FUNCTIONS = {1: 40, 2: 12, 3: 3}  # where the last of them are used they double, up to these
WIDEST = 600  # functions, O(n p^2) a pass, beyond which only terms that bring a column enter
USED = 0.5  # share of a function's weight that is data's, not the prior's: it is used
WIDE = 60  # columns beyond which products are screened with three functions a column, not four
PRODUCTS = 4000  # functions that products are screened of at most
WORTH_MEASURING = -4.0  # nats as if orthonormal: what correlation may turn into a gain
SHORTLIST = 16  # terms that a round measures exactly: more only take time
RISEN = 1.0  # nats by which the screen must think better of a term that was refused
SETTLED = 1e-4  # change of the loss a row below which reweighting has ended
CALM = 1e-2  # change of the loss a row below which a term on trial is judged
RELATIVES = 8  # of a column that are tried in its place
COMPARED = 4096  # rows on which they are
SPREAD = 1 << 13  # rows that say how much the scores of products vary
CONTENDERS = 3  # the best of them on all rows
STRIDE = 1.0  # change of a curved loss's predictor in one step at most: a factor of e of a mean
CLUSTERS = 4096  # of consecutive rows at most
LEAST_DISPERSION = 1e-24  # of a target of deviation one: rounding, where nothing is left to explain


class Growth:
    """The model while it grows; :func:`nablasso.search.grown.grow` is the search.

    Parameters
    ----------
    table : CodedTable
    response : Response
        The loss to begin with.
    rules : Rules
    groups : sequence of collections of int
        Columns that come together: once one is in, the others are no news.
    keep : collection of int
        Columns that stay whatever they gain.
    max_columns : int, optional
    start : Growth, optional
        A search that has ended, on fewer rows of the table.
    order : {"none", "time", "sorted"}
        What the order of the rows may be.
    """

    def __init__(
        self,
        table: CodedTable,
        response: Response,
        rules: Rules,
        *,
        groups: Sequence[Collection[int]] = (),
        keep: Collection[int] = (),
        max_columns: int | None = None,
        start: Growth | None = None,
        order: str = "none",
    ) -> None:
        self.table, self.columns, self.n = table, table.columns, table.n
        self.some, self.spread = table.on_sample(COMPARED), table.on_sample(SPREAD)
        self.scored = None if start is None else start.table.coded
        self.rules = rules
        self.group_of = {j: frozenset(g) for g in groups for j in g}
        self.kept = [(j,) for j in keep if len(self.columns[j].prior)]
        self.max_columns, self.order = max_columns, order
        self.in_time = False  # rows are serially correlated: filtered, and clustered
        self.effective, self.smear, self.passes = 0.0, 1.0, 0
        self.size: dict[Term, int] = {}
        self.banned: dict[Term, int] = {}  # how often a term has left
        self.refused: dict[Term, float] = {}  # what the screen said of terms that did not enter
        self.trial: Term | None = None  # in the model on trial, and the one that was before
        self.tried: Term | None = None
        self.misses = 0
        self.silent, self.loss, self.moved = False, np.inf, 0.0
        self.ranked: dict[Term, float] = {}
        self.screening: tuple[dict[Term, float], Sums] | None = None  # of the model as it is
        self.on_triples: dict[Term, float] | None = None  # the same for triples
        self.known: tuple[Design, Array] | None = None  # sums of squares need no second look
        self.exchange: dict[Term, list[Term]] = {}
        self.came: set[Term] = set()
        self.compared: set[Term] = set()  # with the relatives of their columns
        self.variance: dict[Term, float] = dict.fromkeys(self.kept, 1.0)
        start_at = np.array([response.start])
        self.state = State(self.columns, self.design(()), start_at, response)
        if start is not None:  # a search on fewer rows, in the same functions
            self.state = replace(start.state, filter=())
            self.size = dict(start.size)
            self.variance = {**start.variance, **self.variance}

    # --- terms ---

    def degrees(self, term: Term) -> Index:
        """Degrees of a term's functions."""
        k = self.size.get(term, FUNCTIONS[len(term)])
        return degrees_of([len(self.columns[j].prior) for j in term], k)

    def design(self, terms: Collection[Term]) -> Design:
        """A design of terms."""
        return Design({t: self.degrees(t) for t in terms})

    def prior(self, term: Term, degrees: Index) -> Array:
        """Prior variances of a term's functions over its ``v``."""
        return np.asarray(
            np.prod([self.columns[j].prior[degrees[:, i]] for i, j in enumerate(term)], axis=0)
        )

    def useful(self, term: Term) -> bool:
        """Whether a term brings a column, or the model may have more functions of those it has."""
        return self.state.design.width < WIDEST or not self.inside(self.variance).issuperset(term)

    def inside(self, terms: Collection[Term]) -> set[int]:
        """Columns of terms, and those of their groups."""
        found = {j for t in terms for j in t}
        return found.union(*(self.group_of.get(j, ()) for j in found))

    def cost(self, term: Term, others: Collection[Term]) -> float:
        """Price of a term given other terms."""
        return price(term, self.inside(others), len(self.columns), self.rules.surprise)

    # --- propose ---

    def screened(self) -> tuple[dict[Term, float], Sums]:
        """Terms by their priced gain as if orthonormal, and the residuals' sums."""
        q = 4 if len(self.columns) <= WIDE else 3
        products = [(j, min(q, len(c.prior))) for j, c in enumerate(self.columns) if len(c.prior)]
        if sum(k for _, k in products) > PRODUCTS:
            products = []
        sums = screen(self.table.coded, self.state, products)
        self.passes += 1
        variance = float(sums["score"])
        if not variance > 0:  # nothing is left to explain
            return {}, sums
        spread = product_spread(
            self.columns, products, self.spread.codes, *self.scores(self.spread)
        )
        found = columns_by_gain(self.columns, sums["codes"], variance, self.n, FUNCTIONS[1])
        found += pairs_by_gain(
            self.columns, sums["products"] ** 2 / (variance * spread), products, self.n
        )
        return self.priced(found), sums

    def triples(self) -> dict[Term, float]:
        """Triples by their priced gain on the sample, all of them or none."""
        rows = triple_rows(len(self.columns), len(self.table.sample.y))
        if not rows:
            return {}
        some = self.table.on_sample(rows)
        weight, g = self.scores(some)
        if not g.any():
            return {}
        return self.priced(triples_by_gain(self.columns, some.codes, weight, g))

    def exchanges(self) -> dict[Term, list[Term]]:
        """Terms that may be worth more with a relative in a column's place, and the best of these.

        Measured on some of the sampled rows.
        """
        if self.compared == self.variance.keys():
            return {}
        self.compared = set(self.variance)
        found: dict[Term, list[Term]] = {}
        for term in sorted(self.compared - set(self.kept)):
            others = {
                tuple(sorted({*term} - {j} | {k}))
                for j in term
                for k in self.relatives(j)
                if k not in term
            }
            others = {t for t in others - self.variance.keys() if self.useful(t)}
            if not others:
                continue
            model = self.sums(sorted(others), self.some)
            model.leave(term)
            gains = {
                t: model.outside(t).plain - self.cost(t, model.variance) for t in (term, *others)
            }
            least = gains.pop(term) + WORTH_MEASURING
            near = [t for t in gains if gains[t] > least]
            if near:
                found[term] = sorted(near, key=lambda t: (-gains[t], t))[:CONTENDERS]
        return found

    def relatives(self, j: int) -> list[int]:
        """Columns that are most correlated with one, at some rows."""
        weight, codes = self.some.sample.weight, self.some.codes
        own = self.columns[j].table[codes[j], 0] * weight / weight.sum()
        live = [k for k, column in enumerate(self.columns) if k != j and len(column.prior)]
        alike = [abs(own @ self.columns[k].table[codes[k], 0]) for k in live]
        near = sorted((-r, k) for r, k in zip(alike, live, strict=True) if r >= self.rules.relative)
        return [k for _, k in near[:RELATIVES]]

    def priced(self, found: Ranked) -> dict[Term, float]:
        """Terms that are worth measuring, the best first."""
        terms = list(self.variance)
        gains = {t: g - self.cost(t, terms) for g, t in found if t not in self.variance}
        worth = {t: g for t, g in gains.items() if g > WORTH_MEASURING}
        return dict(sorted(worth.items(), key=lambda x: (-x[1], x[0])))

    def shortlist(self, ranked: dict[Term, float]) -> list[Term]:
        """Terms to be measured: the best that were not refused already, and their parts."""
        best = [t for t in ranked if self.banned.get(t, 0) < 2 and self.useful(t)]
        fresh = [t for t in best[:SHORTLIST] if ranked[t] > self.refused.get(t, -np.inf) + RISEN]
        parts = [
            p
            for t in fresh
            if ranked[t] > 0 or len(t) == 3
            for k in range(1, len(t))
            for p in combinations(t, k)
        ]
        return [t for t in dict.fromkeys([*fresh, *parts]) if t not in self.variance]

    def scores(self, some: CodedTable) -> tuple[Array, Array]:
        """Weights and scores of sampled rows."""
        response = self.state.response
        target = response.target(some.sample.y)
        return some.sample.weight, response.work(target, self.state.predictor(some.codes)).score

    # --- price ---

    def sums(self, shortlist: Sequence[Term], some: CodedTable | None = None) -> Posterior:
        """The model on the sums of its terms and of the shortlist; over all rows, or some."""
        design = self.design([*self.variance, *shortlist])
        state, n = self.state.refined(design), self.n
        if some is not None:
            state, n = replace(state, filter=()), some.n
            sums = model_sums(some.coded, state, 0)
        else:
            cluster = int(max(min(256, n // 40), n // CLUSTERS, 1)) if self.in_time else 0
            even = state.response.least_squares and not state.filter
            known = self.known if even else None
            sums = model_sums(self.table.coded, state, cluster, self.scored, known)
            self.known = (design, sums["C"]) if even else None
            self.passes += 1
        free = max(n - self.effective - 1, 1.0)
        dispersion = max(float(sums["score"] / sums["weight"]) * n / free, LEAST_DISPERSION)
        noise = Noise(n, dispersion, state.response.least_squares, float(sums["independent"]))
        priors = {t: self.prior(t, d) for t, d in design.degrees.items()}
        return Posterior(sums, design, state.coefficients, priors, noise, self.variance)

    def entered(
        self, model: Posterior, shortlist: Sequence[Term]
    ) -> tuple[list[Term], dict[Term, tuple[float, float]]]:
        """Terms enter by their priced gain, the largest first; and the plain gains of the rest."""
        known = dict.fromkeys(shortlist, np.inf)
        plain: dict[Term, tuple[float, float]] = {}
        came: list[Term] = []
        while known:
            term = max(known, key=lambda t: (known[t], t))
            cost = self.cost(term, model.variance)
            gain = model.outside(term)
            plain[term] = gain.plain - cost, gain.variance
            known[term] = gain.robust - cost
            if known[term] < 2 * WORTH_MEASURING or not self.allowed(term, model):
                del known[term]
                continue
            if known[term] < max(known.values()):
                continue
            if known[term] <= 0:
                break
            came += self.take(model, term, gain.variance)
            for t in came:
                known.pop(t, None)
            known = {t: np.inf if set(t) & set(term) else g for t, g in known.items()}
        return came, plain

    def exchanged(self, model: Posterior, exchanges: Mapping[Term, Sequence[Term]]) -> bool:
        """Terms give way to others if the whole is then worth more; whether any did.

        Two proxies of one column need not both leave by themselves: what no longer earns its price
        once the right one is in leaves before the whole is judged.
        """
        before = set(model.variance)
        for term, others in exchanges.items():
            if term not in model.variance:
                continue
            best, chosen = self.worth(model), model.variance
            rest = {t: v for t, v in chosen.items() if t != term}
            for other in (t for t in others if t not in rest):
                trial = model.on(rest)
                trial.enter(other, trial.outside(other).variance)
                self.left(trial, None, sweeps=0)
                worth = self.worth(trial)
                if worth > best and self.allowed(other, trial):
                    best, chosen = worth, trial.variance
            model.variance = chosen
            model.rebuild()
        return before != set(model.variance)

    def worth(self, model: Posterior) -> float:
        """Log evidence of a model minus the price of its terms, columns first."""
        terms = sorted(model.variance, key=lambda t: (len(t), t))
        return model.log_evidence - sum(self.cost(t, terms[:i]) for i, t in enumerate(terms))

    def allowed(self, term: Term, model: Posterior) -> bool:
        """Whether a term keeps the number of columns, or groups of them, within its limit."""
        inside = self.inside([*model.variance, term])
        groups = {self.group_of.get(j, frozenset({j})) for j in inside}
        return self.max_columns is None or len(groups) <= self.max_columns

    def take(self, model: Posterior, term: Term, variance: float) -> list[Term]:
        """A term enters, and brings its columns where they were measured."""
        model.enter(term, variance)
        came = [term]
        for j in term if len(term) > 1 else ():
            if (j,) in model.design.at and (j,) not in model.variance:
                model.enter((j,), model.outside((j,)).variance)
                came.append((j,))
        return came

    # --- check ---

    def earned(self, model: Posterior, term: Term) -> float:
        """What a term of a model gains beyond its price."""
        others = [t for t in model.variance if t != term]
        return model.inside(term).robust - self.cost(term, others)

    def left(self, model: Posterior, spared: Term | None, sweeps: int = 3) -> list[Term]:
        """Terms that do not earn their price leave, the worst first."""
        gone: list[Term] = []
        while True:
            free = [t for t in model.variance if t != spared and t not in self.kept]
            worth = {t: self.earned(model, t) for t in free}
            if not worth or min(worth.values()) >= 0:
                return gone
            term = min(worth, key=lambda t: (worth[t], t))
            gone.append(term)
            model.leave(term)
            model.tune(sweeps)

    def grown(self, shares: Mapping[Term, Array]) -> list[Term]:
        """Terms whose last functions are used, by the rows' share of each, get more of them."""
        found, room = [], WIDEST - sum(len(share) for share in shares.values()) - 1
        for term, share in shares.items():
            k, most = self.size.get(term, FUNCTIONS[len(term)]), MOST_FUNCTIONS[len(term)]
            degrees = self.degrees(term)
            last = degrees.max(axis=1) == k - 1
            if k < most and last.any() and share[last].mean() > USED:
                self.size[term] = min(2 * k, most)
                more = len(self.degrees(term)) - len(degrees)
                if more > room:
                    self.size[term] = k
                elif more:
                    found.append(term)
                    room -= more
        return found

    def settle(self, model: Posterior) -> list[Term]:
        """The model of the sums becomes the state; which bases are to grow."""
        self.variance = dict(model.variance)
        self.effective = model.effective
        old, design = self.state, Design({t: model.design.degrees[t] for t in self.variance})
        self.state = replace(old, design=design, coefficients=model.w.copy())
        if old.response.name in ("counts", "labels"):
            self.shorten(old)
        share = 1 - model.P.diagonal() * model.D
        return self.grown({t: share[model.place[t]] for t in self.variance})

    def shorten(self, old: State) -> None:
        """Newton's step on a curved loss, no longer than its quadratic model is to be trusted."""
        design, full = self.state.design, self.state.coefficients
        kept = old.part(t for t in old.design.degrees if t in design.degrees)
        step = full - kept.refined(design).coefficients
        self.state = replace(self.state, coefficients=step)
        far = float(np.abs(self.state.predictor(self.table.codes)).max())
        share = min(1.0, STRIDE / max(far, 1e-300))
        self.state = replace(self.state, coefficients=full - (1 - share) * step)

    # --- the three words of the search (nablasso.search.decide) ---

    def begin(self) -> None:
        """Terms to begin with, if any, tuned; those that do not earn their price leave.

        Those of a search on fewer rows get the functions that all rows will use: with orthonormal
        functions the rows' share of one is ``n v lam / (1 + n v lam)``.
        """
        grew = self.scored is not None
        while grew:
            known = {
                t: self.n * v * self.prior(t, self.degrees(t)) for t, v in self.variance.items()
            }
            grew = bool(self.grown({t: x / (1 + x) for t, x in known.items()}))
        if self.scored is not None or self.variance.keys() - self.state.design.degrees.keys():
            model = self.sums(())
            model.tune()
            self.left(model, None)
            self.settle(model)

    def propose(self) -> list[Term] | None:
        """Terms to be measured: of the screen, then triples, then exchanges; None at the end.

        Rows are not screened again where the model is still the one that they were screened by.
        """
        if self.screening is None:
            self.screening = self.screened()
        self.ranked, residual = self.screening
        again = self.judge(residual)
        before, self.loss = self.loss, float(residual["loss"] / residual["rows"])
        self.moved = 0.0 if self.state.response.least_squares else abs(self.loss - before)
        shortlist = self.shortlist(self.ranked)
        if not shortlist and not again and self.scored is None:  # else the sample's has looked
            if self.on_triples is None:
                self.on_triples = self.triples()
            self.ranked = self.on_triples
            shortlist = self.shortlist(self.ranked)
        self.exchange = self.exchanges() if not shortlist and not again and self.silent else {}
        shortlist += dict.fromkeys(t for others in self.exchange.values() for t in others)
        idle = not shortlist and not again and self.trial is None
        if idle and (self.silent or not self.variance) and self.moved < SETTLED:
            return None
        self.silent = not again
        return shortlist

    def price(self, shortlist: Sequence[Term]) -> Posterior:
        """The model on sums of the shortlist too, with what enters, or is exchanged or tried.

        A term on trial is judged when the predictor is calm: on a curved loss that takes steps.
        Under bounded influence none is: weights that follow the term would judge it.
        """
        model = self.sums(shortlist)
        model.tune(4)
        if self.exchanged(model, self.exchange):
            # what was refused beside a proxy may be right beside the column itself
            self.banned, self.refused, self.silent = {}, {}, False
        came, plain = self.entered(model, [t for t in shortlist if t not in model.variance])
        calm = self.moved < CALM
        self.tried, self.trial = (self.trial, None) if calm else (None, self.trial)
        tries = 0 if self.state.response.bounded else self.rules.trials
        if not came and self.trial is None and self.misses < tries:
            doubtful = {
                t: x
                for t, x in plain.items()
                if x[0] > 0 and t not in self.banned and self.allowed(t, model)
            }
            if doubtful:
                self.trial = max(doubtful, key=lambda t: (doubtful[t][0], t))
                came = self.take(model, self.trial, doubtful[self.trial][1])
        for t in shortlist:
            self.refused[t] = max(self.ranked.get(t, -np.inf), self.refused.get(t, -np.inf))
        self.came = set(came)
        model.tune()
        return model

    def check(self, model: Posterior) -> None:
        """What does not earn its price leaves; a basis that is used up grows."""
        gone = self.left(model, self.trial)
        self.misses += self.tried in gone
        for term in gone:
            self.banned[term] = self.banned.get(term, 0) + 1
        before = set(self.variance)
        grew = bool(self.settle(model))
        self.silent = self.silent and not (self.came ^ set(gone) or grew)
        if before ^ set(self.variance) or grew or not self.state.response.least_squares:
            self.screening = self.on_triples = None

    def judge(self, residual: Sums) -> bool:
        """Look at the residuals: another loss, scale or filter may fit them better.

        Rows that no column sorts are in time where residuals correlate with the row before; where
        a column sorts them it may explain that, so the model must be silent first.
        """
        response, changed = judged(self.state.response, residual, self.rules.tails)
        self.smear = float(residual["smear"] / residual["rows"]) if response.log else 1.0
        h = serial_filter(residual, self.rules.serial)
        if h and (self.order == "time" or (self.order == "sorted" and self.silent)):
            changed |= not self.in_time
            self.in_time = True
        if not (self.in_time and response.least_squares):
            h = ()
        if (response, h) != (self.state.response, self.state.filter):
            self.state = replace(self.state, response=response, filter=h)
            self.screening = self.on_triples = None
        if changed:
            self.banned, self.refused, self.misses = {}, {}, 0
        return changed
