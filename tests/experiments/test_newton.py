"""Newton steps on the dual: the library's solution, in fewer products."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import newton
from experiments.drawn import make_noisy_copies
from experiments.two_steps import Rows, elastic_net, family_of, group_lasso, largest_tau, lasso
from nablasso.kernels import Gaussian, Polynomial
from nablasso.solvers import DualSolver, support_of
from nablasso.solvers.base import Status

TOL = 1e-9
PENALTIES = {
    "lasso": lasso,
    "groups": group_lasso(np.repeat(np.arange(6), 3)),
    "elastic net": elastic_net(0.4),
}


def posed(penalty, kernel=None, fraction=0.2):
    data = make_noisy_copies(30, random_state=1)
    rows = Rows(data.X, data.y - data.y.mean(), *[data.X[:0], data.y[:0]] * 2)
    width = 4.0 if kernel is None else 1.0
    family = family_of(rows, kernel or Gaussian(), width, PENALTIES[penalty])
    ridge = 10 * family.trace
    return family.problem(ridge, fraction * largest_tau(family.problem(ridge)))


@pytest.mark.parametrize("kernel", [None, Polynomial(3), Polynomial(2)])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_solution_is_that_of_the_librarys_solver(penalty, kernel):
    problem = posed(penalty, kernel)
    ours = newton.solve(problem, None, TOL, 20_000)
    theirs = DualSolver(TOL, 50_000).solve(problem)
    assert ours.status is Status.CONVERGED
    assert ours.gap <= TOL * problem.reference
    assert abs(ours.primal - theirs.primal) <= TOL * problem.reference
    np.testing.assert_array_equal(support_of(problem, ours), support_of(problem, theirs))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_it_takes_fewer_products(penalty):
    problem = posed(penalty)
    ours = newton.solve(problem, None, TOL, 20_000)
    assert ours.n_iter < DualSolver(TOL, 50_000).solve(problem).n_iter


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_model_is_the_dual_to_second_order(penalty):
    problem = posed(penalty)
    start = DualSolver(1e-4).solve(problem).point
    model = newton._Model(problem, start)
    direction, _ = model.minimum()
    assert model.active.any()
    length = 1e-3
    slope = -length * float(np.vdot(model._gradient(), direction))
    bend = length**2 / 2 * float(np.vdot(direction, model._product(direction)))
    point = problem.dual_point(model.moved(direction, length)[0])
    rise = problem.primal_dual(point)[1] - problem.primal_dual(start)[1]
    assert rise == pytest.approx(slope - bend, rel=0.02)


def test_where_nothing_is_selected_the_solution_is_carried_along():
    high, low = posed("lasso", fraction=1.0), posed("lasso", fraction=0.9)
    first = newton.solve(high, None, TOL, 20_000)
    guesses = newton.carried(low, first.point.s, 0.9)
    start = newton.best_start(low, guesses)
    np.testing.assert_array_equal(start, guesses[1])
    assert newton.solve(low, start, TOL, 20_000).n_iter < 10
    assert newton.best_start(low, []) is None


def test_a_budget_of_products_is_kept():
    problem = posed("lasso", fraction=0.5)
    found = newton.solve(problem, None, 1e-14, 100)
    assert found.status is not Status.CONVERGED
    assert found.n_iter < 2 * 100 + newton.MOST_PRODUCTS + newton.MOST_FIRST_ORDER
