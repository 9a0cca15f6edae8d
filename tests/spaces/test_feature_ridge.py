"""Ridge regression on features against kernel ridge regression with their kernel."""

import numpy as np
import pytest

from nablasso.kernels import Anova
from nablasso.spaces import FeatureRidge, RidgeInverse, draw_fourier, feature_ridge, moments


def problem(fit_intercept):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 3))
    y = 2.0 + np.sin(X[:, 0]) + 0.3 * rng.normal(size=60)
    weights = rng.uniform(0.5, 2.0, size=60)
    weights /= weights.sum()
    features = draw_fourier(Anova(1), np.full(3, 0.8), 24)
    ours = FeatureRidge(features, X, y, weights, fit_intercept=fit_intercept)
    phi = features.features(X)
    theirs = RidgeInverse(phi @ phi.T, weights, fit_intercept=fit_intercept)
    return ours, theirs, phi


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_same_function_same_left_out_residuals_same_ridge(fit_intercept):
    ours, theirs, phi = problem(fit_intercept)
    y = ours.y
    assert ours.trace == pytest.approx(theirs.trace)
    assert ours.best_ridge() == pytest.approx(theirs.best_ridge(y))
    for ridge in (1e-4, 1e-2, 1.0):
        w, b = ours.coefficients(ridge)
        u = theirs.coefficients(y, ridge)
        np.testing.assert_allclose(w, phi.T @ u, atol=1e-8)
        offset = ours.weights @ (y - phi @ w) if fit_intercept else 0.0
        assert b == pytest.approx(offset, abs=1e-10)
        left_out = np.vstack(list(ours.loo_residuals(np.array([ridge]))))[:, 0]
        np.testing.assert_allclose(left_out, theirs.loo_residuals(y, ridge), rtol=1e-6)


def test_leaving_out_really_is_leaving_out():
    ours, _, _ = problem(True)
    left_out = np.vstack(list(ours.loo_residuals(np.array([0.05]))))[:, 0]
    i = 7
    rest = np.arange(60) != i
    weights = ours.weights[rest]
    # the loss of the others keeps its weight against the ridge
    less = FeatureRidge(ours.features, ours.Z[rest], ours.y[rest], weights, fit_intercept=True)
    w, b = less.coefficients(0.05 / weights.sum())
    expected = ours.y[i] - b - ours.features.evaluate(ours.Z[[i]], w)[0]
    assert left_out[i] == pytest.approx(expected, rel=1e-8)


def test_chunks_and_few_judges(monkeypatch):
    ours, _, _ = problem(True)
    whole = ours.refit(np.arange(3))
    monkeypatch.setattr(feature_ridge, "CHUNK_BYTES", 8 * 24 * 7)
    monkeypatch.setattr(moments, "CHUNK_BYTES", 8 * 24 * 7)
    again = problem(True)[0].refit(np.arange(3))
    np.testing.assert_allclose(again.loo_residuals, whole.loo_residuals, rtol=1e-8)
    monkeypatch.setattr(feature_ridge, "JUDGED", 20)
    assert problem(True)[0].best_ridge() > 0
