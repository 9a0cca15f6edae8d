"""The papers' own algorithms: they agree with the default solver, and with the paper as corrected.

The misprints of Rosasco et al. (2013) are shown to be misprints by Algorithm 1 written down densely
below: as printed it does not reach the minimum, corrected it does.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import clone

from experiments.paper_admm import ConjugateGradientStep, DescentStep, PaperAdmm
from nablasso.errors import InvalidParameterError
from nablasso.kernels import Anova, Gaussian, Linear, Matern52, Polynomial
from nablasso.solvers import (
    SOLVERS,
    Admm,
    Denovas,
    DualSolver,
    Status,
    as_solver,
    consistent_tau,
    irrelevant,
    support_of,
)
from nablasso.solvers.papers import LinearStep
from tests.dense_reference import cvxpy_optimum, draw, iterates, library_problem, make_problem

KERNELS = {
    "gaussian": Gaussian(1.5),
    "matern": Matern52(2.0),
    "polynomial": Polynomial(2),
    "linear": Linear(),
    "anova": Anova(1, Gaussian(1.5)),
}
HEAVY_LAST = np.array([1.0, 0.5, 40.0])
PENALTIES = {
    "lasso": {"group_weights": HEAVY_LAST},
    "group lasso": {
        "d": 4,
        "groups": ((1, 3), (0,), (2,)),
        "group_weights": np.array([2.0, 0.5, 40.0]),
    },
    "elastic net": {"group_weights": HEAVY_LAST, "l1_ratio": 0.7},
    "always kept": {"group_weights": np.array([1.0, 40.0, 0.0])},
}
CASES = [  # kernel, penalty, intercept, weights
    ("gaussian", "lasso", True, True),
    ("gaussian", "lasso", False, False),
    ("gaussian", "group lasso", True, False),
    ("gaussian", "elastic net", False, True),
    ("gaussian", "always kept", True, True),
    ("matern", "lasso", True, False),
    ("matern", "elastic net", True, True),
    ("polynomial", "lasso", True, True),
    ("polynomial", "group lasso", False, True),
    ("linear", "lasso", True, False),
    ("matern", "group lasso", True, True),
    ("anova", "elastic net", True, False),
]
TOL = 1e-5


class IterativeAdmm(PaperAdmm):
    """S1 by conjugate gradients, however small the problem."""

    def splitting(self, problem):
        return problem.penalty, ConjugateGradientStep(problem, np.zeros(problem.space.n_features))


METHODS = {"dual": DualSolver, "denovas": Denovas, "admm": Admm, "iterative admm": IterativeAdmm}
REFERENCES = ["denovas", "admm"]


@cache
def statement(kernel, penalty, fit_intercept, weighted):
    return make_problem(
        KERNELS[kernel],
        fit_intercept=fit_intercept,
        weighted=weighted,
        alpha=0.3,
        ridge=0.1,
        **PENALTIES[penalty],
    )


@cache
def optimum(*case):
    return cvxpy_optimum(statement(*case))


@cache
def solved(method, *case):
    problem = library_problem(statement(*case))
    return problem, METHODS[method](tol=TOL).solve(problem)


each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
each_method = pytest.mark.parametrize("method", METHODS)


# -------------------------------------------------------------------------- one minimum for all


@each_case
@each_method
def test_objective_and_gap_against_cvxpy(case, method):
    problem, solution = solved(method, *case)
    naive, best = statement(*case), optimum(*case)
    reached = naive.primal(*solution.coef)  # by matrices of our own
    assert solution.status is Status.CONVERGED
    assert reached == pytest.approx(best.objective, rel=1e-4)
    assert solution.primal == pytest.approx(reached, rel=1e-7)
    assert solution.dual <= best.objective + 1e-8 * problem.reference
    assert reached - best.objective - 1e-8 * problem.reference <= solution.gap
    assert solution.gap <= TOL * problem.reference
    if not case[2]:
        assert solution.coef.intercept == 0


@each_case
def test_all_methods_agree(case):
    solutions = {method: solved(method, *case) for method in METHODS}
    naive = statement(*case)
    truth = naive.derivative_norms(optimum(*case).gradients) > 1e-3
    objective = solutions["dual"][1].primal
    for method, (problem, solution) in solutions.items():
        assert solution.primal == pytest.approx(objective, rel=1e-4), method
        np.testing.assert_array_equal(support_of(problem, solution), truth, err_msg=method)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-9])
@each_case
def test_rule_32_calls_irrelevant_only_what_is(case, tol):
    problem = library_problem(statement(*case))
    truth = statement(*case).derivative_norms(optimum(*case).gradients) > 1e-3
    for solver in (DualSolver(tol=tol), Denovas(tol=tol)):
        if solver.tol < 1e-5 and isinstance(solver, Denovas):
            continue  # thousands of iterations
        solution = solver.solve(problem)
        out = irrelevant(problem, solution)
        assert not np.any(out & truth)
        if tol == 1e-9 and truth.any():
            np.testing.assert_array_equal(out, ~truth)


def test_the_quadratic_of_the_elastic_net_may_stand_in_either_step():
    case = ("gaussian", "elastic net", False, True)
    problem = library_problem(statement(*case))
    one, two = (
        PaperAdmm(tol=1e-7, quadratic_in_linear_step=first).solve(problem)
        for first in (False, True)
    )
    assert one.primal == pytest.approx(two.primal, rel=1e-6)
    np.testing.assert_allclose(one.coef.v, two.coef.v, atol=1e-3 * np.abs(one.coef.v).max())


@pytest.mark.parametrize("case", [CASES[0], CASES[3], CASES[7]], ids=str)
def test_inexact_steps_of_descent_reach_the_minimum(case):
    problem, best = library_problem(statement(*case)), optimum(*case)
    solver = PaperAdmm(tol=1e-3, max_iter=300, descent_steps=1, quadratic_in_linear_step=True)
    solution = solver.solve(problem)
    assert solution.status is Status.CONVERGED
    reached = statement(*case).primal(*solution.coef)
    assert -1e-8 <= (reached - best.objective) / problem.reference <= 1e-3


def test_descent_takes_a_step_more_in_every_iteration():
    problem = library_problem(statement(*CASES[0]))
    step = DescentStep(problem, np.zeros(problem.space.n_features), 2)
    rng = np.random.default_rng(0)
    target, before = rng.normal(size=problem.space.points.shape), np.inf
    _, Zw = LinearStep(problem).solve(target, 1.5)
    for count in range(2, 8):
        assert step.steps == count
        (u, v), near = step.solve(target, 1.5)
        _, gradients = problem.space.products(u, v)
        np.testing.assert_allclose(near, gradients * problem.root, atol=1e-9)
        distance = float(np.linalg.norm(near - Zw))
        assert distance < before
        before = distance


def test_the_cases_have_variables_in_and_out():
    sizes = [(statement(*c).derivative_norms(optimum(*c).gradients) > 1e-3).mean() for c in CASES]
    assert np.mean([0 < size < 1 for size in sizes]) > 0.8


@each_method
@pytest.mark.parametrize("case", CASES[:4:3], ids=["lasso", "elastic net"])
def test_when_iterations_run_out_the_gap_is_still_a_bound(case, method):
    problem = library_problem(statement(*case))
    for max_iter in (1, 3, 10):
        solver = METHODS[method](tol=1e-13, max_iter=max_iter)
        solution = solver.solve(problem)
        assert solution.status is Status.MAX_ITER
        assert solution.n_iter == max_iter
        reached = statement(*case).primal(*solution.coef)
        assert solution.primal == pytest.approx(reached, rel=1e-7)
        assert reached - optimum(*case).objective <= solution.gap + 1e-8 * problem.reference


@pytest.mark.parametrize("method", REFERENCES)
def test_a_warm_start_begins_at_the_solution(method):
    """``start`` gives the first function: that of a solution is where to stay."""
    problem, solution = solved("dual", *CASES[0])

    def first_excess(start):
        _, seen = iterates(METHODS[method](tol=1e-1, max_iter=2), problem, start)
        return problem.primal(seen[1]) - solution.primal

    assert first_excess(solution.point.s) < 0.1 * first_excess(None)


@pytest.mark.parametrize("method", REFERENCES)
def test_the_steps_are_every_iterate(method):
    problem = library_problem(statement(*CASES[0]))
    solution, seen = iterates(METHODS[method](tol=1e-2), problem)
    assert len(seen) == solution.n_iter + 1
    np.testing.assert_array_equal(seen[-1].v, solution.coef.v)
    assert problem.primal(seen[1]) > problem.primal(seen[-1])


def test_a_gap_that_is_reached_is_noticed():
    """Inexact steps keep the residuals up; that must not hide a gap below the tolerance."""
    problem, solution = solved("iterative admm", "anova", "group lasso", True, True)
    assert solution.gap <= TOL * problem.reference
    assert solution.status is Status.CONVERGED


@each_method
def test_no_iterations_at_all(method):
    """What is returned is the start, and its gap is still a bound."""
    problem = library_problem(statement(*CASES[0]))
    solution = METHODS[method](max_iter=0).solve(problem)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == 0
    reached = statement(*CASES[0]).primal(*solution.coef)
    assert solution.primal == pytest.approx(reached, rel=1e-7)
    assert reached - optimum(*CASES[0]).objective <= solution.gap


def test_admm_of_a_large_problem_is_refused():
    problem = make_problem(Linear(), n=101, d=100, ridge=0.1)
    with pytest.raises(InvalidParameterError, match=r'here it is 10201. Use solver="dual"'):
        Admm().solve(library_problem(problem))


# -------------------------------------------------------------------------- Algorithm 1, densely


class Reached(NamedTuple):
    objective: float
    alpha: np.ndarray  # (n,)
    beta: np.ndarray  # (d, n)
    v: np.ndarray  # (d, n)
    sigma: float


def algorithm_1(problem, *, transposed=True, normalised=True, slip=False, outer=2000, inner=20):
    """Equations (8) to (16), with tau = alpha / 2 and tau nu = ridge.

    ``transposed`` puts the transpose of the ``Z_a`` of (9) into (14) and (15); ``normalised``
    measures the balls (11) by the norm divided by n; ``slip`` takes the inner step from (27).
    """
    n, d = problem.X.shape
    tau, shrinkage = problem.alpha / 2, problem.ridge
    gram, D, _, L = problem.matrices
    K = gram / n
    Z = [D[:, a, :] / n for a in range(d)]
    if transposed:
        Z = [block.T for block in Z]
    Z = np.hstack(Z)
    L = L.transpose(1, 0, 3, 2).reshape(n * d, n * d) / n
    sigma, eta = np.linalg.norm(K, 2) + shrinkage, np.linalg.norm(L, 2)
    keep, most = 1 - shrinkage / sigma, tau / sigma * (1.0 if normalised else n**-0.5)

    alpha = before_alpha = np.zeros(n)
    beta = before_beta = v = np.zeros(n * d)
    s = 1.0
    for _ in range(outer):
        last, s = s, (1 + np.sqrt(1 + 4 * s**2)) / 2
        weight = (last - 1) / s
        a = (1 + weight) * alpha - weight * before_alpha
        b = (1 + weight) * beta - weight * before_beta
        residual = (K @ a + Z @ b - problem.y) / sigma
        before_alpha, alpha = alpha, keep * a - residual
        inside = Z.T @ (keep * a + residual if slip else alpha) + keep * L @ b
        for _ in range(inner):
            v = (v - (L @ v - inside) / eta).reshape(d, n)
            norms = np.sqrt(np.mean(v**2, axis=1, keepdims=True))
            v = (v * np.minimum(1, most / np.maximum(norms, 1e-300))).ravel()
        before_beta, beta = beta, keep * b - v
        if not np.all(np.abs(beta) < 1e50):  # it runs away
            return Reached(np.inf, alpha, beta, v, sigma)
    objective = problem.primal(alpha / n, beta.reshape(d, n).T / n, 0.0)
    return Reached(objective, alpha, beta.reshape(d, n), v.reshape(d, n), sigma)


PAPER = {"gaussian": Gaussian(1.5), "polynomial": Polynomial(2, 0.5), "linear": Linear()}
each_kernel = pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
each_sparse = pytest.mark.parametrize("kernel", ["polynomial", "linear"])


@cache
def paper_problem(kernel):
    """As in the paper: no intercept, no weights."""
    return make_problem(
        PAPER[kernel],
        n=12,
        y=draw(12)[1] - 1.0,
        fit_intercept=False,
        alpha=0.5,
        ridge=0.1,
        group_weights=np.ones(3),
    )


@cache
def paper_optimum(kernel):
    return cvxpy_optimum(paper_problem(kernel))


@cache
def run(kernel, **options):
    return algorithm_1(paper_problem(kernel), **options)


@each_kernel
def test_algorithm_1_corrected_is_our_denovas(kernel):
    best = paper_optimum(kernel).objective
    ours = Denovas(tol=1e-7).solve(library_problem(paper_problem(kernel)))
    assert run(kernel).objective == pytest.approx(best, rel=1e-5)
    assert ours.primal == pytest.approx(run(kernel).objective, rel=1e-5)
    n = len(ours.coef.u)
    np.testing.assert_allclose(n * ours.coef.u, run(kernel).alpha, atol=0.02)


@each_kernel
@pytest.mark.parametrize(
    "misprint",
    [
        pytest.param({"transposed": False}, id="Z in (14) and (15) as in (9)"),
        pytest.param({"normalised": False}, id="balls (11) in the plain norm"),
        pytest.param({"slip": True}, id="sign in (27)"),
    ],
)
def test_algorithm_1_as_printed_misses_the_minimum(kernel, misprint):
    best = paper_optimum(kernel).objective
    assert run(kernel, **misprint).objective > 1.03 * best


@each_sparse
def test_the_dual_norm_tells_the_variables_apart(kernel):
    """(31): strictly inside the ball, no derivative. (32) prints ">=", which is the reverse."""
    problem, reached = paper_problem(kernel), run(kernel)
    derivative = problem.derivative_norms(paper_optimum(kernel).gradients)
    relative = np.sqrt(np.mean(reached.v**2, axis=1)) / (problem.alpha / 2 / reached.sigma)
    inside = relative < 1 - 1e-4
    assert 0 < inside.sum() < 3
    assert np.all(derivative[inside] < 1e-5)
    assert np.all(derivative[~inside] > 1e-3)
    printed = relative >= 1 - 1e-4  # "irrelevant" by (32)
    assert np.all(derivative[printed] > 1e-3)

    solution = DualSolver(tol=1e-9).solve(library_problem(problem))
    ours = np.linalg.norm(solution.point.s, axis=0) / problem.alpha
    np.testing.assert_allclose(ours, relative, atol=2e-3)
    np.testing.assert_array_equal(support_of(library_problem(problem), solution), ~inside)


@each_kernel
def test_proposition_6_has_half_the_gradient(kernel):
    """``nabla* v = -(1 / (2 sigma))`` times the gradient; with 1 / sigma it is outside the ball."""
    problem, (_, alpha, beta, v, sigma) = paper_problem(kernel), run(kernel)
    n = len(alpha)
    K, D, _, _ = problem.matrices
    values = (K @ alpha + np.einsum("iaj,ai->j", D, beta)) / n
    # gradient of loss and norm, as coefficients of k and of its derivatives in (7)
    gradient_alpha = 2 * (values - problem.y) + 2 * problem.ridge * alpha
    gradient_beta = 2 * problem.ridge * beta
    np.testing.assert_allclose(K @ gradient_alpha, 0.0, atol=2e-3)
    np.testing.assert_allclose(v, -gradient_beta / (2 * sigma), atol=1e-3 * np.abs(v).max())
    radius = problem.alpha / 2 / sigma
    printed = np.sqrt(np.mean((gradient_beta / sigma) ** 2, axis=1))
    assert printed.max() > 1.9 * radius


def test_tau_and_nu_of_the_paper():
    """(6) is ours with alpha = 2 tau and ridge = tau nu."""
    problem = paper_problem("gaussian")
    tau, nu = 0.25, 0.4
    assert (2 * tau, tau * nu) == (problem.alpha, problem.ridge)
    best = paper_optimum("gaussian")
    loss = np.mean((problem.y - best.values) ** 2)
    omega = np.sqrt(np.mean(best.gradients**2, axis=0)).sum()
    paper = loss + tau * (2 * omega + nu * best.squared_norm)
    assert paper == pytest.approx(best.objective)
    ours = Denovas(tol=1e-7).solve(library_problem(problem))
    assert ours.primal == pytest.approx(paper, rel=1e-5)


# -------------------------------------------------------------------------- by name


def test_a_name_means_the_solver_with_these_settings():
    for name, expected in SOLVERS.items():
        solver = as_solver(name, 1e-3, 17)
        assert type(solver) is expected
        assert (solver.tol, solver.max_iter) == (1e-3, 17)
        assert as_solver(name, 1e-3, None).max_iter == expected().max_iter


def test_an_object_keeps_its_own_settings():
    solver = Denovas(tol=0.5, max_iter=3)
    assert as_solver(solver, 1e-9, 99) is solver
    assert (solver.tol, solver.max_iter) == (0.5, 3)
    assert clone(solver).get_params() == solver.get_params()


@pytest.mark.parametrize("solver", ["fista", "", None, 3, Denovas])
def test_anything_else_is_refused(solver):
    with pytest.raises(InvalidParameterError, match=r"solver must be one of dual, denovas, admm"):
        as_solver(solver, 1e-6, None)


@pytest.mark.parametrize(
    ("goal", "power"), [("prediction", 1), ("function", 2), ("safe filter", 2)]
)
def test_tau_decays_as_the_theorems_ask_for(goal, power):
    sizes = 10.0 ** np.arange(1, 13, 2)
    taus = np.array([consistent_tau(int(n), goal, scale=3.0) for n in sizes])
    assert np.all(np.diff(taus) < 0)
    assert np.all(np.diff(np.sqrt(sizes) * taus**power) > 0)
    limit = 0.5 / power
    near = np.array([consistent_tau(int(n), goal, exponent=0.99 * limit) for n in sizes])
    assert np.all(np.diff(np.sqrt(sizes) * near**power) > 0)
    for exponent in (0.0, limit, -0.1):
        with pytest.raises(InvalidParameterError, match="exponent must lie between 0 and"):
            consistent_tau(10, goal, exponent=exponent)
    with pytest.raises(InvalidParameterError, match="goal must be one of 'prediction'"):
        consistent_tau(10, "all")
