"""Draws follow the density: distribution functions, moments, conditionals."""

import numpy as np
from scipy.stats import kstest

from nablasso.nonnegative import Bumps, PSDModel
from nablasso.nonnegative.sampling import sample


def make(d, seed=0):
    rng = np.random.default_rng(seed)
    bumps = Bumps(rng.normal(size=(6, d)), rng.uniform(0.5, 2, size=(6, d)))
    model = PSDModel(bumps, rng.normal(size=(6, 2)))
    return model * (1 / model.integral())


def distribution(model, points):
    return np.array([model.integral([[-np.inf, x]]) for x in points])


def test_one_variable_follows_its_distribution_function():
    model = make(1)
    X = sample(model, 1500, np.random.default_rng(1))[:, 0]
    assert kstest(X, lambda x: distribution(model, x)).pvalue > 0.01


def test_inversion_is_exact():
    """The distribution function of the draws gives the uniform numbers back."""
    model, seed = make(1), 5
    X = sample(model, 50, np.random.default_rng(seed))[:, 0]
    uniform = np.random.default_rng(seed).random((50, 1))[:, 0]
    np.testing.assert_allclose(distribution(model, X), uniform, atol=1e-9)


def test_every_coordinate_follows_its_marginal():
    model = make(3)
    X = sample(model, 600, np.random.default_rng(2))
    for a in range(3):
        marginal = model.marginal(np.array([a]))
        assert kstest(X[:, a], lambda x, m=marginal: distribution(m, x)).pvalue > 0.01


def test_second_moments():
    model = make(2, seed=3)
    X = sample(model, 4000, np.random.default_rng(3))
    expected = model.moment([1, 1])
    error = np.std(X[:, 0] * X[:, 1]) / np.sqrt(4000)
    assert abs(np.mean(X[:, 0] * X[:, 1]) - expected) < 4 * error


def test_draws_are_fixed_by_the_generator():
    model = make(2)
    first, second = (sample(model, 5, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_narrow_bumps_far_apart():
    """As many panels as the bumps need, none in the gaps between them."""
    centres = np.array([-300.0, -3.0, -2.9, 0.0, 1.0, 200.0])[:, None]
    model = PSDModel(Bumps(centres, np.full((6, 1), 1e4)), np.eye(6))
    model = model * (1 / model.integral())
    seed = 3
    X = sample(model, 60, np.random.default_rng(seed))[:, 0]
    uniform = np.random.default_rng(seed).random((60, 1))[:, 0]
    np.testing.assert_allclose(distribution(model, X), uniform, atol=1e-6)
