"""The search: certificates, limits, warm starts, users' graphs, flat hierarchies, whitening."""

import numpy as np
import pytest

from nablasso.exceptions import CyclicGraphError, InvalidParameterError
from nablasso.hierarchy import (
    AllSubsetsGaussian,
    DagHierarchy,
    ExplicitDag,
    Flat,
    Grid,
    Hermite,
    KernelDag,
    ReducedSolver,
    Sample,
    Search,
    Settings,
    Spline,
    Whitened,
    hull_of,
    largest_alpha,
    sinks_of,
    walk,
)
from nablasso.hierarchy.thin_ridge import ThinRidge
from nablasso.losses import Squared
from nablasso.spaces import RidgeInverse
from nablasso.spaces.low_rank import low_rank


def data(n=60, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, 0] + X[:, 1] + 1.5 * X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=n)
    return X, (y - y.mean()) / y.std()


def search_on(hierarchy, y, tol=1e-6, **settings):
    n = len(y)
    sample = Sample(y, np.full(n, 1 / n), Squared(), True)
    return Search(hierarchy, sample, Settings(ReducedSolver(), tol, **settings))


def grid_on(X, decomposition=None, **options):
    n = len(X)
    return Grid(X, np.full(n, 1 / n), decomposition or Hermite(3), **options)


def test_patterns_are_hulls_and_sinks_make_them():
    X, y = data()
    grid = grid_on(X)
    found = search_on(grid, y).run(0.01)
    assert found.certified
    assert set(found.hull) == hull_of(grid, found.hull)
    assert hull_of(grid, sinks_of(grid, set(found.hull))) == set(found.hull)
    assert ((0, 1), (1, 1)) in found.hull
    assert len(found.zeta) == len(found.hull)


def test_a_warm_path_ends_where_a_cold_start_does():
    X, y = data()
    search = search_on(grid_on(X), y)
    top = largest_alpha(search)
    *_, last = walk(search, [top, 0.3 * top, 0.1 * top, 0.02 * top])
    cold = search_on(grid_on(X), y).run(0.02 * top)
    assert last.primal == pytest.approx(cold.primal, abs=2e-6)
    assert set(last.hull) == set(cold.hull)


def test_above_alpha_max_one_source_is_alone():
    X, y = data(seed=3)
    search = search_on(grid_on(X, beta=3.0), y)
    top = largest_alpha(search)
    assert len(search.run(1.2 * top).hull) <= len(search.run(0.2 * top).hull)
    assert len(search.run(1.2 * top).hull) == 2


def test_a_limit_on_kernels_ends_the_search_with_an_honest_gap():
    X, y = data()
    grid = grid_on(X)
    cut = search_on(grid, y, max_kernels=3).run(0.005)
    assert cut.reason == "max_kernels"
    assert not cut.certified
    best = search_on(grid_on(X), y).run(0.005)
    assert cut.primal - cut.gap <= best.primal <= cut.primal


def test_products_without_main_effects_are_found():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 6))
    y = X[:, 2] * X[:, 4]
    found = search_on(grid_on(X, beta=1.3), y / y.std(), certify=False).run(0.05)
    assert ((2, 1), (4, 1)) in found.hull


def test_low_rank_bounds_the_size_of_nodes_and_the_bound_still_holds():
    X, y = data()
    grid = grid_on(X, Spline(), rank=3)
    assert grid.block(((0, 2), (1, 2))).train.shape[1] <= 3
    assert search_on(grid, y).run(0.05).gap >= 0
    K = np.exp(-((X[:, :1] - X[:, 0]) ** 2))
    rest = K - (F := low_rank(K, 4).train) @ F.T
    assert np.linalg.eigvalsh(rest).min() > -1e-9
    full = low_rank(K)
    np.testing.assert_allclose(full.train @ full.train.T, K, atol=1e-8)
    np.testing.assert_allclose(full.features(K[:, full.pivots]), full.train, atol=1e-5)


TREE = {"root": ["left", "right"], "left": ["leaf"], "right": []}


def tree_kernel(node, X, Z):
    column = {"root": 0, "left": 1, "right": 2, "leaf": 3}[node]
    return np.outer(X[:, column], Z[:, column])


def test_a_users_tree():
    X, _ = data()
    y = X[:, 0] + X[:, 1] + X[:, 3]
    dag = ExplicitDag(TREE, tree_kernel, {"root": [0], "left": [1], "right": [2], "leaf": [3]})
    n = len(X)
    hierarchy = DagHierarchy(dag, X, np.full(n, 1 / n), beta=1.5)
    assert [hierarchy.depth(v) for v in ("root", "left", "leaf")] == [0, 1, 2]
    found = search_on(hierarchy, y).run(0.01)
    assert found.certified
    assert {"root", "left", "leaf"} <= set(found.hull)
    dual = found.point.dual
    below = hierarchy.size("left", dual) / 1.5**2
    below += hierarchy.size("leaf", dual) / (1.5 + 1.5**2) ** 2
    assert hierarchy.descendant_sum("left", dual) == pytest.approx(below)


class Chain(KernelDag):
    """An endless chain of monomials with kernels that shrink: x^k / k!."""

    def __init__(self, known=True):
        self.known = known

    def sources(self):
        return [1]

    def children(self, node):
        return [node + 1]

    def parents(self, node):
        return [node - 1] if node > 1 else []

    def kernel(self, node, X, Z):
        return np.outer(np.tanh(X[:, 0]) ** node, np.tanh(Z[:, 0]) ** node) / 4.0**node

    def descendant_kernel(self, node, X, weight):
        """At most the sum of all deeper kernels, each divided by the square of its own weight."""
        terms = (self.kernel(k, X, X) / weight(k) ** 2 for k in range(node, node + 60))
        return sum(terms) if self.known else None


def test_an_endless_graph_with_a_bound_of_its_own():
    X, _ = data()
    y = np.tanh(X[:, 0]) + np.tanh(X[:, 0]) ** 2
    weights = np.full(len(X), 1 / len(X))
    found = search_on(DagHierarchy(Chain(), X, weights), y, tol=1e-4).run(0.01)
    assert found.certified
    unknown = search_on(DagHierarchy(Chain(known=False), X, weights), y, tol=1e-4).run(0.01)
    assert not unknown.certified
    assert unknown.hull == found.hull


def test_a_cycle_is_named():
    edges = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}
    with pytest.raises(CyclicGraphError, match="a -> b -> c -> a"):
        ExplicitDag(edges, tree_kernel)
    with pytest.raises(InvalidParameterError, match="at least one node"):
        ExplicitDag({}, tree_kernel)


def test_a_flat_hierarchy_is_the_group_lasso():
    """Optimality of multiple kernel learning: equal sizes inside, smaller ones outside."""
    X, y = data()
    flat = Flat(grid_on(X, Spline()), join=False)
    found = search_on(flat, y, tol=1e-8).run(0.05)
    sizes = {node: flat.size(node, found.point.dual) for node in flat.nodes}
    inside = [sizes[node] for node in found.hull]
    np.testing.assert_allclose(inside, max(inside), rtol=0.05)
    assert max(v for node, v in sizes.items() if node not in found.hull) <= max(inside) * 1.001
    assert found.certified


def test_the_elastic_net_keeps_twins_together():
    X, y = data()
    X = np.column_stack([X, X[:, 0] + 1e-3 * X[:, 3]])
    y = X[:, 0] / X[:, 0].std()
    plain = search_on(Flat(grid_on(X, Spline())), y).run(0.1)
    mixed = search_on(Flat(grid_on(X, Spline()), l1_ratio=0.3), y).run(0.1)
    assert () in mixed.hull
    assert {((0, 1),), ((5, 1),)} <= set(mixed.hull)
    assert mixed.certified
    assert plain.certified


def test_whitened_features_are_orthogonal_to_their_ancestors():
    X, y = data(n=40, p=3)
    grid = grid_on(X, AllSubsetsGaussian(0.2))
    white = Whitened(grid)
    node = ((0, 1), (1, 1))
    block = white.block(node)
    for above in hull_of(grid, [node]) - {node}:
        products = grid.block(above).train.T @ block.train
        assert np.abs(products).max() < 1e-6 * np.abs(grid.block(node).train).sum()
    np.testing.assert_allclose(block.evaluate(X), block.train, atol=1e-4)
    found = search_on(white, y, tol=1e-3).run(0.1)
    assert set(found.hull) == hull_of(grid, found.hull)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_thin_ridge_is_kernel_ridge(fit_intercept):
    X, y = data()
    p = np.random.default_rng(0).random(len(y))
    p /= p.sum()
    thin = ThinRidge(X, y + 1, p, fit_intercept=fit_intercept)
    inverse = RidgeInverse(X @ X.T, p, fit_intercept=fit_intercept)
    assert thin.ridge == pytest.approx(inverse.best_ridge(y + 1), rel=1e-6)
    expected = inverse.loo_residuals(y + 1, thin.ridge)
    np.testing.assert_allclose(thin.left_out(thin.ridge), expected, rtol=1e-6)
    coef, b = thin.coefficients()
    np.testing.assert_allclose(coef, X.T @ inverse.coefficients(y + 1, thin.ridge), rtol=1e-6)
    residual = y + 1 - X @ coef - b
    assert not fit_intercept or p @ residual == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
def test_four_to_the_256_kernels():
    """Five variables and two interactions among 256, three levels each, certified."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(200, 256))
    y = X[:, :5].sum(axis=1) + 1.5 * X[:, 0] * X[:, 1] + 1.5 * X[:, 2] * X[:, 3]
    y += 0.5 * rng.normal(size=200)
    search = search_on(grid_on((X - X.mean(0)) / X.std(0)), (y - y.mean()) / y.std(), tol=1e-3)
    wanted = {((0, 1), (1, 1)), ((2, 1), (3, 1)), ((4, 1),)}
    certified = [
        found
        for found in walk(search, largest_alpha(search) * np.logspace(0, -2, 15))
        if found.certified and wanted <= set(found.hull)
    ]
    assert certified


def test_kept_nodes_survive_a_warm_start_that_takes_the_room():
    X, y = data(p=6)
    search = search_on(grid_on(X), y, max_kernels=8)
    kept = [((5, 1),)]
    first = search.run(0.5, keep=kept)
    assert ((5, 1),) in first.nodes
    assert ((5, 1),) in search.run(0.1, first, keep=kept).nodes
    assert ((5, 1),) in search.run(0.1, search.run(0.5), keep=kept).nodes


def test_the_alternating_scheme_goes_on_where_newton_stalls(monkeypatch):
    X, y = data()
    grid = grid_on(X)
    problem = search_on(grid, y).problem([(), ((0, 1),), ((1, 1),)], 0.05)
    x = np.full(3, 1 / 3)
    best = ReducedSolver().solve(problem, x, 1e-10).point.value
    monkeypatch.setattr("nablasso.hierarchy.newton._line_search", lambda *_: None)
    solved = ReducedSolver().solve(problem, x, 1e-4)
    assert solved.converged
    assert solved.point.value <= best + 1e-4
    assert ReducedSolver().solve(problem, x, 0.0).stalled


def test_kernels_missing_at_the_limit_are_the_reason():
    X, y = data()
    search = search_on(grid_on(X), y, max_kernels=3)
    search._missing = lambda *_: []
    found = search.run(0.005)
    assert found.violators
    assert found.reason == "max_kernels"


def test_columns_of_a_graph_must_name_every_node():
    with pytest.raises(InvalidParameterError, match=r"what every node looks at.*'leaf'"):
        ExplicitDag(TREE, lambda _, A, B: A @ B.T, {"root": [0], "left": [1], "right": [2]})
