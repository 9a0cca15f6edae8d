"""Held-out predictions never see their rows; how many groups, by brute force."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso.kernels import Gaussian, Polynomial
from nablasso.metric import Start, mean_fit
from nablasso.metric.cross_fit import absolute_errors, fewest, fit_fold
from nablasso.metric.nested import fit_groups, ranking
from nablasso.metric.search import follow
from tests.metric.samples import draw_sample

TRAIL = (Start(Polynomial(2, 0.5)), Start(Gaussian()))


def split(n, seed=0):
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n // 4 :]), np.sort(order[: n // 4])


@pytest.mark.parametrize("targets", [1, 2])
def test_test_rows_are_not_seen(targets):
    """Whatever their targets, their weights and each other's inputs are, predictions stay."""
    sample = draw_sample(n=36, d=5, targets=targets, weighted=True)
    train, test = split(36)
    expected = fit_fold(sample, train, test, TRAIL, 5)
    Y, X, weights = sample.Y.copy(), sample.X.copy(), sample.weights.copy()
    Y[test] = 1e3 * np.random.default_rng(1).normal(size=Y[test].shape)
    X[test[1:]] = 50.0
    weights[test] *= 7
    corrupted = replace(sample, X=X, Y=Y, weights=weights / weights.sum())
    seen = fit_fold(corrupted, train, test, TRAIL, 5)
    np.testing.assert_array_equal(seen.order, expected.order)
    np.testing.assert_allclose(seen.predictions[:, 0], expected.predictions[:, 0], rtol=1e-6)
    only_targets = fit_fold(replace(sample, Y=Y), train, test, TRAIL, 5)
    np.testing.assert_array_equal(only_targets.predictions, expected.predictions)


def test_training_rows_are_seen():
    sample = draw_sample(n=36, d=5)
    train, test = split(36)
    Y = sample.Y.copy()
    Y[train[0]] += 1.0
    before, after = (fit_fold(s, train, test, TRAIL, 5) for s in (sample, replace(sample, Y=Y)))
    assert np.abs(after.predictions - before.predictions).max() > 1e-3


def test_a_fold_fits_the_first_of_its_own_ranking():
    sample = draw_sample(n=36, d=5, kept=[4])
    train, test = split(36)
    fold = fit_fold(sample, train, test, TRAIL, 3)
    inner = sample.rows(train)
    metric = follow(inner, TRAIL)
    np.testing.assert_array_equal(fold.order, ranking(inner, metric))
    assert fold.order[0] == 4
    assert fold.sizes == [1, 2, 3]
    for size, predictions in zip(fold.sizes, fold.predictions, strict=True):
        fit = fit_groups(inner, TRAIL[-1], fold.order[:size], metric.scales)
        np.testing.assert_array_equal(predictions, fit.values(sample.X[test]))


def test_size_zero_predicts_the_mean_of_the_training_rows():
    sample = draw_sample(n=36, weighted=True)
    train, test = split(36)
    fold = fit_fold(sample, train, test, TRAIL, 4)
    assert fold.sizes[0] == 0
    mean = np.average(sample.Y[train], axis=0, weights=sample.weights[train])
    np.testing.assert_allclose(fold.predictions[0], np.tile(mean, (len(test), 1)))
    np.testing.assert_array_equal(
        fold.predictions[0], mean_fit(sample.rows(train)).values(sample.X[test])
    )


def test_absolute_errors_are_added_up_over_targets():
    sample = draw_sample(n=36, d=4, targets=2, weighted=True)
    (a, b), (c, d) = split(36), split(36, seed=1)
    folds = [fit_fold(sample, a, b, TRAIL, 4), fit_fold(sample, c, d, TRAIL, 4)]
    errors, weights = absolute_errors(sample, folds)
    assert errors.shape == (5, len(b) + len(d))
    np.testing.assert_array_equal(weights, sample.weights[np.concatenate([b, d])])
    row = b[2]
    for k in range(5):
        difference = sample.Y[row] - folds[0].predictions[k, 2]
        assert errors[k, 2] == pytest.approx(abs(difference[0]) + abs(difference[1]))


def brute_force_fewest(errors, weights, clearly):
    p = [w / sum(weights) for w in weights]
    means = [sum(pi * e for pi, e in zip(p, row, strict=True)) for row in errors]
    best = means.index(min(means))
    for k in range(best):
        delta = [a - b for a, b in zip(errors[k], errors[best], strict=True)]
        mean = sum(pi * x for pi, x in zip(p, delta, strict=True))
        variance = sum(pi**2 * (x - mean) ** 2 for pi, x in zip(p, delta, strict=True))
        if mean <= clearly * variance**0.5 and (
            min(map(min, errors)) < 0 or mean <= means[best] / 10
        ):
            return k, best
    return best, best


@pytest.mark.parametrize("seed", range(20))
def test_the_fewest_not_clearly_worse_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    levels = np.sort(rng.uniform(0.8, 1.6, size=(6, 1)), axis=0)[::-1]
    errors = levels * rng.uniform(0.5, 1.5, size=15) + 0.2 * rng.uniform(size=(6, 15))
    weights = rng.uniform(0.2, 3.0, size=15)
    for clearly in (0.0, 1.0, 2.0, 1e9):
        for shift in (0.0, 3.0):  # below zero they are scores, of which a tenth says nothing
            shifted = errors - shift
            expected = brute_force_fewest(shifted.tolist(), weights.tolist(), clearly)
            assert fewest(shifted, weights, clearly) == expected
    assert fewest(errors, weights) == brute_force_fewest(errors.tolist(), weights.tolist(), 2.0)


def test_the_comparison_is_paired():
    """A small but constant gain counts; one as large that only some rows have does not."""
    common = np.random.default_rng(0).uniform(0, 10, size=40)
    noise = 0.01 * np.random.default_rng(1).normal(size=40)
    steady = np.array([common + 0.1 + noise, common])
    assert fewest(steady, np.ones(40)) == (1, 1)
    erratic = np.array([common + 4.0 * (np.arange(40) == 3), common])
    assert fewest(erratic, np.ones(40)) == (0, 1)


def test_ties_go_to_the_smaller_model():
    errors = np.ones((4, 9))
    assert fewest(errors, np.ones(9))[0] == 0
