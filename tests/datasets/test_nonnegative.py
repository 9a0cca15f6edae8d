"""The two modes and the bell, against scipy's normal density and moments of large samples."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from nablasso.datasets import make_bell, make_two_modes
from nablasso.datasets.nonnegative import two_modes_log_density

TEN = {"mode": 2.0, "deviation": 1 / np.sqrt(2 * np.pi)}


def test_the_density_in_one_variable():
    data = make_two_modes(random_state=0)
    assert data.X.shape == (80, 1)
    x = data.X[:, 0]
    np.testing.assert_allclose(
        data.log_density, np.log((norm.pdf(x, -1, 0.3) + norm.pdf(x, 1, 0.3)) / 2)
    )


def test_the_density_in_ten_variables():
    data = make_two_modes(50, 10, random_state=0, **TEN)
    centre = 2 * np.eye(10)[0]
    covariance = np.eye(10) / (2 * np.pi)  # a standard deviation of 1 / sqrt(2 pi)
    parts = [multivariate_normal.pdf(data.X, s * centre, covariance) for s in (-1, 1)]
    np.testing.assert_allclose(data.log_density, np.log(np.mean(parts, axis=0)))


@pytest.mark.parametrize("settings", [{}, {"n_features": 10, **TEN}])
def test_draws_are_of_that_density(settings):
    data = make_two_modes(100_000, random_state=1, **settings)
    mode, deviation = settings.get("mode", 1.0), settings.get("deviation", 0.3)
    first = np.abs(data.X[:, 0])
    assert np.mean(data.X[:, 0] > 0) == pytest.approx(0.5, abs=0.01)
    assert first.mean() == pytest.approx(mode, rel=0.01)
    assert data.X[data.X[:, 0] > 0].std(axis=0) == pytest.approx(deviation, rel=0.02)
    # far from the modes the logarithm is still a number
    assert np.isfinite(
        two_modes_log_density(1e3 * data.X[:5], mode=mode, deviation=deviation)
    ).all()


def test_the_bell_has_no_noise():
    data = make_bell(10_000, random_state=0)
    x = data.X[:, 0]
    assert -5 <= x.min() < -4.9
    assert 4.9 < x.max() <= 5
    np.testing.assert_allclose(data.y, np.sqrt(2 * np.pi) * norm.pdf(x))
