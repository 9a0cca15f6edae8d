"""What dropped columns would add to a model."""

import numpy as np

from nablasso.kernels import Gaussian
from nablasso.metric.added_back import added_back, gain_of
from nablasso.metric.nested import mean_fit, ridge_fit
from tests.metric.samples import as_sample


def test_a_lost_column_gains_most():
    X = np.random.default_rng(0).normal(size=(80, 40))
    sample = as_sample(X, X[:, 0] + X[:, 1] ** 2 + X[:, 0] * X[:, 2])
    fit = ridge_fit(sample, Gaussian(), np.array([0]), np.array([0.5]))
    found = added_back(sample, fit, np.arange(1, 40), 3)
    assert {one.column for one in found} >= {1, 2}  # 2 only as a partner of 0
    assert found[0].gain == max(one.gain for one in found)
    variance = np.var(sample.Y)
    joined = ridge_fit(sample, Gaussian(), np.array([0, 1]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(gain_of(sample, fit, 1), (fit.error - joined.error) / variance)


def test_to_an_empty_model_a_column_adds_its_own_curve():
    X = np.random.default_rng(1).normal(size=(60, 5))
    sample = as_sample(X, X[:, 3] ** 2)
    (best,) = added_back(sample, mean_fit(sample), np.arange(5), 1)
    assert best.column == 3
    assert best.gain > 0.8
