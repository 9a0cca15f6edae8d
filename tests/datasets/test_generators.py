"""Formulas written out, and population constants against large samples."""

import itertools
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import sklearn.datasets

from nablasso.datasets import (
    make_additive,
    make_friedman1,
    make_parabola,
    make_product,
    make_quadratic,
    make_radial,
    make_three_way,
    make_turlach,
    make_two_way,
)
from nablasso.datasets.generators import (
    MONOMIALS,
    RADIAL_SD,
    add_noise,
    draw_quadratic,
    friedman1_function,
    noise_level,
    pair_coefficients,
    quadratic_signal_sd,
    random_source,
    require_features,
)
from nablasso.errors import InvalidParameterError


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
        (make_turlach, lambda x: (2 * x[0] - 1) ** 2 + x[1] + x[2] + x[3] + x[4]),
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


def test_the_radial_deviation_by_quadrature():
    nodes, weights = np.polynomial.legendre.leggauss(64)
    r = 4 * (nodes[:, None] ** 2 + nodes**2)
    values, p = r * np.exp(-r) / np.pi, np.outer(weights, weights) / 4
    assert np.sqrt(np.sum(p * (values - np.sum(p * values)) ** 2)) == pytest.approx(RADIAL_SD)


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
    problem = make_parabola(n_samples=50_000, n_features=4, random_state=0)
    np.testing.assert_allclose(problem.X[:, 1:].std(axis=0), 0.05, rtol=0.02)
    assert problem.support.tolist() == [True, False, False, False]


def test_function_agrees_with_scikit_learn():
    X, y = sklearn.datasets.make_friedman1(n_samples=200, n_features=7, noise=0.0, random_state=0)
    np.testing.assert_allclose(friedman1_function(X), y, rtol=1e-12)


@pytest.mark.parametrize("make", [make_friedman1, make_turlach])
def test_inputs_are_uniform_on_the_unit_cube(make):
    X = make(n_samples=50_000, random_state=0).X
    assert X.min() >= 0
    assert X.max() <= 1
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.01)
    np.testing.assert_allclose(X.var(axis=0), 1 / 12, rtol=0.02)


def test_more_irrelevant_columns_can_be_asked_for():
    problem = make_friedman1(n_features=50, random_state=0)
    assert problem.X.shape == (100, 50)
    assert np.flatnonzero(problem.support).tolist() == [0, 1, 2, 3, 4]


def test_the_noise_variance_is_that_of_the_paper():
    problem = make_turlach(n_samples=100_000, random_state=0)
    assert abs((problem.y - problem.noise_free).var() - 0.05) < 0.001


def test_the_first_variable_is_uncorrelated_with_the_output():
    problem = make_turlach(n_samples=100_000, random_state=0)
    correlation = [np.corrcoef(column, problem.y)[0, 1] for column in problem.X.T]
    assert abs(correlation[0]) < 0.015
    assert min(correlation[1:5]) > 0.3


def test_coefficients_are_ones_by_default():
    np.testing.assert_array_equal(pair_coefficients(4, None), np.ones(6))


@pytest.mark.parametrize("coefficients", [[1.0, 2.0], np.ones((3, 1)), 1.0])
def test_coefficients_are_one_number_per_pair(coefficients):
    with pytest.raises(ValueError, match=r"shape \(3,\) for n_relevant=3; got shape"):
        pair_coefficients(3, coefficients)


@pytest.mark.parametrize("n_terms", range(2, 10))
def test_all_three_variables_and_degree_two(n_terms):
    for seed in range(20):
        drawn = draw_quadratic(n_terms, np.random.default_rng(seed))
        assert len(drawn) == n_terms
        assert {a for which in drawn for a in which} == {0, 1, 2}
        assert max(map(len, drawn)) == 2


def test_the_deviation_of_every_monomial():
    X = np.random.default_rng(0).uniform(-1, 1, size=(200_000, 3))
    for which in MONOMIALS:
        values = np.prod(X[:, list(which)], axis=1)
        assert values.std() == pytest.approx(quadratic_signal_sd({which: 1.0}), rel=0.01)


def test_training_and_test_rows_share_the_polynomial():
    one = make_quadratic(5000, n_terms=9, design_state=3, random_state=1)
    two = make_quadratic(5000, n_terms=9, design_state=3, random_state=2)
    other = make_quadratic(5000, n_terms=9, design_state=4, random_state=2)
    assert one.noise_sd == two.noise_sd != other.noise_sd


@pytest.mark.parametrize("n_terms", [1, 10])
def test_a_number_of_terms_that_is_not_there_is_refused(n_terms):
    with pytest.raises(InvalidParameterError, match="between 2 and 9"):
        make_quadratic(n_terms=n_terms)


@pytest.fixture
def problem():
    X = np.arange(12.0).reshape(3, 4)
    return add_noise(X, X[:, 1], (1, 3), 0.0, np.random.default_rng(0))


def test_the_support_is_a_mask(problem):
    assert problem.support.tolist() == [False, True, False, True]


def test_the_answer_cannot_be_replaced(problem):
    with pytest.raises(FrozenInstanceError):
        problem.support = np.ones(4, dtype=bool)


def test_noise_is_added_to_a_new_array(problem):
    assert problem.y is not problem.noise_free
    assert not np.shares_memory(problem.y, problem.X)


def test_noise_level_divides_the_signal():
    assert noise_level(6.0, 3.0) == 2.0
    assert noise_level(6.0, float("inf")) == 0.0


def test_enough_columns_are_accepted():
    require_features(4, 4)
    with pytest.raises(ValueError, match="Use n_features=4 or more"):
        require_features(3, 4)


def test_an_integer_seeds_a_random_state():
    expected = np.random.RandomState(5).uniform(size=4)
    np.testing.assert_array_equal(random_source(5).uniform(size=4), expected)


@pytest.mark.parametrize("source", [np.random.RandomState(0), np.random.default_rng(0)])
def test_a_source_is_returned_as_it_is(source):
    assert random_source(source) is source


def test_none_follows_the_global_state_of_numpy():
    assert random_source(None) is random_source(np.random)


def test_anything_else_is_refused():
    with pytest.raises(ValueError, match="cannot be used to seed"):
        random_source("seed")
