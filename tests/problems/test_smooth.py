"""(P) with other losses, in the exact space and on features, against CVXPY and brute force."""

import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from nablasso.kernels import Anova, Gaussian, Polynomial
from nablasso.penalties import GroupLasso, Partition
from nablasso.problems import Coefficients, SmoothProblem
from nablasso.solvers import Admm, DualSolver, Newton, Status
from nablasso.spaces import FeatureRows, FeatureSpace, draw_fourier, slope_map
from tests.dense_reference import LOSSES as PLAIN
from tests.dense_reference import (
    cvxpy_optimum,
    library_loss,
    library_problem,
    make_problem,
    target,
)

MAPS = {"sparse": (Anova(1), 24), "dense": (Gaussian(2.0), 20)}
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
        assert problem.gap(coef) >= problem.primal(coef) - best.primal - 1e-9


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
    top = problem.alpha_max()
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
    exact, scale = problem.alpha_max_and_scale()
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
    point = problem.dual_point(problem.flat_dual())
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


class Rows:
    """A small problem on rows, written out; nothing of the library but the features."""

    def __init__(self, loss, name, fit_intercept=True, n=40, d=3):
        rng = np.random.default_rng(7)
        self.X, self.loss, self.fit_intercept = rng.normal(size=(n, d)), loss, fit_intercept
        signal = np.sin(2 * self.X[:, 0]) + 0.5 * self.X[:, 1] ** 2
        self.y = target(loss, signal, rng)
        weights = rng.uniform(0.5, 2.0, size=n)
        self.weights = weights / weights.sum()
        self.features = draw_fourier(MAPS[name][0], np.full(d, 0.7), MAPS[name][1])
        self.phi = self.features.features(self.X)
        psi = self.features.slopes(self.phi)
        omega = np.tile(self.features.frequencies, (2, 1))
        self.slopes = [np.sqrt(self.weights)[:, None] * psi * omega[:, a] for a in range(d)]

    def problem(self, alpha, ridge, **options):
        moments = FeatureRows(self.features, self.X).moments(self.y, self.weights)
        rows = FeatureRows(self.features, self.X, **options)
        space = FeatureSpace(rows, slope_map(self.features, moments.S))
        d = self.X.shape[1]
        return SmoothProblem(
            loss=library_loss(self.loss),
            penalty=GroupLasso(Partition(np.arange(d)), np.ones(d)),
            space=space,
            y=self.y,
            weights=self.weights,
            alpha=alpha,
            ridge=ridge,
            fit_intercept=self.fit_intercept,
            penalty_weights=np.ones(len(space.points)),
        )

    def optimum(self, alpha, ridge):
        w, b = cp.Variable(self.phi.shape[1]), cp.Variable() if self.fit_intercept else 0.0
        objective = PLAIN[self.loss].weighted_sum(self.weights, self.y, b + self.phi @ w)
        objective += alpha * sum(cp.norm(slope @ w) for slope in self.slopes)
        tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
        found = cp.Problem(cp.Minimize(objective + ridge * cp.sum_squares(w)))
        with warnings.catch_warnings():  # it may stop just short of that, which is as good
            warnings.simplefilter("ignore", UserWarning)
            found.solve(solver=cp.CLARABEL, **tight)
        return found.value, [float(np.linalg.norm(slope @ w.value)) for slope in self.slopes]


@each_loss
@pytest.mark.parametrize(("name", "intercept"), [("sparse", True), ("dense", False)])
def test_the_gap_certifies_the_optimum_of_an_interior_point_method(loss, name, intercept):
    rows = Rows(loss, name, intercept)
    problem = rows.problem(0.05, 0.02)
    solution = Newton(tol=1e-9).solve(problem)
    optimum, norms = rows.optimum(0.05, 0.02)
    assert solution.status is Status.CONVERGED
    assert 0 <= solution.gap + 1e-12 <= 1e-9 * problem.reference + 2e-12
    assert solution.primal == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    assert solution.dual <= optimum + 1e-8
    assert problem.primal(solution.coef) == pytest.approx(solution.primal, rel=1e-9)
    ours = np.sqrt(np.sum(solution.point.g**2, axis=0))
    np.testing.assert_allclose(ours, norms, atol=2e-3)
    lower, upper = problem.derivative_bounds(solution.point)
    assert np.all(lower <= np.array(norms) + 1e-4)
    assert np.all(upper >= np.array(norms) - 1e-4)


@each_loss
def test_every_dual_value_is_below_the_optimum_and_points_are_their_functions(loss):
    rows = Rows(loss, "sparse")
    problem = rows.problem(0.05, 0.02)
    best = Newton(tol=1e-9).solve(problem)
    rng = np.random.default_rng(0)
    for size in (0.01, 0.1):
        point = problem.feasible_point(size * rng.normal(size=problem.space.points.shape))
        primal, dual = problem.primal_dual(point)
        assert dual <= best.primal + 1e-10
        assert primal >= best.dual - 1e-10
        model = problem.model(point)
        there = model.lift(DualSolver(tol=1e-3).solve(model.problem).point)
        for each in (point, there, problem.certificate(there)):
            values, gradients = problem.space.products(each.u, problem.coefficient(each.s))
            np.testing.assert_allclose(each.values, values, atol=1e-8)
            np.testing.assert_allclose(each.g, gradients, atol=1e-8)
        assert np.isfinite(problem.primal_dual(problem.certificate(there))[1])


@each_loss
def test_from_alpha_max_on_nothing_is_selected_on_features(loss):
    rows = Rows(loss, "sparse")
    free = rows.problem(0.0, 0.05)
    top = free.alpha_max()
    above, below = (
        Newton(tol=1e-8).solve(rows.problem(factor * top, 0.05)) for factor in (1.01, 0.5)
    )
    assert np.linalg.norm(above.point.g) < 1e-3 * np.linalg.norm(below.point.g)


def test_features_computed_anew_are_those_kept():
    problem = Rows("huber", "dense").problem(0.05, 0.02)
    again = Rows("huber", "dense").problem(0.05, 0.02, keep=False, chunk_bytes=8 * 20 * 7)
    first, second = (Newton(tol=1e-8).solve(each) for each in (problem, again))
    np.testing.assert_allclose(first.point.values, second.point.values, atol=1e-7)
    u, v = np.ones(40), np.ones(again.space.points.shape)
    D, L = again.space.dense()
    Dv, carry = again.space.push(v)
    np.testing.assert_allclose(Dv, D.T @ v.ravel(), atol=1e-9)
    pulled = again.space.pull(u, v, carry).ravel()
    np.testing.assert_allclose(pulled, D @ u + L @ v.ravel(), atol=1e-9)
    np.testing.assert_allclose(again.space.values(u, v), again.space.gram @ u + Dv, atol=1e-9)
    diagonal = again.space.derivative_diagonal().ravel()
    np.testing.assert_allclose(diagonal, np.diag(L), atol=1e-9)
