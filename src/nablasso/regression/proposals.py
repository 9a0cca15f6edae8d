r"""Which terms are worth measuring: gains as if all functions were orthonormal.

The squared scores of a term's functions over their variance, and its prior, give a gain without
any sum of products of functions (:func:`nablasso.regression.terms.orthonormal_gains`). Columns and
pairs are scored on all rows, triples on the fair sample: the scores of all products of three
functions are ``2 d`` matrix products of the functions with themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nablasso.regression.terms import orthonormal_gains
from nablasso.streaming.codes import Codes, Column
from nablasso.streaming.passes import Term
from nablasso.types import Array

Ranked = list[tuple[float, Term]]

TRIPLE_FUNCTIONS = 2  # of a column, in the screen of triples
TRIPLE_WORK = 1e10  # multiplications that the screen of triples may take
LEAST_SPREAD = 0.05  # of a product: one that hardly varies is not made large by dividing
LEAST_SAMPLE = 1000  # rows without which triples are not looked at


def columns_by_gain(
    columns: Sequence[Column], scores: Array, variance: float, n: float, k: int
) -> Ranked:
    """Gains of all columns, from the scores of all their codes in turn."""
    ends = np.cumsum([len(c.table) for c in columns])[:-1]
    chi, lam = np.zeros((2, len(columns), k))
    for j, (column, s) in enumerate(zip(columns, np.split(scores, ends), strict=True)):
        m = min(k, len(column.prior))
        chi[j, :m] = (column.table[:, :m].T @ s) ** 2 / variance
        lam[j, :m] = column.prior[:m]
    gains = orthonormal_gains(chi, lam, n)
    return [(float(g), (j,)) for j, g in enumerate(gains) if len(columns[j].prior)]


def pairs_by_gain(
    columns: Sequence[Column], squares: Array, sizes: Sequence[tuple[int, int]], n: float
) -> Ranked:
    """Gains of pairs, from the squared scores of products over their variances.

    ``sizes`` lists columns and how many functions of each have part in products.
    """
    if len(sizes) < 2:
        return []
    q, d = max(k for _, k in sizes), len(sizes)
    chi, lam = np.zeros((d, q, d, q)), np.zeros((d, q))
    at = np.concatenate([np.arange(k) + i * q for i, (_, k) in enumerate(sizes)])
    chi.reshape(d * q, d * q)[np.ix_(at, at)] = squares
    for i, (j, k) in enumerate(sizes):
        lam[i, :k] = columns[j].prior[:k]
    a, b = np.triu_indices(d, k=1)
    # A pair whose scores are what chance makes of them gains nothing at any variance.
    total, top = chi.sum(axis=(1, 3))[a, b], chi.max(axis=(1, 3))[a, b]
    worth = (top > 6) | (total > q * q + 3 * np.sqrt(2.0) * q)
    a, b = a[worth], b[worth]
    prior = (lam[a][:, :, None] * lam[b][:, None, :]).reshape(-1, q * q)
    gains = orthonormal_gains(chi[a, :, b].reshape(-1, q * q), prior, n)
    names = [j for j, _ in sizes]
    return [(float(g), (names[i], names[k])) for g, i, k in zip(gains, a, b, strict=True)]


def product_spread(
    columns: Sequence[Column],
    sizes: Sequence[tuple[int, int]],
    codes: Codes,
    weight: Array,
    scores: Array,
) -> Array:
    """Variances of the scores of products at sampled rows, over that of orthonormal functions.

    Products of correlated columns vary more than others, and so do scores of uneven noise.
    """
    if not sizes:
        return np.ones((0, 0))
    squares = np.concatenate([columns[j].table[:, :q].T[:, codes[j]] for j, q in sizes]) ** 2
    share = weight * scores**2
    total = max(float(share.sum()), 1e-300)
    squares = squares.astype(np.float32)
    spread = (squares * (share / total).astype(np.float32)) @ squares.T
    return np.asarray(np.maximum(spread, LEAST_SPREAD), dtype=float)


def triple_rows(n_columns: int, n_rows: int) -> int:
    """Sampled rows that the screen of triples can afford; 0 if too few."""
    work = float(TRIPLE_FUNCTIONS * n_columns) ** 3
    rows = int(min(n_rows, TRIPLE_WORK / max(work, 1.0)))
    return rows if rows >= min(n_rows, LEAST_SAMPLE) else 0


def triples_by_gain(
    columns: Sequence[Column], codes: Codes, weight: Array, scores: Array
) -> Ranked:
    """Gains of all triples at coded rows with these weights and scores."""
    q = TRIPLE_FUNCTIONS
    live = [j for j, c in enumerate(columns) if len(c.prior)]
    P, lam = np.zeros((len(live) * q, len(scores))), np.zeros((len(live), q))
    for i, j in enumerate(live):
        k = min(q, len(columns[j].prior))
        P[i * q : i * q + k] = columns[j].table[codes[j], :k].T
        lam[i, :k] = columns[j].prior[:k]
    found: Ranked = []
    variance = float(weight @ scores**2)
    for i in range(len(live) - 2):
        rest, tail, m = P[(i + 1) * q :], lam[i + 1 :], len(live) - i - 1
        s = np.stack([(rest * (weight * scores * P[i * q + a])) @ rest.T for a in range(q)])
        var = [(rest**2 * (weight * (scores * P[i * q + a]) ** 2)) @ rest.T**2 for a in range(q)]
        chi = s**2 / np.maximum(var, LEAST_SPREAD * variance)
        chi = chi.reshape(q, m, q, m, q).transpose(1, 3, 0, 2, 4)
        a, b = np.triu_indices(m, k=1)
        worth = chi[a, b].sum(axis=(1, 2, 3)) > q**3 + 2 * np.sqrt(2.0 * q**3)
        a, b = a[worth], b[worth]
        prior = np.einsum("x,ny,nz->nxyz", lam[i], tail[a], tail[b]).reshape(-1, q**3)
        gains = orthonormal_gains(chi[a, b].reshape(-1, q**3), prior, float(weight.sum()))
        found += [
            (float(g), (live[i], live[i + 1 + x], live[i + 1 + y]))
            for g, x, y in zip(gains, a, b, strict=True)
        ]
    return found
