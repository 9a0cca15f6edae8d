"""Scales of the columns by evidence: the gradient, what they say, units and copies."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from nablasso import MultiQuantileRegressor, PSDRegressor
from nablasso.estimators.psd_evidence import SIGNAL_SPREAD, SPREAD, Evidence
from nablasso.estimators.psd_ranks import Ranks


def test_value_and_gradient():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(25, 3)), np.array([0, 1, 1])
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(25, 2))
    weights = rng.uniform(0.5, 1.5, size=25)
    weights /= weights.sum()
    evidence = Evidence(X, Y, weights, labels)
    x = evidence.start + 0.3 * rng.normal(size=4)
    value, gradient = evidence(x)
    scaled = X * np.exp(x[:2])[labels]
    distances = np.sum((scaled[:, None] - scaled) ** 2, axis=2)
    covariance = np.exp(x[2]) * np.exp(-distances / 2) + np.diag(np.exp(x[3]) / (25 * weights))
    log_density = multivariate_normal(cov=covariance).logpdf(evidence.Y.T).sum()
    prior = np.sum((x - evidence.start)[:2] ** 2) / (2 * SPREAD**2)
    prior += x[2] ** 2 / (2 * SIGNAL_SPREAD**2)
    assert value == pytest.approx(-log_density + prior - 25 * np.log(2 * np.pi))
    h = 1e-5
    differences = [(evidence(x + h * e)[0] - evidence(x - h * e)[0]) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)


def test_ranks_are_even_and_their_slopes_are_derivatives():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.exponential(size=50) ** 3, rng.integers(0, 3, size=50)])
    weights = np.full(50, 0.02)
    ranks = Ranks(X, weights)
    R = ranks(X)
    np.testing.assert_allclose(weights @ R, 0, atol=1e-12)
    np.testing.assert_allclose(weights @ R**2, 1)
    assert np.allclose(np.diff(np.sort(R[:, 0])), np.diff(np.sort(R[:, 0]))[0])
    Z, h = X[:10] + 0.01, 1e-7
    np.testing.assert_allclose(ranks.slopes(Z), (ranks(Z + h) - ranks(Z - h)) / (2 * h), rtol=1e-5)
    outside = np.array([[-9.0, 9.0]])
    assert not ranks.slopes(outside).any()
    assert np.isclose(ranks(outside)[0, 0], R[:, 0].min())


def test_gradients_go_by_way_of_the_ranks():
    rng = np.random.default_rng(5)
    X = rng.exponential(size=(40, 2))
    model = PSDRegressor(metric="evidence", weight=1e-3).fit(X, X[:, 0])
    Z, h = X[:8] + 1e-3, 1e-6
    steps = [(model.predict(Z + h * e) - model.predict(Z - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(model.predict_gradient(Z), np.array(steps).T, rtol=1e-3, atol=1e-5)


def fitted(X, y, **settings):
    return MultiQuantileRegressor(metric="evidence", rank=30, **settings).fit(X, y)


def test_columns_that_say_nothing_get_small_scales():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4))
    y = np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=80)
    model = fitted(X, y)
    assert model.support_.all()  # nothing is dropped
    others = np.delete(model.scales_, 1)
    assert others.max() < 0.5 * model.scales_[1]


def test_units_do_not_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=40)
    units = np.array([100.0, 0.01])
    plain = fitted(X, y, standardize=False, tol=1e-8)
    scaled = fitted(X * units, y, standardize=False, tol=1e-8)
    np.testing.assert_allclose(plain.predict(X), scaled.predict(X * units), atol=1e-3)


def test_a_constant_target_has_equal_scales():
    X = np.random.default_rng(4).normal(size=(20, 2))
    model = fitted(X, np.ones(20))
    np.testing.assert_allclose(model.scales_[0], model.scales_[1])
