"""Scales of the columns by evidence: the value, its gradient, and ranks."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from nablasso.nonnegative.metric import SIGNAL_SPREAD, SPREAD, Ranks, ScaleEvidence


def test_value_and_gradient():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(25, 3)), np.array([0, 1, 1])
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=25)
    weights = rng.uniform(0.5, 1.5, size=25)
    weights /= weights.sum()
    evidence = ScaleEvidence(X, y, weights, labels)
    x = evidence.start + 0.3 * rng.normal(size=4)
    value, gradient = evidence(x)
    scaled = X * np.exp(x[:2])[labels]
    distances = np.sum((scaled[:, None] - scaled) ** 2, axis=2)
    covariance = np.exp(x[2]) * np.exp(-distances / 2) + np.diag(np.exp(x[3]) / (25 * weights))
    log_density = multivariate_normal(cov=covariance).logpdf(evidence.y)
    prior = np.sum((x - evidence.start)[:2] ** 2) / (2 * SPREAD**2)
    prior += x[2] ** 2 / (2 * SIGNAL_SPREAD**2)
    assert value == pytest.approx(-log_density + prior - 12.5 * np.log(2 * np.pi))
    h = 1e-5
    differences = [(evidence(x + h * e)[0] - evidence(x - h * e)[0]) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)


def test_ranks_are_even():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.exponential(size=50) ** 3, rng.integers(0, 3, size=50)])
    weights = np.full(50, 0.02)
    ranks = Ranks(X, weights)
    R = ranks(X)
    np.testing.assert_allclose(weights @ R, 0, atol=1e-12)
    np.testing.assert_allclose(weights @ R**2, 1)
    assert np.allclose(np.diff(np.sort(R[:, 0])), np.diff(np.sort(R[:, 0]))[0])
    outside = np.array([[-9.0, 9.0]])
    assert np.isclose(ranks(outside)[0, 0], R[:, 0].min())
