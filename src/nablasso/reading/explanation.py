r"""A fitted answer with rows to read it at: shares with intervals, pairs, curves, contributions.

**Intervals.** A statistic ``t(f, law)`` of the fitted function and of the law of the rows errs
because ``f`` was fitted and because the rows are a sample. Draws ``f_b``
(:mod:`nablasso.reading.intervals`) move the first, rows drawn anew with replacement the second; the
interval is that around ``t(f, law)`` which holds the part ``level`` of

.. math:: t(f_b, \mathrm{law}) + t(f, \mathrm{law}_s) - t(f, \mathrm{law}) \quad
          \text{over all } b, s.

It is centred, since draws bend more than their mean and so may all lie to one side of it. The two
moves share their points, so what the points err cancels.

**Curves.** With the other columns as in some rows, ``m(t) = \sum_i p_i f(t, x_{i,-a})``, less its
mean over the column's own values: it is the column's part of an additive function. Its band is the
spread of the *function*: ``m -+ q s(t)``, ``s`` the deviation of the draws' curves from it;
pointwise with ``q`` the normal quantile, simultaneous with ``q`` the quantile of ``max_t |m_b - m|
/ s``. What the rows themselves spread around a curve, because of interactions, is not in it.
Effective degrees of freedom: how many the fit has more with the column than without it, nothing
tuned again.

**Contributions.** ``f(x) - f(x')`` is split along a chain from ``x'`` to ``x`` that takes the
columns over one by one, in an order and in its reversal; the mean over rows ``x'`` gives numbers
that add up to the prediction with the mean prediction in front. For functions that are sums of
functions of two columns this is exactly ``f_a + \sum_b f_{ab} / 2`` (Shapley's split of the ANOVA
terms, in the metric of the rows ``x'``); of more columns the orders are a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.special import ndtri

from nablasso.data.table import DISCRETE_LEVELS
from nablasso.reading.intervals import (
    NoiseLevel,
    degrees_of,
    draws_of,
    interval_half_width,
    noise_level,
)
from nablasso.reading.shares import (
    ALL_SETS,
    LEAST,
    MOST,
    Law,
    Statistics,
    Values,
    at_settings,
    law_of_ranges,
    law_of_rows,
    rows_for,
    shapley_shares,
    sobol,
    statistics,
    together,
)
from nablasso.spaces import RepresenterSpace
from nablasso.types import Array, Index

ROWS = 2000  # of a table, that an answer is read at
EXPANDED = 1 << 22  # numbers of a table with all columns at a time
SEED = 11
DRAWS, LAWS = 64, 16  # of the function and of the rows, for intervals
CENTRES = 256  # points besides the rows at which kernel functions are drawn
LAW_ROWS = 256  # rows at which the move of a law is measured
PAIR_ROWS = 8  # two to this power, at least: rows at which a pair is looked at
PAIR_WORK = 3e7
OTHER = 100  # what an evaluation of a function costs that has no kernel
PAIRED = 15  # players whose pairs are looked at, the largest
TRIPLED = 0.005  # share of each pair of a triple that is looked at
MOST_TRIPLES = 10
NOTHING = 1e-9  # share of a pair that adds up
CURVE_DRAWS, CURVE_ROWS, GRID = 200, 64, 31
ENDS = (0.01, 0.99)  # quantiles between which a continuous column is drawn
REFERENCES = 32  # rows that contributions start from


@dataclass(frozen=True)
class Explanation:
    """Functions of all ``n_columns`` standardised columns, and rows of the ``chosen`` ones.

    ``functions`` are a prediction or the log-odds of the classes; ``players`` are places among the
    chosen columns that belong together; ``left_out`` the rows of the chosen columns behind a
    predictor's left-out errors. With ``ranges``, one for each column, columns are independent and
    uniform between these.
    """

    functions: tuple[Any, ...]
    Z: Array
    weights: Array
    chosen: Index
    n_columns: int
    players: tuple[Index, ...]
    left_out: Array | None = None
    ranges: tuple[tuple[float, float], ...] = ()

    # -- the functions -----------------------------------------------------------------------

    def __post_init__(self) -> None:
        weights = self.weights[:ROWS]  # canonical order: a fair sample
        vars(self).update(Z=self.Z[:ROWS], weights=weights / weights.sum())

    def __getstate__(self) -> dict[str, Any]:
        """What a file holds: the functions and the rows; all else is computed again."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def values(self, Z: Array) -> Array:
        """Values (m, functions, 1) at rows of the chosen columns."""
        parts = [self._expanded(function.values, Z) for function in self.functions]
        return np.stack(parts, axis=1)[:, :, None]

    def of_others(self, Z: Array) -> Array:
        """What columns that were not chosen add to the values, (m, functions), at rows of all."""
        whole = np.column_stack([function.values(Z) for function in self.functions])
        return whole - self.values(Z[:, self.chosen])[:, :, 0]

    @cached_property
    def drawn(self) -> Callable[[int], Values]:
        """So many draws of the functions, (m, functions, count) at rows of the chosen columns."""
        law = self.law
        centres = np.zeros((CENTRES, self.n_columns))
        centres[:, self.chosen] = law.rows(law.scores(law.noise(CENTRES, 1, SEED)[0]))

        @cache
        def draws(count: int) -> Values:
            drawn = [draws_of(function, count, centres) for function in self.functions]
            return lambda Z: np.stack([self._expanded(one, Z) for one in drawn], axis=1)

        return draws

    def _expanded(self, function: Callable[[Array], Array], Z: Array) -> Array:
        step = max(EXPANDED // max(self.n_columns, 1), 64)
        table = np.zeros((min(step, len(Z)), self.n_columns))
        parts = []
        for start in range(0, len(Z), step):
            some = Z[start : start + step]
            table[: len(some), self.chosen] = some
            parts.append(function(table[: len(some)]))
        return np.concatenate(parts) if parts else np.empty(0)

    @property
    def centres(self) -> int:
        """Rows behind a kernel function, or columns of another one: what an evaluation costs."""
        inner = [part for f in self.functions for part in getattr(f, "summands", (f,))]
        spaces = [getattr(getattr(part, "function", part), "space", None) for part in inner]
        rows = [len(space.X) for space in spaces if isinstance(space, RepresenterSpace)]
        return max(rows, default=max(OTHER, self.Z.shape[1]))

    # -- shares ------------------------------------------------------------------------------

    @cached_property
    def law(self) -> Law:
        """Of the rows, or between the ranges."""
        return self._law(self.Z, self.weights, self.values(self.Z)[:, :, 0])

    def _law(self, Z: Array, weights: Array, values: Array) -> Law:
        if self.ranges:
            return law_of_ranges(self.ranges)
        return law_of_rows(Z, weights, self.players, values)

    @cached_property
    def shares(self) -> Array:
        """Of every player, adding up to one."""
        if not self.players:
            return np.empty(0)
        p = len(self.players)
        n = 2**MOST if p > ALL_SETS else rows_for(2**p, self.centres)
        return np.asarray(shapley_shares(self.values, self.law, n)[:, 0])

    @cached_property
    def indices(self) -> Statistics:
        """Of the fitted functions: each (p, 1)."""
        n = rows_for(2 * len(self.players) + 1, self.centres)
        return Statistics(self.shares[:, None], *sobol(self.values, self.law, n))

    def intervals(self, level: float) -> dict[str, Array]:
        """Every statistic by name with the ends of its interval, (p, 3)."""
        if not self.players:
            return dict.fromkeys(Statistics._fields, np.empty((0, 3)))
        each = zip(Statistics._fields, self.indices, *self._moves, strict=True)
        return {
            name: np.column_stack([at, _around(at[:, 0], drawn, moved, level)])
            for name, at, drawn, moved in each
        }

    @cached_property
    def _moves(self) -> tuple[list[Array], Statistics]:
        """What draws change, and what rows drawn anew do."""
        own = statistics(self.values, self.law, 2**LEAST)
        drawn = statistics(self.drawn(DRAWS), self.law, 2**LEAST)
        return [t - a for t, a in zip(drawn, own, strict=True)], self._moved()

    def _moved(self) -> Statistics:
        """What rows drawn anew change: each (p, laws); nothing between ranges."""
        if self.ranges:
            return Statistics(*[np.zeros((len(self.players), 1))] * 3)
        rng = np.random.default_rng(SEED)
        at = self.values(self.Z)[:, :, 0]
        own = statistics(self.values, self.law, LAW_ROWS)
        p, n, found = self.weights, len(self.Z), []
        for _ in range(LAWS):
            counts = rng.multinomial(n, np.full(n, 1 / n))
            some = np.flatnonzero(counts)
            law = self._law(self.Z[some], p[some] * counts[some], at[some])
            law = replace(law, rank=self.law.rank)
            new = statistics(self.values, law, LAW_ROWS)
            found.append([b - a for a, b in zip(own, new, strict=True)])
        return Statistics(*(np.hstack(parts) for parts in zip(*found, strict=True)))

    # -- predictions -------------------------------------------------------------------------

    @cached_property
    def noise(self) -> NoiseLevel | None:
        """How noisy rows are, in the units in which a predictor's errors are even."""
        if self.left_out is None:
            return None
        one = self.functions[0]
        data = one.even(one.left_out), one.residuals, one.weights
        return noise_level(self.left_out, self.players, *data)

    def intervals_at(self, Z: Array, level: float) -> Array:
        """Ends (m, 2) that hold new targets with probability ``level``, at rows of all columns."""
        one, noise = self.functions[0], self.noise
        t = one.even(one.values(Z))
        own, new = (1.0, 1.0) if noise is None else (noise.left_out, noise.at(Z[:, self.chosen], t))
        half = interval_half_width(one.residuals / own, one.weights, level) * new
        return np.asarray(one.back(np.column_stack([t - half, t + half])))

    # -- together ----------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> list[tuple[int, int, float]]:
        """Pairs of players by decreasing share of the variance in which they act together."""
        return self.pairs_among(range(len(self.players)))

    def pairs_among(self, players: Iterable[int]) -> list[tuple[int, int, float]]:
        """The same of some players, the largest ones where they are many."""
        largest = list(players)
        if len(largest) > PAIRED:
            largest = sorted(largest, key=lambda a: -self.shares[a])[:PAIRED]
        return self._together(list(combinations(sorted(largest), 2)))

    @cached_property
    def triples(self) -> list[tuple[int, int, int, float]]:
        """Triples all of whose pairs act together, by decreasing share."""
        strong = {(a, b): share for a, b, share in self.pairs if share >= TRIPLED}
        inside = sorted({a for pair in strong for a in pair})
        chosen = [t for t in combinations(inside, 3) if strong.keys() >= {*combinations(t, 2)}]
        chosen.sort(key=lambda t: -min(strong[pair] for pair in combinations(t, 2)))
        return self._together(chosen[:MOST_TRIPLES])

    def _together(self, sets: Sequence[tuple[int, ...]]) -> list[Any]:
        """Sets of players, all of one size, with their shares, the largest first."""
        if not sets:
            return []
        n = rows_for(2 ** len(sets[0]) * len(sets), self.centres, PAIR_ROWS, PAIR_WORK)
        shares = together(self.values, self.law, sets, n)
        found = [(*some, float(share[0])) for some, share in zip(sets, shares, strict=True)]
        return sorted(found, key=lambda one: (-one[-1], one[:-1]))

    def second_order(self, level: float) -> dict[tuple[int, int], list[float]]:
        """The term of each pair alone, and the ends of its interval."""
        pairs = [(a, b) for a, b, share in self.pairs if share > NOTHING]
        if not pairs:
            return {}

        def alone(values: Values, n: int) -> Array:
            return np.array(together(values, self.law, pairs, n, alone=True))

        own = alone(self.values, rows_for(8 * len(pairs), self.centres, PAIR_ROWS, PAIR_WORK))
        drawn = alone(self.drawn(DRAWS), 2**PAIR_ROWS) - alone(self.values, 2**PAIR_ROWS)
        at, p = np.maximum(own[:, 0], 0.0), self.weights
        relative = 0.0 if self.ranges else float(np.sqrt(2 * (p @ p)))  # of a mean square over rows
        moved = np.outer(at, relative * ndtri((np.arange(LAWS) + 0.5) / LAWS))
        found = np.column_stack([at, _around(at, drawn, moved, level)])
        return dict(zip(pairs, found.tolist(), strict=True))

    # -- curves ------------------------------------------------------------------------------

    def curves(self, level: float) -> Iterator[tuple[int, int, Array, dict[str, Array]]]:
        """Function, player, points (g, k), and ``value`` (g,) with its bands, one by one."""
        narrow = float(ndtri((1 + level) / 2))
        for k, player in product(range(len(self.functions)), range(len(self.players))):
            x, means, draws = self._curves[player]
            mean, apart = means[:, k], draws[:, k]
            s = np.sqrt(np.mean(apart**2, axis=1))
            ratio = np.abs(apart) / np.where(s > 0, s, 1.0)[:, None]
            wide = max(narrow, float(np.quantile(ratio.max(axis=0), level)))
            curve = {"value": mean, "low": mean - narrow * s, "high": mean + narrow * s}
            curve |= {"low_simultaneous": mean - wide * s, "high_simultaneous": mean + wide * s}
            yield k, player, x, curve

    @cached_property
    def _curves(self) -> list[tuple[Array, Array, Array]]:
        """Of each player points, curves (g, functions), and by how much draws of them differ."""
        (rows, q), found = self._some, []
        for columns in self.players:
            grid, at = grid_of(self.Z[:, columns], self.weights)
            points, curves = at_settings(rows, columns, grid), []
            for values in (self.values, self.drawn(CURVE_DRAWS)):
                F = values(points).reshape(len(grid), len(rows), len(self.functions), -1)
                m = np.einsum("i,gifb->gfb", q, F)
                curves.append(m - np.tensordot(at, m, axes=1))
            found.append((grid, curves[0][:, :, 0], curves[1] - curves[0]))
        return found

    @property
    def _some(self) -> tuple[Array, Array]:
        """Rows that curves are a mean over, and their weights."""
        weights = self.weights[:CURVE_ROWS]
        return self.Z[:CURVE_ROWS], weights / weights.sum()

    def surface(self, players: tuple[int, int]) -> tuple[Array, Array, Array]:
        """Points of two columns, and the mean of the last function (g, h) over rows there."""
        columns = [int(self.players[a][0]) for a in players]
        first, second = (grid_of(self.Z[:, [a]], self.weights)[0][:, 0] for a in columns)
        rows, q = self._some
        points = at_settings(rows, columns, np.array(list(product(first, second))))
        values = self.values(points)[:, -1, 0].reshape(len(first), len(second), len(rows))
        return first, second, np.asarray(values @ q)

    @cached_property
    def degrees(self) -> Array:
        """Effective degrees of freedom of every player, the largest over the functions."""
        own = [self.chosen[player] for player in self.players]
        return np.array([max(degrees_of(f, some) for f in self.functions) for some in own])

    # -- contributions -----------------------------------------------------------------------

    def contributions(self, Z: Array) -> Array:
        """Of every player in every function at rows of the chosen columns, the mean in front.

        Shape (m, 1 + p, functions); adds up to the values.
        """
        p, m = len(self.players), len(Z)
        references = self.Z[:REFERENCES]
        q = self.weights[:REFERENCES] / self.weights[:REFERENCES].sum()
        out = np.zeros((m, 1 + p, len(self.functions)))
        start = self.values(references)[:, :, 0]
        out[:, 0] = q @ start
        if not p:  # nothing was selected: the prediction is one number
            return out
        end = self.values(Z)[:, :, 0]
        rng = np.random.default_rng(SEED)
        for reference, weight, first in zip(references, q, start, strict=True):
            order = self.law.rank[rng.permutation(p)]
            for one in (order, order[::-1]):
                chain = np.tile(reference, (p - 1, m, 1))
                for i, a in enumerate(one[:-1]):
                    chain[i:, :, self.players[a]] = Z[:, self.players[a]]
                inner = self.values(chain.reshape(-1, self.Z.shape[1]))[:, :, 0]
                steps = [*inner.reshape(p - 1, m, len(self.functions)), end]
                for a, before, after in zip(one, [first, *steps], steps, strict=False):
                    out[:, 1 + a] += weight / 2 * (after - before)
        return out


def grid_of(values: Array, p: Array) -> tuple[Array, Array]:
    """Points of a player's columns (g, k), and the weights of the rows on them.

    Levels where there are few; else points between quantiles, a row's weight shared by the two
    points next to it.
    """
    found = np.unique(values, axis=0, return_inverse=True)
    levels, own = np.asarray(found[0], dtype=float), found[1].ravel()
    last = levels[:, -1] == levels[:, -1].max()
    if values.shape[1] == 2 and last.sum() == 1 and len(levels) > DISCRETE_LEVELS:
        seen = values[:, 1] < levels[:, 1].max()  # a number with gaps: its curve, and the gap
        share = float(p[seen].sum())
        grid, mass = grid_of(values[seen][:, :1], p[seen] / share)
        known = np.column_stack([grid, np.full(len(grid), levels[:, 1].min())])
        return np.vstack([known, levels[last]]), np.append(share * mass, 1 - share)
    if values.shape[1] > 1 or len(levels) <= DISCRETE_LEVELS:
        return levels, np.asarray(np.bincount(own, p, minlength=len(levels)), dtype=float)
    x = values[:, 0]
    order = np.argsort(x, kind="stable")
    low, high = np.interp(ENDS, np.cumsum(p[order]), x[order])
    grid = np.linspace(low, high, GRID)
    place = np.clip((x - low) / (high - low) * (GRID - 1), 0, GRID - 1)
    left = np.minimum(place.astype(np.intp), GRID - 2)
    part = place - left
    near = np.bincount(left, p * (1 - part), minlength=GRID)
    near += np.bincount(left + 1, p * part, minlength=GRID)
    return grid[:, None], np.asarray(near, dtype=float)


def _around(at: Array, drawn: Array, moved: Array, level: float) -> Array:
    """Ends (p, 2) around ``at`` that hold the part ``level`` of all sums of both moves."""
    sums = (drawn[:, :, None] + moved[:, None, :]).reshape(len(at), drawn.shape[1] * moved.shape[1])
    half = np.quantile(np.abs(sums), level, axis=1)
    return np.asarray(np.clip(np.column_stack([at - half, at + half]), 0.0, 1.0))
