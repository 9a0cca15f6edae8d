r"""Passes over coded rows: everything that the search knows is a sum over them.

With the functions ``Z`` of a model's terms (a one in front), scores ``g``, weights ``v`` and row
weights ``a`` a pass adds up, block by block,

.. math:: C = \sum a v\, z z^\top, \quad c = \sum a g\, z, \quad M = \sum a g^2 z z^\top .

``M`` is what the scores' variance *is*, ``C`` times the dispersion what it *should be*.

**Serial rows.** A filter ``h(L) = 1 - h_1 L - h_2 L^2`` (``L`` the row before) makes residuals and
functions white: ``C, c`` are those of ``h(L) Z`` and ``h(L) r``. A block sees two rows beyond
either end, so the filter knows no blocks. ``M`` is then the sum over clusters of consecutive rows,
numbered from the first row of the table: :math:`\sum_b u_b u_b^\top` with :math:`u_b = \sum g z`.

Cost of a pass: ``n p^2`` for ``C`` and for ``M``; of a screen: ``n (q d)^2`` for all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from nablasso.streaming.blocks import CONTEXT, Block
from nablasso.streaming.codes import CodedColumn, Codes, with_functions
from nablasso.streaming.responses import CELLS, SIZES, Response, Sums
from nablasso.streaming.sources import Coded
from nablasso.types import Array, Index

Term = tuple[int, ...]

DEGREE = 6  # products of a term may have this degree, or as many as it has functions of a column


def added(a: Sums, b: Sums) -> Sums:
    """Sums of two sets of rows."""
    return {name: value + b[name] for name, value in a.items()}


# --- counts of the codes ---


def counted(
    coded: Coded, columns: Sequence[CodedColumn], most: int
) -> tuple[tuple[CodedColumn, ...], Sums]:
    """The columns with at most ``most`` functions each, and how y and the codes go up and down."""
    sizes = [len(column.centres) for column in columns]
    sums = coded.fold(partial(_counts, sizes=sizes), added)
    parts = np.split(sums["codes"], np.cumsum(sizes)[:-1])
    done = [with_functions(c, p, most) for c, p in zip(columns, parts, strict=True)]
    return tuple(done), sums


def _counts(block: Block, sizes: Sequence[int]) -> Sums:
    own = slice(block.before, len(block.y) - block.after)
    codes = [
        np.bincount(row[own], weights=block.weight[own], minlength=size)
        for row, size in zip(block.codes, sizes, strict=True)
    ]
    chain = slice(max(block.before - 1, 0), len(block.y) - block.after)
    y, c = block.y[chain], block.codes[:, chain]
    return {
        "codes": np.concatenate(codes),
        "rows": block.weight[own].sum(),
        "count": np.array(len(block.y[own])),
        "up": np.append((c[:, 1:] > c[:, :-1]).sum(axis=1), (y[1:] > y[:-1]).sum()),
        "down": np.append((c[:, 1:] < c[:, :-1]).sum(axis=1), (y[1:] < y[:-1]).sum()),
    }


# --- the model at rows ---


@dataclass(frozen=True)
class Design:
    """Terms and how many functions of a column each uses: the columns of ``Z`` after the one."""

    terms: tuple[Term, ...]
    degrees: tuple[Index, ...]  # of every term: (functions, columns of the term)
    at: dict[Term, Index] = field(init=False)
    width: int = field(init=False)

    def __post_init__(self) -> None:
        ends = np.cumsum([1, *(len(d) for d in self.degrees)])
        at = {t: np.arange(a, b) for t, a, b in zip(self.terms, ends, ends[1:], strict=False)}
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "width", int(ends[-1]))

    def functions_of(self) -> dict[int, int]:
        """How many functions of each column are needed."""
        need: dict[int, int] = {}
        for term, degrees in zip(self.terms, self.degrees, strict=True):
            for j, most in zip(term, degrees.max(axis=0) + 1, strict=True):
                need[j] = max(need.get(j, 0), int(most))
        return need

    def places(self, other: Design) -> Index:
        """Where another design has these functions; -1 for those that it lacks."""
        where = np.full(self.width, -1)
        where[0] = 0
        theirs = dict(zip(other.terms, other.degrees, strict=True))
        for term, degrees in zip(self.terms, self.degrees, strict=True):
            if term in theirs:
                place = dict(zip(map(tuple, theirs[term].tolist()), other.at[term], strict=True))
                where[self.at[term]] = [place.get(tuple(d), -1) for d in degrees.tolist()]
        return where

    def rows(self, functions: Callable[[int, int], Array], m: int) -> Array:
        """``Z`` (m, width), given the first ``k`` functions of column ``j`` at the rows."""
        basis = {j: functions(j, k) for j, k in self.functions_of().items()}
        return self.products([basis] * len(self.terms), m)

    def products(self, bases: Sequence[dict[int, Array]], m: int) -> Array:
        """``Z`` from the functions of the columns, a set of them for every term.

        Function by function: each is one run of memory, and so are the factors of a product.
        """
        Z = np.empty((m, self.width), order="F")
        Z[:, 0] = 1.0
        for basis, term, degrees in zip(bases, self.terms, self.degrees, strict=True):
            first, *others = (basis[j] for j in term)
            for at, degree in zip(self.at[term], degrees, strict=True):
                Z[:, at] = first[:, degree[0]]
                for factor, k in zip(others, degree[1:], strict=True):
                    Z[:, at] *= factor[:, k]
        return Z


def degrees_of(available: Sequence[int], k: int) -> Index:
    """Degrees of a term's products: below ``k`` in each column, up to a total degree."""
    sizes = [min(k, a) for a in available]
    grid = np.indices(sizes).reshape(len(sizes), -1).T
    return np.asarray(grid[grid.sum(axis=1) <= max(k, DEGREE)])


@dataclass(frozen=True)
class State:
    """The model at hand: what a pass needs to know about it."""

    columns: tuple[CodedColumn, ...]
    design: Design
    coefficients: Array
    response: Response
    filter: tuple[float, ...] = ()  # h_1, h_2, or nothing

    def of(self, codes: Codes, design: Design) -> Array:
        """``Z`` of a design at coded rows."""

        def functions(j: int, k: int) -> Array:
            table = np.ascontiguousarray(self.columns[j].table[:, :k].T)
            return np.asarray(np.take(table, codes[j], axis=1).T)

        return design.rows(functions, codes.shape[1])

    def predictor(self, codes: Codes) -> Array:
        """The predictor at coded rows: a term of one column or two is a table by its codes."""
        wide = [(t, d) for t, d in self._terms() if len(t) > 2]
        design = Design(tuple(t for t, _ in wide), tuple(d for _, d in wide))
        at = np.concatenate([[0], *(self.design.at[t] for t in design.terms)]).astype(np.intp)
        eta = self.of(codes, design) @ self.coefficients[at]
        for term, degrees in self._terms():
            w = self.coefficients[self.design.at[term]]
            tables = [self.columns[j].table for j in term]
            if len(term) == 1:
                eta += (tables[0][:, degrees[:, 0]] @ w)[codes[term[0]]]
            elif len(term) == 2:
                by_codes = (tables[0][:, degrees[:, 0]] * w) @ tables[1][:, degrees[:, 1]].T
                cell = codes[term[0]].astype(np.intp) * len(tables[1]) + codes[term[1]]
                eta += by_codes.ravel()[cell]
        return np.asarray(eta)

    def _terms(self) -> Iterator[tuple[Term, Index]]:
        return zip(self.design.terms, self.design.degrees, strict=True)

    def slopes(self, X: Array) -> Array:
        """Derivatives of the predictor in every column at new rows."""
        need = self.design.functions_of()
        values = {j: self.columns[j].at(X[:, j], k) for j, k in need.items()}
        out = np.zeros(X.shape)
        for j, k in need.items():
            bent = {**values, j: self.columns[j].slopes(X[:, j], k)}
            flat = {i: np.zeros_like(v) for i, v in values.items()}
            bases = [bent if j in term else flat for term in self.design.terms]
            Z = self.design.products(bases, len(X))
            out[:, j] = Z[:, 1:] @ self.coefficients[1:]
        return out

    def refined(self, design: Design) -> State:
        """The same function as coefficients of a larger design."""
        place = self.design.places(design)
        if (place < 0).any():
            lacking = [t for t in self.design.terms if (place[self.design.at[t]] < 0).any()]
            raise ValueError(f"The larger design lacks the term {lacking[0]}.")
        coefficients = np.zeros(design.width)
        coefficients[place] = self.coefficients
        return replace(self, design=design, coefficients=coefficients)


def _filtered(h: tuple[float, ...], A: Array) -> Array:
    """``h(L) A`` where two rows are before; zero at the first two, neighbours or the table's."""
    out = A.copy()
    for lag, c in enumerate(h, start=1):
        out[lag:] -= c * A[:-lag]
    out[:CONTEXT] = 0.0
    return np.asarray(out)


def _returned(h: tuple[float, ...], r: Array) -> Array:
    """``h(L)' r``."""
    out = r.copy()
    for lag, c in enumerate(h, start=1):
        out[:-lag] -= c * r[lag:]
    return np.asarray(out)


# --- the pass of sums ---


def model_sums(
    coded: Coded,
    state: State,
    cluster: int,
    spread: Coded | None = None,
    known: tuple[Design, Array] | None = None,
) -> Sums:
    """``C, c, M`` and the sums of squares of the scores, of a state's whole design.

    ``cluster`` is the number of consecutive rows whose scores are added up first; 0 where rows
    have no order. ``spread`` are rows that stand for all in ``M``: a variance needs no more.
    ``known`` is a design and its ``C`` at the same weights: the rest of it is summed.
    """
    design, variance = state.design, spread is None or bool(cluster)
    place = np.full(design.width, -1) if known is None else design.places(known[0])
    new, old = np.flatnonzero(place < 0), np.flatnonzero(place >= 0)
    work = partial(_model_sums, state=state, cluster=cluster, variance=variance, new=new)
    sums = coded.fold(work, _joined)
    C = np.empty((design.width, design.width))
    C[new], C[:, new] = sums["C"], sums["C"].T
    if known is not None:
        C[np.ix_(old, old)] = known[1][np.ix_(place[old], place[old])]
    sums["C"] = C
    if cluster:
        U = sums.pop("clusters")
        U = U - U.mean(axis=0)
        sums["M"] = U.T @ U * (len(U) / max(len(U) - 1, 1))
        sums["independent"] = np.array(float(len(U)))
    elif spread is None:
        sums["independent"] = sums["rows"]
    else:
        some = model_sums(spread, state, 0)
        sums["M"] = some["M"] * (sums["rows"] / some["rows"])
        sums["independent"] = some["rows"]
    return sums


def _joined(a: Sums, b: Sums) -> Sums:
    """Sums of rows and of those after them; a cluster that both hold is added up."""
    if "clusters" not in a:
        return added(a, b)
    plain = [{k: v for k, v in x.items() if k not in ("clusters", "numbers")} for x in (a, b)]
    shared = int(a["numbers"][-1] == b["numbers"][0])
    clusters = np.concatenate([a["clusters"], b["clusters"][shared:]])
    if shared:
        clusters[len(a["clusters"]) - 1] += b["clusters"][0]
    numbers = np.concatenate([a["numbers"], b["numbers"][shared:]])
    return {**added(*plain), "clusters": clusters, "numbers": numbers}


def _model_sums(block: Block, state: State, cluster: int, variance: bool, new: Index) -> Sums:
    own = slice(block.before, len(block.y) - block.after)
    Z = state.of(block.codes, state.design)
    target = state.response.target(block.y)
    if state.filter:
        g = _filtered(state.filter, target - Z @ state.coefficients)[own]
        Z = _filtered(state.filter, Z)[own]
        v = np.ones_like(g)
    else:
        Z = Z[own]
        g, v, _ = state.response.work(target[own], Z @ state.coefficients)
    a = block.weight[own]
    root = np.sqrt(a * v)
    weighted = Z if np.all(root == 1.0) else Z * root[:, None]
    sums: Sums = {
        "C": (weighted if len(new) == weighted.shape[1] else weighted[:, new]).T @ weighted,
        "c": Z.T @ (a * g),
        "score": np.array(a @ g**2),
        "weight": np.array(a @ v),
        "rows": np.array(a.sum()),
    }
    if cluster:
        number = (block.start + np.arange(len(g))) // cluster
        first = np.flatnonzero(np.diff(number, prepend=-1))
        sums["clusters"] = np.add.reduceat(Z * (a * g)[:, None], first, axis=0)
        sums["numbers"] = number[first].astype(float)
    elif variance:
        scored = Z.astype(np.float32)  # a variance needs no more
        scored *= (np.sqrt(a) * g).astype(np.float32)[:, None]
        sums["M"] = (scored.T @ scored).astype(float)
    return sums


# --- the screen ---


def screen(coded: Coded, state: State, pairs: Sequence[tuple[int, int]]) -> Sums:
    """Scores of every code of every column and of products of functions, and the residuals' shape.

    ``pairs`` lists columns and how many functions of each take part in products.
    """
    return coded.fold(partial(_screen, state=state, pairs=pairs), added)


def _screen(block: Block, state: State, pairs: Sequence[tuple[int, int]]) -> Sums:
    own = slice(block.before, len(block.y) - block.after)
    target = state.response.target(block.y)
    eta = state.predictor(block.codes)
    work = state.response.work(target, eta)
    r, g = target - eta, work.score
    if state.filter:
        g = _returned(state.filter, _filtered(state.filter, r))
    a, codes, g = block.weight[own], block.codes[:, own], g[own]
    ag = a * g
    P = np.empty((sum(q for _, q in pairs), len(g)), dtype=np.float32)
    at = 0
    for j, q in pairs:
        table = state.columns[j].table[:, :q].T.astype(np.float32, order="C")
        np.take(table, codes[j], axis=1, out=P[at : at + q], mode="clip")
        at += q
    end, white = len(r) - block.after, work.score * np.sqrt(block.weight)
    lagged = [
        white[max(block.before, lag) : end] @ white[max(block.before - lag, 0) : max(end - lag, 0)]
        for lag in (0, 1, 2)
    ]
    size = np.log(np.maximum(np.abs(r[own]), 1e-300))
    cell = np.clip(np.rint((size + SIZES) * CELLS), 0, 2 * SIZES * CELLS).astype(np.intp)
    return {
        "codes": np.concatenate(
            [
                np.bincount(codes[j], weights=ag, minlength=len(column.table))
                for j, column in enumerate(state.columns)
            ]
        ),
        "products": ((P * ag.astype(np.float32)) @ P.T).astype(float),
        "score": np.array(a @ g**2),
        "weight": np.array(a @ work.weight[own]),
        "loss": np.array(a @ work.loss[own]),
        "rows": np.array(a.sum()),
        "excess": state.response.moments(target[own], eta[own]) @ a,
        "lagged": np.array(lagged),
        "sizes": np.bincount(cell, weights=a, minlength=2 * SIZES * CELLS + 1),
        "smear": np.array(a @ np.exp(np.clip(state.response.scale * r[own], -30, 30)))
        if state.response.log
        else np.array(0.0),
    }
