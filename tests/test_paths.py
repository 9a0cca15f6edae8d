"""Families of problems, warm paths, and which variables are in."""

import os
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from nablasso import spaces
from nablasso.data.table import prepare
from nablasso.errors import DataTooLargeError, InvalidParameterError
from nablasso.kernels import Gaussian, Linear, Polynomial
from nablasso.paths import (
    RIDGE_FLOOR,
    Formulation,
    ProblemFamily,
    alpha_grid,
)
from nablasso.penalties import Partition, Penalty
from nablasso.solvers import DualSolver, Solution, Status, support_of, walk_path
from nablasso.spaces import require_memory

PENALTIES = {
    "lasso": lambda d: Penalty(Partition(np.arange(d)), np.ones(d)),
    "group lasso": lambda d: Penalty(Partition(np.arange(d) // 2), np.full((d + 1) // 2, 2.0)),
    "elastic net": lambda d: Penalty(Partition(np.arange(d)), np.ones(d), 0.5),
    "always kept": lambda d: Penalty(Partition(np.arange(d)), np.ones(d) * (np.arange(d) > 0)),
}
each_penalty = pytest.mark.parametrize("penalty", PENALTIES)


def table(n=20, d=4, seed=0, X=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if X is None else X
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=len(X))
    return prepare(X, y, np.ones(len(X)), standardize=True, centre_y=True)


def make_family(penalty="lasso", kernel=None, data=None, length_scale="median", multiplier=1.0):
    data = table() if data is None else data
    formulation = Formulation(
        Gaussian() if kernel is None else kernel,
        length_scale,
        lambda columns: PENALTIES[penalty](len(columns)),
        True,
    )
    return ProblemFamily(data, formulation, multiplier)


@cache
def shared(penalty="lasso"):
    return make_family(penalty)


# -------------------------------------------------------------------------- paths


@each_penalty
def test_a_path_equals_cold_solves(penalty):
    solver = DualSolver(tol=1e-7)
    problem = shared(penalty).problem(0.05)
    alphas = problem.alpha_max()[0] * np.array([0.02, 0.2, 0.7, 1.1])
    steps = list(walk_path(problem, alphas, solver))
    assert [step.alpha for step, _ in steps] == alphas.tolist()
    for alpha, (at_alpha, warm) in zip(alphas, steps, strict=True):
        cold = solver.solve(replace(problem, alpha=float(alpha)))
        assert warm.primal == pytest.approx(cold.primal, rel=1e-5)
        assert warm.gap <= 1e-7 * problem.reference
        assert at_alpha.primal(warm.coef) == pytest.approx(warm.primal, rel=1e-8)


def test_a_path_is_lazy_and_takes_any_order():
    problem = shared().problem(0.05)
    top = problem.alpha_max()[0]
    seen = walk_path(problem, top * np.array([0.5, 0.1]), DualSolver(tol=1e-6))
    next(seen)
    at_alpha, solution = next(seen)
    cold = DualSolver(tol=1e-6).solve(replace(problem, alpha=0.1 * top))
    assert at_alpha.alpha == 0.1 * top
    assert solution.primal == pytest.approx(cold.primal, rel=1e-5)


def test_warm_starts_save_work():
    problem = make_family(kernel=Polynomial()).problem(0.05)
    solver = DualSolver(tol=1e-7)
    solver.max_factored = 0  # products alone, no help by a factor
    alphas = problem.alpha_max()[0] * np.linspace(0.3, 0.5, 5)
    warm = sum(solution.n_iter for _, solution in walk_path(problem, alphas, solver))
    cold = sum(solver.solve(replace(problem, alpha=float(a))).n_iter for a in alphas)
    assert warm < cold


def test_alpha_zero_may_start_a_path():
    problem = shared().problem(0.05)
    alphas = np.array([0.0, 0.1])
    solutions = [s for _, s in walk_path(problem, alphas, DualSolver(tol=1e-7))]
    cold = DualSolver(tol=1e-7).solve(replace(problem, alpha=0.1))
    assert solutions[1].primal == pytest.approx(cold.primal, rel=1e-5)


def test_alpha_grid():
    grid = alpha_grid(3.0, 4, 1e-3)
    np.testing.assert_allclose(grid, [3.0, 0.3, 0.03, 0.003])
    np.testing.assert_allclose(alpha_grid(3.0, 1, 1e-3), [3.0])


# -------------------------------------------------------------------------- supports


def support_at(penalty, fraction, tol=1e-7):
    problem = shared(penalty).problem(0.05)
    problem = replace(problem, alpha=fraction * problem.alpha_max()[0])
    solution = DualSolver(tol=tol).solve(problem)
    return problem, solution, support_of(problem, solution)


@each_penalty
def test_at_a_tiny_alpha_everything_is_in(penalty):
    assert support_at(penalty, 1e-4)[2].all()


@each_penalty
@pytest.mark.parametrize("fraction", [1.02, 1.5, 10.0])
def test_above_alpha_max_nothing_is_in(penalty, fraction):
    problem, _, support = support_at(penalty, fraction)
    free = problem.penalty.partition.spread(problem.penalty.weights == 0)
    np.testing.assert_array_equal(support, free)


@each_penalty
def test_below_alpha_max_something_is_in(penalty):
    problem, _, support = support_at(penalty, 0.95)
    free = problem.penalty.partition.spread(problem.penalty.weights == 0)
    assert support.sum() > free.sum()


@each_penalty
def test_support_is_what_has_derivatives(penalty):
    for fraction in (0.3, 0.8):
        _, solution, support = support_at(penalty, fraction, tol=1e-8)
        norms = np.linalg.norm(solution.point.g, axis=0)
        assert norms[support].min(initial=1.0) > 1e-6
        assert norms[~support].max(initial=0.0) < 1e-3 * norms.max()


def test_groups_are_whole():
    sizes = set()
    for fraction in (0.1, 0.5, 0.8, 0.95):
        support = support_at("group lasso", fraction)[2]
        assert support[0] == support[1]
        assert support[2] == support[3]
        sizes.add(int(support.sum()))
    assert sizes == {2, 4}


def test_a_loose_tolerance_loses_no_variable_that_the_gap_proves():
    problem, exact, _ = support_at("lasso", 0.3, tol=1e-9)
    for tol in (1e-1, 1e-2, 1e-3):
        solution = DualSolver(tol=tol).solve(problem)
        proven = problem.derivative_bounds(solution.point)[0] > 0
        assert np.all(support_of(problem, solution)[proven])
        assert np.all(np.linalg.norm(exact.point.g, axis=0)[proven] > 0)


def test_a_variable_that_the_gap_proves_is_in_before_it_reaches_the_sphere():
    problem, exact, _ = support_at("lasso", 0.3, tol=1e-9)
    point = problem.dual_point(exact.point.s * (1 - 1e-5))
    primal, dual = problem.primal_dual(point)
    inside = Solution(primal, dual, 0, Status.MAX_ITER, problem.unpack(point), point)
    proven = problem.derivative_bounds(point)[0] > 0
    assert proven.any()
    assert np.all(np.linalg.norm(point.s, axis=0) < problem.alpha * (1 - 1e-6))
    np.testing.assert_array_equal(support_of(problem, inside), proven)


def test_an_unpenalised_variable_is_in_even_where_f_is_flat():
    problem = replace(shared("always kept").problem(0.05), alpha=1.0, y=np.zeros(20))
    support = support_of(problem, DualSolver().solve(problem))
    np.testing.assert_array_equal(
        support, problem.penalty.partition.spread(problem.penalty.weights == 0)
    )
    assert support.sum() == 1


# -------------------------------------------------------------------------- families


def test_alpha_scale_is_alpha_max_where_the_data_are_good():
    problem = make_family(data=table(15, 6)).problem(0.1)
    assert problem.alpha_max()[1] == pytest.approx(problem.alpha_max()[0], rel=1e-3)


def test_alpha_scale_is_far_below_alpha_max_on_clustered_data():
    """Near-copies of rows let f be flat at all of them only at a huge price."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(6, 2))
    X = np.repeat(centres, 8, axis=0) + 1e-2 * rng.normal(size=(48, 2))
    problem = make_family(data=table(X=X)).problem(1e-3)
    scale, top = problem.alpha_max()[1], problem.alpha_max()[0]
    assert scale < top / 3
    at_scale = replace(problem, alpha=scale)
    solution = DualSolver(tol=1e-6).solve(at_scale)
    start = problem.dual_point(np.zeros_like(solution.point.s)).g
    assert np.linalg.norm(solution.point.g) < 0.05 * np.linalg.norm(start)


def test_steepness_of_a_healthy_fit_is_about_one():
    family = shared()
    problem = family.problem(0.05)
    solution = DualSolver().solve(replace(problem, alpha=0.1 * problem.alpha_max()[0]))
    assert 0.5 < family.steepness(solution) < 2
    Z = family.table.X
    assert family.steepness(solution, Z) == pytest.approx(1.0)


def test_steepness_of_a_degenerate_fit_is_large():
    family = make_family(length_scale=0.3)
    problem = replace(family.problem(1e-4), alpha=1.0)
    solution = DualSolver(tol=1e-4, max_iter=500).solve(problem)
    assert family.steepness(solution) > 10
    new = np.random.default_rng(4).normal(size=(50, 4)) * 0.3 + family.table.X[0]
    assert family.steepness(solution, new) > 10


def test_steepness_of_the_zero_function_is_one():
    family = shared()
    problem = replace(family.problem(0.05), alpha=1.0, y=np.zeros(20))
    assert family.steepness(DualSolver().solve(problem)) == 1.0


def test_width_and_multiplier():
    data = table()
    i, j = np.triu_indices(len(data.y), k=1)
    median = np.median(np.linalg.norm(data.X[i] - data.X[j], axis=1))
    assert make_family().width == pytest.approx(median)
    assert make_family(multiplier=3.0).width == pytest.approx(3 * median)
    assert make_family(length_scale=0.7, multiplier=2.0).width == pytest.approx(1.4)


def test_the_refit_sees_the_selected_columns_only():
    family = make_family(kernel=Gaussian())
    support = np.array([True, False, True, False])
    refit = family.refit(support)
    Z = np.random.default_rng(5).normal(size=(6, 4))
    moved = Z.copy()
    out = np.setdiff1d(np.arange(4), family.table.columns[support])
    moved[:, out] += 5.0
    np.testing.assert_array_equal(refit.function.values(Z), refit.function.values(moved))
    moved[:, family.table.columns[support]] += 5.0
    assert np.abs(refit.function.values(Z) - refit.function.values(moved)).max() > 1e-3
    nothing = family.refit(np.zeros(4, dtype=bool))
    np.testing.assert_allclose(nothing.function.values(Z), 0.0, atol=1e-12)


def test_best_ridge_has_a_floor_and_the_refit_has_none():
    data = replace(table(), y=table().X[:, 0])  # no noise: leave-one-out wants no ridge
    family = make_family(kernel=Linear(), data=data)
    assert 1 <= family.best_ridge() / (RIDGE_FLOOR * family.trace) < 2
    assert family.refit(np.ones(4, dtype=bool)).ridge < 0.1 * family.best_ridge()


@pytest.mark.parametrize("ridge", [-1.0, 1e-30, np.nan])
def test_ridges_that_are_refused(ridge):
    family = shared()
    smallest = family.regression.smallest * family.trace
    message = rf"smallest usable value here is {smallest:.1e}, and ridge=None"
    with pytest.raises(InvalidParameterError, match=message):
        family.problem(ridge)


# -------------------------------------------------------------------------- memory


def test_too_little_memory_says_how_much_and_what_to_do(monkeypatch):
    monkeypatch.setattr(spaces, "available_bytes", lambda: 2**30)
    with pytest.raises(DataTooLargeError) as caught:
        require_memory(20_000, 10)
    text = str(caught.value)
    needed = 8 * (9 * 20_000**2 + 8 * 20_000 * 10) / 2**30
    assert f"{needed:.1f} GiB for 20000 rows" in text
    assert "1.0 GiB are available" in text
    rows = int(text.split("at most ")[1].split(" ")[0])
    require_memory(rows, 10)  # what it advises works
    assert rows > 2000
    assert "sklearn.utils.resample" in text
    assert isinstance(caught.value, MemoryError)


def test_families_ask_before_they_take(monkeypatch):
    monkeypatch.setattr(spaces, "available_bytes", lambda: 1000)
    with pytest.raises(DataTooLargeError):
        make_family()


def test_where_the_system_does_not_tell_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(spaces, "available_bytes", lambda: None)
    require_memory(10**7, 10)


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="the system does not tell")
def test_available_memory_is_a_number_of_bytes():
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 2**20 < spaces.available_bytes() <= total


def test_the_module_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = shared("elastic net").problem(0.05)
        list(walk_path(problem, np.array([0.1, 0.2]), DualSolver()))
