"""Left-out residuals and their comparison."""

import numpy as np
import pytest

from nablasso.kernels import Gaussian
from nablasso.losses import LossSample, Squared
from nablasso.reading.doubts import MAX_ROWS, compare
from nablasso.regression.machine import refit
from tests.reading.known_functions import evidence, weights_of


def data(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def test_residuals_are_those_of_kernel_ridge():
    case = evidence(*data(), [0, 1], width=1.3)
    sample = LossSample(case.y, case.weights, Squared())
    fit = refit(sample, Gaussian(), case.X[:, :2], np.arange(2), np.full(2, 1 / 1.3))
    np.testing.assert_allclose(case.residuals, fit.loo_residuals)
    np.testing.assert_allclose(case.left_out(case.X[:, :2], case.scales), case.residuals)


def test_without_columns_each_row_is_predicted_by_the_mean_of_the_others():
    X, y = data(10)
    case = evidence(X, y, [])
    expected = [y[i] - np.delete(y, i).mean() for i in range(10)]
    np.testing.assert_allclose(case.residuals, expected, rtol=1e-6)


def test_the_first_rows_stand_for_all():
    X, y = data(MAX_ROWS + 40)
    case = evidence(X, y, [0])
    assert len(case.X) == len(case.y) == MAX_ROWS
    np.testing.assert_allclose(np.diff(case.y), np.diff(y[:MAX_ROWS]))
    assert case.weights.sum() == pytest.approx(1.0)


def test_a_comparison_is_a_weighted_mean_with_its_standard_error():
    rng = np.random.default_rng(1)
    before, after, weights = rng.normal(size=50), rng.normal(size=50), weights_of(50, rng)
    change, _ = compare(before, after, weights)
    assert change == pytest.approx(weights @ after**2 - weights @ before**2)
    _, error = compare(before, after, np.full(50, 0.02))
    assert error == pytest.approx(np.std(after**2 - before**2) / np.sqrt(50))
