"""(P) with other losses, against CVXPY and brute force."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso.kernels import Gaussian, Polynomial
from nablasso.problems import Coefficients
from nablasso.solvers import Admm, DualSolver, Newton, Status
from nablasso.solvers.base import certify
from tests.dense_reference import (
    cvxpy_optimum,
    library_problem,
    make_problem,
    target,
)

LOSSES = ("logistic", "huber", "epsilon", "poisson")
each_loss = pytest.mark.parametrize("loss", LOSSES)

CASES = {
    "lasso": {},
    "weighted": {"weighted": True, "kernel": Polynomial(2)},
    "groups": {"groups": ((0, 2), (1,)), "weighted": True},
    "elastic net": {"l1_ratio": 0.6},
    "no intercept": {"fit_intercept": False, "l1_ratio": 0.4, "groups": ((1, 2), (0,))},
    "kept": {"group_weights": np.array([1.0, 0.0, 1.0])},
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)

EXACT = Newton(tol=1e-9)


def drawn(loss, seed=0, n=14, **changes):
    """A dense problem whose target the loss can take."""
    kernel = changes.pop("kernel", Gaussian(1.5))
    problem = make_problem(kernel, n=n, seed=seed, loss=loss, **changes)
    signal = np.sin(2 * problem.X[:, 0]) + 0.5 * problem.X[:, 1] ** 2
    y = target(loss, signal, np.random.default_rng(seed + 5))
    return replace(problem, y=y, alpha=changes.get("alpha", 0.03), ridge=0.02)


@each_loss
@each_case
def test_the_solver_reaches_the_optimum_of_an_interior_point_method(loss, case):
    naive = drawn(loss, **case)
    problem = library_problem(naive)
    solution = EXACT.solve(problem)
    optimum = cvxpy_optimum(naive)
    assert solution.status is Status.CONVERGED
    assert 0 <= solution.gap + 1e-12 <= 1e-9 * problem.reference + 2e-12
    assert solution.primal == pytest.approx(optimum.objective, rel=1e-6, abs=1e-7)
    assert solution.dual <= optimum.objective + 1e-9
    assert naive.primal(*solution.coef) == pytest.approx(solution.primal, rel=1e-7)
    norms = np.sqrt(np.sum(solution.point.g**2, axis=0))
    np.testing.assert_allclose(norms, naive.derivative_norms(optimum.gradients), atol=2e-3)


@each_loss
@pytest.mark.parametrize("seed", range(3))
def test_every_dual_value_is_below_the_optimum(loss, seed):
    rng = np.random.default_rng(seed)
    problem = library_problem(drawn(loss, seed, weighted=True))
    best = EXACT.solve(problem)
    for size in (0.01, 0.1, 1.0):
        s = size * rng.normal(size=problem.space.points.shape)
        point = problem.feasible_point(s)
        primal, dual = problem.primal_dual(point)
        assert dual <= best.dual + best.gap + 1e-10
        assert primal >= best.primal - best.gap - 1e-10
        coef = Coefficients(rng.normal(size=14), s, 0.3)
        assert certify(problem, coef, 0).gap >= problem.primal(coef) - best.primal - 1e-9


@each_loss
def test_a_certificate_is_dual_feasible_and_belongs_to_its_own_function(loss):
    problem = library_problem(drawn(loss, weighted=True))
    point = problem.feasible_point(0.1 * np.random.default_rng(0).normal(size=(14, 3)))
    model = problem.model(point)
    there = model.lift(DualSolver(tol=1e-3).solve(model.problem).point)
    sure = problem.certificate(there)
    assert np.isfinite(problem.primal_dual(sure)[1])
    assert abs(sure.u.sum()) <= 1e-10 * np.abs(sure.u).sum()
    values, gradients = problem.space.products(sure.u, problem.coefficient(sure.s))
    np.testing.assert_allclose(sure.values, values, atol=1e-9)
    np.testing.assert_allclose(sure.g, gradients * problem.root, atol=1e-9)


@each_loss
def test_a_dual_point_is_a_stationary_point_in_u(loss):
    """``D(u, s)`` falls when ``u`` moves within the domain and its mean stays."""
    problem = library_problem(drawn(loss, weighted=True))
    rng = np.random.default_rng(1)
    s = 0.02 * rng.normal(size=(14, 3))
    point = problem.dual_point(s)
    v = problem.coefficient(s)
    smooth = replace(problem, alpha=1.0)  # every s is inside
    best = smooth.primal_dual(point)[1]
    for _ in range(20):
        u = point.u + 1e-3 * np.abs(point.u).max() * rng.normal(size=14)
        u -= u.mean() - point.u.mean()
        values, gradients = problem.space.products(u, v)
        moved = point._replace(u=u, values=values, g=gradients * problem.root)
        assert smooth.primal_dual(moved)[1] <= best + 1e-12


@pytest.mark.parametrize(("loss", "l1_ratio"), [*((loss, 1.0) for loss in LOSSES), ("huber", 0.5)])
def test_nothing_is_selected_from_alpha_max_on_and_something_just_below(loss, l1_ratio):
    problem = library_problem(drawn(loss, 1, n=10, weighted=True, l1_ratio=l1_ratio))
    top = problem.alpha_max()[0]
    solver = Newton(tol=1e-10)

    def solved(factor):
        here = replace(problem, alpha=factor * top)
        point = solver.solve(here).point
        reach = here.penalty.partition.norms(point.s) / here.penalty.radius(here.alpha)
        norms = np.sqrt(np.sum(point.g**2, axis=0))
        return float(reach.max()), float(norms.max()), here.derivative_bounds(point)[0].max()

    reach, norm, _ = solved(1.001)
    assert reach == pytest.approx(1 / 1.001, abs=1e-5)
    reach_below, norm_below, _ = solved(0.97)
    assert reach_below >= 1 - 1e-9
    assert norm_below > 1e3 * norm
    assert solved(0.7)[2] > 0
    exact, scale = problem.alpha_max()
    assert exact == pytest.approx(top, rel=1e-5)
    assert scale <= exact


@each_loss
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_bounds_hold_for_the_exact_minimiser(loss, tol):
    problem = library_problem(drawn(loss, 3))
    best = Newton(tol=1e-11).solve(problem)
    exact = np.sqrt(np.sum(best.point.g**2, axis=0))
    lower, upper = problem.derivative_bounds(Newton(tol=tol).solve(problem).point)
    assert (lower <= exact + 1e-7).all()
    assert (exact <= upper + 1e-7).all()


@each_loss
def test_flat_dual_makes_the_penalised_derivatives_zero(loss):
    problem = library_problem(drawn(loss, group_weights=np.array([1.0, 0.0, 1.0])))
    point = problem.dual_point(problem.flat()[0])
    free = problem.dual_point(np.zeros((14, 3))).g
    assert np.abs(point.g[:, [0, 2]]).max() <= 1e-5 * np.abs(free).max()
    assert np.abs(point.g[:, 1]).max() > 1e-3 * np.abs(free).max()
    assert (point.s[:, 1] == 0).all()


@each_loss
def test_any_solver_may_solve_the_models(loss):
    problem = library_problem(drawn(loss))
    by_dual, by_admm = (Newton(inner, tol=1e-7).solve(problem) for inner in (None, Admm()))
    assert by_admm.status is Status.CONVERGED
    assert by_admm.primal == pytest.approx(by_dual.primal, abs=3e-7 * problem.reference)
