"""(P) with penalty points besides the data, against CVXPY."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso.kernels import Anova, Gaussian, Polynomial
from nablasso.solvers import Admm, Denovas, DualSolver, Newton
from tests.dense_reference import cvxpy_optimum, library_problem, make_problem, target

EXACT = {"dual": DualSolver(tol=1e-9), "admm": Admm(tol=1e-8), "denovas": Denovas(tol=1e-7)}


def drawn(kernel, loss="squared", **changes):
    rng = np.random.default_rng(3)
    naive = make_problem(kernel, weighted=True, loss=loss, **changes)
    weights = np.concatenate([naive.weights, rng.uniform(0.02, 0.2, size=6)])
    extra = rng.normal(size=(6, 3))
    naive = replace(naive, extra=extra, penalty_weights=weights / weights.sum())
    if loss == "squared":
        return naive
    return replace(naive, y=target(loss, np.sin(2 * naive.X[:, 0]), rng), alpha=0.03)


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2), Anova(2)], ids=repr)
def test_the_optimum_is_that_of_an_interior_point_method(kernel, solver):
    naive = drawn(kernel)
    problem = library_problem(naive)
    solution = EXACT[solver].solve(problem)
    optimum = cvxpy_optimum(naive)
    assert solution.primal == pytest.approx(optimum.objective, rel=1e-6)
    assert solution.dual <= optimum.objective + 1e-9
    assert naive.primal(*solution.coef) == pytest.approx(solution.primal, rel=1e-7)
    assert solution.point.g.shape == (16, 3)
    assert problem.gap(solution.coef) >= -1e-10


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_other_losses(loss):
    naive = drawn(Gaussian(1.5), loss, l1_ratio=0.7)
    solution = Newton(tol=1e-9).solve(library_problem(naive))
    assert solution.primal == pytest.approx(cvxpy_optimum(naive).objective, rel=1e-6)
    assert naive.primal(*solution.coef) == pytest.approx(solution.primal, rel=1e-7)


def test_alpha_max_and_bounds_are_about_all_points():
    problem = library_problem(drawn(Gaussian(1.5)))
    top = problem.alpha_max()
    flat = DualSolver(tol=1e-10).solve(replace(problem, alpha=1.001 * top))
    assert np.abs(flat.point.g).max() < 1e-6
    below = replace(problem, alpha=0.5 * top)
    rough, exact = (DualSolver(tol=tol).solve(below).point for tol in (1e-2, 1e-12))
    lower, upper = below.derivative_bounds(rough)
    norms = np.sqrt(np.sum(exact.g**2, axis=0))
    assert ((lower <= norms + 1e-9) & (norms <= upper + 1e-9)).all()
    assert norms.max() > 0
