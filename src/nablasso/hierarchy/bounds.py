r"""What lies outside a hull of a grid: two bounds of it, and nodes that are certainly missing.

*Condition (21)*, all descendants of a source by one elementwise product per variable:

.. math::
    \sum_{w \in D(t)} \frac{\alpha^\top K_w \alpha}{\big(\sum_{v \in A(w) \cap D(t)} d_v\big)^2}
    = \alpha^\top \Big[\bigodot_i S_{i, t_i}\Big] \alpha, \qquad
    S_{i,l} = \sum_{j=l}^{q} \Big(\sum_{m=l}^{j} \beta^m\Big)^{-2} K_{i,j} .

Sources share the product up to their first variable, and that behind their last one is known:
O(n^2 p). Products that overflow are infinite.

*The largest kernel outside*, every kernel paying for itself (section 5.2 of Bach, 2009):
``Omega*_{W^c}(g)^2 <= max_{w not in W} alpha' K_w alpha / d_w^2``, by branch and bound. Nodes are
enumerated by order: one variable more, behind the last, at one level. With
``s_{i,l}(k) = sqrt(K_{i,l}(x_k, x_k)) / beta^l``, a node and all that follows it have

.. math::
    \frac{\sqrt{a_w}}{d_w} \le \sum_k |\alpha_k| \prod_{(i,l) \in v} s_{i,l}(k)
    \prod_{i > \mathrm{last}(v)} \max\big(1, \max_l s_{i,l}(k)\big) ,

one matrix product for all nodes with one variable more. What is below the threshold is dropped with
all that follows; the rest is looked at exactly and expanded. What is not expanded when the work
ends keeps its bound.

*Missing nodes*, condition (27) beyond the sources (appendix A.5): for all nodes outside ``alpha'
K_w alpha <= Omega(f)^2 (sum_{v in A(w) - W} d_v)^2``, here among all nodes of one and two variables
whose levels have rank one, by one matrix product: O(n (p q)^2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nablasso.hierarchy.dag import Node, Outside
from nablasso.kernels.base import row_blocks
from nablasso.types import Array, Index, Mask

if TYPE_CHECKING:
    from nablasso.hierarchy.grid import Grid

Pairs = tuple[tuple[int, int], ...]

ROUNDING = 1e-14  # of the sum of absolute values
MAX_BYTES = 2**28  # of the factors S; larger grids go without this bound
WORK = 2e9  # multiplications after which the bound is taken as it is
ENOUGH_KNOWN = 0.05  # of the work, where as many violators are known as are reported
PER_NODE = 50.0  # multiplications that sorting a node in costs
PER_LOOK = 2e4  # and that a look at a single node costs besides its features
CHUNK, CHUNK_ENTRIES = 512, 2**22  # nodes expanded, and bounds held, at a time
MAX_EXACT = 5_000  # nodes looked at one by one
MAX_WHITENED = 50  # where each costs a projection
MAX_ROWS = 2**20  # waiting to be expanded
KEPT = 64  # violators reported
MOST = 4000  # (variable, level) pairs up to which all products of two are looked at


def factor(grid: Grid, g: int, level: int) -> Array:
    """``S_{g, level}`` relative to level 0, (n, n)."""
    n = len(grid.X)
    out = np.zeros((n, n))
    weight = 0.0
    for j in range(level, grid.q + 1):
        weight += grid.beta**j
        F = grid.levels[g][j - 1].train if j else np.ones((n, 1))
        out += (F / weight**2) @ F.T
    return out


@np.errstate(over="ignore", invalid="ignore")
def summed_sources(grid: Grid, hull: set[Node], dual: Array, limit: float) -> float:
    """Largest value of (21) over the sources of the complement.

    Infinite where it exceeds ``limit``, or where the factors need too much memory.
    """
    n, p = len(grid.X), grid.n_variables
    if 8.0 * n * n * p > MAX_BYTES or () not in hull:
        return np.inf
    moved, whole = dual * grid.base.train[:, 0], grid.whole_factors
    size = float(np.abs(moved).max()) or 1.0  # level 0 may be tiny
    used = sorted({g for node in hull for g, _ in node})  # type: ignore[attr-defined]
    order = [*used, *(g for g in range(p) if g not in set(used))]
    place = {g: k for k, g in enumerate(order)}
    behind = [np.ones((n, n))]
    for g in reversed(order):
        behind.append(behind[-1] * whole[g])
    behind.reverse()

    def walk(at: int, product: Array, waiting: list[Pairs]) -> Iterator[Array]:
        for k in range(at, p):
            if not waiting:
                return
            here = [node for node in waiting if place[node[0][0]] == k]
            for level in {node[0][1] for node in here}:
                mine = product * factor(grid, order[k], level)
                onward = [node[1:] for node in here if node[0][1] == level]
                if () in onward:
                    yield mine * behind[k + 1]
                yield from walk(k + 1, mine, [node for node in onward if node])
            waiting = [node for node in waiting if place[node[0][0]] > k]
            product = product * whole[order[k]]

    best, start = 0.0, np.outer(moved / size, moved / size)
    for product in walk(0, start, grid.frontier(hull)):  # type: ignore[arg-type]
        total = float((product.sum() + ROUNDING * np.abs(product).sum()) * size * size)
        if not total <= limit:
            return np.inf
        best = max(best, total)
    return best


class Tables(NamedTuple):
    """Columns are (variable, level) pairs; ``signed`` is NaN where the level has no rank one."""

    sizes: Array  # s_{i,l}(k), (n, m)
    reach: Array  # times the product over all later variables of max(1, s), (n, m)
    whole: Array  # times that over all other variables, (n, m)
    signed: Array  # phi_{i,l}(k) / beta^l, (n, m)
    variable: Index
    level: Index

    def of(self, rows: Any = slice(None), columns: Any = slice(None)) -> Tables:
        """Some of the rows and columns."""
        sizes, reach, whole, signed = (part[rows][:, columns] for part in self[:4])
        return Tables(sizes, reach, whole, signed, self.variable[columns], self.level[columns])


def tables(grid: Grid) -> Tables:
    """What the bound needs, from the levels' features."""
    n, p, q = len(grid.X), grid.n_variables, grid.q
    sizes: Array = np.empty((n, p, q))
    signed: Array = np.full((n, p, q), np.nan)
    for g, levels in enumerate(grid.levels):
        for k, block in enumerate(levels):
            scale = grid.beta ** (k + 1)
            sizes[:, g, k] = np.sqrt(np.einsum("ij,ij->i", block.train, block.train)) / scale
            if block.train.shape[1] == 1:
                signed[:, g, k] = block.train[:, 0] / scale
    most = np.maximum(sizes.max(axis=2), 1.0)
    before, behind = np.ones((n, p + 1)), np.ones((n, p + 1))
    with np.errstate(over="ignore", invalid="ignore"):
        before[:, 1:] = np.cumprod(most, axis=1)
        behind[:, :p] = np.cumprod(most[:, ::-1], axis=1)[:, ::-1]
        reach = sizes * behind[:, 1:, None]
        whole = reach * before[:, :p, None]
    variable, level = np.divmod(np.arange(p * q), q)
    sizes, reach, whole, signed = (part.reshape(n, p * q) for part in (sizes, reach, whole, signed))
    return Tables(sizes, reach, whole, signed, variable, level + 1)


def largest_outside(
    grid: Grid, hull: set[Node], dual: Array, enough: float, work: float = WORK
) -> Outside:
    """Bound ``max_{w outside} a_w / d_w^2``; violators exceed ``enough``."""
    with np.errstate(over="ignore", invalid="ignore"):
        search = _Search(grid, hull, dual, enough, work)
        rows, bounds = np.empty((1, 0), dtype=np.intp), np.array([np.inf])
        while len(rows):
            rows, bounds = search.expand(rows, bounds)
    return Outside(search.bound, [node for _, node in search.violators], "largest")


class _Search:
    """Breadth first by order, the most promising first within an order."""

    def __init__(
        self, grid: Grid, hull: set[Node], dual: Array, limit: float, allowed: float
    ) -> None:
        self.grid, self.dual, self.limit = grid, dual, limit
        self.allowed, self.work, self.exact = allowed, 0.0, 0
        self.most_exact = MAX_WHITENED if grid.whiten else MAX_EXACT
        base, t = grid.base.train[:, 0], grid.tables
        self.power, self.moved = 2, dual * base  # bounds are squares of sums
        if grid.whiten:  # sums of squares
            p = grid.weights
            self.power, self.moved = 1, float(np.sum(dual**2 / p)) * p * base**2
            none = np.full_like(t.signed, np.nan)
            t = t._replace(sizes=t.sizes**2, reach=t.reach**2, whole=t.whole**2, signed=none)
        elif not dual.all():  # rows that nothing depends on
            self.moved, t = self.moved[dual != 0], t.of(dual != 0)
        # no node with a level left out here can reach the limit
        bounds = _safe(np.abs(self.moved) @ t.whole) ** self.power
        self.tables, self.bound = t.of(columns=bounds > limit), 0.0
        self._raise(bounds[bounds <= limit])
        self.violators: list[tuple[float, Node]] = []
        names = zip(self.tables.variable.tolist(), self.tables.level.tolist(), strict=True)
        place = {pair: column for column, pair in enumerate(names)}
        # nodes of the hull in columns of the tables: those behind each beginning
        self.inside: dict[tuple[int, ...], list[int]] = {}
        for node in hull:
            pairs: Pairs = node  # type: ignore[assignment]
            if pairs and all(pair in place for pair in pairs):
                columns = [place[pair] for pair in pairs]
                self.inside.setdefault(tuple(columns[:-1]), []).append(columns[-1])

    def node(self, row: Index) -> Node:
        """The node of a row of columns of the tables."""
        t = self.tables
        return tuple((int(t.variable[c]), int(t.level[c])) for c in row)

    def expand(self, rows: Index, follows: Array) -> tuple[Index, Array]:
        """Look at all nodes with one variable more; return those to be expanded in turn.

        ``follows`` bounds each row with all that follows it, largest first.
        """
        n, m = self.tables.reach.shape
        t, parts = self.tables, [(np.empty((0, rows.shape[1] + 1), dtype=np.intp), np.empty(0))]
        for some in row_blocks(len(rows), max(m, CHUNK_ENTRIES // CHUNK), CHUNK_ENTRIES):
            chunk = rows[some]
            if self._spent():
                self._raise(follows[some.start :])
                break
            self.work += 2.0 * len(chunk) * n * m
            sizes = np.abs(self.moved) * np.prod(t.sizes[:, chunk], axis=2).T
            bounds = _safe(sizes @ t.reach)  # (rows, m)
            last = t.variable[chunk[:, -1]] if chunk.shape[1] else np.array([-1])
            bounds[t.variable <= last[:, None]] = 0.0
            bounds = bounds**self.power
            high = bounds > self.limit
            self._raise(bounds[~high])
            row, column = np.nonzero(high)
            if not len(row):
                continue
            self._look(chunk, sizes, high)
            self.work += PER_NODE * len(row)
            parts.append((np.column_stack([chunk[row], column]), bounds[row, column]))
            if sum(len(part) for _, part in parts[1:]) > max(self._affordable(), len(parts[0][1])):
                parts = [self._most_promising(parts)]
        return self._most_promising(parts)

    def _spent(self) -> bool:
        known = len(self.violators) >= KEPT
        return self.work > self.allowed * (ENOUGH_KNOWN if known else 1.0)

    def _most_promising(self, parts: list[tuple[Index, Array]]) -> tuple[Index, Array]:
        """Rows of largest bounds in order, as many as can be afforded; the others stay bounds."""
        rows, bounds = (np.concatenate(part) for part in zip(*parts, strict=True))
        most, order = self._affordable(), np.argsort(-bounds, kind="stable")
        self._raise(bounds[order[most:]])
        return rows[order[:most]], bounds[order[:most]]

    def _affordable(self) -> int:
        """Rows that the rest of the work can expand."""
        n, m = self.tables.reach.shape
        left = max(self.allowed - self.work, 0.0)
        return CHUNK + int(min(left / max(2.0 * n * m, 1.0), MAX_ROWS))

    def _raise(self, bounds: Array) -> None:
        self.bound = max(self.bound, float(np.max(bounds, initial=0.0)))

    def _look(self, chunk: Index, sizes: Array, high: Mask) -> None:
        """The nodes themselves: by their own bound, and exactly where that is too large."""
        some = np.flatnonzero(high.any(axis=1))
        chunk, sizes, high = chunk[some], sizes[some], high[some]
        self.work += 4.0 * high.size * sizes.shape[1]
        own = np.where(high, _safe(sizes @ self.tables.sizes) ** self.power, 0.0)
        for k, beginning in enumerate(chunk.tolist() if self.inside else []):
            own[k, self.inside.get(tuple(beginning), [])] = 0.0
        doubtful = own > self.limit
        self._raise(own[~doubtful])
        row, column = np.nonzero(doubtful)
        if not len(row):
            return
        signed = self.moved * np.prod(self.tables.signed[:, chunk], axis=2).T
        values = ((signed @ self.tables.signed) ** 2)[row, column]
        values = self._one_by_one(values, own[row, column], np.column_stack([chunk[row], column]))
        self._raise(values)
        best = np.argsort(-values, kind="stable")[:KEPT]
        best = best[values[best] > self.limit]
        new = [(float(values[k]), self.node(np.append(chunk[row[k]], column[k]))) for k in best]
        self.violators = sorted(self.violators + new, key=lambda pair: -pair[0])[:KEPT]

    def _one_by_one(self, values: Array, own: Array, rows: Index) -> Array:
        """Replace what is not finite, as where a level has no rank one: exactly, or by ``own``."""
        unknown = np.flatnonzero(~np.isfinite(values))
        values[unknown] = own[unknown]
        for k in unknown[np.argsort(-own[unknown], kind="stable")]:
            if self.exact >= self.most_exact or self._spent():
                break
            self.exact += 1
            node = self.node(rows[k])
            size = self.grid.size(node, self.dual) / self.grid.weight(node) ** 2
            values[k] = min(size, own[k]) if np.isfinite(size) else own[k]
            n, r = self.grid.block(node).train.shape
            self.work += PER_LOOK + n * r * (r + n if r > 1 else 1.0)
        return values


def _safe(bounds: Array) -> Array:
    """Upper bounds in which an unknown sum is infinite."""
    return np.nan_to_num(bounds, nan=np.inf, posinf=np.inf)


def missing_nodes(grid: Grid, hull: set[Node], dual: Array, limit: float) -> list[Node]:
    """Nodes of at most two variables that violate (27), worst first.

    Column 0 is level 0 of none of the variables: its pairs are the nodes of one variable.
    """
    t = grid.tables
    flat = np.flatnonzero(np.isfinite(t.signed).all(axis=0))
    if not len(flat) or len(flat) > MOST:
        return []
    signed = np.column_stack([np.ones(len(dual)), t.signed[:, flat]])
    variable, level = np.append(-1, t.variable[flat]), np.append(0, t.level[flat])
    d = np.asarray(grid.beta ** level.astype(float))
    total = np.array([sum(grid.beta**j for j in range(k + 1)) for k in level])
    # weights of the ancestors inside, the root excepted
    inside, pairs_inside = np.zeros(len(d)), np.zeros((len(d), len(d)))
    for node in hull:
        pairs: Pairs = node  # type: ignore[assignment]
        below = [np.flatnonzero((variable == g) & (level >= j)) for g, j in pairs]
        if len(pairs) == 1:
            inside[below[0]] += grid.weight(node)
        elif len(pairs) == 2:
            pairs_inside[np.ix_(below[0], below[1])] += grid.weight(node)
    outside = np.outer(total, total) - 1 - inside[:, None] - inside - pairs_inside
    own, moved = np.outer(d, d), (dual * grid.base.train[:, 0])[:, None]
    kept = (outside > 0.5 * own) & (variable[:, None] < variable)  # the node itself is outside
    values = ((signed * moved).T @ signed) ** 2 * (own / np.where(kept, outside, 1.0)) ** 2
    first, second = np.nonzero(kept & (values > limit))
    names = list(zip(variable.tolist(), level.tolist(), strict=True))
    found = [tuple(names[k] for k in both if k) for both in zip(first, second, strict=True)]
    order = np.argsort(-values[first, second], kind="stable")
    return [found[k] for k in order if found[k] not in hull][:KEPT]
