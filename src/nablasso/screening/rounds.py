r"""Screening: which groups of columns of a wide table are worth a search.

With ``n d`` above ``WIDE`` a search over all columns takes too long, and a kernel of all of them
sees nothing. So the search begins from few groups, ``open``, found in rounds. With ``r`` the
leave-one-out residuals of a kernel ridge fit on the groups found so far, a round takes in

* **alone**: groups with a column whose held-out score for ``r``
  (:mod:`~nablasso.screening.scores`) exceeds what chance gives the best of all columns, O(n d);
* **in pairs**: groups of two columns whose product has such a score. All products with the
  residuals,

  .. math:: M_{ab} = \sum_i p_i\, r_i\, x_{ia} x_{ib},

  are blocks of matrix products in single precision, O(n d^2), of which only the largest are kept
  (:mod:`~nablasso.screening.products`).

What is weak beside strong effects becomes clear once these are taken out. When nothing is clear any
more, the next best ``SPARE`` groups and ``SPARE_PAIRS`` pairs come along; more of them would do
harm: each of the best noise columns of 100 000 explains some per cent of any target.

**Chance.** The best of N useless models of one number explains about ``2 log N / n``, and more than
``2 log(20 N) / n`` with a probability of a twentieth: what exceeds that is clear.

A variable that matters only together with two or more others is not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nablasso.screening.products import best_pairs, largest_products
from nablasso.screening.scores import column_scores
from nablasso.search.families import FAMILIES
from nablasso.search.few import FewRows
from nablasso.types import Array, Index, Mask

WIDE = 4_000_000  # rows times columns from which on a search is preceded by screening
ROUNDS = 5
PER_ROUND, PAIRS_PER_ROUND = 20, 10
CLEARLY = 20.0  # one over the probability that the best of useless models counts as clear
SPARE, SPARE_PAIRS = 10, 5
SHORTLISTED_COLUMNS, SHORTLISTED_PAIRS = 2000, 30_000
PAIR_WORK = 2e13  # operations of all products; beyond it one of a pair is among the best alone
LEFT_OVER = [FAMILIES[3], FAMILIES[4], FAMILIES[6]]  # additive, smooth pairs, Gaussian


@dataclass(frozen=True)
class Screened:
    """Groups that are kept or clear, the next best ones, and the score of each column alone."""

    clear: Mask
    spare: Index
    spare_pairs: Index
    scores: Array

    def open(self, labels: Index, n_spare: int = SPARE) -> Mask:
        """The groups to search: the clear ones and as many others."""
        out = self.clear.copy()
        out[self.spare[:n_spare]] = True
        if n_spare:
            out[labels[self.spare_pairs[:SPARE_PAIRS].ravel()]] = True
        return out


def is_wide(rows: FewRows) -> bool:
    """Whether a search over all columns is too much."""
    return rows.X.size > WIDE


def screen(rows: FewRows, *, pairs: bool = True, verbose: int = 0) -> Screened:
    """Rounds among the best columns, one more look at what these leave over, then pairs too.

    Without ``pairs`` columns are looked at alone.
    """
    everything = np.arange(rows.X.shape[1])
    weights = rows.weights / rows.weights.sum()
    nothing = np.empty((0, 2), dtype=np.intp)
    first = column_scores(rows.X, rows.Y, weights, everything, verbose=verbose)
    best = np.argsort(-first, kind="stable")[:SHORTLISTED_COLUMNS]
    found = _rounds(rows, np.sort(best), nothing, first)
    residuals = left_over(rows, found.clear)
    second = column_scores(rows.X, residuals, weights, everything, verbose=verbose)
    columns = np.union1d(best, np.argsort(-second, kind="stable")[:SHORTLISTED_COLUMNS])
    products = nothing
    if pairs:
        alone = np.argsort(-np.maximum(first, second), kind="stable")
        affordable = max(1, int(PAIR_WORK / (2 * rows.X.size)))
        among = np.sort(alone[:affordable])
        products = largest_products(
            rows.X, weights, residuals, among, SHORTLISTED_PAIRS, verbose=verbose
        )
    return _rounds(rows, columns, products, first)


def narrowed(rows: FewRows, *, verbose: int = 0) -> tuple[FewRows, Index]:
    """The rows with the columns that a search begins from, and these columns.

    What is paid for the choice stays that of all groups.
    """
    opened = screen(rows, verbose=verbose).open(rows.labels)
    groups = np.flatnonzero(opened)
    columns = np.flatnonzero(opened[rows.labels])
    inner = replace(
        rows,
        X=np.ascontiguousarray(rows.X[:, columns]),
        labels=np.searchsorted(groups, rows.labels[columns]),
        kept=np.searchsorted(groups, rows.kept),
        looked=rows.n_groups,
    )
    return inner, columns


def group_scores(labels: Index, scores: Array) -> Array:
    """Largest score of the columns of each group."""
    out = np.full(int(labels.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(out, labels, scores)
    return out


def by_chance(n_rows: int, n_models: float) -> float:
    """About the largest score that one of so many models of nothing gets."""
    return float(2 * np.log(max(n_models, 2.0)) / n_rows)


def left_over(rows: FewRows, found: Mask) -> Array:
    """Leave-one-out residuals of the most likely of a few families on these groups, (n, q)."""
    groups = np.flatnonzero(found)
    columns = np.flatnonzero(found[rows.labels])
    inner = replace(
        rows,
        X=rows.X[:, columns],
        labels=np.searchsorted(groups, rows.labels[columns]),
        kept=np.arange(len(groups)),
    )
    if not len(groups):
        return inner.empty.left_out()[0]
    tuned = [inner.tune(family, inner.kept, steps=5) for family in LEFT_OVER]
    return inner.solved(min(tuned, key=lambda model: model.price)).left_out()[0]


def _rounds(rows: FewRows, columns: Index, pairs: Index, alone: Array) -> Screened:
    """Take in what is clear, again and again, among the given columns and pairs."""
    n, d = rows.X.shape
    weights = rows.weights / rows.weights.sum()
    found = np.zeros(rows.n_groups, dtype=bool)
    found[rows.kept] = True
    for _ in range(ROUNDS):
        residuals = left_over(rows, found)
        scores = np.full(d, -np.inf)
        scores[columns] = column_scores(rows.X, residuals, weights, columns)
        best, values = best_pairs(rows.X, weights, residuals, pairs, PAIRS_PER_ROUND)
        by_group = group_scores(rows.labels, scores)
        strongest = np.argsort(-by_group, kind="stable")[:PER_ROUND]
        new = np.zeros_like(found)
        new[strongest[by_group[strongest] > by_chance(n, CLEARLY * d)]] = True
        new[rows.labels[best[values > by_chance(n, CLEARLY * d * d / 2)].ravel()]] = True
        if not np.any(new & ~found):
            break
        found |= new
    by_group[found] = -np.inf
    order = np.argsort(-by_group, kind="stable")
    return Screened(found, order[np.isfinite(by_group[order])], best, alone)
