"""Kernel machines, weighted ridge regression and penalty points, by brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize

from nablasso.data.table import prepare
from nablasso.kernels import Gaussian
from nablasso.losses import Huber, Logistic, Poisson, Squared, SquaredEpsilonInsensitive
from nablasso.spaces import (
    RidgeInverse,
    WeightedRidge,
    best_machine,
    kernel_machine,
    kernel_ridge,
    kernel_trace,
    machine_refit,
    penalty_points,
    quadratic_model,
)
from nablasso.spaces.kernel_machine import left_out_predictions
from tests.dense_reference import target

LOSSES = {
    "squared": Squared(),
    "logistic": Logistic(),
    "huber": Huber(0.3),
    "epsilon": SquaredEpsilonInsensitive(0.3),
    "poisson": Poisson(),
}
each_loss = pytest.mark.parametrize("name", LOSSES)
with_and_without = pytest.mark.parametrize("fit_intercept", [True, False])


def drawn(name, n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    weights = rng.uniform(0.5, 1.5, size=n)
    y = target(name, np.sin(2 * X[:, 0]), rng)
    return X, Gaussian(1.0)(X, X), y, weights / weights.sum()


@with_and_without
def test_weighted_ridge_is_the_operator_of_the_eigendecomposition(fit_intercept):
    _, K, y, weights = drawn("squared")
    P = RidgeInverse(K, weights, fit_intercept=fit_intercept).matrix(0.01)
    ours = WeightedRidge(K, weights, 0.01, fit_intercept=fit_intercept)
    np.testing.assert_allclose(ours.matrix(), P, atol=1e-9)
    np.testing.assert_allclose(ours.solve(y), P @ y, atol=1e-9)
    np.testing.assert_allclose(ours.diagonal(), np.diagonal(P), atol=1e-9)
    trace = RidgeInverse(K, weights, fit_intercept=fit_intercept).trace
    assert kernel_trace(K, weights, fit_intercept=fit_intercept) == pytest.approx(trace)


@each_loss
def test_the_model_has_the_value_slope_and_bend_of_the_loss(name):
    _, _, y, weights = drawn(name)
    loss, z = LOSSES[name], np.random.default_rng(1).normal(size=25)
    q, t = quadratic_model(loss, y, weights, z)
    np.testing.assert_allclose(2 * q * (z - t), weights * loss.gradient(y, z), atol=1e-12)
    bend = loss.curvature(y, z)
    np.testing.assert_allclose(2 * q, weights * np.maximum(bend, 1e-6 * bend.max()), rtol=1e-9)


@each_loss
@with_and_without
@pytest.mark.parametrize("ridge", [1e-1, 1e-3])
def test_a_machine_is_the_minimiser(name, fit_intercept, ridge):
    _, K, y, weights = drawn(name)
    loss, offset = LOSSES[name], 0.3 * np.random.default_rng(2).normal(size=25)
    machine = kernel_machine(loss, K, y, weights, ridge, fit_intercept=fit_intercept, offset=offset)
    np.testing.assert_allclose(machine.predictions, offset + K @ machine.u + machine.intercept)

    def objective(x):
        u, b = x[:-1], x[-1] * fit_intercept
        return weights @ loss.value(y, offset + K @ u + b) + ridge * u @ K @ u

    here = np.append(machine.u, machine.intercept)
    found = minimize(objective, here + 0.01, method="L-BFGS-B", options={"maxiter": 300})
    assert objective(here) <= found.fun + 1e-10
    slopes = -2 * ridge * machine.u / weights
    dual = (
        -weights @ (loss.conjugate(y, slopes) - slopes * offset) - ridge * machine.u @ K @ machine.u
    )
    assert objective(here) - dual == pytest.approx(0, abs=1e-9)
    assert not fit_intercept or abs(machine.u.sum()) < 1e-9


@each_loss
def test_left_out_predictions_are_close_to_those_of_refits(name):
    _, K, y, weights = drawn(name, 40)
    loss, ridge = LOSSES[name], 0.03
    z = kernel_machine(loss, K, y, weights, ridge, fit_intercept=True).predictions
    ours = left_out_predictions(loss, K, y, weights, ridge, z, fit_intercept=True)
    for i in range(0, 40, 7):
        rest = np.arange(40) != i
        p = weights[rest] / weights[rest].sum()
        fitted = kernel_machine(
            loss, K[np.ix_(rest, rest)], y[rest], p, ridge / weights[rest].sum(), fit_intercept=True
        )
        truth = K[i, rest] @ fitted.u + fitted.intercept
        tolerance = 1e-8 if name == "squared" else 0.2 * abs(truth - z[i]) + 1e-3
        assert ours[i] == pytest.approx(truth, abs=tolerance)


@each_loss
def test_the_best_machine_has_the_smallest_left_out_loss(name):
    _, K, y, weights = drawn(name)
    ridges = np.array([1e-3, 1e-2, 1e-1, 1.0])
    best = best_machine(LOSSES[name], K, y, weights, ridges, fit_intercept=True)
    score = weights @ LOSSES[name].value(y, best.left_out)
    for ridge in ridges[ridges >= best.ridge]:
        z = kernel_machine(LOSSES[name], K, y, weights, ridge, fit_intercept=True).predictions
        left_out = left_out_predictions(LOSSES[name], K, y, weights, ridge, z, fit_intercept=True)
        # Newton's last digits decide on which piece of a loss a row lies: hence the one per cent
        assert score <= 1.01 * weights @ LOSSES[name].value(y, left_out)


@with_and_without
def test_without_columns_a_refit_is_the_null_model(fit_intercept):
    X, _, y, weights = drawn("squared")
    data = (Gaussian(), X[:, :0], y, weights, np.arange(0))
    settings = {"scales": np.ones(0), "fit_intercept": fit_intercept}
    ours, ridge = machine_refit(Squared(), *data, **settings), kernel_ridge(*data, **settings)
    assert ours.function.intercept == pytest.approx(ridge.function.intercept)
    np.testing.assert_allclose(ours.loo_residuals, ridge.loo_residuals)


def test_penalty_points_have_the_weights_they_should():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(8, 2)), np.repeat(rng.normal(size=(3, 2)), 2, axis=0)
    raw = rng.uniform(0.5, 2.0, size=8)
    table = prepare(X, X[:, 0], raw, standardize=True, centre_y=True)
    assert penalty_points(table, raw.sum(), None, 0, None) is None
    points = penalty_points(table, raw.sum(), Z, 2, 0)
    assert points.extra.shape == (2 * 8 + 3, 2)
    total = 3 * raw.sum() + 6
    np.testing.assert_allclose(points.weights[:8], table.weights * raw.sum() / total)
    np.testing.assert_allclose(points.weights[-3:], 2 / total)
    assert points.weights.sum() == pytest.approx(1)
    jittered = points.extra[:16]
    assert (jittered.min(axis=0) >= table.X.min(axis=0)).all()
    assert (jittered.max(axis=0) <= table.X.max(axis=0)).all()
    assert (np.abs(jittered - np.vstack([table.X] * 2)).max(axis=1) > 0).all()
    again = penalty_points(table, raw.sum(), Z[::-1], 2, 0)
    np.testing.assert_array_equal(again.extra, points.extra)
    other = penalty_points(table, raw.sum(), Z, 2, 1)
    assert not np.array_equal(other.extra[:16], jittered)
