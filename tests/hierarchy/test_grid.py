"""Products of low rank, kernels without edges, and whitening."""

from itertools import product

import numpy as np
import pytest

from nablasso.hierarchy import AllSubsetsGaussian, GaussHermite, Hermite, Spline
from nablasso.hierarchy.dag import FeatureBlock, Hierarchy, ProductBlock, hull_of
from nablasso.hierarchy.grid import Flat
from nablasso.spaces import low_rank
from tests.hierarchy.small import data, grid_on, search_on


def test_the_first_pivots_are_those_of_the_whole_factor():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(30, 6)), rng.normal(size=(30, 7))]
    K = (parts[0] @ parts[0].T) * (parts[1] @ parts[1].T)
    first, whole = low_rank(K, 5), low_rank(K)
    np.testing.assert_array_equal(first.pivots, whole.pivots[:5])
    np.testing.assert_allclose(first.train, whole.train[:, :5], atol=1e-12)
    both = ProductBlock([FeatureBlock(lambda _, part=part: part, K) for part in parts], 5)
    np.testing.assert_allclose(both.train, first.train, atol=1e-12)
    np.testing.assert_allclose(low_rank(np.ones((9, 9)), 3).train, np.ones((9, 1)), atol=1e-12)
    assert low_rank(np.zeros((9, 9)), 3).train.shape == (9, 0)


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


def test_a_flat_hierarchy_is_the_group_lasso():
    """Optimality of multiple kernel learning: equal sizes inside, smaller ones outside."""
    X, y = data()
    flat = Flat(grid_on(X, Spline()))
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
    white = grid_on(X, AllSubsetsGaussian(0.2), whiten=True)
    node = ((0, 1), (1, 1))
    block = white.block(node)
    for above in hull_of(grid, [node]) - {node}:
        products = grid.block(above).train.T @ block.train
        assert np.abs(products).max() < 1e-6 * np.abs(grid.block(node).train).sum()
    np.testing.assert_allclose(block.evaluate(X), block.train, atol=1e-4)
    found = search_on(white, y, tol=1e-3).run(0.1)
    assert set(found.hull) == hull_of(grid, found.hull)


@pytest.mark.parametrize("decomposition", [Hermite(3), Spline(), GaussHermite(2)], ids=repr)
def test_sources_and_ratios_are_those_of_any_graph(decomposition):
    """The grid's own ways against the definitions, on hulls of products of up to three."""
    X, _ = data(n=30)
    grid = grid_on(X, decomposition, beta=1.7, root_weight=0.5)
    rng = np.random.default_rng(0)
    dual = rng.normal(size=30)
    sinks = [((0, 2), (1, 1), (2, 1)), ((1, 1), (4, 2)), ((0, 1), (4, 1)), ((3, 2),)]
    products = product(range(grid.q + 1), repeat=5)
    everything = [tuple((g, j) for g, j in enumerate(levels) if j) for levels in products]
    for count in range(5):
        hull = hull_of(grid, [(), *sinks[:count]])
        frontier = grid.frontier(hull)
        assert len(set(frontier)) == len(frontier)
        outside = (node for node in everything if node not in hull)
        assert set(frontier) == {node for node in outside if hull.issuperset(grid.parents(node))}
        nodes = [*frontier, *hull]
        expected = Hierarchy.ratios(grid, nodes, dual)
        np.testing.assert_allclose(grid.ratios(nodes, dual), expected, rtol=1e-9, atol=1e-12)
