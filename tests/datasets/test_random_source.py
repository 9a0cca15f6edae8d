import numpy as np
import pytest

from nablasso.datasets.random_source import resolve_random_source


def test_an_integer_seeds_a_random_state():
    expected = np.random.RandomState(5).uniform(size=4)
    np.testing.assert_array_equal(resolve_random_source(5).uniform(size=4), expected)


@pytest.mark.parametrize("source", [np.random.RandomState(0), np.random.default_rng(0)])
def test_a_source_is_returned_as_it_is(source):
    assert resolve_random_source(source) is source


def test_none_follows_the_global_state_of_numpy():
    assert resolve_random_source(None) is resolve_random_source(np.random)


def test_anything_else_is_refused():
    with pytest.raises(ValueError, match="cannot be used to seed"):
        resolve_random_source("seed")
