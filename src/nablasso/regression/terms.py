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

**A model of terms.** With ``D = 1 / (v lam)`` the posterior of the coefficients (in units of the
noise) is ``P = (C + D)^-1``, ``w = P c``, and ``q = y'y - c'w``. Everything about a term outside is
in ``S = C_tt - C_tM P C_Mt`` and ``s = c_t - C_tM w``; about a term inside, in the blocks of ``P``:
``S = (P_tt)^-1 - D_t``, ``s = (P_tt)^-1 w_t``. No refit is needed.

**Which terms are worth that.** As if all functions were orthonormal, the squared scores over their
variance and the prior give a gain without any sum of products (:func:`orthonormal_gains`). Columns
and pairs are ranked by it on all rows, triples on the fair sample: the scores of all products of
three functions are ``2 d`` matrix products of the functions with themselves.

A floor of 1e-9 of the rows on the diagonal of ``C`` keeps copies apart from rounding.
Cost: one inverse of (p x p) for a term that enters or leaves; p^2 k for a new variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from math import lgamma, log

import numpy as np

from nablasso.streaming.codes import CodedColumn, Codes
from nablasso.streaming.passes import Design, Term
from nablasso.streaming.responses import Sums
from nablasso.types import Array

Ranked = list[tuple[float, Term]]

KINDS = 3  # columns, pairs, triples: each has a third of the chances
LARGEST_VARIANCE = 1e6  # of a term over the noise: beyond it a term is exact
ROUNDING = 1e-9  # information over the rows: a function that the rest of the model contains
FLOOR = 1e-9  # of the rows, on the diagonal of C
SETTLED = 0.1  # change of log v below which variances are tuned
SWEEPS = 12  # of the tuning at most
TRIPLE_FUNCTIONS = 2  # of a column, in the screen of triples
TRIPLE_WORK = 1e10  # multiplications that the screen of triples may take
LEAST_SPREAD = 0.05  # of a product: one that hardly varies is not made large by dividing
LEAST_SAMPLE = 1000  # rows without which triples are not looked at


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


class Posterior:
    """Terms with their variances on the sums of a design.

    ``sums`` are those of :func:`nablasso.streaming.passes.model_sums`, scores and weights taken at
    the coefficients ``at``; ``priors`` are ``lam`` of every term of the design, ``variance`` are
    the terms of the model and ``v`` of each.
    """

    def __init__(
        self,
        sums: Sums,
        design: Design,
        at: Array,
        priors: Mapping[Term, Array],
        noise: Noise,
        variance: Mapping[Term, float],
        floor: float = FLOOR,
    ) -> None:
        self.design, self.priors, self.noise = design, priors, noise
        self.C = sums["C"] + floor * noise.n * np.diag(np.arange(design.width) > 0)
        self.M = sums["M"]
        working = sums["C"] @ at
        self.c = sums["c"] + working
        self.yy = float(sums["score"] + 2 * sums["c"] @ at + at @ working)
        self.variance = dict(variance)
        self.rebuild()

    def rebuild(self) -> None:
        """Posterior of the terms inside."""
        own = [self.design.at[term] for term in self.variance]
        precision = [1 / (v * self.priors[term]) for term, v in self.variance.items()]
        ends = np.cumsum([1, *map(len, own)])[:-1]
        places = (k + np.arange(len(at)) for k, at in zip(ends, own, strict=True))
        self.place = dict(zip(self.variance, places, strict=True))
        W = self.inside_at = np.concatenate([np.zeros(1, dtype=np.intp), *own])
        self.D = np.concatenate([np.zeros(1), *precision])
        self.P = np.linalg.inv(self.C[np.ix_(W, W)] + np.diag(self.D))
        self.P = (self.P + self.P.T) / 2
        self._solve()

    def _solve(self) -> None:
        c = self.c[self.inside_at]
        self.w = self.P @ c
        self.q = max(self.yy - float(c @ self.w), 1e-12 * self.yy)

    @property
    def effective(self) -> float:
        """Effective number of parameters."""
        return float(len(self.D) - self.P.diagonal() @ self.D)

    def outside(self, term: Term) -> Gain:
        """The gain of a term that is not in the model."""
        t, W = self.design.at[term], self.inside_at
        cross = self.C[np.ix_(t, W)]
        B = cross @ self.P
        shared = B @ self.M[np.ix_(W, t)]
        M = self.M[np.ix_(t, t)] - shared - shared.T + B @ self.M[np.ix_(W, W)] @ B.T
        S = self.C[np.ix_(t, t)] - B @ cross.T
        return gain_of(self.c[t] - cross @ self.w, S, M, self.priors[term], self.q, self.noise)

    def inside(self, term: Term) -> Gain:
        """The gain of a term of the model, given all others."""
        a = self.place[term]
        inverse = np.linalg.inv(self.P[np.ix_(a, a)])
        inverse = (inverse + inverse.T) / 2
        s = inverse @ self.w[a]
        R = inverse @ self.P[a]
        M = R @ self.M[np.ix_(self.inside_at, self.inside_at)] @ R.T
        S = inverse - np.diag(self.D[a])
        q = self.q + float(s @ self.w[a])
        return gain_of(s, S, M, self.priors[term], q, self.noise)

    def enter(self, term: Term, variance: float) -> None:
        """Take a term in."""
        self.variance[term] = variance
        self.rebuild()

    def leave(self, term: Term) -> None:
        """Take a term out."""
        del self.variance[term]
        self.rebuild()

    def tune(self, sweeps: int = SWEEPS) -> None:
        """Every term's variance at the top of its own gain, in turn, until they settle."""
        for _ in range(sweeps):
            moved = 0.0
            for term, old in list(self.variance.items()):
                new = self.inside(term).variance
                step = abs(float(np.log(new / old)))
                moved = max(moved, step)
                self.variance[term] = new
                a = self.place[term]
                D = 1 / (new * self.priors[term])
                change = D - self.D[a]
                if step > 1e-9:
                    Pa = self.P[:, a]
                    self.P -= Pa @ np.linalg.solve(np.diag(1 / change) + Pa[a], Pa.T)
                    self.D[a] = D
                    self._solve()
            if moved < SETTLED:
                break
        self.rebuild()

    @property
    def log_evidence(self) -> float:
        """Restricted log evidence of the model, up to a constant of the rows."""
        prior = float(np.log(self.D[1:]).sum())
        shape = 0.5 * (float(np.linalg.slogdet(self.P)[1]) + prior)
        if not self.noise.profiled:
            return shape - 0.5 * self.q / self.noise.dispersion
        return shape - 0.5 * (self.noise.n - 1) * float(np.log(self.q))

    def cost_of_leaving(self, terms: list[Term]) -> float:
        """Log evidence lost when terms leave together, the variances of the others kept."""
        a = np.concatenate([self.place[term] for term in terms])
        block = self.P[np.ix_(a, a)]
        explained = float(self.w[a] @ np.linalg.solve(block, self.w[a]))
        half = 0.5 * float(np.linalg.slogdet(block)[1] + np.log(self.D[a]).sum())
        if self.noise.profiled:
            return 0.5 * (self.noise.n - 1) * float(np.log1p(explained / self.q)) + half
        return 0.5 * explained / self.noise.dispersion + half


def columns_by_gain(
    columns: Sequence[CodedColumn], scores: Array, variance: float, n: float, k: int
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
    columns: Sequence[CodedColumn], squares: Array, sizes: Sequence[tuple[int, int]], n: float
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
    columns: Sequence[CodedColumn],
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
    columns: Sequence[CodedColumn], codes: Codes, weight: Array, scores: Array
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
