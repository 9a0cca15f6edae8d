"""The bundled table: its answer, its shapes of effect, its scales."""

import numpy as np
import pytest

from nablasso.datasets import make_demo
from nablasso.datasets.demo import demo_function

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
