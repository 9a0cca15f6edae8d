r"""What each column of a fitted function carries: how much of the variance, and how steep it is.

**Players.** A player is a column, or the columns of one category or group. With rows ``x`` drawn
from a law and players S, ``v(S) = Var(E[f | x_S])`` is the variance that S explains. In parts of
``Var f``:

* **share**, the Shapley effect: the mean of ``v(S + a) - v(S)`` over all orders in which players
  can come, S those before ``a``. Shares are not negative and add up to one, whatever depends on
  what; columns that say the same have the same share.
* **first order** ``v(a)``, what the column explains alone, and **total** ``1 - v(all but a)``, what
  nothing else explains. With independent columns first order <= share <= total.
* **a pair's share**: with ``(a, b)`` and ``(a', b')`` two draws given the rest ``r``, and the mixed
  difference :math:`\Delta = f(a, b, r) - f(a', b, r) - f(a, b', r) + f(a', b', r)`, it is
  ``E \Delta^2 / 4``: zero exactly where the two add up; with independent columns the sum of all
  ANOVA terms that hold both. Triples likewise, over 8. With a second draw ``r''`` of the rest,
  ``E \Delta(r) \Delta(r'') / 4`` is the term of the pair alone, the **second-order** index.

**The law** draws rows anew *given* some of their columns. Every player has a score: the column
itself; of several columns their best linear combination for what is predicted. The rows sorted by
it are its marginal law, and its dependence on the others is that of a **Gaussian copula**:

.. math:: z \sim N(0, R), \qquad x_a = \text{columns of the row at place } \Phi(z_a).

Values are always those of rows: a level stays a level, a category a category. With an order
``\pi`` of the players and ``R_\pi = L L'`` a row is ``z_\pi = L e``, and to keep the first ``k``
players means to keep ``e_1, ..., e_k`` and to draw ``e_{k+1}, ..., e_p`` anew. That is exact where
columns are independent or jointly normal, in any monotone units. What it does not see is dependence
without a direction (``x_b = x_a^2``).

*Its correlations.* A tied score stands for an interval of ``z``; ``m`` is the mean of ``z`` on it.
To first order ``cov(m_a, m_b) = r_{ab} var(m_a) var(m_b)``, which is solved for ``r_ab``. Sampling
errors are taken off, :math:`r \leftarrow r\,(1 - (1 - r^2)^2/(n r^2))_+`, so that columns that are
independent are treated as such. Of the way from the plain correlations of ``m`` only so much is
gone that the smallest eigenvalue stays at least half of theirs.

**How.** ``E Var(f | x_S)`` is ``E (f(x) - f(x^S))^2 / 2`` with ``x^S`` a row that shares S and
draws all others anew; rows are evenly spread (Sobol' points). Up to ``ALL_SETS`` players all
``2^p`` sets are taken. Beyond, one order of the players, with ``x^S`` for its first 0, 1, ..., p
players, is a chain of ``p + 1`` rows that gives every player's increment; the orders are random
ones, their rotations and reversals. Both are unbiased for the law, except that shares below zero by
the draw are zero. Several functions (classes) add up; draws of the fitted function share the
points, the last axis.

**How steep.** :math:`(\sum_i p_i\, q_{ia}^2)^{1/2}` with ``q`` the derivative or, for discrete
columns (at most 10 values), the quotients between a row's level and the observed levels next to it,
their squares averaged: a function may be flat at 0 and at 1 and differ between them.

Cost: a sort per column and a factor of (p x p) per order for the law; ``2^p n`` or ``(p + 1) n``
evaluations for the shares, ``(2 p + 1) n`` for first order and total, ``4 n`` for a pair (twice
that for the second-order index), ``8 n`` for a triple; 4 n for how steep a discrete column is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import factorial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from nablasso.errors import InvalidParameterError
from nablasso.types import Array, Index

Values = Callable[[Array], Array]  # rows (m, d) to values (m, functions, draws)

SEED = 20_11  # of all draws here: the same rows give the same shares
LEAST, MOST = 10, 12  # two to these powers: rows that a mean is taken over
WORK = 3e6  # rows times centres of a kernel: some hundredths of a second
ORDERS = 256  # about so many different orders: few rows each, but no order counts much
ALL_SETS = 5  # players up to which all sets of them are taken
LEAST_EIGENVALUE = 1e-6  # of the correlations: copies are told apart from rounding only
STEPS = 21  # of the way from plain to corrected correlations
CLOSEST = 0.9999  # correlation of copies
ATOMS = 4096  # values that stand for a range
EDGE = 1e-9  # places nearer to 0 or 1 are rounding
STEP = 1e-3  # of the column's standard deviation


class Statistics(NamedTuple):
    """Share, first order and total of every player, each (p, draws)."""

    share: Array
    first_order: Array
    total: Array


@dataclass(frozen=True)
class Law:
    """Players, their values in the order of their scores, and the correlations of these.

    ``columns[a]`` are the columns of player ``a`` among ``n_columns``, ``atoms[a]`` (m, k) their
    values by increasing score, ``places[a]`` (m,) cumulative weights, ``correlation`` (p, p).
    ``rank`` orders the players by what does not depend on the order of the columns.
    """

    columns: tuple[Index, ...]
    atoms: tuple[Array, ...]
    places: tuple[Array, ...]
    correlation: Array
    n_columns: int
    rank: Index

    def rows(self, z: Array) -> Array:
        """Rows (m, n_columns) at normal scores ``z`` (m, p); columns of no player are zero."""
        X = np.zeros((len(z), self.n_columns))
        for a, columns in enumerate(self.columns):
            at = np.searchsorted(self.places[a], ndtr(z[:, a]) * self.places[a][-1])
            X[:, columns] = self.atoms[a][np.minimum(at, len(self.places[a]) - 1)]
        return X

    def scores(self, noise: Array) -> Array:
        """Normal scores (n, p) of independent numbers, players in the order of their rank."""
        z = np.empty_like(noise)
        z[:, self.rank] = noise[:, self.rank] @ self.factor(self.rank).T
        return z

    def others(self, players: Sequence[int]) -> Index:
        """All other players by their rank."""
        return self.rank[~np.isin(self.rank, players)]

    def factor(self, order: Index) -> Array:
        """``L`` of the players in an order."""
        return np.asarray(np.linalg.cholesky(self.correlation[np.ix_(order, order)]), dtype=float)

    def noise(self, n: int, copies: int, seed: int = 0) -> Array:
        """Independent normal numbers (copies, n, p), evenly spread; n is a power of two.

        Which player gets which of them follows :attr:`rank`, so the order of columns is nothing.
        """
        p = len(self.columns)
        sequence = qmc.Sobol(copies * p, scramble=True, rng=np.random.default_rng([seed, p]))
        spread = np.clip(sequence.random(n), EDGE, 1 - EDGE)
        e = ndtri(spread).reshape(n, copies, p).transpose(1, 0, 2)
        out = np.empty_like(e)
        out[:, :, self.rank] = e
        return out


def law_of_rows(Z: Array, weights: Array, players: Sequence[Index], values: Array) -> Law:
    """The law of rows ``Z`` (n, d) with what is predicted at them, ``values`` (n, q)."""
    p = weights / weights.sum()
    centred = values - p @ values
    target = centred[:, int(np.argmax(p @ centred**2))]
    atoms, places, scores, closeness = [], [], [], []
    for columns in players:
        block = Z[:, columns]
        score = block[:, 0] if len(columns) == 1 else _combined(block, target, p)
        order = np.lexsort([*block.T, score])
        atoms.append(block[order])
        places.append(np.cumsum(p[order]))
        scores.append(_normal_scores(score, p))
        closeness.append(abs(float(p @ (scores[-1] * target))))
    R = _correlations(np.column_stack(scores), p) if len(players) > 1 else np.eye(len(players))
    rank = np.argsort(-np.round(closeness, 12), kind="stable")
    return Law(tuple(players), tuple(atoms), tuple(places), R, Z.shape[1], rank)


def law_of_ranges(ranges: Sequence[tuple[float, float]]) -> Law:
    """Independent columns, uniform between the ends given."""
    at = (np.arange(ATOMS) + 0.5) / ATOMS
    for low, high in ranges:
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise InvalidParameterError(
                f"A range is two finite numbers, the lower first; got ({low!r}, {high!r})."
            )
    d = len(ranges)
    return Law(
        tuple(np.array([a], dtype=np.intp) for a in range(d)),
        tuple((low + (high - low) * at)[:, None] for low, high in ranges),
        (np.linspace(1 / ATOMS, 1, ATOMS),) * d,
        np.eye(d),
        d,
        np.arange(d),
    )


def players_of(labels: Index | Sequence[int], columns: Index) -> tuple[Index, ...]:
    """The given columns, those that share a label together, by their first column."""
    members: dict[int, list[int]] = {}
    for a in np.sort(columns):
        members.setdefault(int(labels[a]), []).append(int(a))
    return tuple(np.array(group, dtype=np.intp) for group in members.values())


def _combined(block: Array, target: Array, p: Array) -> Array:
    """The linear combination of columns that is closest to the target; rounded, so levels tie."""
    root = np.sqrt(p)[:, None]
    centred = block - p @ block
    coefficients = np.linalg.lstsq(root * centred, root[:, 0] * target, rcond=1e-10)[0]
    score = centred @ coefficients
    size = float(np.sqrt(p @ score**2)) or 1.0
    return np.asarray(np.round(score / size, 9))


def _normal_scores(score: Array, p: Array) -> Array:
    """The mean of ``z`` on the interval that a score stands for."""
    levels, own = np.unique(score, return_inverse=True)
    mass = np.bincount(own.ravel(), p, minlength=len(levels))
    ends = np.clip(np.concatenate([[0.0], np.cumsum(mass)]), 0.0, 1.0)
    ends[-1] = 1.0
    density = np.exp(-0.5 * np.square(np.clip(ndtri(ends), -40, 40))) / np.sqrt(2 * np.pi)
    return np.asarray((-np.diff(density) / mass)[own.ravel()])


def _correlations(m: Array, p: Array) -> Array:
    covariance = (m * p[:, None]).T @ m
    size = np.maximum(np.diag(covariance), 1e-12)
    plain = np.clip(covariance / np.sqrt(np.outer(size, size)), -CLOSEST, CLOSEST)
    R = np.clip(covariance / np.outer(size, size), -CLOSEST, CLOSEST)
    n = 1 / float(p @ p)
    R *= np.maximum(1 - (1 - R**2) ** 2 / np.maximum(n * R**2, 1e-300), 0.0)
    np.fill_diagonal(plain, 1.0)
    np.fill_diagonal(R, 1.0)
    least = float(np.linalg.eigvalsh(plain)[0]) / 2
    for share in np.linspace(1, 0, STEPS):
        mixed = plain + share * (R - plain)
        if float(np.linalg.eigvalsh(mixed)[0]) >= least:
            break
    mixed[np.diag_indices_from(mixed)] += LEAST_EIGENVALUE
    return np.asarray(mixed / (1 + LEAST_EIGENVALUE))


def at_settings(rows: Array, columns: Any, settings: Array) -> Array:
    """All rows (n, d) with each setting (g, k) of some columns, one below the other: (g n, d)."""
    points = np.tile(rows, (len(settings), 1))
    points[:, columns] = np.repeat(settings, len(rows), axis=0)
    return points


def rows_for(evaluations: int, centres: int, least: int = LEAST, work: float = WORK) -> int:
    """A power of two: rows for a mean, by what an evaluation costs."""
    affordable = work / max(evaluations * centres, 1)
    return int(2 ** np.clip(np.floor(np.log2(max(affordable, 1.0))), least, MOST))


def unexplained(
    values: Values, law: Law, sets: Sequence[tuple[int, ...]], n: int
) -> tuple[Array, Array]:
    """``E Var(f | x_S)`` of sets of players, (sets, draws), and ``Var f`` (draws,)."""
    p = len(law.columns)
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
    shares = (_all_sets if len(law.columns) <= ALL_SETS else _chains)(values, law, n)
    shares = np.maximum(shares, 0.0)
    whole = shares.sum(axis=0)
    return np.asarray(shares / np.where(whole > 0, whole, 1.0))


def _all_sets(values: Values, law: Law, n: int) -> Array:
    players = range(len(law.columns))
    sets = [some for k in players for some in combinations(players, k)]
    left, _ = unexplained(values, law, sets, n)
    of = {**dict(zip(sets, left, strict=True)), tuple(players): np.zeros(left.shape[1])}
    shares = np.zeros((len(law.columns), left.shape[1]))
    for some in sets:
        for a in set(players).difference(some):
            orders = factorial(len(some)) * factorial(len(law.columns) - len(some) - 1)
            shares[a] += orders * (of[some] - of[tuple(sorted((*some, a)))])
    return shares / factorial(len(law.columns))


def _chains(values: Values, law: Law, n: int) -> Array:
    p = len(law.columns)
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


def sobol(values: Values, law: Law, n: int) -> tuple[Array, Array]:
    """First-order and total indices of all players, (p, draws) each."""
    p = len(law.columns)
    sets = [(a,) for a in range(p)] + [tuple(b for b in range(p) if b != a) for a in range(p)]
    left, variance = unexplained(values, law, sets, n)
    part = left / np.where(variance > 0, variance, 1.0)
    return np.clip(1 - part[:p], 0, 1), np.clip(part[p:], 0, 1)


def statistics(values: Values, law: Law, n: int) -> Statistics:
    """All three of every player."""
    return Statistics(shapley_shares(values, law, n), *sobol(values, law, n))


def together(
    values: Values, law: Law, sets: Sequence[tuple[int, ...]], n: int, *, alone: bool = False
) -> list[Array]:
    """Share (draws,) of the variance in which each of some sets of players act together.

    With ``alone`` that of their own term: without what they do together with others.
    """
    p, found = len(law.columns), []
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


def quotients(
    g: Callable[[Array], Array], Z: Array, column: int, *, discrete: bool
) -> tuple[Array, Array]:
    """Quotients (s, n, ...) of ``g`` along ``s`` moves of one column of every row of ``Z`` (n, d).

    To the levels next to the row's own or, where the column is continuous, over a thousandth of its
    deviation to either side. With them each move's part (s, n) in the row's mean: it adds up to one
    over a row's moves, or to zero where there are none (a constant column).
    """
    z, n = Z[:, column], len(Z)
    step = STEP * (float(z.std()) or 1.0)
    start, end, share = (z - step)[None], (z + step)[None], np.ones((1, n))
    if discrete:
        levels, own = np.unique(z, return_inverse=True)
        near = np.clip(own.ravel() + np.array([[-1], [1]]), 0, len(levels) - 1)
        start, end = np.stack([z, z]), levels[near]
        possible = (end != start).astype(float)
        share = possible / np.maximum(possible.sum(axis=0), 1.0)
    points = np.empty((2, len(start), *Z.shape))
    points[:] = Z
    points[:, :, :, column] = end, start
    values = g(points.reshape(-1, Z.shape[1]))
    values = values.reshape(2, len(start), n, *values.shape[1:])
    length = np.where(end != start, end - start, 1.0)
    length = length.reshape(*length.shape, *[1] * (values.ndim - 3))
    return np.asarray((values[0] - values[1]) / length), share


def level_slope(g: Callable[[Array], Array], Z: Array, column: int, weights: Array) -> float:
    """Root mean squared quotient of a discrete column; ``weights`` add up to one."""
    steps, share = quotients(g, Z, column, discrete=True)
    return float(np.sqrt(weights @ np.sum(share * steps**2, axis=0)))
