"""Conditions (22) and (24): by hand, by a conic solver, and by what a search does."""

import warnings
from itertools import product

import numpy as np
import pytest

from nablasso.errors import InvalidParameterError
from nablasso.hierarchy import Monomials, hull_consistency
from nablasso.hierarchy.dag import hull_of
from nablasso.hierarchy.grid import Flat, Grid
from tests.hierarchy import full_problem as full
from tests.hierarchy.small import search_on, walk

N = 60
WEIGHTS = np.full(N, 1 / N)


def orthonormal(columns, seed=0):
    """Columns of unit variance, uncorrelated at these rows to the last digit."""
    Z = np.random.default_rng(seed).normal(size=(N, columns))
    return np.linalg.qr(Z - Z.mean(axis=0))[0] * np.sqrt(N)


def flat_with(correlation):
    """x3 correlated with both relevant variables, x4 with none."""
    Z = orthonormal(4)
    rest = np.sqrt(1 - 2 * correlation**2)
    third = correlation * (Z[:, 0] + Z[:, 1]) + rest * Z[:, 2]
    X = np.column_stack([Z[:, :2], third, Z[:, 3]])
    return Flat(Grid(X, WEIGHTS, Monomials(1)))


LINEAR = {((0, 1),): [2.0], ((1, 1),): [0.3]}


@pytest.mark.parametrize("correlation", [0.4, 0.47, 0.6])
def test_without_edges_they_are_the_lassos(correlation):
    """Two signs, two correlations: the dual norm is their sum, whatever the coefficients' size."""
    flat = flat_with(correlation)
    found = hull_consistency(flat, LINEAR, flat.nodes)
    assert found.lower == pytest.approx(2 * correlation)
    assert found.upper == pytest.approx(2 * correlation)
    assert found.is_sufficient(0.1) == (correlation == 0.4)
    assert found.is_possible() == (correlation < 0.5)


@pytest.mark.parametrize(("correlation", "holds"), [(0.4, True), (0.6, False)])
def test_a_search_without_noise_agrees(correlation, holds):
    flat = flat_with(correlation)
    y = flat.X[:, :2] @ [2.0, 0.3]
    search = search_on(flat, y, tol=1e-10)
    last = [set(found.hull) for found in walk(search, np.geomspace(0.1, 1e-4, 8))][-3:]
    assert all((hull == set(LINEAR)) == holds for hull in last)


ROOT, A, B, AB = (), ((0, 1),), ((1, 1),), ((0, 1), (1, 1))


def grid_with(correlation, beta=1.5):
    """Three columns, the third like the product of the first two."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    mixed = correlation * X[:, 0] * X[:, 1] + np.sqrt(1 - correlation**2) * X[:, 2]
    X[:, 2] = mixed
    return Grid((X - X.mean(axis=0)) / X.std(axis=0), WEIGHTS, Monomials(1), beta=beta)


NODES = [tuple((g, 1) for g, j in enumerate(levels) if j) for levels in product((0, 1), repeat=3)]
FUNCTION = {A: [1.0], B: [-1.0], AB: [0.5]}


def by_definition(grid):
    """Slopes from finite differences of the norm, the dual norm from the conic solver."""
    hull = [A, B, AB]
    d = {v: grid.weight(v) for v in NODES}

    def omega(c):
        size = dict(zip(hull, c, strict=True))
        below = {v: [w for w in hull if v in hull_of(grid, [w])] for v in [ROOT, *hull]}
        return sum(d[v] * np.sqrt(sum(size[w] ** 2 for w in below[v])) for v in below)

    c = np.array([1.0, -1.0, 0.5])
    s = [(omega(c + e) - omega(c - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    columns = {v: grid.block(v).train[:, 0] for v in NODES}
    outside = [v for v in NODES if v not in (ROOT, *hull)]
    inner = np.cov([columns[v] for v in hull], bias=True)
    cross = np.array(
        [[np.cov(columns[v], columns[w], bias=True)[0, 1] for w in hull] for v in outside]
    )
    forms = (cross @ np.linalg.solve(inner, s)) ** 2
    edges = frozenset((v, w) for w in outside for v in grid.parents(w) if v in outside)
    graph = full.Graph(tuple(outside), edges, np.array([d[v] for v in outside]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tight tolerances make it grumble
        return np.sqrt(full.squared_dual_norm(forms, graph))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
def test_on_a_grid_they_are_the_definition(correlation):
    grid = grid_with(correlation)
    found = hull_consistency(grid, FUNCTION, NODES)
    expected = by_definition(grid)
    assert found.lower <= found.upper <= found.lower * (1 + 1e-6)
    assert found.upper == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("correlation", "holds"), [(0.0, True), (0.95, False)])
def test_on_a_grid_a_search_agrees(correlation, holds):
    grid = grid_with(correlation)
    found = hull_consistency(grid, FUNCTION, NODES)
    assert found.is_sufficient(0.05) == found.is_possible() == holds
    y = sum(grid.block(v).train[:, 0] * c[0] for v, c in FUNCTION.items())
    search = search_on(grid, y - y.mean(), tol=1e-10)
    last = [set(each.hull) for each in walk(search, np.geomspace(0.1, 1e-4, 8))][-3:]
    assert all((hull == {ROOT, A, B, AB}) == holds for hull in last)


def test_some_nodes_bound_from_below_and_none_outside_is_consistent():
    grid = grid_with(0.5)
    whole = hull_consistency(grid, FUNCTION, NODES)
    assert hull_consistency(grid, FUNCTION, [((2, 1),)]).upper <= whole.upper + 1e-9
    assert hull_consistency(grid, FUNCTION, [AB]).upper == 0


def test_what_cannot_be_a_hull_is_refused():
    grid = grid_with(0.5)
    with pytest.raises(InvalidParameterError, match="not zero"):
        hull_consistency(grid, {AB: [0.0]}, NODES)
    with pytest.raises(InvalidParameterError, match="needs 1 coefficients at node"):
        hull_consistency(grid, {AB: [1.0, 2.0]}, NODES)
    twins = Grid(grid.X[:, [0, 0]], WEIGHTS, Monomials(1))
    with pytest.raises(InvalidParameterError, match="A3"):
        hull_consistency(twins, {A: [1.0], B: [1.0]}, [A, B])
    with pytest.raises(InvalidParameterError, match="margin"):
        hull_consistency(grid, FUNCTION, NODES).is_sufficient(0.0)
