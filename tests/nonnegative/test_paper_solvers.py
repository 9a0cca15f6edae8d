"""The paper's own algorithms: steps, projections, certificates, and the default's objective."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nablasso import (
    HeteroscedasticRegressor,
    MultiQuantileRegressor,
    PSDDensity,
    PSDDensityCV,
    PSDRegressor,
)
from nablasso.datasets import make_bow_tie, make_two_modes, make_wavy_noise
from nablasso.errors import InvalidParameterError
from nablasso.nonnegative import PSDFitter, fista, fit
from nablasso.nonnegative.baselines.projected import _projected
from nablasso.solvers import Status
from tests.nonnegative.test_oracle import CONSTANT, make_task

CLOSE = 1e-4  # what the papers' algorithms are held to


def problem_of(name, constant=CONSTANT):
    task = make_task(name, 0, constant)
    return PSDFitter(task)._problem(task.l1, task.l2)


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
    assert fista.slope_curvature(problem) == pytest.approx(np.linalg.norm(H, 2), rel=1e-3)


def test_multipliers_bend_as_much_as_slopes():
    problem = problem_of("density", 0.0)
    step, ((unit,),) = fista.step_size(problem)
    block, p, u = problem.blocks[0], problem.weights, unit
    # the map from slopes and multiplier to the matrix, in the units of the inner product
    columns = [np.sqrt(w) * np.outer(phi, phi).ravel() for w, phi in zip(p, block.Phi, strict=True)]
    T = np.array([*columns, u * block.functionals[0].ravel()])
    assert 1 / step >= np.linalg.norm(T @ T.T, 2) / block.l2


def test_a_weight_of_two_is_two_rows():
    task = make_task("squared", 0, CONSTANT)
    doubled = np.where(np.arange(len(task.X)) < 4, 2.0, 1.0)
    copies = np.repeat(np.arange(len(task.X)), doubled.astype(int))
    weighted = replace(task, weights=doubled / doubled.sum())
    repeated = replace(
        task,
        X=task.X[copies],
        weights=np.full(len(copies), 1 / len(copies)),
        loss=task.loss.rows(copies),
    )
    first, second = (fit(t, tol=1e-12, max_iter=30, solver="fista") for t in (weighted, repeated))
    assert first.primal == pytest.approx(second.primal, rel=1e-9)


def test_fista_stops_at_its_limit_with_a_true_bound():
    task = make_task("density", 0, 0.0)
    best = fit(task, tol=1e-8).primal
    found = fit(task, tol=1e-8, max_iter=40, solver="fista")
    assert found.status is Status.MAX_ITER
    assert found.n_iter == 40
    assert 0 <= found.primal - best <= found.gap


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    task, calls = make_task("squared", 0, CONSTANT), []
    step = fista._forward_backward

    def interrupted(*given):
        calls.append(1)
        if len(calls) > 25:
            raise KeyboardInterrupt
        return step(*given)

    monkeypatch.setattr(fista, "_forward_backward", interrupted)
    found = fit(task, tol=1e-12, solver="fista")
    assert found.status is Status.INTERRUPTED
    assert np.isfinite(found.primal)


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


@pytest.mark.parametrize("name", ["density", "mean"])
def test_projected_gradient_has_the_default_objective(name):
    template, seed = ESTIMATORS[name]
    X, y = rows_for(name, seed, 30)
    default = clone(template).set_params(model="ncm", tol=1e-6).fit(X, y)
    model = clone(default).set_params(solver="projected_gradient", tol=CLOSE / 2).fit(X, y)
    assert model.solver_status_ == "converged"
    assert model.objective_ == pytest.approx(default.objective_, abs=CLOSE)


def test_the_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    v, c = rng.normal(size=6), rng.uniform(0.5, 2.0, size=6)
    np.testing.assert_array_equal(_projected(v, None), np.maximum(v, 0))
    found = minimize(
        lambda x: np.sum((x - v) ** 2),
        np.full(6, 1 / c.sum()),
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda x: c @ x - 1},
        tol=1e-12,
    )
    np.testing.assert_allclose(_projected(v, c), found.x, atol=1e-5)


def test_folds_use_the_solver_too():
    X = make_two_modes(40, random_state=0).X
    settings = {"widths": [1.0], "weights": [1.0, 0.1], "base_measure": (0.0, 25.0), "cv": 2}
    first, second = (
        PSDDensityCV(length_scale=1.0, tol=CLOSE / 2, solver=solver, **settings).fit(X)
        for solver in ("auto", "fista")
    )
    scores = [model.cv_results_["mean_test_score"] for model in (first, second)]
    np.testing.assert_allclose(*scores, atol=0.02)


@pytest.mark.parametrize(
    ("model", "solver"), [("psd", "projected_gradient"), ("ncm", "fista"), ("glm", "fista")]
)
def test_a_solver_that_the_model_does_not_have_is_refused(model, solver):
    with pytest.raises(InvalidParameterError, match="solver must be 'auto'"):
        PSDDensity(model=model, solver=solver).fit(make_two_modes(20, random_state=0).X)


def test_projected_gradient_needs_one_smooth_function():
    data = make_wavy_noise(20, random_state=0)
    with pytest.raises(InvalidParameterError, match="for one function"):
        HeteroscedasticRegressor(model="ncm", solver="projected_gradient").fit(data.X, data.y)


def test_a_capped_fit_warns():
    X = make_two_modes(30, random_state=0).X
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        PSDDensity(solver="fista", max_iter=10).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PSDDensity(solver="fista", tol=1e-3).fit(X)
