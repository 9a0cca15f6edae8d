"""Bounds over exponentially many nodes against all of them listed."""

from itertools import product

import numpy as np
import pytest

from nablasso.hierarchy import Hermite, Monomials, Spline, bounds
from nablasso.hierarchy.bounds import largest_outside, missing_nodes, summed_sources
from nablasso.hierarchy.dag import hull_of
from nablasso.hierarchy.grid import Grid

HULL = {(), ((0, 1),), ((1, 1),), ((0, 1), (1, 1)), ((0, 2),)}


def setting(decomposition, p=4, n=20, beta=1.7, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    dual = rng.normal(size=n) / n
    return Grid(X, np.full(n, 1 / n), decomposition, beta=beta, **options), dual - dual.mean()


def all_nodes(grid):
    for levels in product(range(grid.q + 1), repeat=grid.n_variables):
        yield tuple((g, j) for g, j in enumerate(levels) if j)


DECOMPOSITIONS = [Hermite(2), Monomials(2), Spline()]


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS, ids=repr)
def test_the_product_formula_is_the_sum_over_descendants(decomposition):
    grid, dual = setting(decomposition)
    values = []
    for t in grid.frontier(HULL):
        total = 0.0
        for w in all_nodes(grid):
            between = [v for v in hull_of(grid, [w]) if t in hull_of(grid, [v])]
            if between:
                total += grid.size(w, dual) / sum(map(grid.weight, between)) ** 2
        values.append(total)
    assert summed_sources(grid, HULL, dual, np.inf) == pytest.approx(max(values), rel=1e-6)
    assert summed_sources(grid, HULL, dual, limit=0.9 * max(values)) == np.inf


def test_a_tiny_dual_variable_does_not_underflow():
    grid, dual = setting(Hermite(2))
    total = summed_sources(grid, HULL, dual, np.inf)
    assert summed_sources(grid, HULL, 1e-150 * dual, np.inf) == pytest.approx(1e-300 * total)


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS, ids=repr)
@pytest.mark.parametrize("share", [0.2, 0.7, 1.5])
def test_the_largest_kernel_outside(decomposition, share):
    grid, dual = setting(decomposition)
    values = {w: grid.size(w, dual) / grid.weight(w) ** 2 for w in all_nodes(grid) if w not in HULL}
    largest = max(values.values())
    enough = share * largest
    found = largest_outside(grid, HULL, dual, enough)
    assert found.bound >= largest * (1 - 1e-9)
    if share < 1:  # every node above the limit was looked at
        assert found.bound == pytest.approx(largest, rel=1e-9)
        assert set(found.violators) == {w for w, value in values.items() if value > enough}
    else:
        assert found.bound <= enough
        assert not found.violators


@pytest.mark.parametrize("work", [0.0, 1e4, 1e5])
def test_a_search_cut_short_is_still_a_bound(work):
    grid, dual = setting(Hermite(2))
    largest = max(
        grid.size(w, dual) / grid.weight(w) ** 2 for w in all_nodes(grid) if w not in HULL
    )
    assert largest_outside(grid, HULL, dual, 0.1 * largest, work).bound >= largest * (1 - 1e-9)


def test_the_bound_holds_for_whitened_kernels():
    white, dual = setting(Hermite(2), p=3, whiten=True)
    largest = max(
        white.size(w, dual) / white.weight(w) ** 2 for w in all_nodes(white) if w not in HULL
    )
    for share in (0.3, 2.0, 50.0):
        bound = white.outside(HULL, dual, share * largest).bound
        assert bound >= largest * (1 - 1e-9)


@pytest.mark.parametrize("decomposition", [Monomials(2), Hermite(3)], ids=repr)
def test_missing_nodes_are_those_of_the_stronger_condition(decomposition):
    grid, dual = setting(decomposition)
    expected = {}
    for w in all_nodes(grid):
        flat = all(grid.levels[g][j - 1].train.shape[1] == 1 for g, j in w)
        if w in HULL or len(w) > 2 or not flat:
            continue
        outside = sum(grid.weight(v) for v in hull_of(grid, [w]) - HULL)
        expected[w] = grid.size(w, dual) / outside**2
    limit = float(np.median(list(expected.values())))
    found = missing_nodes(grid, HULL, dual, limit)
    assert set(found) == {w for w, value in expected.items() if value > limit}
    assert found[0] == max(expected, key=expected.get)


def overflowing(n=40, p=150, zero=False, **options):
    """A grid one of whose rows overflows every product of all variables."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    X[0] *= 60
    if zero:
        X[0, 0] = 0.0
    dual = np.sign(X[:, 0])
    dual[0] = 1e-3 if zero else 0.0
    return Grid(X, np.full(n, 1 / n), Monomials(3), beta=2.0, **options), dual


@pytest.mark.parametrize("zero", [False, True])
def test_zero_times_an_overflow_is_not_dropped(zero):
    grid, dual = overflowing(zero=zero)
    assert (~np.isfinite(grid.tables.reach)).any()
    true = grid.size(((0, 1),), dual) / grid.weight(((0, 1),)) ** 2
    found = largest_outside(grid, {()}, dual, true / 2, 1e6)
    assert found.bound >= true
    assert zero or ((0, 1),) in found.violators
    white, _ = overflowing(zero=zero, whiten=True)
    assert white.outside({()}, dual, true / 2, 1e6).bound >= white.size(((0, 1),), dual) / 4


def test_a_sum_that_overflows_is_infinite():
    for zero in (False, True):
        grid, dual = overflowing(zero=zero)
        assert summed_sources(grid, {()}, dual, np.inf) == np.inf


def test_violators_are_kept_where_the_sum_is_the_smaller_bound(monkeypatch):
    grid, dual = setting(Hermite(2))
    found = largest_outside(grid, HULL, dual, 1e-6)
    assert found.violators
    monkeypatch.setattr("nablasso.hierarchy.bounds.summed_sources", lambda *_: 0.9 * found.bound)
    outside = grid.outside(HULL, dual, 1e-6)
    assert outside.rule == "sum"
    assert outside.violators == found.violators
    assert not grid.outside(HULL, dual, 0.95 * found.bound).violators


def test_the_limit_limits_the_work_and_only_reported_nodes_are_built(monkeypatch):
    grid, dual = setting(Hermite(3), p=40, beta=1.1)
    built = []
    node = bounds._Search.node
    monkeypatch.setattr(
        bounds._Search, "node", lambda self, row: built.append(len(row)) or node(self, row)
    )
    found = largest_outside(grid, {()}, dual, 1e-12, 1e8)
    assert len(found.violators) == bounds.KEPT
    assert len(built) < 3000
    values = [grid.size(v, dual) / grid.weight(v) ** 2 for v in found.violators]
    assert values == sorted(values, reverse=True)
    assert found.bound >= values[0]
