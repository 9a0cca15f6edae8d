"""The search: certificates, limits, warm starts and where paths begin."""

import numpy as np
import pytest

from nablasso.hierarchy.dag import hull_of
from nablasso.hierarchy.problem import bytes_held
from nablasso.hierarchy.search import largest_alpha
from tests.hierarchy.small import data, grid_on, search_on, walk


def test_patterns_are_hulls():
    X, y = data()
    grid = grid_on(X)
    found = search_on(grid, y).run(0.01)
    assert found.certified
    assert set(found.hull) == hull_of(grid, found.hull)
    assert ((0, 1), (1, 1)) in found.hull


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


BUDGETS = [{"max_kernels": 3}, {"max_memory": 6e3}, {"max_work": 300.0}]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("certify", [True, False])
def test_a_budget_ends_the_search_with_an_honest_gap(budget, certify):
    X, y = data()
    cut = search_on(grid_on(X), y, certify=certify, **budget).run(0.005)
    best = search_on(grid_on(X), y).run(0.005)
    assert cut.is_cut
    assert not best.is_cut
    assert cut.reason == next(iter(budget))
    assert set(cut.hull) == hull_of(grid_on(X), cut.hull)
    if certify:
        assert not cut.certified
        assert cut.primal - cut.gap <= best.primal <= cut.primal


def test_work_is_counted_along_a_path():
    X, y = data()
    search = search_on(grid_on(X), y)
    spent = []
    for _ in walk(search, [0.1, 0.01]):
        spent.append(search.spent)
    assert 0 < spent[0] < spent[1]
    search.max_work = spent[0]
    assert search.run(0.001).reason == "max_work"


def test_memory_is_that_of_the_arrays():
    X, y = data()
    found = search_on(grid_on(X), y).run(0.01)
    problem, point = found.problem, found.point
    arrays = [problem.Phi, *problem._moments, point.weights.kappa, problem.hessian(point)[1]]
    held = bytes_held(len(y), problem.Phi.shape[1], problem.n_nodes)
    assert sum(each.nbytes for each in arrays) <= held <= 10 * sum(each.nbytes for each in arrays)


def test_products_without_main_effects_are_found():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 6))
    y = X[:, 2] * X[:, 4]
    found = search_on(grid_on(X, beta=1.3), y / y.std(), certify=False).run(0.05)
    assert ((2, 1), (4, 1)) in found.hull


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


def test_kernels_missing_at_the_limit_are_the_reason():
    X, y = data()
    search = search_on(grid_on(X), y, max_kernels=3)
    search._missing = lambda *_: []
    found = search.run(0.005)
    assert found.violators
    assert found.reason == "max_kernels"
