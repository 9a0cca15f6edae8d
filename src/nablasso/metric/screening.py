r"""Screening: which groups of columns of a wide table are worth a search.

With ``n d`` above ``WIDE`` a search over all columns takes too long, and a kernel of all of them
sees nothing. So the search begins from few groups, ``open``, found in rounds. With ``r`` the
leave-one-out residuals of a kernel ridge fit on the groups found so far, a round takes in

* **alone**: groups with a column whose held-out score for ``r``
  (:mod:`~nablasso.metric.held_out`) exceeds what chance gives the best of all columns, O(n d);
* **in pairs**: groups of two columns whose product has such a score. All products with the
  residuals,

  .. math:: M_{ab} = \sum_i p_i\, r_i\, x_{ia} x_{ib},

  are blocks of matrix products in single precision, O(n d^2), of which only the largest are kept
  (:mod:`~nablasso.metric.products`).

What is weak beside strong effects becomes clear once these are taken out. When nothing is clear any
more, the next best ``SPARE`` groups and ``SPARE_PAIRS`` pairs come along; more of them would do
harm: each of the best noise columns of 100 000 explains some per cent of any target.

**Chance.** The best of N useless models of one number explains about ``2 log N / n``, and more than
``2 log(20 N) / n`` with a probability of a twentieth: what exceeds that is clear.

**Honest folds.** A screening that has seen the test rows makes noise look useful there. So every
training fold screens anew, among the :class:`Shortlist` of all rows: what is among the first ``k``
on most rows is among the first ``K >> k`` on all of them, so a fold finds what it would have found
among all columns, at a small part of the cost.

A variable that matters only together with two or more others is not seen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nablasso.kernels import AdditivePower, Gaussian
from nablasso.metric.held_out import column_scores
from nablasso.metric.nested import fit_groups
from nablasso.metric.products import best_pairs, largest_products
from nablasso.metric.sample import Sample, Shortlist
from nablasso.metric.start import Start

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

WIDE = 4_000_000  # rows times columns from which on a search is preceded by screening
ROUNDS = 5
PER_ROUND, PAIRS_PER_ROUND = 20, 10
CLEARLY = 20.0  # one over the probability that the best of useless models counts as clear
SPARE, SPARE_PAIRS = 10, 5
SHORTLISTED_COLUMNS, SHORTLISTED_PAIRS = 2000, 30_000
PAIR_WORK = 2e13  # operations of all products; beyond it one of a pair is among the best alone
STARTS = (Start(AdditivePower(1)), Start(AdditivePower(2, 0.5)), Start(Gaussian()))


def is_wide(sample: Sample) -> bool:
    """Whether a search over all columns is too much."""
    return sample.X.size > WIDE


def shortlisted(sample: Sample, *, pairs: bool = True, verbose: int = 0) -> Sample:
    """The sample with what screening needs to look at again on some of its rows.

    One look at all columns, rounds with the best of them, and one more at what these leave over.
    Without ``pairs`` columns are looked at alone.
    """
    everything = np.arange(sample.X.shape[1])
    nothing = np.empty((0, 2), dtype=np.intp)
    first = column_scores(sample.X, sample.Y, sample.weights, everything, verbose=verbose)
    best = np.argsort(-first, kind="stable")[:SHORTLISTED_COLUMNS]
    found, _, _ = _rounds(replace(sample, shortlist=Shortlist(np.sort(best), nothing)))
    residuals = left_over(sample, found)
    second = column_scores(sample.X, residuals, sample.weights, everything, verbose=verbose)
    columns = np.union1d(best, np.argsort(-second, kind="stable")[:SHORTLISTED_COLUMNS])
    if not pairs:
        return replace(sample, shortlist=Shortlist(columns, nothing))
    alone = np.argsort(-np.maximum(first, second), kind="stable")
    affordable = max(1, int(PAIR_WORK / (2 * sample.X.size)))
    products = largest_products(
        sample, residuals, np.sort(alone[:affordable]), SHORTLISTED_PAIRS, verbose=verbose
    )
    return replace(sample, shortlist=Shortlist(columns, products))


def screened(sample: Sample, n_spare: int = SPARE) -> Sample:
    """The sample with the groups that a search begins from; itself without a shortlist."""
    if sample.shortlist is None or sample.open is not None:
        return sample
    found, scores, pairs = _rounds(sample)
    alone = group_scores(sample, scores)
    alone[found] = -np.inf
    spare = np.argsort(-alone, kind="stable")[:n_spare]
    found[spare[np.isfinite(alone[spare])]] = True
    if n_spare:
        found[sample.labels[pairs[:SPARE_PAIRS].ravel()]] = True
    return replace(sample, open=found)


def group_scores(sample: Sample, scores: Array) -> Array:
    """Largest score of the columns of each group."""
    out = np.full(sample.n_groups, -np.inf)
    np.maximum.at(out, sample.labels, scores)
    return out


def by_chance(n_rows: int, n_models: float) -> float:
    """About the largest score that one of so many models of nothing gets."""
    return float(2 * np.log(max(n_models, 2.0)) / n_rows)


def left_over(sample: Sample, found: Mask) -> Array:
    """Leave-one-out residuals of the best of a few kernels on these groups, (n, q)."""
    groups = np.flatnonzero(found)
    fits = [fit_groups(sample, start, groups, np.ones(sample.n_groups)) for start in STARTS]
    return min(fits, key=lambda fit: fit.error).residuals


def _rounds(sample: Sample) -> tuple[Mask, Array, Index]:
    """Groups that are kept or clear; column scores and best pairs for what they leave over."""
    assert sample.shortlist is not None
    columns, pairs = sample.shortlist
    n, d = sample.X.shape
    found = sample.kept.copy()
    for _ in range(ROUNDS):
        residuals = left_over(sample, found)
        scores = np.full(d, -np.inf)
        scores[columns] = column_scores(sample.X, residuals, sample.weights, columns)
        best, values = best_pairs(sample, residuals, pairs, PAIRS_PER_ROUND)
        alone = group_scores(sample, scores)
        strongest = np.argsort(-alone, kind="stable")[:PER_ROUND]
        new = np.zeros_like(found)
        new[strongest[alone[strongest] > by_chance(n, CLEARLY * d)]] = True
        new[sample.labels[best[values > by_chance(n, CLEARLY * d * d / 2)].ravel()]] = True
        if not np.any(new & ~found):
            break
        found |= new
    return found, scores, best
