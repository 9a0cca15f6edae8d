"""Half-widths against order statistics; coverage against draws."""

import warnings
from math import ceil

import numpy as np
import pytest

from nablasso import NablassoRegressor
from nablasso.errors import InvalidParameterError
from nablasso.kernels import Gaussian
from nablasso.losses import LossSample, Squared
from nablasso.reading.intervals import interval_half_width, noise_level
from nablasso.regression.machine import refit
from tests.reading.known_functions import weights_of


@pytest.mark.parametrize("n", [9, 10, 19, 57, 200])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_equal_weights_give_the_order_statistic(n, level):
    residuals = np.random.default_rng(n).normal(size=n)
    expected = np.sort(np.abs(residuals))[ceil(round(level * (n + 1), 9)) - 1]
    assert interval_half_width(residuals, np.full(n, 1 / n), level) == expected


def test_a_weighted_quantile_holds_enough_weight_and_no_more():
    rng = np.random.default_rng(0)
    residuals, weights = rng.normal(size=80), weights_of(80, rng)
    width = interval_half_width(residuals, weights, 0.9)
    needed = 0.9 * (1 + np.sum(weights**2))
    sizes = np.abs(residuals)
    assert weights[sizes <= width].sum() >= needed > weights[sizes < width].sum()


def test_weights_of_rows_equal_the_same_rows_many_times_in_the_limit():
    residuals = np.random.default_rng(1).normal(size=500)
    weights = np.where(np.abs(residuals) > 1, 1.0, 3.0)
    copies = np.repeat(residuals, weights.astype(int))
    once = interval_half_width(residuals, weights / weights.sum(), 0.8)
    assert once == pytest.approx(
        interval_half_width(copies, np.full(len(copies), 1 / len(copies)), 0.8), rel=0.05
    )


def test_too_few_rows_give_an_infinite_interval_and_a_warning():
    with pytest.warns(UserWarning, match="needs at least 9 rows; 8 give"):
        assert interval_half_width(np.arange(8.0), np.full(8, 1 / 8), 0.9) == np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert interval_half_width(np.arange(9.0), np.full(9, 1 / 9), 0.9) == 8.0


@pytest.mark.parametrize("level", [0.0, 1.0, 90, -0.1, np.nan])
def test_a_level_is_a_probability(level):
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        interval_half_width(np.arange(20.0), np.full(20, 0.05), level)


def fit(seed, noise, n=100):
    """Fit, absolute errors at 200 new rows, and those rows."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, size=(n + 200, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + noise(X) * rng.normal(size=n + 200)
    weights = np.full(n, 1 / n)
    sample = LossSample(y[:n], weights, Squared())
    fitted = refit(sample, Gaussian(), X[:n], np.arange(2), np.full(2, 1 / 1.5))
    return fitted, np.abs(y[n:] - fitted.function.values(X[n:])), X[:n], X[n:], weights


def test_intervals_cover_what_they_promise():
    covered = []
    for seed in range(40):
        fitted, errors, _, _, weights = fit(seed, lambda X: 0.3)
        covered.append(np.mean(errors <= interval_half_width(fitted.loo_residuals, weights, 0.9)))
    assert 0.87 <= np.mean(covered) <= 0.93


def uneven(seed, noise, n=150):
    """Left-out residuals of a fit, and what :func:`noise_level` finds in them."""
    fitted, errors, X, Z, weights = fit(seed, noise, n)
    rows = fitted.loo_residuals
    predicted = fitted.function.values(X)
    found = noise_level(X, [np.array([0]), np.array([1])], predicted, rows, weights)
    return rows, errors, fitted.function.values(Z), Z, weights, found


def test_a_noise_level_covers_where_the_noise_is_large():
    plain, local, ratios = [], [], []
    for seed in range(12):
        residuals, errors, predicted, Z, weights, found = uneven(
            seed, lambda X: 0.3 * np.exp(X[:, 0])
        )
        noisy = Z[:, 0] > 0.6
        plain.append(np.mean(errors[noisy] <= interval_half_width(residuals, weights, 0.9)))
        factor = interval_half_width(residuals / found.left_out, weights, 0.9)
        level = found.at(Z, predicted)
        local.append(np.mean((errors <= factor * level)[noisy]))
        ratios.append(np.polyfit(Z[:, 0], np.log(level), 1)[0])
    assert np.mean(plain) < 0.8
    assert 0.84 <= np.mean(local) <= 0.95
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.25)  # the noise is exp(x)


def test_even_noise_has_no_level():
    assert sum(uneven(seed, lambda X: 0.3)[-1] is None for seed in range(12)) >= 10


def test_new_rows_have_no_level_beyond_those_seen():
    *_, found = uneven(0, lambda X: 0.3 * np.exp(X[:, 0]))
    far = found.at(np.array([[50.0, 0.0], [-50.0, 0.0]]), np.zeros(2))
    assert far.max() <= found.left_out.max()
    assert far.min() >= found.left_out.min()


def test_a_perfect_fit_has_no_level():
    X, weights = np.zeros((12, 1)), np.full(12, 1 / 12)
    assert noise_level(X, [np.array([0])], np.arange(12.0), np.zeros(12), weights) is None


@pytest.mark.parametrize("n", [200, 800], ids=["kernel", "terms"])
def test_widths_of_predictions_follow_the_noise(n):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.5, 1.5, size=(n + 1000, 4))
    noise = 0.5 * np.exp(X[:, 0])
    y = np.sin(2 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=len(X))
    model = NablassoRegressor(time=False).fit(X[:n], y[:n])
    predicted, ends = model.predict(X[n:], return_interval=0.9)
    inside = (ends[:, 0] <= y[n:]) & (y[n:] <= ends[:, 1])
    assert 0.85 <= inside.mean() <= 0.95
    assert inside[X[n:, 0] > 0.75].mean() > 0.8
    width = ends[:, 1] - ends[:, 0]
    assert np.corrcoef(np.log(width), X[n:, 0])[0, 1] > 0.9
    assert ((ends[:, 0] < predicted) & (predicted < ends[:, 1])).all()
