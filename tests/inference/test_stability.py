"""Complementary pairs; bounds on false selections: published values, brute force, a simulation."""

import numpy as np
import pytest
from scipy.optimize import linprog

from nablasso.inference import (
    complementary_pairs,
    false_selection_bound,
    largest_tail,
    lattice_count,
    smallest_threshold,
)

# Values printed by the R package stabs (Hofner, Hothorn), B = 50 pairs: threshold, q, p, bound.
R_CONCAVE = [
    (0.60, 6, 200, 0.174),
    (0.60, 7, 200, 0.248),
    (0.61, 7, 200, 0.219),
    (0.62, 7, 200, 0.196),
    (0.60, 2, 100, 0.0334),
    (0.60, 5, 100, 0.2605),
    (0.60, 10, 100, 1.141),
]


@pytest.mark.parametrize(("tau", "q", "p", "value"), R_CONCAVE)
def test_r_concave_bound_as_published(tau, q, p, value):
    assert false_selection_bound(tau, q, p, 50, "r-concave") == pytest.approx(value, abs=6e-4)


def test_worst_case_is_the_bound_of_meinshausen_and_buehlmann():
    assert false_selection_bound(0.6, 5, 100, 50, "worst-case") == pytest.approx(25 / (0.2 * 100))


def largest_decreasing_tail(mean, start, size):
    """Largest tail of a decreasing mass, by linear programming: r -> -infinity allows them all."""
    i = np.arange(size + 1)
    solved = linprog(
        -(i >= start).astype(float),
        A_ub=np.vstack([np.eye(size + 1)[1:] - np.eye(size + 1)[:-1], i]),
        b_ub=np.append(np.zeros(size), mean * size),
        A_eq=np.ones((1, size + 1)),
        b_eq=[1.0],
    )
    return -solved.fun


def test_steep_shapes_reach_the_bound_for_decreasing_masses():
    exact = largest_decreasing_tail(0.1, 8, 20)
    found = [largest_tail(0.1, 8, 20, r) for r in (-1 / 4, -1 / 2, -2.0, -8.0)]
    assert found == sorted(found)  # weaker assumptions, larger tails
    assert found[-1] <= exact + 1e-9
    assert found[-1] == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("r", [-1 / 4, -1 / 2])
def test_no_r_concave_mass_has_a_larger_tail(r):
    """Random convex sequences g give the r-concave masses g^(1/r)."""
    size, start, goal = 12, 5, 1.2
    bound = largest_tail(goal / size, start, size, r)
    rng, i, largest = np.random.default_rng(0), np.arange(size + 1), 0.0
    for _ in range(4000):
        slopes = np.cumsum(rng.exponential(size=size) * (rng.random(size) < 0.3)) * rng.random()
        g = rng.uniform(0.01, 1) + np.concatenate([[0.0], np.cumsum(slopes + rng.exponential())])
        mass = np.where(i <= rng.integers(start, size + 1), g, np.inf) ** (1 / r)
        mass /= mass.sum()
        if i @ mass <= goal:
            largest = max(largest, mass[start:].sum())
    assert largest <= bound + 1e-9
    assert largest >= 0.5 * bound  # the search came near


@pytest.mark.parametrize("assumption", ["worst-case", "r-concave"])
def test_blind_picks_respect_every_bound(assumption):
    """Each half picks q of p at random: all selections are false."""
    p, q, n_pairs, tau = 40, 8, 10, 0.6
    rng = np.random.default_rng(1)
    counts = []
    for _ in range(300):
        picks = np.argsort(rng.random((2 * n_pairs, p)), axis=1) < q
        counts.append(np.sum(picks.sum(axis=0) >= lattice_count(tau, n_pairs)))
    bound = false_selection_bound(tau, q, p, n_pairs, assumption)
    assert np.mean(counts) <= bound


def test_assumptions_sharpen_the_bound():
    worst, concave = (
        false_selection_bound(0.7, 5, 100, 50, a) for a in ("worst-case", "r-concave")
    )
    assert concave < worst


def test_a_threshold_between_two_shares_is_the_upper_one():
    assert lattice_count(0.6, 50) == 60
    assert lattice_count(0.601, 50) == 61
    between = false_selection_bound(0.601, 5, 100, 50, "r-concave")
    assert between == false_selection_bound(0.61, 5, 100, 50, "r-concave")


def test_bounds_that_say_nothing_are_markovs():
    assert false_selection_bound(0.8, 9, 10, 50, "r-concave") == pytest.approx(10.0)
    assert false_selection_bound(0.9, 0, 10, 50, "r-concave") == 0.0


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


@pytest.mark.parametrize("assumption", ["worst-case", "r-concave"])
def test_the_smallest_threshold_is_the_first_that_meets_the_bound(assumption):
    found = smallest_threshold(0.55, 0.5, 4.0, 60, 20, assumption)
    assert false_selection_bound(found, 4.0, 60, 20, assumption) <= 0.5
    below = found - 1 / 40
    assert below < 0.55 or false_selection_bound(below, 4.0, 60, 20, assumption) > 0.5


def test_no_threshold_meets_an_impossible_bound():
    assert smallest_threshold(0.6, 1e-9, 4.0, 60, 20, "worst-case") == np.inf
