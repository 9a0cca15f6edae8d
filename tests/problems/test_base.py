"""Primal, dual, gap and the bounds that follow from it, against naive code and CVXPY."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from nablasso.kernels import Anova, Gaussian, Linear, Matern52, Polynomial, RationalQuadratic
from nablasso.problems import Coefficients, conjugate_gradients
from nablasso.solvers import Admm, DualSolver, Newton
from nablasso.solvers.base import certify
from tests.dense_reference import cvxpy_optimum, library_problem, make_problem, target

PAIRS = ((1, 3), (0,), (2,))
SOLVERS = {"dual": DualSolver(tol=1e-9), "admm": Admm(tol=1e-8)}

CASES = {
    "gaussian, lasso": make_problem(
        Gaussian(1.5), alpha=0.4, group_weights=np.array([1.0, 1.0, 6.0])
    ),
    "matern, groups, weighted, no intercept": make_problem(
        Matern52(2.0), d=4, groups=PAIRS, weighted=True, fit_intercept=False
    ),
    "rational quadratic, elastic net": make_problem(
        RationalQuadratic(1.2, 1.5), l1_ratio=0.6, weighted=True, alpha=0.5
    ),
    "polynomial, elastic net of groups": make_problem(
        Polynomial(2), d=4, groups=PAIRS, l1_ratio=0.4, fit_intercept=False
    ),
    "linear, lasso, weighted": make_problem(Linear(), weighted=True, alpha=0.4),
    "anova, variable always kept": make_problem(
        Anova(2), weighted=True, alpha=0.5, group_weights=np.array([1.0, 0.0, 2.0])
    ),
    "anova, group always kept": make_problem(
        Anova(3, Matern52(1.8)), d=4, groups=PAIRS, group_weights=np.array([0.0, 1.0, 3.0])
    ),
    "sum, elastic net, variable always kept": make_problem(
        Gaussian(2.0) + 0.5 * Linear(), l1_ratio=0.7, group_weights=np.array([1.0, 0.0, 2.0])
    ),
}
each = pytest.mark.parametrize("name", CASES)


@cache
def library(name):
    return library_problem(CASES[name])


@cache
def optimum(name):
    return cvxpy_optimum(CASES[name])


def random_coefficients(shape, rng, size):
    u, v = rng.normal(size=shape[0]), rng.normal(size=shape)
    v *= rng.random(shape[1]) < 0.8
    return Coefficients(size * u, size * v, float(rng.normal()))


def random_dual(problem, rng, most):
    """A point where the conjugate is finite, with group norms up to ``most`` radii."""
    s = rng.normal(size=problem.X.shape)
    for group, weight in zip(problem.groups, problem.group_weights, strict=True):
        columns = list(group)
        size = problem.alpha * weight * problem.l1_ratio * rng.uniform(0, most)
        s[:, columns] *= size / np.linalg.norm(s[:, columns])
    return s


def dual_points(name, count=12):
    problem = CASES[name]
    rng = np.random.default_rng(5)
    yield np.zeros(problem.X.shape)
    for _ in range(count):
        yield random_dual(problem, rng, 1.0 if problem.l1_ratio == 1 else 3.0)


def naive_conjugate(problem, s):
    total = 0.0
    for group, weight in zip(problem.groups, problem.group_weights, strict=True):
        excess = np.linalg.norm(s[:, list(group)]) - problem.alpha * weight * problem.l1_ratio
        if excess > 1e-12:
            total += excess**2 / (4 * problem.alpha * weight * (1 - problem.l1_ratio))
    return total


# -------------------------------------------------------------------------- primal and dual


@each
def test_primal_is_the_formula(name):
    rng = np.random.default_rng(1)
    problem, ours = CASES[name], library(name)
    for size in (0.0, 0.01, 1.0, 30.0):
        coef = random_coefficients(problem.X.shape, rng, size)
        expected = problem.primal(*coef)
        assert ours.primal(coef) == pytest.approx(expected, rel=1e-8)


@each
def test_primal_at_a_dual_point_is_that_of_its_function(name):
    problem, ours = CASES[name], library(name)
    for s in dual_points(name):
        point = ours.dual_point(s)
        coef = ours.unpack(point)
        primal, _ = ours.primal_dual(point)
        assert primal == pytest.approx(problem.primal(*coef), rel=1e-8)
        assert ours.primal(coef) == pytest.approx(primal, rel=1e-10)
        assert (coef.intercept != 0) == problem.fit_intercept
        for shift in (-0.1, 0.1) if problem.fit_intercept else ():
            moved = coef._replace(intercept=coef.intercept + shift)
            assert ours.primal(moved) == pytest.approx(primal + 0.01, rel=1e-8)


@each
def test_dual_is_the_minimum_of_the_lagrangian(name):
    problem, ours = CASES[name], library(name)
    for s in dual_points(name):
        _, dual = ours.primal_dual(ours.dual_point(s))
        expected = problem.smooth_dual(s) - naive_conjugate(problem, s)
        assert dual == pytest.approx(expected, rel=1e-6, abs=1e-8)


@each
def test_weak_duality(name):
    ours, best = library(name), optimum(name).objective
    for s in dual_points(name, count=40):
        primal, dual = ours.primal_dual(ours.dual_point(s))
        assert dual <= best + 1e-9
        assert primal >= best - 1e-7


@each
def test_gap_bounds_the_suboptimality_of_any_function(name):
    rng = np.random.default_rng(2)
    problem, ours, best = CASES[name], library(name), optimum(name).objective
    near = DualSolver(tol=1e-3).solve(ours).coef
    for size in (0.0, 1e-4, 0.01, 0.1, 1.0, 10.0):
        for _ in range(5):
            far = random_coefficients(problem.X.shape, rng, size)
            both = Coefficients(near.u + far.u, near.v + far.v, near.intercept + size)
            for coef in (far, both):
                gap = certify(ours, coef, 0).gap
                assert np.isfinite(gap)
                assert gap >= problem.primal(*coef) - best - 1e-7 * (1 + abs(gap))


@each
def test_gap_vanishes_at_the_optimum(name):
    ours = library(name)
    coef = DualSolver(tol=1e-8).solve(ours).coef
    assert -1e-9 <= certify(ours, coef, 0).gap <= 1e-6 * ours.reference


@each
def test_gradient_of_the_dual_is_the_derivative_of_the_function(name):
    problem = CASES[name]
    # far inside the balls the conjugate is zero, and the rest is quadratic
    wide = replace(problem, alpha=1e3, group_weights=np.ones(len(problem.groups)))
    ours = library_problem(wide)
    rng = np.random.default_rng(3)
    s, h = 0.1 * rng.normal(size=problem.X.shape), 1e-3
    point = ours.dual_point(s)
    coef = ours.unpack(point)
    gradients = ours.space.evaluate_gradients(problem.X, coef.u, coef.v)
    np.testing.assert_allclose(
        point.g, np.sqrt(problem.weights)[:, None] * gradients, rtol=1e-8, atol=1e-10
    )
    for i, a in zip(*np.indices(s.shape).reshape(2, -1)[:, ::4], strict=True):
        e = np.zeros_like(s)
        e[i, a] = h
        ahead, behind = (ours.primal_dual(ours.dual_point(s + t * e))[1] for t in (1, -1))
        assert -(ahead - behind) / (2 * h) == pytest.approx(point.g[i, a], rel=1e-5, abs=1e-7)


@each
def test_u_is_the_best_for_its_v(name):
    """The derivative of the dual in ``u`` vanishes, along ``1'u = 0`` with an intercept."""
    problem, ours = CASES[name], library(name)
    K, D, _, _ = problem.matrices
    for s in dual_points(name, count=3):
        u, v, b = ours.unpack(ours.dual_point(s))
        np.testing.assert_allclose(v, np.sqrt(problem.weights)[:, None] * s / (2 * problem.ridge))
        values = K @ u + np.einsum("iaj,ia->j", D, v)
        residual = problem.y - b - values
        np.testing.assert_allclose(problem.ridge * u / problem.weights, residual, atol=1e-8)
        if problem.fit_intercept:
            assert u.sum() == pytest.approx(0, abs=1e-9)


def test_outside_the_ball_the_dual_is_minus_infinity():
    name = "gaussian, lasso"
    ours = library(name)
    s = random_dual(CASES[name], np.random.default_rng(0), 1.0)
    s[:, 1] *= 1.01 * CASES[name].alpha / np.linalg.norm(s[:, 1])
    assert ours.primal_dual(ours.dual_point(s))[1] == -np.inf


def test_without_its_conjugate_term_the_dual_is_no_bound():
    """The elastic net subtracts a quadratic outside the ball, the lasso stays inside."""
    name = "rational quadratic, elastic net"
    problem, ours = CASES[name], library(name)
    point = DualSolver(tol=1e-8).solve(ours).point
    primal, dual = ours.primal_dual(point)
    extra = naive_conjugate(problem, point.s)
    assert extra > 1e-3
    assert primal - (dual + extra) < -1e-3
    assert problem.smooth_dual(point.s) == pytest.approx(dual + extra, rel=1e-6)

    name = "gaussian, lasso"
    s = random_dual(CASES[name], np.random.default_rng(0), 1.0)
    steepest = DualSolver(tol=1e-6).solve(replace(library(name), alpha=1.5)).point.s
    assert max(CASES[name].smooth_dual(t) for t in (s, steepest)) > optimum(name).objective + 1e-2


@each
def test_reference_is_the_primal_at_zero(name):
    problem = CASES[name]
    mean = problem.weights @ problem.y if problem.fit_intercept else 0.0
    expected = problem.primal(np.zeros(len(problem.y)), np.zeros(problem.X.shape), mean)
    assert library(name).reference == pytest.approx(expected)


def test_reference_of_constant_y_is_positive():
    assert library_problem(make_problem(Gaussian(), y=np.zeros(10))).reference == 1.0


def test_inputs_stay_as_they_are():
    problem = make_problem(Gaussian(1.5), weighted=True)
    for array in (problem.X, problem.y, problem.weights, problem.group_weights):
        array.setflags(write=False)
    ours = library_problem(problem)
    s = random_dual(problem, np.random.default_rng(0), 1.0)
    coef = random_coefficients(problem.X.shape, np.random.default_rng(0), 1.0)
    for array in (s, coef.u, coef.v):
        array.setflags(write=False)
    assert certify(ours, coef, 0).gap > 0
    assert ours.primal_dual(ours.dual_point(s))[0] > 0


# -------------------------------------------------------------------------- alpha_max

ALPHA_MAX = {
    "gaussian": make_problem(Gaussian(1.0)),
    "gaussian, unequal, weighted": make_problem(
        Gaussian(1.0), weighted=True, group_weights=np.array([1.0, 3.0, 0.5])
    ),
    "matern, groups, no intercept": make_problem(
        Matern52(1.5), d=4, groups=PAIRS, fit_intercept=False
    ),
    "rational quadratic, elastic net": make_problem(
        RationalQuadratic(1.0, 1.5), l1_ratio=0.6, weighted=True
    ),
    "anova, variable always kept": make_problem(
        Anova(2, Matern52(1.0)), group_weights=np.array([1.0, 0.0, 2.0])
    ),
}


@pytest.mark.parametrize("name", ALPHA_MAX)
def test_nothing_is_selected_above_alpha_max(name):
    problem = ALPHA_MAX[name]
    top = library_problem(problem).alpha_max()[0]
    penalised = problem.group_weights > 0

    def norms(alpha):
        best = cvxpy_optimum(replace(problem, alpha=alpha))
        return problem.group_norms(best.gradients)

    assert norms(1.02 * top)[penalised].max() < 1e-6
    assert norms(0.9 * top)[penalised].max() > 1e-3
    assert np.all(norms(1.02 * top)[~penalised] > 1e-3)


@pytest.mark.parametrize("name", ALPHA_MAX)
def test_alpha_max_is_the_same_when_the_iterations_run_out(name):
    """One iteration never suffices: then the system is solved directly."""
    ours = library_problem(ALPHA_MAX[name])
    assert ours.gauge(ours.flat_dual(max_iter=1)) == pytest.approx(ours.alpha_max()[0], rel=1e-3)


@pytest.mark.parametrize("name", ALPHA_MAX)
def test_alpha_max_does_not_depend_on_alpha(name):
    ours = library_problem(ALPHA_MAX[name])
    assert replace(ours, alpha=17.0).alpha_max()[0] == pytest.approx(ours.alpha_max()[0], rel=1e-6)


def test_alpha_max_is_zero_when_nothing_is_penalised():
    ours = library_problem(make_problem(Gaussian(), group_weights=np.zeros(3)))
    assert ours.alpha_max()[0] == 0.0


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Polynomial(3)], ids=repr)
def test_alpha_max_of_a_singular_kernel_is_an_upper_bound(kernel):
    problem = make_problem(kernel)
    top = library_problem(problem).alpha_max()[0]
    best = cvxpy_optimum(replace(problem, alpha=1.02 * top))
    assert problem.group_norms(best.gradients).max() < 1e-5


# -------------------------------------------------------------------------- bounds from the gap


def assert_within(ours, point, truth):
    lower, upper = ours.derivative_bounds(point)
    assert lower.shape == upper.shape == truth.shape
    assert np.all(lower >= 0)
    assert np.all(lower <= truth + 1e-6)
    assert np.all(upper >= truth - 1e-6)
    return lower, upper


@each
@pytest.mark.parametrize("tol", [0.3, 0.1, 1e-2, 1e-3, 1e-5])
def test_derivative_bounds_hold_at_loose_tolerances(name, tol):
    problem, ours = CASES[name], library(name)
    solution = DualSolver(tol=tol).solve(ours)
    truth = problem.derivative_norms(optimum(name).gradients)
    assert_within(ours, solution.point, truth)


@each
def test_derivative_bounds_hold_at_any_dual_point(name):
    problem, ours = CASES[name], library(name)
    truth = problem.derivative_norms(optimum(name).gradients)
    best = DualSolver(tol=1e-6).solve(ours).point.s
    rng = np.random.default_rng(6)
    for s in dual_points(name, count=10):
        for t in (1.0, 0.1, 0.01):
            point = ours.dual_point(t * s + (1 - t) * best * rng.uniform(0.9, 1))
            assert_within(ours, point, truth)


def test_derivative_bounds_hold_for_the_function_of_a_primal_method():
    """Its function and its dual point are two: the gap between them says less of the point.

    With a linear kernel on tiny inputs ``u`` and ``v`` cancel to the optimum ``f = 0``, while the
    function of the dual point made from ``v`` has a slope.
    """
    x = 0.01 * np.linspace(-1, 1, 6)
    naive = make_problem(Linear(), n=6, groups=((0,),), alpha=1.0, ridge=0.1)
    naive = replace(naive, X=x[:, None], y=np.linspace(-1, 1, 6))
    ours = library_problem(naive)
    coef = Coefficients(-0.2 * x / (x @ x), np.full((6, 1), 0.2 / 6), 0.0)
    solution = certify(ours, coef, 0)
    truth = naive.derivative_norms(cvxpy_optimum(naive).gradients)
    assert truth < 1e-8
    assert solution.primal == pytest.approx(cvxpy_optimum(naive).objective)
    lower, upper = assert_within(ours, solution.point, truth)
    assert np.all(lower <= upper)


@each
def test_certify_keeps_the_function_and_bounds_its_suboptimality(name):
    rng = np.random.default_rng(7)
    problem, ours, best = CASES[name], library(name), optimum(name).objective
    for size in (0.0, 0.01, 1.0):
        coef = random_coefficients(problem.X.shape, rng, size)
        solution = certify(ours, coef, 3)
        assert solution.n_iter == 3
        assert solution.coef is coef
        assert solution.primal == pytest.approx(problem.primal(*coef), rel=1e-8)
        assert solution.dual <= best + 1e-9


@each
def test_derivative_bounds_close_in(name):
    problem, ours = CASES[name], library(name)
    truth = problem.derivative_norms(optimum(name).gradients)
    widths = []
    for tol in (1e-2, 1e-5, 1e-8):
        solution = DualSolver(tol=tol).solve(ours)
        lower, upper = assert_within(ours, solution.point, truth)
        widths.append(np.max(upper - lower))
    assert widths[0] >= widths[1] >= widths[2]
    assert widths[2] < 1e-2 * truth.max()


@each
def test_derivative_bounds_are_the_formula(name):
    """``c_a sqrt(e / 2 ridge)`` either way; ``c_a^2`` is the mean diagonal of ``L^{aa}``."""
    problem, ours = CASES[name], library(name)
    size = np.sqrt(problem.weights @ np.einsum("iaia->ia", problem.matrices.L))
    best = DualSolver(tol=1e-6).solve(ours).point.s
    for s in dual_points(name, count=2):
        for t in (1.0, 1e-2, 1e-4):
            point = ours.dual_point(t * s + (1 - t) * best)
            primal, dual = ours.primal_dual(point)
            slack = size * np.sqrt((primal - dual) / (2 * problem.ridge))
            norms = np.linalg.norm(point.g, axis=0)
            lower, upper = ours.derivative_bounds(point)
            np.testing.assert_allclose(lower, np.maximum(norms - slack, 0), rtol=1e-5, atol=1e-8)
            assert np.all(upper <= (norms + slack) * (1 + 1e-5))
    assert lower.max() > 0  # near the optimum the bounds say something


@each
def test_distance_to_the_optimum_is_bounded_by_the_gap(name):
    """``2 ridge ||f - f*||^2 <= gap``, seen in the values and gradients at the data."""
    problem, ours, best = CASES[name], library(name), optimum(name)
    K, L = np.diag(problem.matrices.K), np.einsum("iaia->ia", problem.matrices.L)
    for s in dual_points(name):
        point = ours.dual_point(s)
        primal, dual = ours.primal_dual(point)
        radius = np.sqrt((primal - dual) / (2 * problem.ridge)) + 1e-6
        values = best.values - best.intercept
        assert np.all(np.abs(point.values - values) <= radius * np.sqrt(K))
        gradients = point.g / np.sqrt(problem.weights)[:, None]
        assert np.all(np.abs(gradients - best.gradients) <= radius * np.sqrt(L))


def test_a_variable_that_is_out_is_certified_by_its_room_in_the_ball():
    name = "gaussian, lasso"
    ours = library(name)
    solution = DualSolver(tol=1e-6).solve(ours)
    assert CASES[name].derivative_norms(optimum(name).gradients)[2] < 1e-6
    _, upper = ours.derivative_bounds(solution.point)
    room = ours.penalty.radius(ours.alpha)[2] - np.linalg.norm(solution.point.s[:, 2])
    assert room > 0.1
    assert upper[2] == pytest.approx(solution.gap / room, rel=1e-6)


@pytest.mark.parametrize("warm", [False, True])
def test_conjugate_gradients_solve_a_damped_system(warm):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 12))
    A = A @ A.T
    rhs = rng.normal(size=(4, 3))
    expected = np.linalg.solve(A + 0.3 * np.eye(12), rhs.ravel()).reshape(4, 3)
    start = expected + 0.1 * rng.normal(size=(4, 3)) if warm else None
    given = None if start is None else start.copy()

    def product(x):
        return (A @ x.ravel()).reshape(x.shape)

    options = {"tol": 1e-12, "delta": 0.3, "start": start}
    x, converged = conjugate_gradients(product, rhs.copy(), max_iter=100, **options)
    assert converged
    np.testing.assert_allclose(x, expected, rtol=1e-8)
    np.testing.assert_array_equal(start, given)
    assert not conjugate_gradients(product, rhs.copy(), max_iter=1, **options)[1]


def test_with_the_inverse_as_preconditioner_one_step_is_enough():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(8, 8))
    A, rhs = A @ A.T + np.eye(8), rng.normal(size=8)
    exact = np.linalg.solve(A, rhs)
    options = {"tol": 1e-10, "max_iter": 1, "precondition": lambda r: np.linalg.solve(A, r)}
    x, converged = conjugate_gradients(lambda v: A @ v, rhs.copy(), **options)
    assert converged
    np.testing.assert_allclose(x, exact, rtol=1e-8)


def with_points(kernel, loss="squared", **changes):
    rng = np.random.default_rng(3)
    naive = make_problem(kernel, weighted=True, loss=loss, **changes)
    weights = np.concatenate([naive.weights, rng.uniform(0.02, 0.2, size=6)])
    extra = rng.normal(size=(6, 3))
    naive = replace(naive, extra=extra, penalty_weights=weights / weights.sum())
    if loss == "squared":
        return naive
    return replace(naive, y=target(loss, np.sin(2 * naive.X[:, 0]), rng), alpha=0.03)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2), Anova(2)], ids=repr)
def test_with_further_points_the_optimum_is_that_of_an_interior_point_method(kernel, solver):
    naive = with_points(kernel)
    problem = library_problem(naive)
    solution = SOLVERS[solver].solve(problem)
    optimum = cvxpy_optimum(naive)
    assert solution.primal == pytest.approx(optimum.objective, rel=1e-6)
    assert solution.dual <= optimum.objective + 1e-9
    assert naive.primal(*solution.coef) == pytest.approx(solution.primal, rel=1e-7)
    assert solution.point.g.shape == (16, 3)
    assert certify(problem, solution.coef, 0).gap >= -1e-10


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_further_points_with_other_losses(loss):
    naive = with_points(Gaussian(1.5), loss, l1_ratio=0.7)
    solution = Newton(tol=1e-9).solve(library_problem(naive))
    assert solution.primal == pytest.approx(cvxpy_optimum(naive).objective, rel=1e-6)
    assert naive.primal(*solution.coef) == pytest.approx(solution.primal, rel=1e-7)


def test_alpha_max_and_bounds_are_about_all_points():
    problem = library_problem(with_points(Gaussian(1.5)))
    top = problem.alpha_max()[0]
    flat = DualSolver(tol=1e-10).solve(replace(problem, alpha=1.001 * top))
    assert np.abs(flat.point.g).max() < 1e-6
    below = replace(problem, alpha=0.5 * top)
    rough, exact = (DualSolver(tol=tol).solve(below).point for tol in (1e-2, 1e-12))
    lower, upper = below.derivative_bounds(rough)
    norms = np.sqrt(np.sum(exact.g**2, axis=0))
    assert ((lower <= norms + 1e-9) & (norms <= upper + 1e-9)).all()
    assert norms.max() > 0
