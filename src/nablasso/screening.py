r"""Screening: which groups of columns of a wide table are worth a search.

With ``n d`` above ``Rules.wide`` a search over all columns takes too long, and a kernel of all of
them sees nothing. So the search begins from few groups, ``open``, found in rounds. With ``r`` the
leave-one-out residuals of a kernel ridge fit on the groups found so far, a round takes in

* **alone**: groups with a column whose held-out score for ``r`` exceeds what chance gives the best
  of all columns, O(n d);
* **in pairs**: groups of two columns whose product has such a score. All products with the
  residuals,

  .. math:: M_{ab} = \sum_i p_i\, r_i\, x_{ia} x_{ib},

  are blocks of matrix products in single precision, O(n d^2), of which only the largest are kept.
  Columns are standardised and clipped; the target is scaled so that its product with the product of
  two columns that have nothing to do with it is about a standard normal number.

What is weak beside strong effects becomes clear once these are taken out. When nothing is clear any
more, the next best ``SPARE`` groups and ``SPARE_PAIRS`` pairs come along; more of them would do
harm: each of the best noise columns of 100 000 explains some per cent of any target.

**Chance.** The best of N useless models of one number explains about ``2 log N / n``, and more than
``2 log(20 N) / n`` with a probability of a twentieth: what exceeds that is clear.

A variable that matters only together with two or more others is not seen.

**Held-out scores** of very many small models, in blocks of columns. A small model is ridge
regression of a target on ``r`` features of one column, or on the product of two columns. With
features ``A`` (n, r), centred and multiplied by the root of the weights ``p``, and ``A'A = V
diag(w) V'``, the leave-one-out residuals of every ridge are

.. math:: e_i = \frac{y_i - \hat y_i}{1 - p_i - \sum_k U_{ik}^2 / (w_k + \lambda)},
          \qquad U = A V,

and the score is the share of the target's variance that the best of ``RIDGES`` predicts on left-out
rows. It is about zero, or less, for a column that tells nothing.

**Features of a column**: polynomials up to degree ``DEGREE`` of the standardised column, clipped at
``REACH`` deviations, in Chebyshev's form. High degrees are shrunk, so that the ridge penalises what
is rough: the additive model of one variable, O(n r^2) a column.

Memory: a few arrays of ``SCORED_AT_ONCE`` entries, whatever the number of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from nablasso.progress import track
from nablasso.regression.models import ADDITIVE, GAUSSIAN, SMOOTH_PAIRS, FewRows
from nablasso.types import Array, Index, Mask

Single = NDArray[np.float32]

ROUNDS = 5
PER_ROUND, PAIRS_PER_ROUND = 20, 10
CLEARLY = 20.0  # one over the probability that the best of useless models counts as clear
SPARE, SPARE_PAIRS = 10, 5
SHORTLISTED_COLUMNS, SHORTLISTED_PAIRS = 2000, 30_000
PAIR_WORK = 2e13  # operations of all products; beyond it one of a pair is among the best alone
LEFT_OVER = (ADDITIVE, SMOOTH_PAIRS, GAUSSIAN)
SCORED_AT_ONCE = 1 << 20  # features times rows that are looked at at once
DEGREE = 5
REACH = 3.0  # deviations of a column
RIDGES = (0.003, 0.03, 0.3)  # in units of the trace of A'A
LEAST = 1e-12
BLOCK = 4096  # columns of a matrix of products
MARGIN = 3.0  # products to be expected at first, for each one wanted
JUDGED_PAIRS = 20  # pairs that get a held-out score, for each one wanted


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


def screen(
    rows: FewRows,
    *,
    n_columns: int = SHORTLISTED_COLUMNS,
    n_pairs: int = SHORTLISTED_PAIRS,
    pair_work: float = PAIR_WORK,
    verbose: int = 0,
) -> Screened:
    """Rounds among the best columns, one more look at what these leave over, then pairs too.

    ``n_columns`` and ``n_pairs`` are short-listed; without pairs columns are looked at alone.
    """
    everything = np.arange(rows.X.shape[1])
    weights = rows.weights / rows.weights.sum()
    nothing = np.empty((0, 2), dtype=np.intp)
    first = column_scores(rows.X, rows.Y, weights, everything, verbose=verbose)
    best = np.argsort(-first, kind="stable")[:n_columns]
    found = _rounds(rows, np.sort(best), nothing, first)
    residuals = left_over(rows, found.clear)
    second = column_scores(rows.X, residuals, weights, everything, verbose=verbose)
    columns = np.union1d(best, np.argsort(-second, kind="stable")[:n_columns])
    products = nothing
    if n_pairs:
        alone = np.argsort(-np.maximum(first, second), kind="stable")
        affordable = max(1, int(pair_work / (2 * rows.X.size)))
        among = np.sort(alone[:affordable])
        products = largest_products(rows.X, weights, residuals, among, n_pairs, verbose=verbose)
    return _rounds(rows, columns, products, first)


def narrowed(rows: FewRows, **options: Any) -> tuple[FewRows, Index]:
    """The rows with the columns that a search begins from, and these columns.

    What is paid for the choice stays that of all groups. ``options`` are those of :func:`screen`.
    """
    opened = screen(rows, **options).open(rows.labels)
    kept = np.searchsorted(np.flatnonzero(opened), rows.kept)
    inner = replace(_of_groups(rows, opened), kept=kept, looked=rows.n_groups)
    return inner, np.flatnonzero(opened[rows.labels])


def _of_groups(rows: FewRows, found: Mask) -> FewRows:
    """Rows with the columns of some groups alone, all of them to be kept."""
    groups, columns = np.flatnonzero(found), np.flatnonzero(found[rows.labels])
    labels = np.searchsorted(groups, rows.labels[columns])
    X = np.ascontiguousarray(rows.X[:, columns])
    return replace(rows, X=X, labels=labels, kept=np.arange(len(groups)))


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
    inner = _of_groups(rows, found)
    if not len(inner.kept):
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


def column_scores(X: Array, Y: Array, weights: Array, columns: Index, *, verbose: int = 0) -> Array:
    """Score of each of the given columns of ``X`` (n, d) for targets ``Y`` (n, q)."""
    chosen = [columns[part] for part in _parts(len(columns), DEGREE * len(X))]

    return _scores(lambda block: curves(X[:, block], weights), chosen, Y, weights, verbose)


def product_scores(X: Array, Y: Array, weights: Array, pairs: Index) -> Array:
    """Score of the product of each pair (k, 2) of columns."""
    chosen = [pairs[part] for part in _parts(len(pairs), len(X))]

    def features(block: Index) -> Array:
        a, b = (clipped(X[:, side], weights) for side in block.T)
        a *= b
        return np.ascontiguousarray(a.T)[:, :, None]

    return _scores(features, chosen, Y, weights, 0)


def clipped(X: Array, weights: Array) -> Array:
    """Columns in deviations from their mean, at most ``REACH`` of them; zero where constant."""
    Z = X - weights @ X
    size = np.sqrt(weights @ Z**2)
    Z /= np.where(size > 0, size, np.inf)
    return np.asarray(np.clip(Z, -REACH, REACH, out=Z))


def curves(X: Array, weights: Array) -> Array:
    """Shrunken polynomials of each column, (columns, n, DEGREE)."""
    x = clipped(X, weights).T / REACH
    out = np.empty((*x.shape, DEGREE))
    before, here = np.ones_like(x), x
    for k in range(DEGREE):
        out[:, :, k] = here / (k + 1)
        before, here = here, 2 * x * here - before
    return out


def held_out(features: Array, Y: Array, weights: Array) -> Array:
    """Score of each model, ``features`` (models, n, r), for targets ``Y`` (n, q)."""
    root = np.sqrt(weights)
    mean = np.einsum("i,min->mn", weights, features)
    A = (features - mean[:, None, :]) * root[:, None]
    C = np.matmul(A.transpose(0, 2, 1), A)
    values, V = np.linalg.eigh(C)
    trace = np.trace(C, axis1=1, axis2=2)
    U = np.matmul(A, V)
    squares = U**2
    centred = (Y - weights @ Y) * root[:, None]
    c = np.einsum("mik,iq->mkq", U, centred)
    total = float(np.sum((centred / (1 - weights[:, None])) ** 2))
    errors = np.full(len(features), np.inf)
    for ridge in RIDGES:
        g = 1 / (np.maximum(values, 0.0) + ridge * np.maximum(trace, LEAST)[:, None])
        left = 1 - weights - np.matmul(squares, g[:, :, None])[:, :, 0]
        residuals = centred - np.matmul(U, g[:, :, None] * c)
        residuals /= np.maximum(left, LEAST)[:, :, None]
        np.minimum(errors, np.einsum("miq,miq->m", residuals, residuals), out=errors)
    errors[trace <= LEAST] = total
    return np.asarray(1 - errors / total) if total > 0 else np.zeros(len(features))


def _scores(
    features: Callable[[Index], Array], blocks: list[Index], Y: Array, weights: Array, verbose: int
) -> Array:
    done = (held_out(features(block), Y, weights) for block in blocks)
    scored = track(done, len(blocks), "Scoring columns", verbose=verbose)
    return np.concatenate([np.empty(0), *scored])


def _parts(n: int, size: int) -> Iterator[slice]:
    """Slices of ``n`` models of ``size`` numbers each that stay within ``SCORED_AT_ONCE``."""
    step = max(1, SCORED_AT_ONCE // max(1, size))
    for start in range(0, n, step):
        yield slice(start, start + step)


def largest_products(
    X: Array,
    weights: Array,
    residuals: Array,
    first: Index,
    n_pairs: int,
    *,
    block: int = BLOCK,
    margin: float = MARGIN,
    verbose: int = 0,
) -> Index:
    """About ``n_pairs`` pairs (k, 2) of largest product, one of each among the columns ``first``.

    ``first`` is sorted. Fewer where chance alone would give more.
    """
    d = X.shape[1]
    everywhere = len(first) == d
    Z = _standard(X, weights, np.arange(d))
    starts = [
        (a, b) for a in range(0, len(first), block) for b in range(a if everywhere else 0, d, block)
    ]
    searched = len(first) * (d - 1) / (2 if everywhere else 1)
    kept = [_Largest(n_pairs, margin * n_pairs / max(searched, 1.0)) for _ in residuals.T]
    targets = _unit(weights, residuals)
    for a, b in track(starts, len(starts), "Looking at pairs", verbose=verbose):
        rows, columns = first[a : a + block], np.arange(b, min(b + block, d))
        for largest, target in zip(kept, targets.T, strict=True):
            largest.look((Z[rows] * target) @ Z[columns].T, rows, columns)
    found = np.concatenate([largest.pairs() for largest in kept])
    return np.asarray(np.unique(found, axis=0))


def best_pairs(
    X: Array, weights: Array, residuals: Array, pairs: Index, n_pairs: int
) -> tuple[Index, Array]:
    """The pairs of largest held-out score for the residuals, and their scores, best first.

    Looked for among the ``JUDGED_PAIRS`` times as many of largest product.
    """
    used, where = np.unique(pairs, return_inverse=True)
    where = where.reshape(-1, 2)
    Z, targets = _standard(X, weights, used), _unit(weights, residuals)
    sizes = np.zeros(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), BLOCK):
        a, b = where[start : start + BLOCK].T
        sizes[start : start + BLOCK] = np.abs((Z[a] * Z[b]) @ targets).max(axis=1)
    promising = pairs[np.argsort(-sizes, kind="stable")[: JUDGED_PAIRS * n_pairs]]
    scores = product_scores(X, residuals, weights, promising)
    best = np.argsort(-scores, kind="stable")[:n_pairs]
    return promising[best], scores[best]


def _standard(X: Array, weights: Array, columns: Index) -> Single:
    """Clipped columns as rows, in single precision."""
    Z = np.empty((len(columns), len(X)), dtype=np.float32)
    for start in range(0, len(columns), BLOCK):
        part = slice(start, start + BLOCK)
        Z[part] = clipped(X[:, columns[part]], weights).T
    return Z


def _unit(weights: Array, residuals: Array) -> Single:
    """Weighted residuals in units that make a product of noise a standard normal number."""
    weighted = residuals * weights[:, None]
    size = np.linalg.norm(weighted, axis=0)
    return np.asarray(weighted / np.where(size > 0, size, 1.0), dtype=np.float32)


class _Largest:
    """The largest entries, in size, of a matrix that comes in blocks."""

    def __init__(self, wanted: int, share: float) -> None:
        self.wanted = wanted
        self.least = float(norm.isf(min(1.0, share) / 2))  # what so many of noise are above
        self.sizes, self.found = np.empty(0, dtype=np.float32), np.empty((0, 2), dtype=np.intp)

    def look(self, M: Single, rows: Index, columns: Index) -> None:
        """Take from a block what is large enough; no column is paired with itself."""
        high = np.flatnonzero(np.maximum(M.max(axis=1), -M.min(axis=1)) >= self.least)
        if not high.size:
            return
        sizes = np.abs(M[high])
        i, j = np.nonzero(sizes >= self.least)
        pairs = np.column_stack([rows[high[i]], columns[j]])
        apart = pairs[:, 0] != pairs[:, 1]
        self.sizes = np.concatenate([self.sizes, sizes[i, j][apart]])
        self.found = np.concatenate([self.found, np.sort(pairs[apart], axis=1)])
        if len(self.sizes) > 4 * self.wanted:
            self._trim()

    def pairs(self) -> Index:
        """The pairs, largest first."""
        self._trim()
        return self.found

    def _trim(self) -> None:
        """Each pair once, and no more of them than wanted."""
        self.found, where = np.unique(self.found, axis=0, return_index=True)
        self.sizes = self.sizes[where]
        order = np.argsort(-self.sizes, kind="stable")[: self.wanted]
        self.sizes, self.found = self.sizes[order], self.found[order]
        if len(order) == self.wanted:
            self.least = float(self.sizes[-1])
