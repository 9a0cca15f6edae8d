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

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import NDArray

from nablasso.progress import track
from nablasso.regression.models import ADDITIVE, GAUSSIAN, SMOOTH_PAIRS, FewRows
from nablasso.types import Array, Index, Mask

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


class Screened(NamedTuple):
    """Groups that are kept or clear, those and the next best ones, and each column's own score."""

    clear: Mask
    open: Mask
    scores: Array


def screen(
    rows: FewRows,
    *,
    n_spare: int = SPARE,
    n_columns: int = SHORTLISTED_COLUMNS,
    n_pairs: int = SHORTLISTED_PAIRS,
    pair_work: float = PAIR_WORK,
    verbose: int = 0,
) -> Screened:
    """Rounds among the best columns, one more look at what these leave over, then pairs too.

    ``n_spare`` groups come along with the clear ones; ``n_columns`` and ``n_pairs`` are
    short-listed; without pairs columns are looked at alone.
    """
    everything = np.arange(rows.X.shape[1])
    weights = rows.weights / rows.weights.sum()
    nothing = np.empty((0, 2), dtype=np.intp)
    first = column_scores(rows.X, rows.Y, weights, everything, verbose=verbose)
    best = np.argsort(-first, kind="stable")[:n_columns]
    clear, _ = _rounds(rows, np.sort(best), nothing)
    residuals = left_over(rows, clear)
    second = column_scores(rows.X, residuals, weights, everything, verbose=verbose)
    columns = np.union1d(best, np.argsort(-second, kind="stable")[:n_columns])
    products = nothing
    if n_pairs:
        alone = np.argsort(-np.maximum(first, second), kind="stable")
        affordable = max(1, int(pair_work / (2 * rows.X.size)))
        among = np.sort(alone[:affordable])
        products = largest_products(rows.X, weights, residuals, among, n_pairs, verbose=verbose)
    return Screened(*_rounds(rows, columns, products, n_spare), first)


def narrowed(rows: FewRows, **options: Any) -> tuple[FewRows, Index]:
    """The rows with the columns that a search begins from, and these columns.

    What is paid for the choice stays that of all groups. ``options`` are those of :func:`screen`.
    """
    opened = screen(rows, **options).open
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


def _rounds(rows: FewRows, columns: Index, pairs: Index, n_spare: int = 0) -> tuple[Mask, Mask]:
    """Take in what is clear, again and again, among the given columns and pairs; then the spare."""
    n, d = rows.X.shape
    weights = rows.weights / rows.weights.sum()
    found = np.zeros(rows.n_groups, dtype=bool)
    found[rows.kept] = True
    for _ in range(ROUNDS):
        residuals = left_over(rows, found)
        scores = np.full(d, -np.inf)
        scores[columns] = column_scores(rows.X, residuals, weights, columns)
        products = product_scores(rows.X, residuals, weights, pairs)
        strongest = np.argsort(-products, kind="stable")[:PAIRS_PER_ROUND]
        best, values = pairs[strongest], products[strongest]
        by_group = group_scores(rows.labels, scores)
        strongest = np.argsort(-by_group, kind="stable")[:PER_ROUND]
        new = np.zeros_like(found)
        new[strongest[by_group[strongest] > by_chance(n, CLEARLY * d)]] = True
        new[rows.labels[best[values > by_chance(n, CLEARLY * d * d / 2)].ravel()]] = True
        if not np.any(new & ~found):
            break
        found |= new
    by_group[found], opened = -np.inf, found.copy()
    spare = np.argsort(-by_group, kind="stable")[:n_spare]
    opened[spare[np.isfinite(by_group[spare])]] = True
    opened[rows.labels[best[: SPARE_PAIRS if n_spare else 0].ravel()]] = True
    return found, opened


def column_scores(X: Array, Y: Array, weights: Array, columns: Index, *, verbose: int = 0) -> Array:
    """Score of each of the given columns of ``X`` (n, d) for targets ``Y`` (n, q)."""
    size = DEGREE * len(X)
    return _scores(lambda some: curves(X[:, some], weights), columns, size, Y, weights, verbose)


def product_scores(X: Array, Y: Array, weights: Array, pairs: Index) -> Array:
    """Score of the product of each pair (k, 2) of columns."""
    used, where = np.unique(pairs, return_inverse=True)
    Z = np.ascontiguousarray(clipped(X[:, used], weights).T)

    def features(some: Index) -> Array:
        return np.asarray(Z[some[:, 0]] * Z[some[:, 1]])[:, :, None]

    return _scores(features, where.reshape(-1, 2), len(X), Y, weights)


def _scores(
    features: Callable[[Index], Array],
    models: Index,
    size: int,
    Y: Array,
    weights: Array,
    verbose: int = 0,
) -> Array:
    """Scores of models of ``size`` numbers each, ``SCORED_AT_ONCE`` numbers at once."""
    step = max(1, SCORED_AT_ONCE // size)
    starts = range(0, len(models), step)
    done = (held_out(features(models[start : start + step]), Y, weights) for start in starts)
    scored = track(done, len(starts), "Scoring columns", verbose=verbose)
    return np.concatenate([np.empty(0), *scored])


def clipped(X: Array, weights: Array) -> Array:
    """Columns in deviations from their mean, at most ``REACH`` of them; zero where constant."""
    Z = X - weights @ X
    size = np.sqrt(weights @ Z**2)
    Z /= np.where(size > 0, size, np.inf)
    return np.asarray(np.clip(Z, -REACH, REACH, out=Z))


def curves(X: Array, weights: Array) -> Array:
    """Shrunken polynomials of each column, (columns, n, DEGREE)."""
    polynomials = chebvander(clipped(X, weights).T / REACH, DEGREE)[:, :, 1:]
    return np.ascontiguousarray(polynomials / np.arange(1, DEGREE + 1))


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


def largest_products(
    X: Array,
    weights: Array,
    residuals: Array,
    first: Index,
    n_pairs: int,
    *,
    block: int = BLOCK,
    verbose: int = 0,
) -> Index:
    """The ``n_pairs`` pairs (k, 2) of largest product, one of each among the columns ``first``.

    ``first`` is sorted; of several residuals the one of the largest product counts.
    """
    d = X.shape[1]
    parts = (clipped(X[:, a : a + block], weights).T for a in range(0, d, block))
    Z = np.vstack([part.astype(np.float32) for part in parts])
    weighted, inside = residuals * weights[:, None], np.isin(np.arange(d), first)
    units = np.maximum(np.linalg.norm(weighted, axis=0), LEAST)  # makes noise standard normal
    targets = (weighted / units).astype(np.float32)
    sizes, found = np.empty(0, dtype=np.float32), np.empty((0, 2), dtype=np.intp)
    starts = [
        (a, b)
        for a in range(0, len(first), block)
        for b in range(a if inside.all() else 0, d, block)
    ]
    for a, b in track(starts, len(starts), "Looking at pairs", verbose=verbose):
        rows, columns = first[a : a + block], np.arange(b, min(b + block, d))
        M = np.max([np.abs((Z[rows] * target) @ Z[columns].T) for target in targets.T], axis=0)
        M[inside[columns] & (columns <= rows[:, None])] = 0.0  # itself, or seen the other way round
        M = M.ravel()
        least = sizes.min() if len(sizes) == n_pairs else 0.0
        near = np.flatnonzero(least < M)
        near = near[_largest(M[near], n_pairs)]
        pairs = np.column_stack([rows[near // len(columns)], columns[near % len(columns)]])
        sizes, found = np.concatenate([sizes, M[near]]), np.concatenate([found, pairs])
        best = _largest(sizes, n_pairs)
        sizes, found = sizes[best], found[best]
    return np.asarray(np.unique(np.sort(found, axis=1), axis=0))


def _largest(values: NDArray[np.float32], count: int) -> Index:
    """Places of the largest values, in any order."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.argpartition(-values, count)[:count]
