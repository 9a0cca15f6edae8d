r"""The entry to the search on many rows, and what it found.

from nablasso.search.grown import grow
from nablasso.streaming.sources import Arrays

found = grow(Arrays(X, y))
found.columns, found.gain, found.reason
found.predict(X), found.gradients(X)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from nablasso.regression.terms import Posterior
from nablasso.rules import Rules
from nablasso.search.decide import on_many_rows
from nablasso.search.growth import MOST_FUNCTIONS, Growth
from nablasso.solvers.sums import SumsCertificate, centred, certify
from nablasso.streaming.passes import State, Term
from nablasso.streaming.responses import Response, first_response, label_response, log_response
from nablasso.streaming.sample import SAMPLE, CodedTable, coded_table
from nablasso.streaming.sources import Source
from nablasso.types import Array

MANY = 4  # times as many rows as sampled: the sample's terms then start the search on all rows
BEYOND = 0.1  # of the range of predictions at the sample: how far outside of it others may be
CERTIFIED = 4  # functions of a column that is not in the model, in the certificate
CERTIFIED_WORK = 3e10  # products of its sums: a million rows of fifty columns are just too many
JUDGED = 2048  # sampled rows on which y and its log are compared


@dataclass(frozen=True)
class Grown:
    """What the search found.

    ``gain`` says for every column what leaving it out would cost, ``terms`` the same for every
    column, pair and triple on its own, in nats after the price of the looks.
    """

    columns: tuple[int, ...]
    gain: Mapping[int, float]
    terms: Mapping[Term, float]
    n_rows: int
    passes: int
    model: Posterior
    state: State
    smear: float
    limits: tuple[float, float]  # of the predictor
    centre: Array | float = 0.0  # the table is x = centre + scale z of the points z asked for
    scale: Array | float = 1.0
    certificate: SumsCertificate | None = None
    certified: frozenset[int] | None = None  # columns whose part its minimiser confirms

    @property
    def reason(self) -> str:
        """Why this loss, in one sentence."""
        return self.state.response.reason

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return ("log " if self.state.response.log else "") + self.state.response.name

    @property
    def odds(self) -> bool:
        """Whether its values are log-odds."""
        return self.state.response.name == "labels"

    def rows(self, Z: Array) -> Array:
        """The functions of the terms at new points."""
        X = np.asarray(Z, dtype=float) * self.scale + self.centre
        return self.state.design.rows(lambda j, k: self.state.columns[j].at(X[:, j], k), len(X))

    def predictor(self, Z: Array) -> Array:
        """The predictor ``eta`` at new points, in the response's units."""
        return np.clip(self.rows(Z) @ self.state.coefficients, *self.limits)

    def left_out(self, Z: Array, y: Array, weights: Array) -> Array:
        """Predictions at some of the rows as if the terms had not seen these, in closed form.

        With ``P = (C + D)^-1`` and working residuals ``r`` of weight ``W``, those of rows B left
        out together are ``(1 - F_B P F_B' W_B)^-1 r_B``, exactly for squares, by one step of
        Newton's for other losses. Filtered rows (in time) stay as they are.
        """
        F, response = self.rows(Z), self.state.response
        eta = F @ self.state.coefficients
        if not self.state.filter:
            work = response.work(response.target(y), eta)
            G = F @ self.model.P @ F.T * weights
            eta = eta - np.linalg.solve(np.eye(len(eta)) - G * work.weight, G @ work.score)
        eta = np.clip(eta, *self.limits)
        return eta if self.odds else response.prediction(eta, self.smear)

    def predict(self, Z: Array) -> Array:
        """Predictions in the units of y; of labels, the probability of one."""
        return self.state.response.prediction(self.predictor(Z), self.smear)

    def values(self, Z: Array) -> Array:
        """Predictions, or log-odds."""
        return self.predictor(Z) if self.odds else self.predict(Z)

    def gradients(self, Z: Array) -> Array:
        """Derivatives of the values in every column."""
        slopes = self.state.slopes(np.asarray(Z, dtype=float) * self.scale + self.centre)
        if not self.odds:
            slopes *= self.state.response.slope(self.predictor(Z), self.smear)[:, None]
        return slopes * self.scale


def grow(
    source: Source,
    rules: Rules | None = None,
    *,
    label: float | None = None,
    time: bool | None = None,
    certificate: bool = False,
    **wishes: Any,
) -> Grown:
    """Find the columns, pairs and triples of which y is a function.

    Parameters
    ----------
    source : Source
        Blocks of rows, for instance :class:`nablasso.streaming.sources.Arrays`.
    rules : Rules, optional
    label : float, optional
        The label that is told from all others; without one, y are numbers.
    time : bool, optional
        Whether the order of the rows is time; judged by the residuals if not given.
    certificate : bool
        Whether to certify the selection over all columns: one pass more, where it can be afforded.
    **wishes
        ``groups``, ``keep`` and ``max_columns`` of :class:`~nablasso.search.growth.Growth`.
    """
    rules = rules or Rules()
    table = source.once("codes", lambda: coded_table(source, MOST_FUNCTIONS[1]))
    response = _response(table, rules, label)
    start: Growth | None = None
    if len(table.sample.y) == SAMPLE and table.n > MANY * SAMPLE:
        start = Growth(table.on_sample(SAMPLE), response, rules, **wishes)
        on_many_rows(start)
    growth = Growth(table, response, rules, start=start, order=table.order(time), **wishes)
    found = _grown(growth, on_many_rows(growth))
    width = CERTIFIED * len(growth.columns) + growth.state.design.width
    affordable = table.n * width**2 < CERTIFIED_WORK
    return _certified(found, growth) if certificate and affordable else found


def promising(source: Source, rules: Rules, groups: Sequence[Sequence[int]]) -> list[Term]:
    """Terms that pay their price in the first round of a search for the numbers y."""
    table = source.once("codes", lambda: coded_table(source, MOST_FUNCTIONS[1]))
    response = first_response(table.sample.y, table.sample.weight)
    growth = Growth(table, response, rules, groups=groups)
    shortlist = growth.propose()
    return [] if not shortlist else list(growth.price(shortlist).variance)


def _certified(found: Grown, growth: Growth) -> Grown:
    """With the certificate of the model's terms against the functions of all columns."""
    mains = [(j,) for j, column in enumerate(growth.columns) if len(column.prior)]
    others = [t for t in mains if t not in growth.variance]
    inside = list(growth.variance)
    growth.size.update(dict.fromkeys(others, CERTIFIED))
    model, terms = growth.sums(others), [*inside, *others]
    sums, groups = centred(model.C, model.c, model.yy), [model.design.at[t] - 1 for t in terms]
    selected = range(len(inside))
    made = certify(*sums, groups, selected, growth.n, model.noise.dispersion)
    minimiser = {j for i in made.support for j in terms[i]}
    apart = minimiser ^ {j for term in inside for j in term}
    agreed = set(range(len(growth.columns))) - apart if made.closed else set()
    return replace(found, certificate=made, certified=frozenset(agreed))


def _response(table: CodedTable, rules: Rules, label: float | None) -> Response:
    """What y is; where it is positive and skewed, y or its log, by the evidence on some rows."""
    y, weight = table.sample.y, table.sample.weight
    if label is not None:
        return label_response(y, weight, label)
    plain, logs = first_response(y, weight), log_response(y, weight)
    if plain.name != "squares" or logs is None:
        return plain
    even = replace(rules, tails=np.inf)
    values = []
    for response in (plain, logs):
        growth = Growth(table.on_sample(JUDGED), response, even)
        values.append(on_many_rows(growth).log_evidence - response.log_volume(y[:JUDGED]))
    better = values[1] - values[0]
    if better < log(len(y[:JUDGED])) / 2:
        return plain
    return replace(logs, reason=f"log of y: better by {better:.3g} nats on {len(y[:JUDGED])} rows")


def _grown(growth: Growth, model: Posterior) -> Grown:
    """The answer of a search that has ended."""
    terms = list(model.variance)
    columns = sorted(growth.inside(terms))
    gains = {}
    for j in columns:
        group = growth.group_of.get(j, frozenset({j}))
        own = [t for t in terms if group & set(t)]
        others = [t for t in terms if not group & set(t)]
        gains[j] = model.cost_of_leaving(own) - sum(growth.cost(t, others) for t in own[:1])
    eta = growth.state.predictor(growth.table.codes)
    reach = BEYOND * float(np.ptp(eta))
    return Grown(
        columns=tuple(columns),
        gain=gains,
        terms={t: growth.earned(model, t) for t in terms},
        n_rows=int(growth.table.counts["count"]),
        passes=growth.passes,
        model=model,
        state=growth.state,
        smear=growth.smear,
        limits=(float(eta.min()) - reach, float(eta.max()) + reach),
    )
