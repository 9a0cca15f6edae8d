r"""Terms, their priors, their price, and the number that decides: the priced gain in nats.

A term is a set of columns; its functions are products of the columns' own (see
:mod:`nablasso.streaming.codes`), its prior variances ``v lam_k`` with ``lam_k`` the product of the
eigenvalues and one ``v`` per term, in units of the noise.

**The gain.** Given the rest of the model a term has scores ``s`` and information ``S``. In the
eigenbasis of ``lam^1/2 S lam^1/2`` (eigenvalues ``e``, squared scores ``x2``) the log evidence of
the term over none is, the mean integrated out and the noise profiled,

.. math:: -\tfrac{n-1}2 \log\Big(1 - \frac1q \sum_k \frac{v x_k^2}{1 + v e_k}\Big)
          - \tfrac12 \sum_k \log(1 + v e_k)

with ``q`` the penalised sum of squares without the term; with a given dispersion ``s2`` its first
part is :math:`\tfrac1{2 s2} \sum v x^2/(1 + v e)`. The gain is its largest value over ``v``: what
an n x n Gaussian process would say (Woodbury), from sums.

**Robust.** Where the noise is uneven or serial the scores vary more than ``s2 S``. The squared
scores are divided by the largest eigenvalue of their variance ``M`` over ``s2 S``, weighted as the
gain weighs them, with what chance makes of it (Marchenko and Pastur's edge) taken off; at least 1.

**The price** is the log of the looks: how many terms of that kind could have been tried.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from math import lgamma, log

import numpy as np

from nablasso.streaming.passes import Term
from nablasso.types import Array

KINDS = 3  # columns, pairs, triples: each has a third of the chances
LARGEST_VARIANCE = 1e6  # of a term over the noise: beyond it a term is exact
ROUNDING = 1e-9  # information over the rows: a function that the rest of the model contains


@dataclass(frozen=True)
class Noise:
    """What a score is measured against: rows, dispersion, and q where the noise is profiled."""

    n: float
    dispersion: float
    profiled: bool
    independent: float  # scores that were added up for their variance


@dataclass(frozen=True)
class Gain:
    """What a term brings, in nats: with the robust factor, and without; at its best variance."""

    robust: float
    plain: float
    variance: float
    factor: float


def price(term: Term, inside: Set[int], n_columns: int, surprise: float) -> float:
    """Log of the looks for a term, given the columns already inside."""
    new = sum(j not in inside for j in term)
    old = len(term) - new
    looks = new * log(n_columns) - lgamma(new + 1)
    looks += old * log(max(len(inside), 1)) - lgamma(old + 1)
    return max(looks, 0.0) + log(KINDS) + surprise


def evidence(x2: Array, e: Array, v: Array, q: float, noise: Noise) -> Array:
    """Log evidence of terms over none; ``v`` has one axis more in front than ``x2`` and ``e``."""
    ve = v * e
    explained = (x2 * (v / (1 + ve))).sum(axis=-1)
    cost = 0.5 * np.log1p(ve).sum(axis=-1)
    if noise.profiled:
        left = np.maximum(1 - explained / q, 1e-12)
        return np.asarray(-0.5 * (noise.n - 1) * np.log(left) - cost)
    return np.asarray(0.5 * explained / noise.dispersion - cost)


def variances(n: float) -> Array:
    """Variances to be tried, a factor of e apart."""
    return np.asarray(np.exp(np.arange(-log(n), log(LARGEST_VARIANCE), 1.0))[:, None])


def gain_of(s: Array, S: Array, M: Array, lam: Array, q: float, noise: Noise) -> Gain:
    """The gain of a term with scores ``s``, information ``S`` and score variance ``M``."""
    root = np.sqrt(lam)
    e, Q = np.linalg.eigh(root[:, None] * S * root)
    e = np.maximum(e, ROUNDING * noise.n)
    x2 = (Q.T @ (root * s)) ** 2
    v, plain = _best(x2, e, q, noise)
    if plain <= 0:
        return Gain(plain, plain, v, 1.0)
    t = v * e / (1 + v * e)
    U = Q * (root[:, None] * np.sqrt(t / (noise.dispersion * e)))
    top = float(np.linalg.eigvalsh(U.T @ M @ U)[-1]) / t.max()
    chance = (1 + np.sqrt((t**2).sum() / t.max() ** 2 / noise.independent)) ** 2
    factor = max(1.0, top / chance)
    robust = plain if factor == 1.0 else _best(x2 / factor, e, q, noise)[1]
    return Gain(robust, plain, v, factor)


def _best(x2: Array, e: Array, q: float, noise: Noise) -> tuple[float, float]:
    """Variance of largest evidence, and that evidence: a grid, then a parabola."""
    grid = variances(noise.n)
    f = evidence(x2, e, grid, q, noise)
    k = int(np.argmax(f))
    v = float(grid[k, 0])
    if 0 < k < len(f) - 1:
        bend = min(f[k - 1] - 2 * f[k] + f[k + 1], -1e-9)
        v *= float(np.exp(np.clip(0.5 * (f[k - 1] - f[k + 1]) / bend, -0.5, 0.5)))
    return v, float(evidence(x2, e, np.array([[v]]), q, noise)[0])


def orthonormal_gains(chi: Array, lam: Array, n: float) -> Array:
    """Gains of many terms as if all functions were orthonormal.

    ``chi`` (terms, functions) holds squared scores over their variance, ``lam`` the prior.
    """
    best = np.full(len(chi), -np.inf)
    for v in variances(n)[:, 0]:
        a = v * n * lam
        np.maximum(best, 0.5 * (chi * a / (1 + a) - np.log1p(a)).sum(axis=1), out=best)
    return best
