"""Noise whose level depends on x."""

import numpy as np

from nablasso.datasets import make_bow_tie, make_wavy_noise


def test_standardised_noise_is_standard_wherever_x_is():
    for make in (make_wavy_noise, make_bow_tie):
        data = make(60_000, random_state=1)
        z = (data.y - data.noise_free) / data.noise_sd
        for part in np.array_split(np.argsort(data.X[:, 0]), 4):
            assert abs(z[part].mean()) < 0.03
            assert abs(z[part].std() - 1) < 0.03


def test_the_wavy_noise_is_that_of_the_paper():
    data = make_wavy_noise(random_state=0)
    x, step = data.X[:, 0], 1e-6
    np.testing.assert_allclose(x, np.arange(80) / 79)

    def mean(x):
        return 2 * (np.exp(-30 * (x - 0.25) ** 2) + np.sin(np.pi * x**2))

    np.testing.assert_allclose(data.noise_free, mean(x))
    slope = (mean(x + step) - mean(x - step)) / (2 * step)
    np.testing.assert_allclose(data.gradient[:, 0], slope, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.log(data.noise_sd), np.sin(2 * np.pi * x) / 2, atol=1e-12)


def test_the_bow_tie_has_no_rows_in_the_middle_and_no_mean():
    data = make_bow_tie(1000, random_state=0)
    x = data.X[:, 0]
    assert not ((x > 1 / 3) & (x < 2 / 3)).any()
    assert 0.4 < np.mean(x < 0.5) < 0.6
    assert not data.noise_free.any()
    assert not data.gradient.any()
    np.testing.assert_allclose(data.noise_sd, np.where(x < 0.5, 1 / 3 - x, x - 2 / 3))
