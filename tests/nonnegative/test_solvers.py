"""The solvers: linear systems and steps, certificates, interruption, one objective by all."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from experiments.drawn import make_bow_tie
from nablasso import (
    HeteroscedasticRegressor,
    MultiQuantileRegressor,
    PSDDensity,
    PSDDensityCV,
    PSDRegressor,
)
from nablasso.datasets import make_two_modes, make_wavy_noise
from nablasso.errors import InvalidParameterError
from nablasso.nonnegative import Task, solvers
from nablasso.nonnegative.dual import SlopePoint
from nablasso.nonnegative.fitting import PSDFitter
from nablasso.nonnegative.losses import PinballLoss
from nablasso.solvers import Status
from tests.nonnegative.test_dual import fit
from tests.nonnegative.test_oracle import CONSTANT
from tests.nonnegative.test_oracle import make_task as oracle_task

LEVELS = np.array([0.1, 0.5, 0.8])
MIXING = np.array([[1.0, -1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])


def make_quantiles(n=30, weight=1e-2, linear=1e-3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * (1 + np.abs(X[:, 1])) * rng.normal(size=n)
    weights = rng.uniform(0.5, 1.5, size=n)
    signs = (False, True, True)
    return Task(
        X=X,
        weights=weights / weights.sum(),
        loss=PinballLoss(y, LEVELS),
        mixing=MIXING,
        offset=np.zeros(3),
        nonnegative=signs,
        l1=np.where(signs, 0.1 * weight, 0.0),
        l2=np.where(signs, weight, linear),
        scales=np.ones(2),
        null=np.quantile(y, LEVELS),
        constant=1.0,
    )


def system(task, seed=1):
    """A problem at an interior point, and a positive diagonal."""
    rng = np.random.default_rng(seed)
    problem = PSDFitter(task).problem(task.l1, task.l2)
    u = rng.uniform(0.05, 0.95, size=(len(task.X), 3))
    here = problem.evaluate(SlopePoint(u, np.zeros(0)))
    return problem, here, rng.uniform(0.1, 10, size=u.shape)


def test_the_system_is_the_derivative_of_the_residuals():
    problem, here, D = system(make_quantiles())
    rng = np.random.default_rng(2)
    x, h = rng.normal(size=D.shape), 1e-6
    w = problem.weights[:, None] / 3
    ahead, behind = (
        problem.evaluate(SlopePoint(here.point.t + s * h * x, here.point.c)).Z for s in (1, -1)
    )
    product = w * (D * x - (ahead - behind) / (2 * h))
    np.testing.assert_allclose(
        solvers.normal_solver(problem, here, D)(product), x, rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("linear", [1e-2, 1e-5])
def test_iterated_steps_are_the_factorised_ones(linear, monkeypatch):
    problem, here, D = system(make_quantiles(linear=linear))
    g = np.random.default_rng(3).normal(size=D.shape) / len(D)
    direct = solvers.normal_solver(problem, here, D)(g)
    for name, value in (("DENSE", 0), ("FINE", 1e-10), ("PRODUCTS", 1000)):
        monkeypatch.setattr(solvers, name, value)
    iterated = solvers.normal_solver(problem, here, D)
    np.testing.assert_allclose(iterated(g), direct, rtol=1e-5)


@pytest.mark.parametrize("weight", [1.0, 1e-3, 1e-6])
def test_few_steps_at_any_weight(weight):
    task = make_quantiles(n=60, weight=weight, linear=0.01 * weight)
    fitted = fit(task, tol=1e-6, max_iter=60)
    assert fitted.status is Status.CONVERGED
    assert 0 <= fitted.gap <= 1e-6


def test_both_ways_reach_the_same_optimum(monkeypatch):
    task = make_quantiles()
    problem = PSDFitter(task).problem(task.l1, task.l2)
    start = SlopePoint(task.loss.start(np.zeros((30, 3))), np.zeros(0))
    direct = solvers.solve(solvers.interior, problem, start, tol=1e-6, max_iter=99)
    monkeypatch.setattr(solvers, "DENSE", 0)
    iterated = solvers.solve(solvers.interior, problem, start, tol=1e-6, max_iter=99)
    assert direct.status is Status.CONVERGED
    assert iterated.status is Status.CONVERGED
    assert iterated.primal == pytest.approx(direct.primal, abs=2e-6)


def test_turned_round():
    """Quantiles of -y at 1 - tau are those of y with the signs changed."""
    task = make_quantiles()
    there = fit(task, tol=1e-8)
    turned = Task(
        **{
            **vars(task),
            "loss": PinballLoss(-task.loss.y, 1 - LEVELS[::-1]),
            "mixing": MIXING[::-1, [0, 2, 1]] * [1, -1, -1],
        }
    )
    back = fit(turned, tol=1e-8)
    assert back.primal == pytest.approx(there.primal, abs=2e-8)


def test_a_free_function_alone_needs_one_product(monkeypatch):
    task = make_quantiles()
    alone = Task(
        **{
            **vars(task),
            "loss": PinballLoss(task.loss.y, LEVELS[1:2]),
            "mixing": np.ones((1, 1)),
            "offset": np.zeros(1),
            "nonnegative": (False,),
            "l1": np.zeros(1),
            "l2": np.array([1e-4]),
            "null": np.zeros(1),
        }
    )
    problem = PSDFitter(alone).problem(alone.l1, alone.l2)
    here = problem.evaluate(SlopePoint(np.full((30, 1), 0.4), np.zeros(0)))
    rng = np.random.default_rng(4)
    D, g = rng.uniform(0.1, 10, size=(30, 1)), rng.normal(size=(30, 1))
    direct = solvers.normal_solver(problem, here, D)(g)
    monkeypatch.setattr(solvers, "DENSE", 0)
    monkeypatch.setattr(solvers, "PRODUCTS", 1)
    once = solvers.normal_solver(problem, here, D)
    np.testing.assert_allclose(once(g), direct, rtol=1e-6)


STEPS = {"density": "_newton_step", "squared": "_forward_backward", "quantiles": "_room"}


@pytest.mark.parametrize("name", STEPS)
def test_an_interrupt_keeps_the_best_so_far(name, monkeypatch):
    task = oracle_task(name, 0, 0.0 if name == "density" else CONSTANT)
    calls, step = [], getattr(solvers, STEPS[name])

    def interrupted(*given):
        calls.append(1)
        if len(calls) > 9:
            raise KeyboardInterrupt
        return step(*given)

    monkeypatch.setattr(solvers, STEPS[name], interrupted)
    found = fit(task, tol=1e-14, solver="fista" if name == "squared" else "auto")
    assert found.status is Status.INTERRUPTED
    assert np.isfinite(found.gap)


def test_many_rows_begin_with_quasi_newton_steps(monkeypatch):
    task = oracle_task("density", 0, 0.0)
    fitter = PSDFitter(task)
    problem, start = fitter.problem(task.l1, task.l2), fitter.start(task.l1, task.l2)[0]
    start = solvers.solve(solvers.newton, problem, start, tol=0.1, max_iter=999).point
    alone = solvers.solve(solvers.newton, problem, start, tol=1e-8, max_iter=999)
    monkeypatch.setattr(solvers, "MANY", 0)
    found = solvers.solve(solvers.newton, problem, start, tol=1e-8, max_iter=999)
    assert found.status is Status.CONVERGED
    assert found.n_iter > alone.n_iter
    assert found.primal == pytest.approx(alone.primal, abs=2e-8)
    climb = solvers.Climb(problem, start, tol=1e-6, max_iter=999)
    solvers._quasi_newton(climb, solvers.Coordinates(problem, start), start)
    assert climb.gap <= 1e-6


CLOSE = 1e-4  # what the papers' algorithms are held to


def problem_of(name, constant=CONSTANT):
    task = oracle_task(name, 0, constant)
    return PSDFitter(task).problem(task.l1, task.l2)


@pytest.mark.parametrize("name", ["squared", "heteroscedastic", "quantiles"])
def test_the_step_is_the_largest_curvature_of_the_dual(name):
    problem = problem_of(name)
    n, (p, m), root = len(problem.weights), problem.mixing.shape, np.sqrt(problem.weights)
    H = np.zeros((n * p, n * p))
    for b in range(m):
        block = problem.blocks[b]
        K = block.Phi @ block.Phi.T
        Q = (K**2 if type(block).__name__ == "PSDBlock" else K) * np.outer(root, root) / block.l2
        M = problem.mixing[:, b]
        H += np.kron(Q, np.outer(M, M))
    assert solvers.slope_curvature(problem) == pytest.approx(np.linalg.norm(H, 2), rel=1e-3)


def test_multipliers_bend_as_much_as_slopes():
    problem = problem_of("density", 0.0)
    step, unit = solvers.step_size(problem)
    block, p, u = problem.blocks[0], problem.weights, unit
    # the map from slopes and multiplier to the matrix, in the units of the inner product
    columns = [np.sqrt(w) * np.outer(phi, phi).ravel() for w, phi in zip(p, block.Phi, strict=True)]
    T = np.array([*columns, u * block.mass.ravel()])
    assert 1 / step >= np.linalg.norm(T @ T.T, 2) / block.l2


def test_a_weight_of_two_is_two_rows():
    task = oracle_task("squared", 0, CONSTANT)
    doubled = np.where(np.arange(len(task.X)) < 4, 2.0, 1.0)
    copies = np.repeat(np.arange(len(task.X)), doubled.astype(int))
    weighted = replace(task, weights=doubled / doubled.sum())
    repeated = replace(
        task,
        X=task.X[copies],
        weights=np.full(len(copies), 1 / len(copies)),
        loss=replace(task.loss, y=task.loss.y[copies]),
    )
    first, second = (fit(t, tol=1e-12, max_iter=30, solver="fista") for t in (weighted, repeated))
    assert first.primal == pytest.approx(second.primal, rel=1e-9)


def test_fista_stops_at_its_limit_with_a_true_bound():
    task = oracle_task("density", 0, 0.0)
    best = fit(task, tol=1e-8).primal
    found = fit(task, tol=1e-8, max_iter=40, solver="fista")
    assert found.status is Status.MAX_ITER
    assert found.n_iter == 40
    assert 0 <= found.primal - best <= found.gap


ESTIMATORS = {
    "density": (PSDDensity(base_measure=(0.0, 25.0), length_scale=1.0, width=1.0, weight=0.01), 1),
    "mean": (PSDRegressor(weight=1e-2), 2),
    "noise": (HeteroscedasticRegressor(weight=1e-2), 3),
    "quantiles": (MultiQuantileRegressor((0.25, 0.5, 0.75), width=0.35, weight=1e-2), 4),
}


def rows_for(name, seed, n):
    if name == "density":
        return make_two_modes(n, random_state=seed).X, None
    data = (make_bow_tie if name == "quantiles" else make_wavy_noise)(n, random_state=seed)
    return data.X, np.maximum(data.y, 0) if name == "mean" else data.y


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fista_has_the_default_objective(name):
    template, seed = ESTIMATORS[name]
    X, y = rows_for(name, seed, 40)
    default = clone(template).fit(X, y)
    model = clone(template).set_params(solver="fista", tol=CLOSE / 2).fit(X, y)
    assert model.solver_status_ == "converged"
    assert model.objective_ == pytest.approx(default.objective_, abs=CLOSE)
    assert model.dual_gap_ <= CLOSE / 2


def test_folds_use_the_solver_too():
    X = make_two_modes(40, random_state=0).X
    settings = {"widths": [1.0], "weights": [1.0, 0.1], "base_measure": (0.0, 25.0), "cv": 2}
    first, second = (
        PSDDensityCV(length_scale=1.0, tol=CLOSE / 2, solver=solver, **settings).fit(X)
        for solver in ("auto", "fista")
    )
    scores = [model.cv_results_["mean_test_score"] for model in (first, second)]
    np.testing.assert_allclose(*scores, atol=0.02)


def test_a_capped_fit_warns():
    X = make_two_modes(30, random_state=0).X
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        PSDDensity(solver="fista", max_iter=10).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PSDDensity(solver="fista", tol=1e-3).fit(X)


def test_a_solver_that_there_is_not_is_refused():
    with pytest.raises(InvalidParameterError, match="solver must be one of auto, fista"):
        PSDDensity(solver="projected_gradient").fit(make_two_modes(20, random_state=0).X)
