r"""How much of the variance of a function each column carries.

With rows ``x`` drawn from a law (:mod:`nablasso.reading.law`) and players S,
``v(S) = Var(E[f | x_S])`` is the variance that S explains. In parts of ``Var f``:

* **share**, the Shapley effect: the mean of ``v(S + a) - v(S)`` over all orders in which players
  can come, S those before ``a``. Shares are not negative and add up to one, whatever depends on
  what; columns that say the same have the same share.
* **first order** ``v(a)``: what the column explains alone.
* **total** ``1 - v(all but a)``: what nothing else explains. With independent columns
  first order <= share <= total, and the difference is what it does together with others.
* **a pair's share**: with ``(a, b)`` and ``(a', b')`` two draws given the rest ``r``, and the mixed
  difference :math:`\Delta = f(a, b, r) - f(a', b, r) - f(a, b', r) + f(a', b', r)`, it is
  ``E \Delta^2 / 4``: zero exactly where the two add up; with independent columns the sum of all
  ANOVA terms that hold both. Triples likewise, over 8. With a second draw ``r''`` of the rest,
  ``E \Delta(r) \Delta(r'') / 4`` is the term of the pair alone, the **second-order** index.

**How.** ``f`` itself is evaluated, nothing is smoothed. ``E Var(f | x_S)`` is
``E (f(x) - f(x^S))^2 / 2`` with ``x^S`` a row that shares S and draws all others anew given S; rows
are evenly spread (Sobol' points).

* Up to ``ALL_SETS`` players all ``2^p`` sets are taken: no order is left out.
* Beyond, one order of the players, with ``x^S`` for its first 0, 1, ..., p players, is a chain of
  ``p + 1`` rows that gives every player's increment, and these add up to ``(f(x) - f(x'))^2 / 2``.
  The orders are random ones, their rotations and reversals: every player comes at every place
  equally often.

Both are unbiased for the law, except that shares below zero by the draw are zero.

Several functions (classes) add up. All take many functions at once, the last axis: draws of the
fitted function share the points.

Cost: ``2^p n`` or ``(p + 1) n`` evaluations for the shares, ``(2 p + 1) n`` for first order and
total, ``4 n`` for a pair (twice that for the second-order index), ``8 n`` for a triple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import factorial

import numpy as np
from scipy.linalg import solve_triangular

from nablasso.reading.law import Law
from nablasso.types import Array, Index

Values = Callable[[Array], Array]  # rows (m, d) to values (m, functions, draws)

SEED = 20_11  # of all draws here: the same rows give the same shares
LEAST, MOST = 10, 12  # two to these powers: rows that a mean is taken over
WORK = 3e6  # rows times centres of a kernel: some hundredths of a second
ORDERS = 256  # about so many different orders: few rows each, but no order counts much
ALL_SETS = 5  # players up to which all sets of them are taken


def rows_for(evaluations: int, centres: int, least: int = LEAST, work: float = WORK) -> int:
    """A power of two: rows for a mean, by what an evaluation costs."""
    affordable = work / max(evaluations * centres, 1)
    return int(2 ** np.clip(np.floor(np.log2(max(affordable, 1.0))), least, MOST))


def unexplained(
    values: Values, law: Law, sets: Sequence[tuple[int, ...]], n: int
) -> tuple[Array, Array]:
    """``E Var(f | x_S)`` of sets of players, (sets, draws), and ``Var f`` (draws,)."""
    p = law.n_players
    drawn, other = law.noise(n, 2, SEED)
    z = np.empty((len(sets) + 1, n, p))
    z[-1] = law.scores(drawn)
    for i, some in enumerate(sets):
        k = len(some)
        order = np.append(some, law.others(some)).astype(np.intp)
        L, e = law.factor(order), other[:, order].copy()
        e[:, :k] = solve_triangular(L[:k, :k], z[-1][:, order[:k]].T, lower=True).T
        z[i][:, order] = e @ L.T
    F = values(law.rows(z.reshape((len(sets) + 1) * n, p)))
    F = F.reshape(len(sets) + 1, n, *F.shape[1:])
    left = np.sum(np.mean((F[:-1] - F[-1]) ** 2, axis=1) / 2, axis=1)
    variance = np.sum(F[-1].var(axis=0), axis=0)
    # half the squared distance in units of the variance of both ends: one minus a correlation
    both = (np.sum(F[:-1].var(axis=1), axis=1) + variance) / 2
    return left * (variance / np.where(both > 0, both, 1.0)), variance


def shapley_shares(values: Values, law: Law, n: int) -> Array:
    """Shapley effects (p, draws), adding up to one; zero where nothing varies."""
    shares = (_all_sets if law.n_players <= ALL_SETS else _chains)(values, law, n)
    shares = np.maximum(shares, 0.0)
    whole = shares.sum(axis=0)
    return np.asarray(shares / np.where(whole > 0, whole, 1.0))


def _all_sets(values: Values, law: Law, n: int) -> Array:
    players = range(law.n_players)
    sets = [some for k in players for some in combinations(players, k)]
    left, _ = unexplained(values, law, sets, n)
    of = {**dict(zip(sets, left, strict=True)), tuple(players): np.zeros(left.shape[1])}
    shares = np.zeros((law.n_players, left.shape[1]))
    for some in sets:
        for a in set(players).difference(some):
            orders = factorial(len(some)) * factorial(law.n_players - len(some) - 1)
            shares[a] += orders * (of[some] - of[tuple(sorted((*some, a)))])
    return shares / factorial(law.n_players)


def _chains(values: Values, law: Law, n: int) -> Array:
    p = law.n_players
    orders = _orders(p, law.rank)
    each = max(n // 2 ** int(np.ceil(np.log2(len(orders)))), 8)
    noise = law.noise(2 ** int(np.ceil(np.log2(each * len(orders)))), 2, SEED)
    z = np.empty((p + 1, each * len(orders), p))
    for i, order in enumerate(orders):
        rows = slice(i * each, (i + 1) * each)
        L, (kept, other) = law.factor(order), noise[:, rows][:, :, order]
        mixed = other.copy()
        for k in range(p + 1):
            z[k, rows][:, order] = mixed @ L.T
            if k < p:
                mixed[:, k] = kept[:, k]
    F = values(law.rows(z.reshape(-1, p)))
    F = F.reshape(p + 1, len(orders), each, *F.shape[1:])
    D = np.sum((F - F[p]) ** 2, axis=3) / 2  # (p + 1, orders, rows, draws)
    steps = np.mean(D[:-1] - D[1:], axis=2)
    shares = np.zeros((p, F.shape[-1]))
    for i, order in enumerate(orders):
        shares[order] += steps[:, i]
    return shares


def _orders(p: int, rank: Index) -> list[Index]:
    """Random orders with their rotations and reversals, in terms of the rank of the players."""
    rng = np.random.default_rng(SEED)
    found: dict[tuple[int, ...], None] = {}
    for _ in range(max(1, round(ORDERS / (2 * p)))):
        one = rng.permutation(p)
        for k in range(p):
            found[tuple(np.roll(one, k).tolist())] = None
            found[tuple(np.roll(one, k)[::-1].tolist())] = None
    return [rank[list(order)] for order in found]


@dataclass(frozen=True)
class Indices:
    """First order and total (p, draws), in parts of the variance (draws,)."""

    first: Array
    total: Array
    variance: Array


def sobol(values: Values, law: Law, n: int) -> Indices:
    """First-order and total indices of all players."""
    p = law.n_players
    sets = [(a,) for a in range(p)] + [tuple(b for b in range(p) if b != a) for a in range(p)]
    left, variance = unexplained(values, law, sets, n)
    unit = np.where(variance > 0, variance, 1.0)
    return Indices(np.clip(1 - left[:p] / unit, 0, 1), np.clip(left[p:] / unit, 0, 1), variance)


def together(
    values: Values, law: Law, sets: Sequence[tuple[int, ...]], n: int, *, alone: bool = False
) -> list[Array]:
    """Share (draws,) of the variance in which each of some sets of players act together.

    With ``alone`` that of their own term: without what they do together with others.
    """
    p, found = law.n_players, []
    noise = law.noise(n, 3, SEED + 2)
    reference = values(law.rows(law.scores(noise[0])))
    variance = np.sum(reference.var(axis=0), axis=0)
    unit = np.where(variance > 0, variance, 1.0)
    for some in sets:
        k = len(some)
        order = np.append(law.others(some), some).astype(np.intp)
        L = law.factor(order)
        here, there = noise[0][:, order], noise[1][:, order].copy()
        there[:, : p - k] = here[:, : p - k]
        ends = here @ L.T, there @ L.T
        signs = np.array([(-1.0) ** sum(which) for which in product((0, 1), repeat=k)])
        D = []  # of the rest as it is, and as it is drawn anew
        for rest in (ends[0], noise[2][:, order] @ L.T)[: 1 + alone]:
            corners = np.empty((2**k, n, p))
            for c, which in enumerate(product((0, 1), repeat=k)):
                corners[c][:, order[: p - k]] = rest[:, : p - k]
                for i, end in enumerate(which):
                    corners[c][:, order[p - k + i]] = ends[end][:, p - k + i]
            F = values(law.rows(corners.reshape(-1, p)))
            D.append(np.tensordot(signs, F.reshape(2**k, n, *F.shape[1:]), axes=1))
        found.append(np.sum(np.mean(D[0] * D[-1], axis=0), axis=0) / 2**k / unit)
    return found
