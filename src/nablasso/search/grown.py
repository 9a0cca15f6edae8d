r"""The entry to the search on many rows, and what it found.

from nablasso.search.grown import grow
from nablasso.streaming.sources import Arrays

found = grow(Arrays(X, y))
found.columns, found.gain, found.reason
found.predict(X), found.gradient(X)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nablasso.exceptions import InvalidDataError
from nablasso.search.growth import MOST_FUNCTIONS, Growth
from nablasso.search.judgement import Judgement, Kind, first_judgement
from nablasso.search.posterior import Posterior
from nablasso.search.rules import Rules
from nablasso.streaming.codes import bins_for, draft
from nablasso.streaming.passes import State, Term, counted
from nablasso.streaming.sources import Arrays, Source, fair_sample

Array = NDArray[np.float64]

SAMPLE = 1 << 15  # rows that fix the codes: their quantiles are exact to a twentieth of a bin
MANY = 4  # times as many rows as sampled: the sample's terms then start the search on all rows
BEYOND = 0.1  # of the range of predictions at the sample: how far outside of it others may be
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
    categories: Collection[int] = (),
    groups: Sequence[Collection[int]] | None = None,
    keep: Collection[int] = (),
    max_columns: int | None = None,
    start_terms: Collection[Term] = (),
    time: bool | None = None,
    progress: Callable[[str], None] | None = None,
) -> Grown:
    """Find the columns, pairs and triples of which y is a function.

    Parameters
    ----------
    source : Source
        Blocks of rows, for instance :class:`nablasso.streaming.sources.Arrays`.
    target_kind : {"auto", "number", "count", "positive", "label"}
        What y is. Labels are 0 and 1.
    rules : Rules, optional
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
    progress : callable, optional
        Called with one sentence after each round.

    Returns
    -------
    Grown
    """
    rules = rules or Rules()
    sample = fair_sample(source, SAMPLE)
    if len(sample.y) < 5:
        raise InvalidDataError(
            f"At least 5 distinct rows of positive weight are needed; got {len(sample.y)}."
        )
    bins = bins_for(source.n_columns)
    drafts = [
        draft(sample.X[:, j], sample.weight, bins, j in categories) for j in range(source.n_columns)
    ]
    coded = source.coded(drafts)
    columns, counts = counted(coded, drafts, MOST_FUNCTIONS[1])
    n = float(counts["rows"])
    judgement = first_judgement(target_kind, sample.y, sample.weight)
    codes = np.stack([c.encode(sample.X[:, j]) for j, c in enumerate(columns)])
    start = dict.fromkeys((tuple(sorted(t)) for t in start_terms), 1.0)
    sampled = n > MANY * SAMPLE and len(sample.y) == SAMPLE
    if sampled and not start:
        inner = Arrays(sample.X, sample.y, np.ones(SAMPLE))
        found = grow(inner, target_kind, rules, categories=categories, groups=groups, time=False)
        start = dict(found.model.variance)
        judgement = found.judgement
    growth = Growth(
        coded,
        columns,
        judgement,
        n,
        rules,
        sample=sample,
        sample_codes=codes,
        groups=groups or (),
        keep=keep,
        max_columns=max_columns,
        start=start,
        order=_order(counts, time),
        look_at_triples=not sampled,
        progress=progress,
    )
    return _grown(growth, growth.run())


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
    columns = sorted({j for t in model.variance for j in t})
    terms = list(model.variance)
    gains = {}
    for j in columns:
        own = [t for t in terms if j in t]
        others = [t for t in terms if j not in t]
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
