"""Formulas written out, and population constants and moments against large samples."""

import itertools
from dataclasses import FrozenInstanceError
from itertools import combinations_with_replacement

import numpy as np
import pytest
import sklearn.datasets
from scipy.stats import multivariate_normal, norm

from nablasso.datasets import (
    make_additive,
    make_bell,
    make_cubic_groups,
    make_demo,
    make_friedman1,
    make_product,
    make_rings,
    make_turlach,
    make_two_modes,
    make_two_way,
    make_wavy_noise,
)
from nablasso.datasets.generators import (
    add_noise,
    cubic_groups_function,
    demo_function,
    friedman1_function,
    noise_level,
    pair_coefficients,
    random_source,
    require_features,
    two_modes_log_density,
)


@pytest.mark.parametrize(
    ("make", "formula"),
    [
        (make_additive, lambda x: x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2),
        (make_two_way, lambda x: sum(a * b for a, b in itertools.combinations(x[:4], 2))),
        (make_product, lambda x: x[0] * x[1]),
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
        (make_product, 1.0),
    ],
)
def test_inputs_are_uniform_on_a_centred_cube(make, half_width):
    X = make(n_samples=5000, random_state=0).X
    assert -half_width <= X.min() < -0.99 * half_width
    assert 0.99 * half_width < X.max() <= half_width
    np.testing.assert_allclose(X.std(axis=0), half_width / np.sqrt(3), rtol=0.05)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.1 * half_width)


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


TRIPLES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11), (12, 13, 14), (15, 16, 17))


BLOCKS = ((0, 1, 2), (6, 7, 8))


def test_cubic_groups_sum_every_monomial_once():
    problem = make_cubic_groups(random_state=0)
    expected = np.zeros(110)
    for block in BLOCKS:
        monomials = list(combinations_with_replacement(block, 3))
        assert len(monomials) == 10
        for i, j, k in monomials:
            expected += problem.X[:, i] * problem.X[:, j] * problem.X[:, k]
    np.testing.assert_allclose(problem.noise_free, expected, rtol=1e-10, atol=1e-12)


def test_cubic_groups_have_ten_monomials_per_block():
    first_block = np.zeros((1, 18))
    first_block[0, [0, 1, 2]] = 1.0
    assert cubic_groups_function(first_block) == pytest.approx([10.0])
    assert cubic_groups_function(np.ones((1, 18))) == pytest.approx([20.0])


def test_groups_are_consecutive_triples():
    assert make_cubic_groups(random_state=0).groups == TRIPLES


def test_groups_of_three_need_a_multiple_of_three():
    assert make_cubic_groups(n_features=12, random_state=0).groups == TRIPLES[:4]
    with pytest.raises(ValueError, match=r"n_features=10\. Use a multiple of 3"):
        make_cubic_groups(n_features=10, random_state=0)


def test_cubic_groups_inputs_are_independent_standard_normals():
    X = make_cubic_groups(n_samples=50_000, random_state=0).X
    np.testing.assert_allclose(np.cov(X.T), np.eye(18), atol=0.04)


def test_classes_are_rings():
    problem = make_rings(random_state=0)
    radius = np.sqrt(problem.X[:, 0] ** 2 + problem.X[:, 1] ** 2)
    np.testing.assert_allclose(radius[problem.y == 1], 3.0)
    np.testing.assert_allclose(radius[problem.y == 0], 7.5)


def test_labels_are_zero_and_one_without_noise():
    problem = make_rings(random_state=0)
    assert set(problem.y.tolist()) == {0.0, 1.0}
    np.testing.assert_array_equal(problem.y, problem.noise_free)


@pytest.mark.parametrize(("n_samples", "inner"), [(40, 20), (41, 20)])
def test_half_of_the_rows_lie_on_each_ring(n_samples, inner):
    assert make_rings(n_samples, random_state=0).y.sum() == inner


def test_rows_come_in_random_order():
    y = make_rings(random_state=0).y
    assert 5 < np.abs(np.diff(y)).sum() < 35


def test_points_are_uniform_on_their_ring():
    X = make_rings(n_samples=20_000, n_features=2, random_state=0).X
    angle = np.arctan2(X[:, 1], X[:, 0])
    counts, _ = np.histogram(angle, bins=8, range=(-np.pi, np.pi))
    np.testing.assert_allclose(counts / 2500, 1.0, atol=0.1)


@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_other_inputs_have_the_stated_spread(spread):
    X = make_rings(n_samples=5000, n_features=10, spread=spread, random_state=0).X
    np.testing.assert_allclose(X[:, 2:].std(axis=0), spread, rtol=0.05)
    np.testing.assert_allclose(X[:, 2:].mean(axis=0), 0.0, atol=0.08 * spread)


RELEVANT = ("temperature_celsius", "light_mol_m2_day", "water_l_m2_day", "nutrient_ms_cm")


@pytest.fixture
def demo():
    return make_demo()


def column(problem, name):
    return problem.X[:, problem.feature_names.index(name)]


def test_the_answer_is_four_named_variables(demo):
    chosen = {name for name, kept in zip(demo.feature_names, demo.support, strict=True) if kept}
    assert chosen == set(RELEVANT)
    assert len(set(demo.feature_names)) == 12


def test_everybody_gets_the_same_table(demo):
    np.testing.assert_array_equal(demo.X, make_demo(200, 0).X)
    np.testing.assert_array_equal(demo.y, make_demo(200, 0).y)


def test_the_formula_in_its_units(demo):
    temperature, light, water, nutrient = (column(demo, name) for name in RELEVANT)
    expected = 20 - 0.12 * (temperature - 22) ** 2 + 0.1 * light * (water - 2.5) + 2 * nutrient
    np.testing.assert_allclose(demo.noise_free, expected, rtol=1e-12)


def mixed_difference(demo, first, second):
    """f(both moved) - f(first moved) - f(second moved) + f(neither moved)."""
    columns = [demo.feature_names.index(name) for name in (first, second)]
    total = np.zeros(len(demo.X))
    for sign, moved in ((1, columns), (-1, columns[:1]), (-1, columns[1:]), (1, [])):
        X = demo.X.copy()
        X[:, moved] += 1.0
        total += sign * demo_function(X)
    return total


def test_light_and_water_are_the_only_interaction(demo):
    for i, first in enumerate(RELEVANT):
        for second in RELEVANT[i + 1 :]:
            interact = {first, second} == {"light_mol_m2_day", "water_l_m2_day"}
            expected = 0.1 if interact else 0.0
            np.testing.assert_allclose(mixed_difference(demo, first, second), expected, atol=1e-9)


def test_temperature_has_a_curve_and_no_slope():
    large = make_demo(100_000)
    temperature = column(large, "temperature_celsius")
    assert abs(np.corrcoef(temperature, large.y)[0, 1]) < 0.02
    assert np.corrcoef((temperature - 22) ** 2, large.y)[0, 1] < -0.3


def test_one_irrelevant_column_is_correlated_with_a_relevant_one():
    large = make_demo(100_000)
    correlation = np.corrcoef(large.X.T) - np.eye(12)
    first, second = np.unravel_index(np.abs(correlation).argmax(), correlation.shape)
    names = {large.feature_names[first], large.feature_names[second]}
    assert names == {"temperature_celsius", "outside_temperature_celsius"}
    assert correlation[first, second] == pytest.approx(0.525, abs=0.02)
    correlation[[first, second], [second, first]] = 0.0
    assert np.abs(correlation).max() < 0.02


def test_scales_differ(demo):
    spread = demo.X.std(axis=0)
    assert spread.max() / spread.min() > 1000


def test_yields_are_positive(demo):
    assert demo.y.min() > 0


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
