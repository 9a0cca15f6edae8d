"""The dual solver against CVXPY, scikit-learn and itself."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from sklearn import linear_model

from nablasso.kernels import Anova, Gaussian, Linear, Matern52, Polynomial, RationalQuadratic
from nablasso.regression.ridge import Ridge
from nablasso.solvers import DualSolver, Status, dual
from nablasso.solvers.base import certify
from nablasso.spaces import RepresenterSpace
from tests.dense_reference import cvxpy_optimum, draw, iterates, library_problem, make_problem

TOL = 1e-8

KERNELS = {
    "gaussian": Gaussian(1.5),
    "matern": Matern52(2.0),
    "rational quadratic": RationalQuadratic(1.2, 1.5),
    "linear": Linear(),
    "polynomial": Polynomial(3),
    "anova 1": Anova(1, Matern52(2.0)),
    "anova 2": Anova(2),
    "anova 3": Anova(3, Matern52(1.8)),
    "sum": Gaussian(2.0) + 0.5 * Linear(),
}
PENALTIES = {
    "lasso": {"group_weights": np.array([1.0, 0.5, 40.0])},
    "group lasso": {
        "d": 4,
        "groups": ((1, 3), (0,), (2,)),
        "group_weights": np.array([2.0, 0.5, 40.0]),
    },
    "elastic net": {"group_weights": np.array([1.0, 0.5, 40.0]), "l1_ratio": 0.7},
    "always kept": {"group_weights": np.array([1.0, 40.0, 0.0])},
}
SETTINGS = list(product([True, False], [True, False]))  # fit_intercept, weighted
CASES = [
    (kernel, penalty, *SETTINGS[(i + j) % 4])
    for i, kernel in enumerate(KERNELS)
    for j, penalty in enumerate(PENALTIES)
] + [("gaussian", penalty, *setting) for penalty in PENALTIES for setting in SETTINGS]
CASES = sorted(set(CASES))
each_case = pytest.mark.parametrize(("kernel", "penalty", "fit_intercept", "weighted"), CASES)


@cache
def statement(kernel, penalty, fit_intercept, weighted):
    return make_problem(
        KERNELS[kernel],
        fit_intercept=fit_intercept,
        weighted=weighted,
        alpha=0.3,
        **PENALTIES[penalty],
    )


@cache
def optimum(*case):
    return cvxpy_optimum(statement(*case))


@cache
def solved(*case):
    problem = library_problem(statement(*case))
    return problem, DualSolver(tol=TOL).solve(problem)


GAUSSIAN = ("gaussian", "lasso", True, True)
NET = ("anova 2", "elastic net", True, False)
HARD = ("polynomial", "lasso", True, True)


# -------------------------------------------------------------------------- against CVXPY


@each_case
def test_objective_and_gap(kernel, penalty, fit_intercept, weighted):
    case = (kernel, penalty, fit_intercept, weighted)
    naive, best = statement(*case), optimum(*case)
    problem, solution = solved(*case)
    assert solution.status is Status.CONVERGED
    reached = naive.primal(*solution.coef)
    scale = problem.reference
    assert reached == pytest.approx(best.objective, rel=1e-6)
    assert solution.primal == pytest.approx(reached, rel=1e-8)
    assert solution.dual <= best.objective + 1e-9 * scale
    assert reached - best.objective - 1e-8 * scale <= solution.gap <= TOL * scale
    assert solution.gap == solution.primal - solution.dual
    if not fit_intercept:
        assert solution.coef.intercept == 0


@each_case
def test_function_and_support(kernel, penalty, fit_intercept, weighted):
    case = (kernel, penalty, fit_intercept, weighted)
    naive, best = statement(*case), optimum(*case)
    problem, solution = solved(*case)
    u, v, b = solution.coef
    values = problem.space.evaluate(naive.X, u, v) + b
    gradients = problem.space.evaluate_gradients(naive.X, u, v)
    np.testing.assert_allclose(values, best.values, atol=2e-3)
    np.testing.assert_allclose(gradients, best.gradients, atol=5e-3)

    expected = naive.group_norms(best.gradients)
    inside = expected > 1e-3
    assert np.all(inside | (expected < 1e-5))  # the case is decisive
    np.testing.assert_array_equal(naive.group_norms(gradients) > 1e-3, inside)
    # the dual says the same: on the sphere (or beyond it, elastic net) or strictly inside
    for group, weight, selected in zip(naive.groups, naive.group_weights, inside, strict=True):
        size = np.linalg.norm(solution.point.s[:, list(group)])
        radius = naive.alpha * weight * naive.l1_ratio
        if weight == 0:
            assert size == 0
        elif selected:
            assert size >= radius * (1 - 1e-6)
        else:
            assert size < radius * (1 - 1e-6)


def test_the_cases_have_variables_in_and_out():
    """A support that is always full or always empty would test nothing."""
    supports = {
        case: statement(*case).group_norms(optimum(*case).gradients) > 1e-3 for case in CASES
    }
    mixed = [case for case, inside in supports.items() if 0 < inside.sum() < len(inside)]
    assert {case[0] for case in mixed} == set(KERNELS)
    assert {case[1] for case in mixed} == set(PENALTIES)


@pytest.mark.parametrize("case", [case for case in CASES if case[1] == "always kept"], ids=str)
def test_an_unpenalised_group_is_kept(case):
    problem, solution = solved(*case)
    free = problem.penalty.partition.spread(problem.penalty.weights == 0)
    assert free.any()
    assert np.all(np.linalg.norm(solution.point.g, axis=0)[free] > 1e-2)
    assert np.all(solution.coef.v[:, free] == 0)


# -------------------------------------------------------------------------- against scikit-learn


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_with_a_linear_kernel_it_is_the_elastic_net_of_scikit_learn(fit_intercept, weighted, alpha):
    naive = make_problem(
        Linear(), n=15, d=4, alpha=alpha, weighted=weighted, fit_intercept=fit_intercept
    )
    problem = library_problem(naive)
    u, v, b = DualSolver(tol=1e-10).solve(problem).coef
    total = alpha / 2 + naive.ridge
    oracle = linear_model.ElasticNet(
        alpha=total, l1_ratio=alpha / 2 / total, fit_intercept=fit_intercept, tol=1e-12
    ).fit(naive.X, naive.y, sample_weight=naive.weights)
    slopes = problem.space.evaluate_gradients(np.zeros((1, 4)), u, v)[0]
    np.testing.assert_allclose(slopes, oracle.coef_, atol=1e-4)
    assert b == pytest.approx(oracle.intercept_, abs=1e-4)


# -------------------------------------------------------------------------- invariances


@pytest.mark.parametrize("penalty", ["lasso", "group lasso", "elastic net"])
def test_a_weight_equals_copies_of_the_row(penalty):
    counts = np.array([1, 3, 2, 1, 1, 4, 1, 2])
    options = PENALTIES[penalty]
    X, y = draw(8, options.get("d", 3))
    naive = make_problem(Gaussian(1.5), n=8, alpha=0.3, **options)
    naive = replace(naive, X=X, y=y, weights=counts / counts.sum())
    copies = np.repeat(np.arange(8), counts)
    twice = replace(naive, X=X[copies], y=y[copies], weights=np.full(15, 1 / 15))
    one, two = (DualSolver(tol=1e-8).solve(library_problem(p)) for p in (naive, twice))
    assert one.primal == pytest.approx(two.primal, rel=1e-7)
    np.testing.assert_allclose(one.point.values[copies], two.point.values, atol=1e-3)


def test_scales_of_the_inputs_are_weights_of_the_derivatives():
    """``f(x) = h(x * scales)`` has the derivatives of ``h`` times the scales."""
    scales = np.array([0.5, 2.0, 1.3])
    naive = make_problem(Matern52(2.0), weighted=True, alpha=0.3)
    problem = library_problem(naive)
    space = RepresenterSpace(naive.kernel, naive.X, scales)
    P = Ridge(space.gram, naive.weights).matrix(naive.ridge)
    ours = replace(problem, space=space, P=P)
    expected = replace(naive, X=naive.X * scales, group_weights=scales)
    best = cvxpy_optimum(expected)
    solution = DualSolver(tol=1e-8).solve(ours)
    assert solution.primal == pytest.approx(best.objective, rel=1e-6)
    truth = expected.derivative_norms(best.gradients) * scales
    np.testing.assert_allclose(np.linalg.norm(solution.point.g, axis=0), truth, atol=1e-3)
    for tol in (0.1, 1e-3):
        loose = DualSolver(tol=tol).solve(ours)
        lower, upper = ours.derivative_bounds(loose.point)
        assert np.all((lower <= truth + 1e-6) & (truth <= upper + 1e-6))
    top = ours.alpha_max()[0]
    assert top == pytest.approx(library_problem(expected).alpha_max()[0], rel=1e-3)


def test_the_unit_of_y_does_not_matter():
    naive = statement(*GAUSSIAN)
    _, expected = solved(*GAUSSIAN)
    for unit in (1e-6, 1e6):
        # the loss and the norm are quadratic, the lasso is not: alpha has the unit of y
        ours = library_problem(replace(naive, y=unit * naive.y, alpha=unit * naive.alpha))
        solution = DualSolver(tol=TOL).solve(ours)
        assert solution.status is Status.CONVERGED
        assert solution.primal == pytest.approx(unit**2 * expected.primal, rel=1e-6)


# -------------------------------------------------------------------------- the loop


@pytest.mark.parametrize("case", [GAUSSIAN, NET, HARD], ids=str)
def test_a_warm_start_gives_the_same_solution(case):
    problem, cold = solved(*case)
    rng = np.random.default_rng(0)
    starts = {
        "itself": cold.point.s,
        "zero": np.zeros_like(cold.point.s),
        "another alpha": DualSolver(tol=1e-3).solve(replace(problem, alpha=0.1)).point.s,
        "far outside": 100 * rng.normal(size=cold.point.s.shape),
    }
    for name, start in starts.items():
        start.setflags(write=False)
        warm = DualSolver(tol=TOL).solve(problem, start)
        assert warm.status is Status.CONVERGED, name
        assert warm.primal == pytest.approx(cold.primal, abs=2 * TOL * problem.reference), name
        np.testing.assert_allclose(warm.point.g, cold.point.g, atol=5e-3, err_msg=name)
        assert np.isfinite(warm.gap)
        if name == "itself":
            assert warm.n_iter == 0


def test_a_start_on_an_unpenalised_group_is_moved_to_zero():
    problem, cold = solved("gaussian", "always kept", True, True)
    warm = DualSolver(tol=TOL).solve(problem, np.ones_like(cold.point.s))
    assert warm.primal == pytest.approx(cold.primal, rel=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_any_start_is_made_feasible_at_once(penalty):
    problem, cold = solved("gaussian", penalty, True, True)
    start = 100 * np.random.default_rng(0).normal(size=cold.point.s.shape)
    solution = DualSolver(tol=1e12).solve(problem, start)
    assert solution.n_iter == 0
    assert np.isfinite(solution.gap)
    # nothing but the size of the groups has changed
    moved = solution.point.s * start
    assert np.all((moved > 0) | (solution.point.s == 0))


@pytest.mark.parametrize("case", [GAUSSIAN, NET, HARD], ids=str)
def test_spectral_steps_never_fall_below_the_last_ten(case):
    """The non-monotone line search allows a worse dual than the last, not than all of the ten."""
    problem, _ = solved(*case)
    solver = DualSolver(tol=TOL, spectral_steps=10**6, max_iter=400)
    solver.max_factored = 0
    _, seen = iterates(solver, problem)
    scale = 2 * problem.ridge / problem.root
    duals = [problem.primal_dual(problem.dual_point(coef.v * scale))[1] for coef in seen]
    assert len(duals) > 10
    for i in range(1, len(duals)):
        assert duals[i] >= min(duals[max(0, i - 10) : i]) - 1e-10 * problem.reference


@pytest.mark.parametrize("case", [GAUSSIAN, NET, HARD], ids=str)
def test_the_steps_are_every_iteration(case):
    problem, _ = solved(*case)
    solution, seen = iterates(DualSolver(tol=TOL), problem)
    assert len(seen) == solution.n_iter + 1
    gaps = [certify(problem, coef, 0).gap for coef in seen]
    assert gaps[-1] <= TOL * problem.reference * (1 + 1e-6)
    assert all(gap > TOL * problem.reference * (1 - 1e-6) for gap in gaps[:-1])
    for ours, last in zip(solution.coef, seen[-1], strict=True):
        np.testing.assert_array_equal(ours, last)


@pytest.mark.parametrize("case", [GAUSSIAN, NET, HARD], ids=str)
@pytest.mark.parametrize("max_iter", [0, 1, 2, 5])
def test_when_iterations_run_out_the_certificate_is_that_of_the_function(case, max_iter):
    problem, _ = solved(*case)
    solution, seen = iterates(DualSolver(tol=1e-12, max_iter=max_iter), problem)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == max_iter
    assert len(seen) == max_iter + 1
    assert solution.primal == pytest.approx(problem.primal(solution.coef), rel=1e-9)
    primal, dual_value = problem.primal_dual(solution.point)
    assert (solution.primal, solution.dual) == pytest.approx((primal, dual_value), rel=1e-9)
    assert solution.gap >= solution.primal - optimum(*case).objective - 1e-9


@pytest.mark.parametrize("case", [GAUSSIAN, NET, HARD], ids=str)
def test_the_tolerance_is_relative_to_the_primal_at_zero(case):
    problem, _ = solved(*case)
    for tol in (0.3, 1e-2, 1e-4, 1e-6, 1e-8):
        solution = DualSolver(tol=tol).solve(problem)
        assert solution.status is Status.CONVERGED
        assert solution.gap <= tol * problem.reference


@pytest.mark.parametrize("case", [GAUSSIAN, NET], ids=str)
def test_an_impossible_tolerance_ends_at_rounding(case):
    problem, _ = solved(*case)
    solution = DualSolver(tol=1e-30, max_iter=2000).solve(problem)
    assert solution.status in (Status.STALLED, Status.MAX_ITER) or solution.gap <= 0
    assert solution.primal == pytest.approx(optimum(*case).objective, rel=1e-7)
    assert abs(solution.gap) < 1e-8


RULES = {"spectral": 10**6, "accelerated": 0, "one after the other": 5}
RUNS = [  # spectral steps alone wander on ill-conditioned problems, as documented
    (case, rule)
    for case, rule in product([GAUSSIAN, NET, HARD], RULES)
    if (case, rule) != (HARD, "spectral")
]


@pytest.mark.parametrize(("case", "rule"), RUNS, ids=str)
@pytest.mark.parametrize("factored", [3000, 0])
def test_every_step_rule_reaches_the_optimum(case, factored, rule):
    problem, _ = solved(*case)
    solver = DualSolver(tol=1e-5, spectral_steps=RULES[rule])
    solver.max_factored = factored
    solution = solver.solve(problem)
    assert solution.status is Status.CONVERGED
    reached = statement(*case).primal(*solution.coef)
    assert reached - optimum(*case).objective <= solution.gap + 1e-9
    assert solution.gap <= 1e-5 * problem.reference


@pytest.mark.parametrize("case", [GAUSSIAN, NET, HARD], ids=str)
def test_the_rescue_is_taken_only_where_it_helps(monkeypatch, case):
    """ADMM gets far from nothing; where it gets nowhere the products go on from where they were."""
    problem, solution = solved(*case)
    nothing = dual._Run(problem, problem.feasible_point(np.zeros_like(solution.point.s)))
    found = DualSolver(tol=TOL)._factored(problem, nothing).point
    assert problem.primal_dual(found)[1] == pytest.approx(solution.dual, rel=1e-3)
    lost = replace(solution, point=nothing.point, dual=problem.primal_dual(nothing.point)[1])
    monkeypatch.setattr(dual.Admm, "solve", lambda *_: lost)
    near = dual._Run(problem, solution.point)
    assert DualSolver(tol=TOL)._factored(problem, near) is near


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial", "anova 2", "linear"])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6 + 0.1])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.filterwarnings("error")
def test_constant_y_is_solved_by_the_intercept(kernel, constant, weighted):
    y = np.full(10, constant)
    problem = library_problem(make_problem(KERNELS[kernel], weighted=weighted, y=y))
    solution = DualSolver().solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.n_iter < 100
    assert solution.coef.intercept == pytest.approx(constant)
    np.testing.assert_allclose(solution.point.values, 0, atol=1e-9 * (1 + constant))


def test_without_a_penalty_it_is_kernel_ridge_regression():
    naive = replace(statement(*GAUSSIAN), alpha=0.0)
    problem = library_problem(naive)
    solution = DualSolver().solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.n_iter == 0
    np.testing.assert_allclose(solution.coef.u, problem.P @ naive.y)
    assert np.all(solution.coef.v == 0)


def test_above_alpha_max_every_derivative_is_zero():
    naive = make_problem(Matern52(1.5))
    problem = library_problem(naive)
    above = replace(problem, alpha=1.05 * problem.alpha_max()[0])
    solution = DualSolver(tol=1e-10).solve(above)
    assert np.abs(solution.point.g).max() < 1e-5
    below = replace(problem, alpha=0.9 * problem.alpha_max()[0])
    assert np.linalg.norm(DualSolver(tol=1e-8).solve(below).point.g, axis=0).max() > 1e-3


def test_the_elastic_net_needs_its_extra_term():
    """Without the quadratic outside the balls the reported gap would be negative."""
    problem, solution = solved(*NET)
    excess = np.linalg.norm(solution.point.s, axis=0) - problem.penalty.radius(problem.alpha)
    scale = 4 * problem.alpha * problem.penalty.weights * (1 - problem.penalty.l1_ratio)
    extra = np.sum(np.maximum(excess, 0) ** 2 / scale)
    assert solution.gap >= -1e-12
    assert solution.gap - extra < -1e-4


def test_settings_make_the_round_trip():
    solver = DualSolver(tol=1e-3, max_iter=7, spectral_steps=2)
    assert DualSolver(**solver.get_params()).get_params() == solver.get_params()
    problem, _ = solved(*GAUSSIAN)
    before = vars(solver).copy()
    solver.solve(problem)
    assert vars(solver) == before  # settings only: no data, no iterates


def test_large_solutions_are_not_polished():
    problem = library_problem(make_problem(Gaussian(1.5), alpha=0.4))
    solver = DualSolver(tol=1e-6)
    solution = solver.solve(problem)
    assert solver.polish(problem, solution).gap < solution.gap
    solver.large = solution.point.s.size - 1
    assert solver.polish(problem, solution) is solution


def test_a_large_problem_never_holds_the_points_of_acceleration(monkeypatch):
    problem = library_problem(make_problem(Gaussian(1.5), alpha=0.4))
    monkeypatch.setattr(dual._Run, "accelerated", lambda _: pytest.fail("accelerated"))
    solver = DualSolver(spectral_steps=3)
    solver.large = 1
    solution = solver.solve(problem)
    assert solution.status is Status.CONVERGED
