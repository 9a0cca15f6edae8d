"""Hierarchical kernel learning with every kernel listed: naive, dense, independent of the library.

The full problem (13) of Bach (2009) over all nodes of a small graph, by CVXPY:

    min_{f, b}  sum_i p_i l(y_i, b + sum_w f_w(x_i)) + (alpha / 2) (sum_v d_v ||f_{D(v)}||)^2

``f_w(x_i) = Phi_w[i] c_w`` with any root ``Phi_w Phi_w' = K_w``, so that ``||f_w|| = |c_w|``. The
conditions (20) and (21) are sums over all nodes, the dual norm is a second conic problem. Nothing
here comes from the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import comb, factorial
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.polynomial.hermite import hermval

Node = Any
TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}

# ------------------------------------------------------------- kernels of one variable, by level


def polynomial(s, r, q):
    """binom(q, j) (s r)^j, j = 0..q: the terms of (1 + s r)^q."""
    return [comb(q, j) * np.outer(s, r) ** j for j in range(q + 1)]


def hermite_term(s, r, j, a):
    """a^j / (2^j j!) H_j(s) H_j(r)."""
    one = np.zeros(j + 1)
    one[j] = 1.0
    return a**j / (2.0**j * factorial(j)) * np.outer(hermval(s, one), hermval(r, one))


def hermite(s, r, q, a):
    """Terms below q one by one, the last level all others: here by adding 60 of them."""
    terms = [hermite_term(s, r, j, a) for j in range(q)]
    return [*terms, sum(hermite_term(s, r, j, a) for j in range(q, 60))]


def spline(s, r):
    """1, s r, and the cubic spline kernel by its integral: int_0 (|s| - u)_+ (|r| - u)_+ du."""
    small = np.minimum.outer(np.abs(s), np.abs(r))
    u = small[..., None] * (np.polynomial.legendre.leggauss(4)[0] + 1) / 2
    w = np.polynomial.legendre.leggauss(4)[1] / 2
    values = (np.abs(s)[:, None, None] - u) * (np.abs(r)[None, :, None] - u)
    cubic = np.where(np.outer(s, r) >= 0, small * (values @ w), 0.0)
    return [np.ones((len(s), len(r))), np.outer(s, r), cubic]


def gaussian(s, r, width_rate, weight):
    """1 and weight exp(-width_rate (s - r)^2): all subsets."""
    return [np.ones((len(s), len(r))), weight * np.exp(-width_rate * np.subtract.outer(s, r) ** 2)]


# ------------------------------------------------------------------------------------- graphs


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes, direct edges (parent, child) and weights d_v."""

    nodes: tuple[Node, ...]
    edges: frozenset[tuple[Node, Node]]
    weights: np.ndarray

    @cached_property
    def reach(self) -> np.ndarray:
        """reach[v, w]: w is a descendant of v, itself included. By walking the edges."""
        at = {node: i for i, node in enumerate(self.nodes)}
        found = np.eye(len(self.nodes), dtype=bool)
        step = found.copy()
        for parent, child in self.edges:
            step[at[parent], at[child]] = True
        for _ in self.nodes:
            found = found @ step
        return found

    def hull(self, chosen: Iterable[Node]) -> set[Node]:
        """All ancestors of the chosen nodes."""
        at = {node: i for i, node in enumerate(self.nodes)}
        rows = [at[node] for node in chosen]
        return {self.nodes[i] for i in np.flatnonzero(self.reach[:, rows].any(axis=1))}

    def sinks(self, chosen: Iterable[Node]) -> set[Node]:
        """The smallest set with the same hull: those without another chosen descendant."""
        members = set(chosen)
        return {
            node
            for node in members
            if self.hull(members - {node}) != self.hull(members)
            or not any(node in self.hull({other}) for other in members - {node})
        }

    def outside_sources(self, hull: Iterable[Node]) -> list[Node]:
        """Nodes outside the hull all of whose parents are inside."""
        inside = set(hull)
        parents = {node: {a for a, b in self.edges if b == node} for node in self.nodes}
        return [node for node in self.nodes if node not in inside and parents[node] <= inside]


def grid(p: int, q: int, beta: float, root: float = 1.0) -> Graph:
    """{0..q}^p, d_v = beta^|v|, the source's weight apart."""
    nodes = tuple(product(range(q + 1), repeat=p))
    edges = frozenset(
        (v, tuple(c + (i == a) for i, c in enumerate(v)))
        for v in nodes
        for a in range(p)
        if v[a] < q
    )
    weights = np.array([beta ** sum(v) if sum(v) else root for v in nodes])
    return Graph(nodes, edges, weights)


def grid_kernels(levels: list[list[np.ndarray]], graph: Graph) -> list[np.ndarray]:
    """K_w = prod_i k_{i, w_i} for every node, one by one."""
    return [np.prod([levels[i][j] for i, j in enumerate(w)], axis=0) for w in graph.nodes]


# ------------------------------------------------------------------------------- the full problem


@dataclass(frozen=True, eq=False)
class Full:
    """Solution of the full problem."""

    objective: float
    norms: np.ndarray  # ||f_w|| per node
    values: np.ndarray  # b + f(x_i)
    graph: Graph

    def hull(self, relative: float = 1e-4) -> set[Node]:
        """Nodes with ||f_{D(v)}|| above the tolerance of the conic solver."""
        below = np.sqrt(self.graph.reach @ self.norms**2)
        return {
            node
            for node, norm in zip(self.graph.nodes, below, strict=True)
            if norm > relative * below.max()
        }

    def is_clear(self, low: float = 1e-6, high: float = 1e-3) -> bool:
        """No ||f_{D(v)}|| d_v between the two tolerances: the hull is beyond doubt."""
        below = np.sqrt(self.graph.reach @ self.norms**2)
        share = below / below.max()
        return not np.any((share > low) & (share < high))


def root_of(K: np.ndarray) -> np.ndarray:
    """Phi with Phi Phi' = K, as narrow as its rank."""
    w, V = np.linalg.eigh(K)
    kept = w > 1e-12 * max(w.max(), 1e-300)
    return V[:, kept] * np.sqrt(w[kept])


def squared(y, u):
    return cp.square(y - u)


def half_squared(y, u):
    return cp.square(y - u) / 2


def logistic(y, u):
    return cp.logistic(-cp.multiply(y, u))


def solve_full(
    kernels: list[np.ndarray],
    y: np.ndarray,
    graph: Graph,
    alpha: float,
    loss: Callable[[Any, Any], Any],
    weights: np.ndarray | None = None,
) -> Full:
    """Problem (13) over all nodes."""
    n = len(y)
    p = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    roots = [root_of(K) for K in kernels]
    coefficients = [cp.Variable(Phi.shape[1]) for Phi in roots]
    b = cp.Variable()
    u = b + sum(Phi @ c for Phi, c in zip(roots, coefficients, strict=True))
    omega = 0
    for v, d in enumerate(graph.weights):
        omega += d * cp.norm(cp.hstack([coefficients[w] for w in np.flatnonzero(graph.reach[v])]))
    problem = cp.Problem(cp.Minimize(p @ loss(y, u) + alpha / 2 * cp.square(omega)))
    problem.solve(**TIGHT)
    norms = np.array([np.linalg.norm(c.value) for c in coefficients])
    return Full(float(problem.value), norms, np.asarray(u.value), graph)


# -------------------------------------------------------------------------------- the conditions


def squared_dual_norm(forms: np.ndarray, graph: Graph) -> float:
    """max_eta sum_w zeta_w(eta) a'K_w a = Omega*(g)^2 with ||g_w||^2 = a'K_w a (17)."""
    lengths = np.sqrt(np.maximum(forms, 0))
    f = cp.Variable(len(lengths))
    omega = sum(d * cp.norm(f[np.flatnonzero(graph.reach[v])]) for v, d in enumerate(graph.weights))
    problem = cp.Problem(cp.Maximize(lengths @ f), [omega <= 1])
    problem.solve(**TIGHT)
    return float(problem.value) ** 2


def necessary(forms: np.ndarray, graph: Graph, hull: Iterable[Node]) -> float:
    """Left side of (20): max over the sources outside of a'K_t a / d_t^2; 0 when there are none."""
    at = {node: i for i, node in enumerate(graph.nodes)}
    sides = [forms[at[t]] / graph.weights[at[t]] ** 2 for t in graph.outside_sources(hull)]
    return max(sides, default=0.0)


def missing(forms: np.ndarray, graph: Graph, hull: Iterable[Node]) -> dict[Node, float]:
    """a_w / (sum_{v in A(w), v outside} d_v)^2 of every node outside, from (27)."""
    inside = np.array([node in set(hull) for node in graph.nodes])
    return {
        node: float(forms[w] / graph.weights[graph.reach[:, w] & ~inside].sum() ** 2)
        for w, node in enumerate(graph.nodes)
        if not inside[w]
    }


def sufficient(forms: np.ndarray, graph: Graph, hull: Iterable[Node]) -> float:
    """Left side of (21), every sum written out."""
    return max(
        (sufficient_at(forms, graph, t) for t in graph.outside_sources(hull)),
        default=0.0,
    )


def sufficient_at(forms: np.ndarray, graph: Graph, t: Node) -> float:
    """sum_{w in D(t)} a'K_w a / (sum_{v in A(w) and D(t)} d_v)^2."""
    row = graph.nodes.index(t)
    below = graph.reach[row]
    total = 0.0
    for w in np.flatnonzero(below):
        between = graph.reach[:, w] & below
        total += forms[w] / graph.weights[between].sum() ** 2
    return float(total)
