"""Machines on features against kernel machines with their kernel."""

import numpy as np
import pytest

from nablasso.kernels import Anova
from nablasso.spaces import (
    FeatureRows,
    MachineData,
    best_feature_machine,
    best_machine,
    draw_fourier,
    feature_machine,
    feature_refit,
    kernel_machine,
    kernel_trace,
)
from nablasso.spaces.ridge import RIDGE_GRID
from tests.dense_reference import library_loss, target

each_loss = pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "epsilon", "poisson"])
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def problem(loss, fit_intercept):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3))
    y = target(loss, np.sin(X[:, 0]) + 0.5 * X[:, 1], rng)
    weights = rng.uniform(0.5, 2.0, size=50)
    features = draw_fourier(Anova(1), np.full(3, 0.8), 24)
    rows = FeatureRows(features, X, np.zeros((24, 24)))
    return MachineData(library_loss(loss), rows, y, weights / weights.sum(), fit_intercept)


@each_loss
@intercepts
def test_same_function_as_the_kernel_machine(loss, fit_intercept):
    data = problem(loss, fit_intercept)
    offset = np.linspace(-0.3, 0.3, 50)
    ours = feature_machine(data, 0.03, offset)
    arguments = (data.loss, data.rows.gram, data.y, data.weights, 0.03)
    theirs = kernel_machine(*arguments, fit_intercept=fit_intercept, offset=offset)
    np.testing.assert_allclose(ours.predictions, theirs.predictions, atol=1e-6)
    np.testing.assert_allclose(ours.c, data.rows.adjoint(theirs.u), atol=1e-6)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=1e-6)


@each_loss
@intercepts
def test_same_ridge_and_left_out_predictions(loss, fit_intercept):
    data = problem(loss, fit_intercept)
    gram = data.rows.gram
    trace = kernel_trace(gram, data.weights, fit_intercept=fit_intercept)
    assert data.trace == pytest.approx(trace)
    ours = best_feature_machine(data, 1e-5)
    ridges = trace * RIDGE_GRID[::4][RIDGE_GRID[::4] >= 1e-5]
    arguments = (data.loss, gram, data.y, data.weights, ridges)
    theirs = best_machine(*arguments, fit_intercept=fit_intercept)
    assert ours.ridge == pytest.approx(theirs.ridge)
    np.testing.assert_allclose(ours.left_out, theirs.left_out, rtol=1e-4, atol=1e-4)


def test_the_refit_is_the_best_machine_as_a_function():
    data = problem("huber", True)
    found = feature_refit(data, data.rows.features, np.array([2, 0, 1]))
    best = best_feature_machine(data)
    X = np.empty((50, 3))
    X[:, [2, 0, 1]] = data.rows.Z
    np.testing.assert_allclose(found.function.values(X), best.machine.predictions, atol=1e-9)
    np.testing.assert_allclose(found.loo_residuals, data.y - best.left_out)
