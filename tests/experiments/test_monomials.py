"""Newton's method in monomials: the library's solution of polynomial kernels, by factorisations."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import monomials, newton
from experiments.two_steps import Rows, elastic_net, family_of, group_lasso, largest_tau, lasso
from nablasso.datasets import make_two_way
from nablasso.kernels import Gaussian, Polynomial
from nablasso.solvers import DualSolver, support_of
from nablasso.solvers.base import Status

TOL = 1e-9
PENALTIES = {
    "lasso": lasso,
    "groups": group_lasso(np.repeat(np.arange(3), 2)),
    "elastic net": elastic_net(0.4),
}


def posed(penalty, kernel, share=1.0, fraction=0.2):
    data = make_two_way(40, 6, n_relevant=2, random_state=1)
    rows = Rows(data.X, data.y, *[data.X[:0], data.y[:0]] * 2)
    family = family_of(rows, kernel, 1.5, PENALTIES[penalty])
    ridge = share * family.trace
    return family.problem(ridge, fraction * largest_tau(family.problem(ridge)))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_monomials_are_those_of_the_kernel(degree):
    problem = posed("lasso", Polynomial(degree, offset=0.7))
    features, space = monomials._Features(problem.space), problem.space
    np.testing.assert_allclose(features.values @ features.values.T, space.gram, atol=1e-10)
    D, _ = space.dense()
    slopes = np.zeros((*space.points.shape, features.q))
    for a, columns in enumerate(features.columns):
        slopes[:, a, columns] = features.slopes[a]
    np.testing.assert_allclose(slopes.reshape(len(D), -1) @ features.values.T, D, atol=1e-10)


@pytest.mark.parametrize("share", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_solution_is_that_of_the_librarys_solver(penalty, degree, share):
    problem = posed(penalty, Polynomial(degree), share)
    assert monomials.applies(problem)
    tol = TOL / max(share, 1.0)  # there is less to gain
    found = monomials.solve(problem, tol)
    ours = DualSolver(tol, 100).solve(problem, found.s)
    theirs = DualSolver(tol, 100_000).solve(problem)
    assert found.converged
    assert found.steps < monomials.STEPS
    assert ours.n_iter <= 20
    assert abs(ours.primal - theirs.primal) <= 2 * tol * problem.reference
    np.testing.assert_array_equal(support_of(problem, ours), support_of(problem, theirs))


def test_a_path_goes_on_from_sizes_found_before():
    problem = posed("lasso", Polynomial(3), fraction=0.21)
    cold = monomials.solve(problem, TOL).steps
    again = monomials.solve(problem, TOL).steps
    assert again < cold
    assert again == 1


def test_factorisations_are_for_what_products_do_not_solve():
    problem = posed("lasso", Polynomial(3), share=0.01)
    assert not monomials.wanted(problem)
    found = newton.solve(problem, None, 1e-12, 20_000)
    assert found.status is Status.CONVERGED
    assert monomials.wanted(problem) == (found.n_iter > monomials.PATIENCE)


def test_other_kernels_and_many_monomials_are_left_to_products():
    assert not monomials.applies(posed("lasso", Gaussian()))
    assert not monomials.applies(posed("lasso", Polynomial(6)))
