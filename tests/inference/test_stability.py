"""Complementary pairs and the threshold that meets a bound."""

import numpy as np
import pytest

from nablasso.inference.bounds import false_selection_bound
from nablasso.inference.stability import (
    complementary_pairs,
    half_sample_selections,
    smallest_threshold,
)


@pytest.mark.parametrize("n", [10, 11])
def test_the_halves_of_a_pair_share_nothing(n):
    halves = complementary_pairs(n, 20, np.random.default_rng(0))
    assert len(halves) == 40
    for first, second in zip(halves[0::2], halves[1::2], strict=True):
        assert len(first) == len(second) == n // 2
        assert not set(first) & set(second)


def test_every_row_is_as_often_in_a_half():
    halves = complementary_pairs(9, 2000, np.random.default_rng(0))
    counts = np.bincount(np.concatenate(halves), minlength=9) / 4000
    assert counts == pytest.approx(np.full(9, 4 / 9), abs=0.03)


def test_labels_are_divided_evenly():
    labels = np.array([0] * 30 + [1] * 6 + [2] * 3)
    for half in complementary_pairs(39, 50, np.random.default_rng(0), labels):
        counts = np.bincount(labels[half], minlength=3)
        assert np.all(np.abs(counts - [15, 3, 1.5]) <= 1)
        assert counts.min() >= 1


def by_first_row(X, y, weights, seed):
    """Selects the columns positive in its first row; the first also when weights are large."""
    mask = X[0] > 0
    mask[0] = weights.mean() > 2
    return mask


def test_selections_are_the_callables_answers():
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(12, 4)), np.zeros(12), np.arange(12.0)
    halves = complementary_pairs(12, 5, rng)
    masks = half_sample_selections(by_first_row, X, y, weights, halves, seed=0)
    assert masks.shape == (10, 4)
    for mask, half in zip(masks, halves, strict=True):
        np.testing.assert_array_equal(mask, by_first_row(X[half], y[half], weights[half], 0))


def test_seeds_of_the_halves_differ_and_repeat():
    def seeds(seed):
        seen = []

        def select(X, y, weights, own):
            seen.append(own)
            return np.zeros(1, dtype=bool)

        halves = complementary_pairs(6, 4, np.random.default_rng(0))
        half_sample_selections(select, np.ones((6, 1)), np.ones(6), np.ones(6), halves, seed=seed)
        return seen

    assert len(set(seeds(1))) == 8
    assert seeds(1) == seeds(1) != seeds(2)


@pytest.mark.parametrize("assumption", ["worst-case", "unimodal", "r-concave"])
def test_the_smallest_threshold_is_the_first_that_meets_the_bound(assumption):
    found = smallest_threshold(0.55, 0.5, 4.0, 60, 20, assumption)
    assert false_selection_bound(found, 4.0, 60, 20, assumption) <= 0.5
    below = found - 1 / 40
    assert below < 0.55 or false_selection_bound(below, 4.0, 60, 20, assumption) > 0.5


def test_no_threshold_meets_an_impossible_bound():
    assert smallest_threshold(0.6, 1e-9, 4.0, 60, 20, "worst-case") == np.inf
