r"""The entry to the search on many rows, and what it found.

from nablasso.search.grown import grow
from nablasso.streaming.sources import Arrays

found = grow(Arrays(X, y))
found.columns, found.gain, found.reason
found.predict(X), found.gradient(X)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from nablasso.errors import InvalidDataError
from nablasso.regression.terms import Posterior
from nablasso.search.growth import MOST_FUNCTIONS, Growth
from nablasso.search.rules import Rules
from nablasso.solvers.sums import Certificate, centred, certify
from nablasso.streaming.blocks import Coded, CodedArrays, CodedPart
from nablasso.streaming.codes import Codes, Column, bins_for, draft
from nablasso.streaming.judgement import (
    Judgement,
    Kind,
    first_judgement,
    is_skewed,
    label_judgement,
)
from nablasso.streaming.passes import State, Sums, Term, counted
from nablasso.streaming.sample import SAMPLE, Sample, fair_sample
from nablasso.streaming.sources import Source
from nablasso.types import Array

MANY = 4  # times as many rows as sampled: the sample's terms then start the search on all rows
BEYOND = 0.1  # of the range of predictions at the sample: how far outside of it others may be
LEAST_ROWS = 5
CERTIFIED = 4  # functions of a column that is not in the model, in the certificate
CERTIFIED_WORK = 3e10  # products of its sums: a million rows of fifty columns are just too many
JUDGED = 2048  # sampled rows on which y and its log are compared
SORTED = 0.01  # share of turns below which a column (or y) is sorted


@dataclass(frozen=True)
class Grown:
    """What the search found.

    ``gain`` says for every column what leaving it out would cost, ``terms`` the same for every
    column, pair and triple on its own, in nats after the price of the looks.
    """

    columns: tuple[int, ...]
    gain: Mapping[int, float]
    terms: Mapping[Term, float]
    judgement: Judgement  # the loss, and why
    rows: float  # used, by weight
    passes: int
    deviation: float  # of the noise, in the units of the response's target
    model: Posterior
    state: State
    smear: float
    limits: tuple[float, float]  # of the predictor
    certificate: Certificate | None = None
    certified: frozenset[int] | None = None  # columns whose part its minimiser confirms

    @property
    def reason(self) -> str:
        """Why this loss, in one sentence."""
        return self.judgement.reason

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return ("log " if self.state.response.log else "") + self.state.response.name

    @property
    def serial(self) -> bool:
        """Whether rows were found to be in time."""
        return bool(self.state.filter)

    def predictor(self, X: Array) -> Array:
        """The predictor ``eta`` at new rows, in the response's units."""
        X = np.asarray(X, dtype=float)
        Z = self.state.design.rows(lambda j, k: self.state.columns[j].at(X[:, j], k), len(X))
        return np.clip(Z @ self.state.coefficients, *self.limits)

    def predict(self, X: Array) -> Array:
        """Predictions in the units of y; of labels, the probability of one."""
        return self.state.response.prediction(self.predictor(X), self.smear)

    def gradient(self, X: Array) -> Array:
        """Derivatives of the predictions in every column."""
        X = np.asarray(X, dtype=float)
        slope = self.state.response.slope(self.predictor(X), self.smear)
        return self.state.slopes(X) * slope[:, None]


def grow(
    source: Source,
    target_kind: Kind = "auto",
    rules: Rules | None = None,
    *,
    positive: float = 1.0,
    categories: Collection[int] = (),
    groups: Sequence[Collection[int]] | None = None,
    keep: Collection[int] = (),
    max_columns: int | None = None,
    start_terms: Collection[Term] = (),
    time: bool | None = None,
    certificate: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Grown:
    """Find the columns, pairs and triples of which y is a function.

    Parameters
    ----------
    source : Source
        Blocks of rows, for instance :class:`nablasso.streaming.sources.Arrays`.
    target_kind : {"auto", "number", "count", "positive", "label"}
        What y is.
    rules : Rules, optional
    positive : float
        The label that is told from all others.
    categories : collection of int
        Columns whose values are names, not numbers.
    groups : sequence of collections of int, optional
        Columns that come together: once one is in, the others are no news.
    keep : collection of int
        Columns that stay whatever they gain.
    max_columns : int, optional
    start_terms : collection of tuples of int
        Terms to begin with; they must earn their price.
    time : bool, optional
        Whether the order of the rows is time; judged by the residuals if not given.
    certificate : bool
        Whether to certify the selection over all columns: one pass more, where it can be afforded.
    progress : callable, optional
        Called with one sentence after each round.

    Returns
    -------
    Grown
    """
    rules = rules or Rules()
    table = coded_table(source, categories)
    judgement = _judgement(target_kind, table, rules, positive)
    return _searched(
        table,
        judgement,
        rules,
        time,
        certificate,
        groups=groups or (),
        keep=keep,
        max_columns=max_columns,
        start_terms=start_terms,
        progress=progress,
    )


def _searched(
    table: CodedTable,
    judgement: Judgement,
    rules: Rules,
    time: bool | None,
    certificate: bool = False,
    **wishes: Any,
) -> Grown:
    """The search on a coded table; on its sample first where rows are many more."""
    start: Growth | None = None
    if len(table.sample.y) == SAMPLE and table.n > MANY * SAMPLE:
        start = table.on_sample(SAMPLE, judgement, rules, **wishes)
        start.run()
    growth = Growth(
        table.coded,
        table.columns,
        judgement,
        table.n,
        rules,
        sample=table.sample,
        sample_codes=table.codes,
        start=start,
        order=_order(table.counts, time),
        **wishes,
    )
    found = _grown(growth, growth.run())
    width = CERTIFIED * len(growth.columns) + growth.state.design.width
    return (
        _certified(found, growth) if certificate and table.n * width**2 < CERTIFIED_WORK else found
    )


def _certified(found: Grown, growth: Growth) -> Grown:
    """With the certificate of the model's terms against the functions of all columns."""
    mains = [(j,) for j, column in enumerate(growth.columns) if len(column.prior)]
    others = [t for t in mains if t not in growth.variance]
    inside = list(growth.variance)
    growth.size.update(dict.fromkeys(others, CERTIFIED))
    model = growth.sums(others)
    C, c, yy = centred(model.C, model.c, model.yy)
    groups = [model.design.at[t] - 1 for t in [*inside, *others]]
    selected = range(len(inside))
    made = certify(C, c, yy, groups, selected, growth.n, model.noise.dispersion)
    terms = [*inside, *others]
    minimiser = {j for i in made.support for j in terms[i]}
    apart = minimiser ^ {j for term in inside for j in term}
    agreed = set(range(len(growth.columns))) - apart if made.closed else set()
    return replace(found, certificate=made, certified=frozenset(agreed))


@dataclass(frozen=True)
class CodedTable:
    """A coded table, its fair sample, and the counts of its codes."""

    sample: Sample
    codes: Codes  # of the sample
    columns: tuple[Column, ...]
    coded: Coded
    counts: Sums

    @property
    def n(self) -> float:
        """How many rows, by weight."""
        return float(self.counts["rows"])

    def on_sample(self, rows: int, judgement: Judgement, rules: Rules, **wishes: Any) -> Growth:
        """A search on the first sampled rows, in the table's own functions."""
        sample = self.sample.first(rows)
        weight = sample.weight * (len(sample.y) / sample.weight.sum())
        coded = CodedArrays(CodedPart(self.codes[:, :rows], sample.y, weight))
        return Growth(
            coded,
            self.columns,
            judgement,
            float(len(sample.y)),
            rules,
            sample=sample,
            sample_codes=self.codes[:, :rows],
            **wishes,
        )


def coded_table(source: Source, categories: Collection[int] = ()) -> CodedTable:
    """A table in codes: two passes over the rows and one over the codes, once for each source."""
    key = tuple(sorted(categories))
    if key not in source.tables:
        source.tables[key] = _coded(source, key)
    made: CodedTable = source.tables[key]
    return made


def _coded(source: Source, categories: Collection[int]) -> CodedTable:
    sample = fair_sample(source, SAMPLE)
    if len(sample.y) < LEAST_ROWS:
        raise InvalidDataError(
            f"At least {LEAST_ROWS} distinct rows of positive weight are needed; got "
            f"{len(sample.y)}."
        )
    bins = bins_for(source.n_columns)
    drafts = [
        draft(sample.X[:, j], sample.weight, bins, j in categories) for j in range(source.n_columns)
    ]
    coded = source.coded(drafts)
    columns, counts = counted(coded, drafts, MOST_FUNCTIONS[1])
    codes = np.stack([c.encode(sample.X[:, j]) for j, c in enumerate(columns)])
    return CodedTable(sample, codes, columns, coded, counts)


def _judgement(kind: Kind, table: CodedTable, rules: Rules, positive: float) -> Judgement:
    """What y is; where it is positive and skewed, y or its log, by the evidence on some rows."""
    y, weight = table.sample.y, table.sample.weight
    if kind == "label":
        return label_judgement(y, weight, positive)
    plain = first_judgement(kind, y, weight)
    if kind != "auto" or plain.response.name != "squares" or not is_skewed(y, weight):
        return plain
    logs = first_judgement("positive", y, weight)
    even = replace(rules, tails=np.inf)
    values = []
    for judgement in (plain, logs):
        growth = table.on_sample(JUDGED, judgement, even)
        values.append(growth.run().log_evidence - judgement.response.log_volume(y[:JUDGED]))
    better = values[1] - values[0]
    if better < log(len(y[:JUDGED])) / 2:
        return plain
    return replace(logs, reason=f"log of y: better by {better:.3g} nats on {len(y[:JUDGED])} rows")


def _order(counts: dict[str, Array], time: bool | None) -> str:
    """What the order of rows may be: "none", "time", or "sorted" by a column (perhaps time)."""
    if time is not None:
        return "time" if time else "none"
    turns = np.minimum(counts["up"], counts["down"])
    is_sorted = turns < SORTED * (counts["up"] + counts["down"])
    if is_sorted[-1]:
        return "none"
    return "sorted" if is_sorted.any() else "time"


def _grown(growth: Growth, model: Posterior) -> Grown:
    """The answer of a search that has ended."""
    terms = list(model.variance)
    columns = sorted(growth.inside(terms))
    gains = {}
    for j in columns:
        group = growth.group_of.get(j, frozenset({j}))
        own = [t for t in terms if group & set(t)]
        others = [t for t in terms if not group & set(t)]
        gains[j] = model.cost_of_leaving(own) - sum(growth.price(t, others) for t in own[:1])
    alone = {
        t: model.inside(t).robust - growth.price(t, [u for u in terms if u != t]) for t in terms
    }
    eta = growth.sample_predictor()
    reach = BEYOND * float(np.ptp(eta))
    return Grown(
        columns=tuple(columns),
        gain=gains,
        terms=alone,
        judgement=growth.judgement,
        rows=growth.n,
        passes=growth.passes,
        deviation=float(np.sqrt(model.noise.dispersion)),
        model=model,
        state=growth.state,
        smear=growth.smear,
        limits=(float(eta.min()) - reach, float(eta.max()) + reach),
    )
