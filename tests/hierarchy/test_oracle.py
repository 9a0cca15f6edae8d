"""The search against the full problem with every kernel listed, see full_problem.py."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

from nablasso.hierarchy.bounds import missing_nodes, summed_sources
from nablasso.hierarchy.dag import hull_of
from nablasso.hierarchy.decompositions import AllSubsetsGaussian, Hermite, Monomials, Spline
from nablasso.hierarchy.grid import Grid
from nablasso.hierarchy.problem import solve
from nablasso.hierarchy.search import Search
from nablasso.losses import Logistic, LossSample, Squared
from tests.hierarchy import full_problem as full

CASES = {
    "spline": (Spline(), 2, 2, full.spline),
    "spline, three variables": (Spline(), 3, 2, full.spline),
    "gaussian": (AllSubsetsGaussian(0.4, 1.3), 4, 1, lambda s, r: full.gaussian(s, r, 0.4, 1.3)),
    "polynomial": (Monomials(3), 2, 3, lambda s, r: full.polynomial(s, r, 3)),
    "hermite": (
        Hermite(2, 0.5),
        3,
        2,
        lambda s, r: full.hermite(s / np.sqrt(2), r / np.sqrt(2), 2, 0.5),
    ),
}
N = 16
GRID = np.linspace(0, 1, 201)  # multiples of a dual variable


def table(p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, p)).clip(-2.5, 2.5)
    y = X[:, 0] + X[:, 0] * X[:, 1] + 0.3 * X[:, -1] ** 2 + 0.3 * rng.normal(size=N)
    return X, y


def pairs(node):
    """A full tuple of levels in the library's words."""
    return tuple((a, level) for a, level in enumerate(node) if level)


class Case:
    """One data set, listed and searched."""

    def __init__(self, name, beta=1.5, root=1.0, seed=0, loss=None, labels=False):
        decomposition, p, q, levels = CASES[name]
        self.X, self.y = table(p, seed)
        if labels:
            self.y = np.where(self.y > np.median(self.y), 1.0, -1.0)
        self.graph = full.grid(p, q, beta, root)
        self.kernels = full.grid_kernels([levels(x, x) for x in self.X.T], self.graph)
        self.weights = np.full(N, 1 / N)
        self.grid = Grid(self.X, self.weights, decomposition, beta=beta, root_weight=root)
        self.sample = LossSample(self.y, self.weights, loss or Squared())

    def search(self, alpha, tol=1e-7, max_kernels=1000):
        return Search(self.grid, self.sample, tol, max_kernels).run(alpha)

    def forms(self, dual):
        return np.array([dual @ K @ dual for K in self.kernels])

    def full_hull(self, solution):
        return {pairs(node) for node in solution.hull()}


@cache
def plain_case(name):
    return Case(name)


@cache
def oracle_of(name, alpha):
    """The full problem by the conic solver, once per case; tight tolerances make it grumble."""
    case = plain_case(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return full.solve_full(case.kernels, case.y, case.graph, alpha, full.squared)


def exact_dual_norm(case, dual):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return full.squared_dual_norm(case.forms(dual), case.graph)


@pytest.mark.parametrize("name", CASES)
def test_levels_and_products_are_the_papers_kernels(name):
    case = plain_case(name)
    for node, K in zip(case.graph.nodes, case.kernels, strict=True):
        F = case.grid.block(pairs(node)).train
        assert np.allclose(F @ F.T, K, rtol=0, atol=1e-7 * max(1.0, K.max()))
        assert case.grid.weight(pairs(node)) == case.graph.weights[case.graph.nodes.index(node)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("alpha", [0.3, 0.02])
def test_the_search_solves_the_full_problem(name, alpha):
    case = plain_case(name)
    oracle = oracle_of(name, alpha)
    found = case.search(alpha)
    assert found.certified
    assert found.primal == pytest.approx(oracle.objective, rel=0, abs=1e-5)
    assert found.primal >= oracle.objective - 1e-7
    assert oracle.is_clear(), "choose another alpha: the hull is not clear to the conic solver"
    assert set(found.hull) == case.full_hull(oracle)
    assert np.allclose(found.point.predictions, oracle.values, atol=2e-3)


def test_another_loss_and_root_weight():
    case = Case("spline", root=0.5, loss=Logistic(), labels=True)
    oracle = full.solve_full(case.kernels, case.y, case.graph, 0.01, full.logistic)
    found = case.search(0.01)
    assert found.certified
    assert found.primal == pytest.approx(oracle.objective, rel=0, abs=1e-5)
    assert set(found.hull) == case.full_hull(oracle)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_patterns_are_hulls(name, seed):
    case = Case(name, seed=seed)
    for alpha in (1.0, 0.1, 0.01):
        found = case.search(alpha, tol=1e-4)
        hull = {tuple(dict(node).get(a, 0) for a in range(len(case.X.T))) for node in found.hull}
        assert hull == case.graph.hull(hull)


@pytest.mark.parametrize("name", CASES)
def test_conditions_against_brute_force(name):
    """(20) and (21) at dual points of reduced problems on random hulls."""
    case = plain_case(name)
    rng = np.random.default_rng(1)
    for _ in range(4):
        chosen = [case.graph.nodes[i] for i in rng.choice(len(case.graph.nodes), 2)]
        hull = case.graph.hull([*chosen, case.graph.nodes[0]])
        inside = {pairs(node) for node in hull}
        dual = rng.normal(size=N)
        dual -= dual.mean()
        forms = case.forms(dual)
        sources = case.graph.outside_sources(hull)
        assert set(case.grid.frontier(inside)) == {pairs(node) for node in sources}
        sizes = [case.grid.size(pairs(t), dual) / case.grid.weight(pairs(t)) ** 2 for t in sources]
        assert max(sizes, default=0.0) == pytest.approx(
            full.necessary(forms, case.graph, hull), rel=1e-7
        )
        brute = full.sufficient(forms, case.graph, hull)
        assert summed_sources(case.grid, inside, dual, np.inf) == pytest.approx(brute, rel=1e-7)
        outside = {pairs(w) for w in case.graph.nodes} - inside
        if outside:
            bound = case.grid.outside(inside, dual, 0.0, 0.0).bound
            each = [
                form / d**2
                for w, form, d in zip(case.graph.nodes, forms, case.graph.weights, strict=True)
                if w not in hull
            ]
            assert bound >= (1 - 1e-7) * full.necessary(forms, case.graph, hull)
            assert bound <= (1 + 1e-7) * brute
            assert bound >= (1 - 1e-7) * min(max(each), brute)


@pytest.mark.parametrize("name", ["polynomial", "hermite", "spline, three variables"])
def test_missing_nodes_against_brute_force(name):
    """(27) for nodes of at most two variables and levels of rank one, ranked."""
    case = plain_case(name)
    rng = np.random.default_rng(2)
    for size in (1, 2, 5):
        chosen = [case.graph.nodes[i] for i in rng.choice(len(case.graph.nodes), size)]
        hull = case.graph.hull([*chosen, case.graph.nodes[0]])
        dual = rng.normal(size=N)
        dual -= dual.mean()
        ratios = {
            pairs(node): ratio
            for node, ratio in full.missing(case.forms(dual), case.graph, hull).items()
            if len(pairs(node)) <= 2
            and all(case.grid.levels[a][level - 1].train.shape[1] == 1 for a, level in pairs(node))
        }
        limit = 1.0001 * float(np.median(list(ratios.values()) or [0.0]))
        found = missing_nodes(case.grid, {pairs(node) for node in hull}, dual, limit)
        expected = sorted((n for n in ratios if ratios[n] > limit), key=lambda n: -ratios[n])
        assert found == expected


def test_a_missing_node_lowers_the_objective():
    """Adding a node that violates (27), with its ancestors, must help."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = 3 * X[:, 0] * X[:, 1]
    weights = np.full(60, 1 / 60)
    grid = Grid(X, weights, Monomials(2), beta=1.2)
    search = Search(grid, LossSample(y, weights, Squared()), tol=1e-8)
    alone = [(), ((2, 1),)]
    before = solve(search.problem(alone, 0.01), np.ones(2) / 2, 1e-10)
    omega2 = float(before.point.weights.zeta @ before.point.sizes)
    found = missing_nodes(grid, set(alone), before.point.dual, omega2)
    assert ((0, 1), (1, 1)) in found
    for node in found:
        nodes = [*alone, *(v for v in sorted(hull_of(grid, [node]), key=len) if v not in alone)]
        start = np.ones(len(nodes)) / len(nodes)
        after = solve(search.problem(nodes, 0.01), start, 1e-10)
        assert after.point.value < before.point.value - 1e-9


@pytest.mark.parametrize("name", ["spline, three variables", "gaussian"])
def test_both_bounds_hold_for_the_dual_norm(name):
    """What (21) and the largest kernel promise: max over eta of (17) is not above them."""
    case = plain_case(name)
    found = case.search(0.3, tol=1e-6)
    forms = case.forms(found.point.dual)
    omega2 = float(found.point.weights.zeta @ found.point.sizes)
    exact = exact_dual_norm(case, found.point.dual)
    hull = {n for n in case.graph.nodes if pairs(n) in set(found.nodes)}
    slack = 1e-5 * omega2
    assert exact <= max(omega2, full.sufficient(forms, case.graph, hull)) + slack
    inside = {pairs(n) for n in hull}
    assert exact <= max(omega2, case.grid.outside(inside, found.point.dual, 0, 0).bound) + slack


@pytest.mark.parametrize("name", ["spline", "gaussian", "polynomial"])
@pytest.mark.parametrize("max_kernels", [1, 3, 1000])
def test_the_reported_gap_bounds_the_true_one(name, max_kernels):
    """Stopped early or not: primal - optimum <= gap, certified or not."""
    case = plain_case(name)
    alpha = 0.02
    oracle = oracle_of(name, alpha)
    found = case.search(alpha, tol=1e-3, max_kernels=max_kernels)
    excess = found.primal - oracle.objective
    assert -1e-7 <= excess <= found.gap + 1e-7
    assert found.certified == (found.gap <= 1e-3 * case.sample.reference)
    assert len(found.nodes) <= max_kernels
    # the dual side: the gap is no smaller than that of its own dual point, best multiple allowed
    exact = exact_dual_norm(case, found.point.dual)
    conjugate = [case.sample.conjugate(c * alpha * found.point.dual) for c in GRID]
    dual = max(-v - alpha / 2 * c**2 * exact for v, c in zip(conjugate, GRID, strict=True))
    assert found.gap >= found.primal - dual - 1e-5
