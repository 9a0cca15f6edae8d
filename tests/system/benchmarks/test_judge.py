"""The judge is right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from benchmarks.contest import Answer
from benchmarks.judge import (
    compare,
    indices,
    judge_prediction,
    judge_support,
    label_error,
    last_rank,
    rate_met,
    ratio_of_means,
    rmse,
    wilson,
)
from benchmarks.problem import Draw, Inputs


def mask(d: int, *columns: int) -> np.ndarray:
    chosen = np.zeros(d, dtype=bool)
    chosen[list(columns)] = True
    return chosen


@pytest.mark.parametrize(
    ("selected", "truth", "expected"),
    [
        ((0, 1), (0, 1), (True, 1.0, 1.0, 0.0)),
        ((0, 2), (0, 1), (False, 0.5, 0.5, 2 / 3)),
        ((0,), (0, 1), (False, 1.0, 0.5, 0.5)),
        ((), (0, 1), (False, 1.0, 0.0, 1.0)),
        ((), (), (True, 1.0, 1.0, 0.0)),
        ((3,), (), (False, 0.0, 1.0, 1.0)),
    ],
)
def test_supports_are_judged_by_sets(selected, truth, expected):
    assert tuple(judge_support(mask(5, *selected), mask(5, *truth))) == pytest.approx(expected)


def test_indifferent_columns_count_neither_way():
    for selected in (mask(5, 0, 1), mask(5, 0, 1, 3)):
        assert judge_support(selected, mask(5, 0, 1), (3,)).exact
    assert not judge_support(mask(5, 0, 1, 4), mask(5, 0, 1), (3,)).exact


def test_rmse_of_labels_is_the_root_of_the_error_rate():
    two, many = ([0, 1, 1, 0], [0, 1, 0, 0]), ([0, 6, 1, 0], [0, 1, 1, 0])
    assert rmse(*two) == label_error(*two) == pytest.approx(0.5)
    assert label_error(*many) == pytest.approx(0.5)  # 6 is no farther from 1 than 0


@pytest.mark.parametrize(("hits", "runs"), [(0, 20), (47, 50), (50, 50), (7, 13)])
def test_wilson_bounds_solve_their_equation(hits, runs):
    # the bounds are the rates q with |hits/runs - q| = z sqrt(q (1 - q) / runs)
    z, p = norm.ppf(0.975), hits / runs

    def excess(q):
        return (p - q) ** 2 - z**2 * q * (1 - q) / runs

    low, high = wilson(hits, runs)
    expected_low = brentq(excess, 0.0, p - 1e-9) if hits > 0 else 0.0
    expected_high = brentq(excess, p + 1e-9, 1.0) if hits < runs else 1.0
    assert (low, high) == pytest.approx((expected_low, expected_high), abs=1e-7)


def test_a_rate_is_met_only_near_its_target_and_with_its_interval():
    assert rate_met(46, 50, 0.95)  # 92 %: three points below, interval reaches 97 %
    assert not rate_met(45, 50, 0.95)  # 90 %: interval reaches 96 %, estimate too low
    assert not rate_met(930, 1000, 0.95)  # 93 %: within three points, interval ends at 94.4 %
    assert rate_met(50, 50, 0.98)
    assert not rate_met(0, 0, 0.5)


def test_the_comparison_sees_who_is_worse():
    rng = np.random.default_rng(0)
    errors = rng.uniform(1, 2, 20)
    better = compare(np.ones(20), np.zeros(20), errors, 1.1 * errors)
    worse = compare(np.zeros(20), np.ones(20), 1.1 * errors, errors)
    equal = compare(np.ones(20), np.ones(20), errors, errors)
    assert worse.worse()
    assert not better.worse()
    assert not equal.worse()
    assert worse.exact_p == pytest.approx(0.5**20)
    assert (worse.exact_difference, worse.ratio) == pytest.approx((-1, 1.1))
    assert (equal.exact_p, equal.error_p) == (1.0, 1.0)
    assert ratio_of_means([1, 3], [1, 1]) == 2.0


def test_intervals_densities_and_ranks_are_judged():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(4000)
    X = np.zeros((4000, 3))
    draw = Draw(X, y, X, y)
    answer = Answer(
        mask(3, 0),
        lambda new: np.zeros(len(new)),
        interval=lambda new: np.tile([-1.0, 1.0], (len(new), 1)),
        deviation=lambda new: np.ones(len(new)),
    )
    found = judge_prediction(answer, draw, classes=False)
    assert found["coverage"] == pytest.approx(norm.cdf(1) - norm.cdf(-1), abs=0.03)
    assert found["log_likelihood"] == pytest.approx(-0.5 * np.log(2 * np.pi * np.e), abs=0.05)
    assert (found["width"], found["r2"]) == pytest.approx((2, 0), abs=2e-3)
    assert last_rank(answer._replace(scores=np.array([3.0, 1.0, 2.0])), mask(3, 0, 2)) == 2
    assert last_rank(answer, mask(3, 1)) == 3  # two unselected columns share the last place


def test_the_indices_of_a_predictor_are_those_of_its_formula():
    # f = x1 + 2 x2 with unit variances: totals 1/5 and 4/5, slopes the same
    inputs = Inputs(lambda n, rng: rng.standard_normal((n, 3)), np.zeros(3), np.zeros(3))
    linear = Answer(mask(3, 0, 1), lambda X: X[:, 0] + 2 * X[:, 1])
    totals, slopes = indices(linear, inputs, np.random.default_rng(0))
    np.testing.assert_allclose(totals, [0.2, 0.8, 0], atol=0.06)
    np.testing.assert_allclose(slopes, [0.2, 0.8, 0], atol=0.06)
