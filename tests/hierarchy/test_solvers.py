"""Every solver closes the gap of the problem on a hull."""

import numpy as np
import pytest

from nablasso.hierarchy import HullSolver
from nablasso.hierarchy.solvers import project
from nablasso.losses import Squared
from tests.hierarchy.small import data, grid_on, search_on
from tests.hierarchy.test_problem import LOSSES, NODES, make


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_newton_closes_the_gap(loss):
    problem = make(loss)
    solved = HullSolver().solve(problem, np.full(len(NODES), 1 / 6), 1e-9)
    assert solved.converged
    assert 0 <= problem.gap(solved.point) <= 1e-7
    assert sum(problem.gap_parts(solved.point)) >= problem.gap(solved.point) - 1e-12
    assert solved.point.dual.sum() == pytest.approx(0, abs=1e-9)


def test_all_solvers_reach_the_same_objective():
    problem = make(Squared())
    x = np.full(len(NODES), 1 / 6)
    exact = problem.primal(HullSolver("newton").solve(problem, x, 1e-10).point)
    slow = HullSolver("alternating", 5000).solve(problem, x, 1e-7).point
    assert problem.primal(slow) == pytest.approx(exact, abs=1e-6)
    paper = HullSolver("projected_gradient").solve(problem, x, 1e-6).point
    assert problem.primal(paper) == pytest.approx(exact, rel=2e-3)
    assert problem.primal(paper) >= exact - 1e-9


def test_projection_on_the_simplex():
    rng = np.random.default_rng(1)
    point = rng.normal(size=5)
    found = project(point)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    for other in rng.dirichlet(np.ones(5), size=100):
        assert (point - found) @ (other - found) <= 1e-12


def test_the_alternating_scheme_goes_on_where_newton_stalls(monkeypatch):
    X, y = data()
    grid = grid_on(X)
    problem = search_on(grid, y).problem([(), ((0, 1),), ((1, 1),)], 0.05)
    x = np.full(3, 1 / 3)
    best = HullSolver().solve(problem, x, 1e-10).point.value
    monkeypatch.setattr("nablasso.hierarchy.solvers._line_search", lambda *_: None)
    solved = HullSolver().solve(problem, x, 1e-4)
    assert solved.converged
    assert solved.point.value <= best + 1e-4
    assert HullSolver().solve(problem, x, 0.0).stalled
