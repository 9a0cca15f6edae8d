"""The rules for the length scale, against loops over pairs and neighbours."""

import numpy as np
import pytest

from nablasso.errors import InvalidParameterError
from nablasso.kernels import WIDTH_RULES, Anova, Gaussian, Linear, Matern52, Polynomial
from nablasso.kernels.base import width_by_rule


def distance(x, z):
    return float(np.sqrt(sum((a - b) ** 2 for a, b in zip(x, z, strict=True))))


def brute_force(X, counts, rule, neighbours=20):
    """Every pair ``w_i w_j`` times, every point ``w_i`` times, for integer weights."""
    n = len(X)
    pairs, last, near = [], [], []
    for i in range(n):
        for j in range(i + 1, n):
            pairs += [distance(X[i], X[j])] * int(counts[i] * counts[j])
        others = sorted(distance(X[i], X[j]) for j in range(n) if j != i)
        nearest = others[: min(neighbours, n - 1)]
        last += [nearest[-1]] * int(counts[i])
        near += nearest * int(counts[i])
    return {
        "median": np.median(pairs),
        "half_median": np.median(pairs) / 2,
        "neighbour20": np.mean(last),
        "median20": np.median(near),
    }[rule]


def points(n, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("rule", WIDTH_RULES)
@pytest.mark.parametrize("n", [2, 3, 8, 9, 21, 22, 40])
def test_rules_without_weights(rule, n):
    X = points(n)
    expected = brute_force(X, np.ones(n), rule)
    assert width_by_rule(X, np.ones(n), rule) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rule", WIDTH_RULES)
@pytest.mark.parametrize("n", [3, 8, 30])
@pytest.mark.parametrize("seed", range(3))
def test_rules_with_integer_weights(rule, n, seed):
    X = points(n, seed=seed)
    counts = np.random.default_rng(seed + 10).integers(1, 5, size=n).astype(float)
    expected = brute_force(X, counts, rule)
    assert width_by_rule(X, counts, rule) == pytest.approx(expected, rel=1e-12)
    assert width_by_rule(X, counts / counts.sum(), rule) == pytest.approx(expected, rel=1e-12)


def test_the_rules_differ():
    X = points(40)
    assert len({round(width_by_rule(X, np.ones(40), rule), 6) for rule in WIDTH_RULES}) == 4


@pytest.mark.parametrize("rule", WIDTH_RULES)
def test_weights_matter(rule):
    X = points(30)
    weights = np.where(np.arange(30) < 5, 50.0, 1.0)
    assert width_by_rule(X, weights, rule) != pytest.approx(
        width_by_rule(X, np.ones(30), rule), rel=1e-3
    )


@pytest.mark.parametrize("rule", WIDTH_RULES)
@pytest.mark.parametrize("n", [1, 2, 25])
def test_width_is_one_when_all_points_coincide(rule, n):
    assert width_by_rule(np.full((n, 3), 7.0), np.ones(n), rule) == 1.0


def test_half_median_of_mostly_equal_points_is_that_of_the_positive_distances():
    X = np.array([[0.0]] * 6 + [[4.0]])
    assert width_by_rule(X, np.ones(7), "half_median") == 2.0
    assert width_by_rule(X, np.ones(7), "median") == 1.0


@pytest.mark.parametrize("rule", WIDTH_RULES)
def test_only_the_first_rows_are_used(rule):
    X = points(40)
    expected = brute_force(X[:25], np.ones(25), rule)
    found = width_by_rule(X, np.ones(40), rule, max_rows=25)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rule", WIDTH_RULES)
def test_inputs_stay_as_they_are(rule):
    X, weights = points(12), np.ones(12)
    X.setflags(write=False)
    weights.setflags(write=False)
    assert width_by_rule(X, weights, rule) > 0


def test_width_scales_with_the_points():
    X, weights = points(30), np.ones(30)
    for rule in WIDTH_RULES:
        assert width_by_rule(5 * X, weights, rule) == pytest.approx(
            5 * width_by_rule(X, weights, rule)
        )


@pytest.mark.parametrize("rule", ["mean", "", "Median", None])
def test_an_unknown_rule_lists_the_known_ones(rule):
    rules = "median, half_median, neighbour20, median20"
    message = f"length_scale must be a positive number or one of {rules}; got {rule!r}"
    with pytest.raises(InvalidParameterError, match=message):
        width_by_rule(points(5), np.ones(5), rule)


@pytest.mark.parametrize("rule", WIDTH_RULES)
def test_kernels_take_their_width_from_the_rule(rule):
    X, weights = points(30), np.ones(30)
    expected = width_by_rule(X, weights, rule)
    assert Gaussian().width(X, weights, rule) == expected
    assert (2 * Matern52() + Linear()).width(X, weights, rule) == expected
    assert Anova(2).width(X, weights, rule) == pytest.approx(expected / np.sqrt(3))
    assert Polynomial().width(X, weights, rule) == 1.0
