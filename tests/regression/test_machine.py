"""Machines on kernels and on features, by brute force; refits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from nablasso.kernels import Anova, Gaussian
from nablasso.losses import Huber, Logistic, LossSample, Poisson, Squared, SquaredEpsilonInsensitive
from nablasso.regression.machine import GramRows, Machines, OnFeatures, refit
from nablasso.regression.ridge import Ridge
from tests.dense_reference import library_loss, target

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


@each_loss
def test_the_model_has_the_value_slope_and_bend_of_the_loss(name):
    _, _, y, weights = drawn(name)
    loss, z = LOSSES[name], np.random.default_rng(1).normal(size=25)
    q, t = LossSample(y, weights, loss).expansion(z)
    np.testing.assert_allclose(2 * q * (z - t), weights * loss.gradient(y, z), atol=1e-12)
    bend = loss.curvature(y, z)
    np.testing.assert_allclose(2 * q, weights * np.maximum(bend, 1e-6 * bend.max()), rtol=1e-9)


@each_loss
@with_and_without
@pytest.mark.parametrize("ridge", [1e-1, 1e-3])
def test_a_machine_is_the_minimiser(name, fit_intercept, ridge):
    _, K, y, weights = drawn(name)
    loss, offset = LOSSES[name], 0.3 * np.random.default_rng(2).normal(size=25)
    sample = LossSample(y, weights, loss, fit_intercept)
    machine = Machines(sample, GramRows(K)).at(ridge, offset)
    u = machine.dual
    np.testing.assert_array_equal(u, machine.coef)
    np.testing.assert_allclose(machine.predictions, offset + K @ u + machine.intercept)

    def objective(x):
        u, b = x[:-1], x[-1] * fit_intercept
        return weights @ loss.value(y, offset + K @ u + b) + ridge * u @ K @ u

    here = np.append(u, machine.intercept)
    found = minimize(objective, here + 0.01, method="L-BFGS-B", options={"maxiter": 300})
    assert objective(here) <= found.fun + 1e-10
    slopes = -2 * ridge * u / weights
    dual = -weights @ (loss.conjugate(y, slopes) - slopes * offset) - ridge * u @ K @ u
    assert objective(here) - dual == pytest.approx(0, abs=1e-9)
    assert not fit_intercept or abs(u.sum()) < 1e-9


@each_loss
def test_left_out_predictions_are_close_to_those_of_refits(name):
    _, K, y, weights = drawn(name, 40)
    loss, ridge = LOSSES[name], 0.03
    machines = Machines(LossSample(y, weights, loss), GramRows(K))
    z = machines.at(ridge).predictions
    ours = machines.left_out(ridge, z)
    for i in range(0, 40, 7):
        rest = np.arange(40) != i
        p = weights[rest] / weights[rest].sum()
        without = Machines(LossSample(y[rest], p, loss), GramRows(K[np.ix_(rest, rest)]))
        fitted = without.at(ridge / weights[rest].sum())
        truth = K[i, rest] @ fitted.coef + fitted.intercept
        tolerance = 1e-8 if name == "squared" else 0.2 * abs(truth - z[i]) + 1e-3
        assert ours[i] == pytest.approx(truth, abs=tolerance)


@each_loss
def test_the_best_machine_has_the_smallest_left_out_loss(name):
    _, K, y, weights = drawn(name)
    machines = Machines(LossSample(y, weights, LOSSES[name]), GramRows(K))
    best, ridges = machines.best(1e-3), machines.trace * np.logspace(-3, 1, 5)
    score = weights @ LOSSES[name].value(y, best.left_out)
    for ridge in ridges[ridges >= best.ridge]:
        left_out = machines.left_out(ridge, machines.at(ridge).predictions)
        # Newton's last digits decide on which piece of a loss a row lies: hence the one per cent
        assert score <= 1.01 * weights @ LOSSES[name].value(y, left_out)


@with_and_without
def test_the_trace_is_that_of_the_weighted_centred_kernel(fit_intercept):
    _, K, _, weights = drawn("squared")
    trace = Ridge(K, weights, fit_intercept=fit_intercept).trace
    sample = LossSample(weights, weights, Squared(), fit_intercept)
    assert Machines(sample, GramRows(K)).trace == pytest.approx(trace)


@with_and_without
def test_without_columns_a_refit_is_the_null_model(fit_intercept):
    X, _, y, weights = drawn("squared")
    sample = LossSample(y, weights, Squared(), fit_intercept)
    found = refit(sample, Gaussian(), X[:, :0], np.arange(0), np.ones(0))
    mean = weights @ y if fit_intercept else 0.0
    assert found.function.intercept == pytest.approx(mean)
    others = [
        np.average(np.delete(y, i), weights=np.delete(weights, i)) if fit_intercept else 0.0
        for i in range(len(y))
    ]
    np.testing.assert_allclose(found.loo_residuals, y - others)


def on_both(name, fit_intercept):
    """The same machines on features and on their kernel."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3))
    y = target(name, np.sin(X[:, 0]) + 0.5 * X[:, 1], rng)
    weights = rng.uniform(0.5, 2.0, size=50)
    Phi = np.hstack([np.cos(np.outer(X @ np.ones(3), [0.3, 0.9])), X, np.sin(2 * X)])
    sample = LossSample(y, weights / weights.sum(), library_loss(name), fit_intercept)
    return Machines(sample, OnFeatures(Phi)), Machines(sample, GramRows(Phi @ Phi.T)), Phi


@each_loss
@with_and_without
def test_a_machine_on_features_is_that_on_their_kernel(name, fit_intercept):
    on_features, on_kernel, Phi = on_both(name, fit_intercept)
    offset = np.linspace(-0.3, 0.3, 50)
    ours, theirs = on_features.at(0.03, offset), on_kernel.at(0.03, offset)
    np.testing.assert_allclose(ours.predictions, theirs.predictions, atol=1e-6)
    np.testing.assert_allclose(ours.coef, Phi.T @ theirs.dual, atol=1e-6)
    np.testing.assert_allclose(ours.dual, theirs.dual, atol=1e-5)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=1e-6)


@pytest.mark.parametrize("name", ["squared", "huber"])
def test_a_refit_is_the_best_machine_as_a_function(name):
    Z, _, y, weights = drawn(name, 50)
    chosen, X, scales = np.array([1, 0]), np.empty((50, 2)), np.full(2, 0.8)
    X[:, chosen] = Z
    sample = LossSample(y, weights, library_loss(name))
    found = refit(sample, Anova(1), Z, chosen, scales)
    gram = Anova(1)(Z * scales, Z * scales)
    if name == "squared":
        exact = Ridge(gram, weights)
        ridge = exact.best_ridge(y)
        u = exact.coefficients(y, ridge)
        values = gram @ u + weights @ (y - gram @ u)
        left_out = y - exact.loo_residuals(y, ridge)
    else:
        best = Machines(sample, GramRows(gram)).best()
        ridge, values, left_out = best.ridge, best.machine.predictions, best.left_out
    assert found.ridge == pytest.approx(ridge)
    np.testing.assert_allclose(found.function.values(X), values, atol=1e-5)
    np.testing.assert_allclose(y - found.loo_residuals, left_out, atol=1e-4)
