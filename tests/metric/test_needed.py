"""Groups that can go, and twins that should come, on constructed samples."""

from types import SimpleNamespace

import numpy as np
import pytest

from nablasso.kernels import Gaussian, Linear, Polynomial
from nablasso.metric import Start, twins
from nablasso.metric.needed import needed
from nablasso.metric.twins import group_correlations, with_twins
from tests.metric.samples import as_sample

STARTS = [Start(Linear()), Start(Gaussian())]


def columns(n=60, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def groups(*numbers):
    return np.array(numbers, dtype=np.intp)


@pytest.mark.parametrize("start", [Start(Polynomial(2, 0.5)), Start(Gaussian())], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_irrelevant_groups_go_and_relevant_ones_stay(start, seed):
    X = columns(seed=seed)
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * np.random.default_rng(9 + seed).normal(size=60)
    left = needed(as_sample(X, y), start, groups(3, 0, 4, 1), np.ones(5))
    np.testing.assert_array_equal(left, [0, 1])


def test_what_must_be_kept_stays():
    X = columns()
    sample = as_sample(X, X[:, 0] + 0.1 * columns(seed=8)[:, 0], kept=[4])
    left = needed(sample, Start(Linear()), groups(4, 0, 3), np.ones(5))
    np.testing.assert_array_equal(left, [4, 0])


def test_a_group_is_judged_as_a_whole():
    X = columns(d=6)
    y = X[:, 0] + X[:, 5] + 0.1 * columns(seed=8)[:, 0]
    sample = as_sample(X, y, labels=[0, 1, 1, 2, 2, 0])
    left = needed(sample, Start(Linear()), groups(1, 0, 2), np.ones(3))
    np.testing.assert_array_equal(left, [0])


def test_of_two_copies_one_is_needed():
    X = columns()
    X[:, 1] = X[:, 0]
    sample = as_sample(X, np.sin(X[:, 0]) + 0.05 * columns(seed=8)[:, 0])
    left = needed(sample, Start(Gaussian()), groups(0, 1, 2), np.ones(5))
    assert len(left) == 1
    assert left[0] in (0, 1)


def test_nothing_is_needed_for_a_constant_or_pure_noise():
    X = columns()
    assert not len(needed(as_sample(X, np.zeros(60)), Start(Linear()), groups(0, 1), np.ones(5)))
    noise = columns(seed=5)[:, 0]
    assert not len(needed(as_sample(X, noise), Start(Gaussian()), groups(0, 1, 2), np.ones(5)))


def test_nothing_chosen_needs_nothing():
    sample = as_sample(columns(), columns()[:, 0])
    assert not len(needed(sample, Start(Linear()), groups(), np.ones(5)))
    assert not len(with_twins(sample, STARTS, groups(), np.ones(5)))


def test_correlations_are_the_largest_between_columns_of_two_groups():
    X = columns(d=6)
    X[:, 3] = -X[:, 0] + 0.3 * X[:, 3]
    labels = np.array([0, 0, 1, 1, 2, 2])
    weights = np.random.default_rng(1).uniform(0.5, 2, size=60)
    sample = as_sample(X, X[:, 0], weights, labels)
    C = np.cov(X.T, aweights=weights)
    C = np.abs(C / np.sqrt(np.outer(np.diag(C), np.diag(C))))
    expected = [[C[np.ix_(labels == g, labels == h)].max() for h in range(3)] for g in (2, 0)]
    np.testing.assert_allclose(group_correlations(sample, groups(2, 0)), expected, rtol=1e-10)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_exact_copies_are_taken_in(sign):
    """The rows give no reason to prefer one of them."""
    X = columns()
    X[:, 3] = sign * X[:, 0]
    sample = as_sample(X, X[:, 0] + 0.2 * columns(seed=8)[:, 0])
    chosen = with_twins(sample, STARTS, groups(0), np.ones(5))
    np.testing.assert_array_equal(np.sort(chosen), [0, 3])


def test_noisy_copies_that_average_out_are_taken_in():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=80)
    X = np.column_stack(
        [hidden[:, None] + 0.4 * rng.normal(size=(80, 3)), rng.normal(size=(80, 2))]
    )
    sample = as_sample(X, hidden + 0.05 * rng.normal(size=80))
    chosen = with_twins(sample, STARTS, groups(1), np.ones(5))
    np.testing.assert_array_equal(np.sort(chosen), [0, 1, 2])


def test_relatives_that_do_not_help_stay_out():
    """Correlated 0.9 with the cause, but the cause is known exactly."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    X[:, 1] = X[:, 0] + 0.48 * X[:, 1]
    sample = as_sample(X, X[:, 0] + 0.1 * rng.normal(size=80))
    np.testing.assert_array_equal(with_twins(sample, STARTS, groups(0), np.ones(5)), [0])


def test_unrelated_groups_are_never_taken_in():
    X = columns()
    sample = as_sample(X, X.sum(axis=1))  # the others would help, but are no twins
    np.testing.assert_array_equal(with_twins(sample, STARTS, groups(2, 0), np.ones(5)), [2, 0])


NOISE = np.where(np.arange(60) % 2, 0.1, -0.1)  # standard error of its mean: 0.1 / sqrt(60)


@pytest.mark.parametrize(
    ("with_copy", "with_relative", "expected"),
    [
        (0.01, 0.5, [0, 1]),  # a copy may cost a little
        (0.02, 0.5, [0]),  # but not clearly more
        (-0.01, -0.011, [0, 1]),  # a relative must bring more than the noise
        (-0.01, -0.02, [0, 1, 2]),
        (0.5, -0.02, [0, 1, 2]),
        (-0.03, -0.02, [0, 1]),  # the better of two that are allowed
    ],
)
def test_copies_join_unless_they_hurt_and_relatives_if_they_help(
    with_copy, with_relative, expected, monkeypatch
):
    """Squared residuals of each closure are scripted: 1 alone, changed by so much on average."""
    X = columns()
    X[:, 1] = X[:, 0] + 0.15 * X[:, 1]
    X[:, 2] = X[:, 0] + 0.45 * X[:, 2]
    correlations = np.abs(np.corrcoef(X.T))[0]
    assert correlations[1] > 0.95 > correlations[2] > 0.85 > 0.7 > correlations[3:].max()
    changes = {1: 0.0, 2: with_copy + NOISE, 3: with_relative + NOISE}

    def scripted(sample, start, groups, scales):
        squares = 1.0 + changes[len(groups)] * np.ones(60)
        return SimpleNamespace(residuals=np.sqrt(squares)[:, None], error=squares.mean())

    monkeypatch.setattr(twins, "fit_groups", scripted)
    chosen = with_twins(as_sample(X, X[:, 0]), STARTS, groups(0), np.ones(5))
    np.testing.assert_array_equal(chosen, expected)
