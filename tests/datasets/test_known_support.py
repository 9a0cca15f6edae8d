"""What the generators share."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from nablasso.datasets.known_support import add_noise, noise_level, random_source, require_features


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
