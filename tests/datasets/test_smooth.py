"""Formulas written out, and population constants against large samples."""

import itertools

import numpy as np
import pytest

from nablasso.datasets import (
    make_additive,
    make_parabola,
    make_product,
    make_radial,
    make_three_way,
    make_two_way,
)
from nablasso.datasets.smooth import radial_signal_sd


@pytest.mark.parametrize(
    ("make", "formula"),
    [
        (make_additive, lambda x: x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2),
        (make_two_way, lambda x: sum(a * b for a, b in itertools.combinations(x[:4], 2))),
        (make_three_way, lambda x: (x[0] * x[1] * x[2]) ** 2),
        (
            make_radial,
            lambda x: (x[0] ** 2 + x[1] ** 2) * np.exp(-(x[0] ** 2) - x[1] ** 2) / np.pi,
        ),
        (make_product, lambda x: x[0] * x[1]),
        (make_parabola, lambda x: x[0] ** 2),
    ],
)
def test_noise_free_follows_the_formula(make, formula):
    problem = make(random_state=0)
    expected = [formula(row) for row in problem.X]
    np.testing.assert_allclose(problem.noise_free, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "half_width"),
    [
        (make_additive, 2.0),
        (make_two_way, 2.0),
        (make_three_way, 2.0),
        (make_radial, 2.0),
        (make_product, 1.0),
    ],
)
def test_inputs_are_uniform_on_a_centred_cube(make, half_width):
    X = make(n_samples=5000, random_state=0).X
    assert -half_width <= X.min() < -0.99 * half_width
    assert 0.99 * half_width < X.max() <= half_width
    np.testing.assert_allclose(X.std(axis=0), half_width / np.sqrt(3), rtol=0.05)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.1 * half_width)


def test_radial_signal_sd_matches_a_sample():
    x = np.random.default_rng(0).uniform(-2, 2, size=(1_000_000, 2))
    r = (x**2).sum(axis=1)
    assert radial_signal_sd() == pytest.approx((r * np.exp(-r) / np.pi).std(), rel=5e-3)


def test_two_way_weights_each_pair():
    c = [0.5, 0.6, 0.7]  # pairs (1, 2), (1, 3), (2, 3)
    problem = make_two_way(50, 6, n_relevant=3, coefficients=c, random_state=0)
    x1, x2, x3 = problem.X[:, :3].T
    expected = 0.5 * x1 * x2 + 0.6 * x1 * x3 + 0.7 * x2 * x3
    np.testing.assert_allclose(problem.noise_free, expected, rtol=1e-12, atol=1e-14)
    assert problem.support.tolist() == [True, True, True, False, False, False]


def test_two_way_keeps_its_ratio_with_weights_and_width():
    c = [0.5, 0.9, 0.7]
    problem = make_two_way(
        200_000, 4, n_relevant=3, half_width=1.0, coefficients=c, snr=5.0, random_state=0
    )
    noise = problem.y - problem.noise_free
    assert np.abs(problem.X).max() <= 1.0
    assert problem.noise_free.std() / noise.std() == pytest.approx(5.0, rel=0.02)


def test_two_way_drops_a_variable_without_a_pair():
    problem = make_two_way(10, 4, n_relevant=3, coefficients=[2.0, 0.0, 0.0], random_state=0)
    assert problem.support.tolist() == [True, True, False, False]


def test_parabola_inputs():
    X = make_parabola(n_samples=100_000, random_state=0).X
    assert np.abs(X[:, 0]).max() <= 1.0
    assert X[:, 0].std() == pytest.approx(1 / np.sqrt(3), rel=0.02)
    assert X[:, 1].std() == pytest.approx(0.05, rel=0.02)
    assert abs(X[:, 1].mean()) < 0.001


def test_parabola_takes_more_irrelevant_inputs():
    problem = make_parabola(n_samples=50_000, n_features=4, spread=0.2, random_state=0)
    np.testing.assert_allclose(problem.X[:, 1:].std(axis=0), 0.2, rtol=0.02)
    assert problem.support.tolist() == [True, False, False, False]
