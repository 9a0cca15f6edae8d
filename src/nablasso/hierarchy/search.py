r"""The search of figure 6: grow a hull until a gap certifies the full problem.

1. Solve the reduced problem (19) on the hull.
2. While a source ``t`` of the complement violates the necessary condition (20),
   ``a_t / d_t^2 <= Omega(f)^2``, or a node beyond its stronger form (27)
   (:mod:`nablasso.hierarchy.bounds`), add the worst ones with their ancestors and solve again.
3. Bound the dual norm of everything outside. If the gap of the full problem is within the
   tolerance, it is certified; otherwise add the violators that were found, with their ancestors,
   and go on, for at most a fiftieth of the budget's work.

The gap returned is always that of the *full* problem. Nodes whose weight is below their slack
(``x_v < 1 - (t_v / x_v) / max``) are zero at the optimum; they are taken out of the function and
the rest is solved again, so that the pattern returned is exactly a hull. They stay in the
certificate.

**Consistency**, conditions (22) and (24) of Bach (2009): with the true function ``f`` of hull ``W``
and covariances ``Sigma`` of the features let

.. math::
    s_w = \Big(\sum_{v \in A(w)} \frac{d_v}{\|f_{D(v)}\|}\Big) f_w, \qquad
    g = \Sigma_{W^c W} \Sigma_{WW}^{-1} s .

The norm finds the hull where ``Omega*_{W^c}(g) <= 1 - eta`` for some ``eta > 0`` (22), and only
where ``Omega*_{W^c}(g) <= 1`` (24). The dual norm squared is ``max_x sum_w zeta_w(x) |g_w|^2`` with
ancestors outside ``W`` alone: the steps of :func:`nablasso.hierarchy.problem.alternating` increase
it, and ``kappa`` bounds it from above. O(R^2) a step for R nodes outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.hierarchy.bounds import WORK
from nablasso.hierarchy.dag import Hierarchy, Node, Outside, ancestor_matrix, hull_of, shallow_first
from nablasso.hierarchy.problem import (
    HullPoint,
    HullProblem,
    HullSolution,
    bytes_held,
    descendant_norms,
    dual_bound,
    solve,
    weights_of,
)
from nablasso.losses import LossSample
from nablasso.types import Array, Mask

SHARE = 0.01  # of the tolerance goes to the reduced problem
AT_ONCE = 0.25  # nodes added at a time, relative to the size of the hull
LEAST = 8  # but at least so many
NEW = 1e-2  # share of the weights that new nodes start with
ROUNDS = 200
LEAST_WORK = 1e8
GROWTH = 0.02  # of the work of a path may go to nodes that only the certificate asks for
SHARPER = 4  # attempts to tell zero from small
LOWEST, HIGHEST = 1e-3, 10.0  # of the scale
HALVINGS = 8
PRECISION = 1e-9  # of the dual norm's square
STEPS = 100_000
SINGULAR = 1e-10  # of the largest eigenvalue of the correlations
CONSTANT = 1e-12  # of the mean square: a variance that is none
SMALLEST = 1e-30
SPACE = ("max_kernels", "max_memory")
LIMITS = (*SPACE, "max_work")


@dataclass
class Found:
    """A solution of the full problem, with its certificate."""

    nodes: list[Node]  # the hull that was looked at, and its weights: to start from
    x: Array
    problem: HullProblem  # on the nodes that are not zero
    point: HullPoint
    gap: float  # over all kernels
    primal: float
    certified: bool
    rule: str
    reason: str
    n_iter: int
    violators: list[Node]  # nodes known to be missing

    @property
    def alpha(self) -> float:
        """Where it was searched."""
        return self.problem.alpha

    @property
    def hull(self) -> list[Node]:
        """Nodes whose function is not zero, with their ancestors."""
        return self.problem.nodes

    @property
    def is_cut(self) -> bool:
        """Whether the budget ended the search while kernels were known to be missing."""
        return self.reason in LIMITS


@dataclass
class Search:
    """Searches on one hierarchy and sample along one path; warm starts between alphas.

    ``tol`` is a gap relative to the objective at ``f = 0``; without ``certify`` the gap is that of
    the listed nodes alone. The budget: nodes and bytes of a reduced problem, and multiplications of
    all those along a path.
    """

    hierarchy: Hierarchy
    sample: LossSample
    tol: float = 1e-3
    max_kernels: float = np.inf
    max_memory: float = 1e9
    max_work: float = 1e12  # one to two minutes of one processor
    certify: bool = True
    max_iter: int | None = None
    work: float = field(default=WORK, init=False)  # allowed for the next certificate
    spent: float = field(default=0.0, init=False)  # so far on the problems of hulls

    def problem(self, nodes: list[Node], alpha: float) -> HullProblem:
        """The reduced problem on some nodes."""
        features = [self.hierarchy.block(node).train for node in nodes]
        d = np.array([self.hierarchy.weight(node) for node in nodes])
        ancestors = ancestor_matrix(self.hierarchy, nodes)
        return HullProblem(self.sample, alpha, nodes, features, ancestors, d)

    def run(
        self,
        alpha: float,
        start: Found | None = None,
        keep: list[Node] | None = None,
        *,
        certify: bool = True,
        grow: bool = True,
    ) -> Found:
        """Search at one ``alpha``; ``keep`` are nodes that are in from the start.

        Without ``certify`` (here or of the search) the gap is that of the listed nodes alone.
        Without ``grow`` step 3 adds no nodes: the hull is that of a search without certificate.
        """
        certify = certify and self.certify
        weights = self._begin(start, keep or [])
        n_iter, rounds, trimmed, most = 0, 0, False, np.inf
        while True:
            rounds += 1
            nodes = list(weights)
            problem = self.problem(nodes, alpha)
            solved = self._solve(problem, np.array(list(weights.values())))
            n_iter += solved.n_iter
            weights = dict(zip(nodes, solved.point.weights.x.tolist(), strict=True))
            new = self._missing(problem, solved.point)
            added, lacking = self._affordable(problem, new)
            if added and rounds < ROUNDS:
                weights |= _shares(added)
                continue
            active = _active(problem, solved.point)
            if lacking in SPACE and not trimmed and not active.all():  # zeros leave their room once
                weights = {node: weights[node] for node, a in zip(nodes, active, strict=True) if a}
                trimmed = True
                continue
            found = self._finish(
                problem, solved, n_iter, lacking=lacking, missing=bool(new), certify=certify
            )
            most = min(most, self.spent + GROWTH * self.max_work)
            over = rounds >= ROUNDS or self.spent > most or not grow
            if found.certified or not found.violators or lacking or over:
                return found
            wanted = hull_of(self.hierarchy, found.violators[: self._at_once(len(nodes)) // 2])
            deeper = [v for v in shallow_first(self.hierarchy, wanted) if v not in weights]
            added, lacking = self._affordable(problem, deeper)
            if not added:
                return replace(found, reason=lacking or found.reason)
            weights |= _shares(added)

    def _affordable(self, problem: HullProblem, new: list[Node]) -> tuple[list[Node], str]:
        """The first of the new nodes that the budget allows, and what it lacks for the others."""
        nodes, features = problem.n_nodes, problem.Phi.shape[1]
        for k, node in enumerate(new):
            nodes, features = nodes + 1, features + self.hierarchy.block(node).train.shape[1]
            lacking = self._lacks(features, nodes, self.spent)
            if lacking:
                return new[:k], lacking
        return new, ""

    def _lacks(self, features: int, nodes: int, work: float) -> str:
        """What does not suffice for a problem of this size; "" where all does."""
        if nodes > self.max_kernels:
            return "max_kernels"
        if bytes_held(len(self.sample.y), features, nodes) > self.max_memory:
            return "max_memory"
        return "max_work" if work > self.max_work else ""

    def _begin(self, start: Found | None, keep: list[Node]) -> dict[Node, float]:
        """Weights to start from, the kept nodes always among them.

        Those of zero nodes are left behind where they would take the room.
        """
        if start is None or not start.nodes:
            first = hull_of(self.hierarchy, [self.best_source(), *keep])
            return dict.fromkeys(shallow_first(self.hierarchy, first), 1.0)
        weights = dict(zip(start.nodes, start.x.tolist(), strict=True))
        features = 2 * start.problem.Phi.shape[1]
        if self._lacks(features, 2 * len(weights), 0.0):
            weights = {node: weights[node] for node in start.hull}
        kept = shallow_first(self.hierarchy, hull_of(self.hierarchy, keep) - weights.keys())
        return weights | _shares(kept)

    def null_dual(self) -> Array:
        """``-p l'(y, b)``: alpha times the dual variable at ``f = 0``."""
        y, p = self.sample.y, self.sample.weights
        return np.asarray(-p * self.sample.loss.gradient(y, self.sample.null))

    def best_source(self) -> Node:
        """The source with the largest kernel at ``f = 0``."""
        return self.ranked(self.hierarchy.sources(), self.null_dual())[0]

    def ranked(self, nodes: list[Node], dual: Array) -> list[Node]:
        """Nodes by decreasing ``a_w / d_w^2``."""
        ratios = self.hierarchy.ratios(nodes, dual)
        return [nodes[k] for k in np.argsort(-ratios, kind="stable")]

    def on(self, hull: list[Node], found: Found) -> Found:
        """The penalised function on a part of a solution's hull, at the same ``alpha``.

        Gap and objective stay those of the solution: they belong to the problem over all kernels.
        """
        inner = self.problem(hull, found.alpha)
        place = {node: k for k, node in enumerate(found.hull)}
        x = found.point.weights.x[[place[node] for node in hull]]
        tol = SHARE * self._target()
        point = solve(inner, x / x.sum(), tol, self.max_iter).point if hull else inner.evaluate(x)
        return replace(found, nodes=hull, x=x, problem=inner, point=point)

    def _at_once(self, size: int) -> int:
        return max(LEAST, int(AT_ONCE * size))

    def _target(self) -> float:
        return self.tol * self.sample.reference

    def _solve(self, problem: HullProblem, x: Array, share: float = SHARE) -> HullSolution:
        """Solve to a share of the tolerance, and count what it took."""
        before = problem.work
        solved = solve(problem, x / x.sum(), share * self._target(), self.max_iter)
        self.spent += problem.work - before
        return solved

    def _missing(self, problem: HullProblem, point: HullPoint) -> list[Node]:
        """Nodes that a necessary condition asks for, with their ancestors, a few at a time.

        Sources of the complement first; when (20) holds for them, (27) for what lies deeper.
        """
        hull, (bound, value, _) = set(problem.nodes), dual_bound(point.weights, point.sizes)
        limit = max(bound, value + self._target() / problem.alpha)  # half of the tolerance
        at_once = self._at_once(len(hull))
        frontier = self.hierarchy.frontier(hull)
        ratios = self.hierarchy.ratios(frontier, point.dual)
        if (ratios > limit).any():
            best = np.argsort(-ratios, kind="stable")[:at_once]
            return [frontier[k] for k in best if ratios[k] > limit]
        deeper = self.hierarchy.missing(hull, point.dual, limit)
        added: set[Node] = set()
        for node in deeper:
            added |= hull_of(self.hierarchy, [node]) - hull
            if len(added) >= at_once:
                break
        return shallow_first(self.hierarchy, added)

    def _finish(
        self,
        problem: HullProblem,
        solved: HullSolution,
        n_iter: int,
        *,
        lacking: str,
        missing: bool,
        certify: bool,
    ) -> Found:
        """Take zero nodes out, and certify what is left over all kernels."""
        share = SHARE
        for _ in range(SHARPER):
            inner, point, active = problem, solved.point, _active(problem, solved.point)
            if not active.all():  # solve once more on the nodes that are not zero
                kept = [node for node, a in zip(problem.nodes, active, strict=True) if a]
                inner = self.problem(kept, problem.alpha)
                point = self._solve(inner, solved.point.weights.x[active], share).point
            sizes = problem.per_node((problem.Phi.T @ point.dual) ** 2)
            bound_in = dual_bound(solved.point.weights, sizes)[0]
            if inner.gap(point, bound_in) <= self._target() / 2 or not solved.converged:
                break
            share /= 10  # what is zero was not clear enough yet
            solved = self._solve(problem, solved.point.weights.x, share)
        _, value, _ = dual_bound(point.weights, point.sizes)
        outside = Outside(np.inf, [], "none")
        gap = inner.gap(point, bound_in)
        if certify:
            enough = max(value + 2 * self._target() / problem.alpha * (1 - SHARE), bound_in)
            outside = self.hierarchy.outside(set(problem.nodes), point.dual, enough, self.work)
            gap = inner.gap(point, max(bound_in, outside.bound))
        certified = gap <= self._target()
        # where the certificate is lost, further effort at smaller alphas rarely brings it back
        if certify:
            self.work = WORK if certified else max(self.work / 4, LEAST_WORK)
        if certified and (certify or not lacking):
            lacking = "certified"
        elif not lacking and not solved.converged:
            lacking = "stalled" if solved.stalled else "max_iter"
        elif not lacking:
            lacking = "violators" if missing or outside.violators else "bound"
        known = (problem.nodes, solved.point.weights.x, inner, point, gap, inner.primal(point))
        return Found(*known, certified, outside.rule, lacking, n_iter, outside.violators)


def _shares(new: list[Node]) -> dict[Node, float]:
    """Weights that new nodes start with."""
    return dict.fromkeys(new, NEW / max(len(new), 1))


def _active(problem: HullProblem, point: HullPoint) -> Mask:
    """Nodes whose weight exceeds their slack, and all of whose ancestors' do."""
    bound, _, ratios = dual_bound(point.weights, point.sizes)
    slack = 1 - ratios / bound if bound > 0 else np.zeros(problem.n_nodes)
    positive = point.weights.x > np.maximum(slack, 0.0)
    positive[np.argmax(point.weights.x)] = True
    in_hull = ~((~positive).astype(float) @ problem.ancestors > 0)
    if not in_hull.any():  # nothing but the sources
        in_hull = problem.ancestors.sum(axis=0) == 1
    return np.asarray(in_hull)


def largest_alpha(search: Search) -> float:
    r"""``alpha_max``, where a path begins.

    With the square of the norm no finite ``alpha`` gives ``f = 0``: as ``alpha`` grows the function
    shrinks, on the hull of one source. ``alpha_max`` is the value above which that hull alone is
    selected, between a thousandth and ten times the ``alpha`` at which that source alone is shrunk
    by half.
    """
    hierarchy, null = search.hierarchy, search.null_dual()
    nodes = list(hull_of(hierarchy, [search.best_source()]))
    frontier = hierarchy.frontier(set(nodes))
    size = max((hierarchy.size(v, null) for v in nodes), default=0.0)
    if frontier and size <= 1e-20 * float(null @ null):  # the sources' kernels are null or constant
        nodes.append(search.ranked(frontier, null)[0])
    d = sum(map(hierarchy.weight, nodes))
    p, blocks = search.sample.weights, [hierarchy.block(node).train for node in nodes]
    centred = (F - p @ F for F in blocks)
    scale = 2 * max(float(np.sum(p @ F**2)) for F in centred) / d**2  # shrunk by half
    if not scale > 0:
        return 1.0
    low, high = np.log(LOWEST * scale), np.log(HIGHEST * scale)
    others = hierarchy.frontier(set(nodes))
    for _ in range(HALVINGS):
        problem = search.problem(nodes, float(np.exp((low + high) / 2)))
        # all nodes but one are its ancestors with null functions: these weights are the best
        point = problem.evaluate(problem.d / problem.d.sum())
        limit = dual_bound(point.weights, point.sizes)[0] * (1 + 1e-6)
        if (hierarchy.ratios(others, point.dual) > limit).any():
            low = (low + high) / 2
        else:
            high = (low + high) / 2
    return float(np.exp(high))


class HullConsistency(NamedTuple):
    """Bounds of the dual norm in (22) and (24)."""

    lower: float
    upper: float

    def is_sufficient(self, margin: float = 1e-6) -> bool:
        """Condition (22) with ``eta`` = ``margin``: the hull is found, given rows enough."""
        if not 0 < margin < 1:
            raise InvalidParameterError(f"margin must lie between 0 and 1; got {margin!r}.")
        return self.upper <= 1 - margin

    def is_possible(self) -> bool:
        """Condition (24): where it fails no sequence of alphas finds function and hull."""
        return self.lower <= 1


def hull_consistency(
    hierarchy: Hierarchy, function: Mapping[Node, Array], nodes: Iterable[Node]
) -> HullConsistency:
    """Whether the hull of a function can be found from data like these.

    Parameters
    ----------
    hierarchy : Hierarchy
        Kernels on rows that stand for the distribution; covariances are weighted and centred.
    function : mapping of node to array
        Coefficients of the node's features (``hierarchy.block(node)``), not all zero.
    nodes : iterable of nodes
        All nodes of the graph for the conditions themselves. Some of them, with their ancestors,
        give a lower bound of the dual norm, and (24) in a weaker form.

    Returns
    -------
    HullConsistency
    """
    hull = shallow_first(hierarchy, hull_of(hierarchy, function))
    outside = shallow_first(hierarchy, hull_of(hierarchy, nodes) - set(hull))
    p, target = hierarchy.weights, _slopes(hierarchy, hull, function)
    raw = np.column_stack([hierarchy.block(v).train for v in hull])
    Phi = raw - p @ raw
    kept = p @ Phi**2 > CONSTANT * np.maximum(p @ raw**2, SMALLEST)  # the root of a grid is not
    Phi, target = Phi[:, kept], target[kept]
    covariance = (Phi.T * p) @ Phi
    root = np.sqrt(np.diag(covariance))
    values = np.linalg.eigvalsh(covariance / np.outer(root, root))
    if values[0] <= SINGULAR * values[-1]:
        raise InvalidParameterError(
            "The correlations of the relevant features must be invertible, assumption (A3) of the "
            f"paper; the smallest eigenvalue is {values[0]:.1e}. Use more rows than features, or "
            "Whitened kernels where nodes contain their ancestors."
        )
    fitted = p * (Phi @ np.linalg.solve(covariance, target))  # adds up to zero
    sizes = np.array([hierarchy.size(v, fitted) for v in outside])
    if not np.any(sizes > 0):
        return HullConsistency(0.0, 0.0)
    matrix = ancestor_matrix(hierarchy, [*hull, *outside])[len(hull) :, len(hull) :]
    d = np.array([hierarchy.weight(v) for v in outside])
    x = np.full(len(d), 1 / len(d))
    for _ in range(STEPS):
        upper, lower, ratios = dual_bound(weights_of(x, matrix, d), sizes)
        if upper - lower <= PRECISION * upper:
            break
        x = np.maximum(x * np.sqrt(ratios), SMALLEST)
        x /= x.sum()
    return HullConsistency(float(np.sqrt(lower)), float(np.sqrt(upper)))


def _slopes(hierarchy: Hierarchy, hull: list[Node], function: Mapping[Node, Array]) -> Array:
    """``s_w``, one after the other: the gradient of the norm at the function."""
    coefs = {}
    for v in hull:
        width = hierarchy.block(v).train.shape[1]
        coefs[v] = np.asarray(function.get(v, np.zeros(width)), dtype=float)
        if coefs[v].shape != (width,):
            raise InvalidParameterError(
                f"The function needs {width} coefficients at node {v!r}; got an array of shape "
                f"{coefs[v].shape}."
            )
    ancestors = ancestor_matrix(hierarchy, hull)
    norms = descendant_norms(np.array([float(c @ c) for c in coefs.values()]), ancestors)
    if not len(norms) or not norms.min() > 0:
        raise InvalidParameterError(
            "Every node of the function's hull needs a descendant, or itself, with coefficients "
            "that are not zero. Leave the others out of the function."
        )
    d = np.array([hierarchy.weight(v) for v in hull])
    scales = zip((d / norms) @ ancestors, coefs.values(), strict=True)
    return np.concatenate([scale * c for scale, c in scales])
