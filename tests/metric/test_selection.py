"""Search, judge and decide: the whole of it on easy samples."""

from dataclasses import replace

import joblib
import numpy as np
import pytest

from nablasso.kernels import Gaussian, Linear, Polynomial
from nablasso.metric import Start, select
from tests.metric.samples import as_sample, draw_sample

STARTS = [Start(Linear()), Start(Polynomial(2, 0.5)), Start(Gaussian())]


def folds(n, k=4):
    fold = np.random.default_rng(0).permutation(n) % k
    return [(np.flatnonzero(fold != j), np.flatnonzero(fold == j)) for j in range(k)]


def easy(n=60, d=6, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.05 * rng.normal(size=n)
    return as_sample(X, y, **options)


@pytest.mark.parametrize("seed", range(3))
def test_the_support_of_an_easy_problem_is_found(seed):
    selection = select(easy(seed=seed), STARTS, folds(60), 6)
    assert sorted(selection.chosen) == [0, 1, 2]
    assert set(selection.ranked) <= set(selection.chosen)


def test_held_out_residuals_are_those_of_the_chosen_size():
    sample = easy()
    selection = select(sample, STARTS, folds(60), 6)
    residuals = selection.held_out_residuals(sample)
    assert np.isfinite(residuals).all()
    for fold in selection.best.folds:
        predictions = fold.fits[selection.size].values(sample.X[fold.test])
        np.testing.assert_array_equal(residuals[fold.test], sample.Y[fold.test] - predictions)
    assert np.mean(residuals**2) < 0.1 * np.var(sample.Y)


def test_candidates_are_of_different_families_and_the_chosen_one_is_the_best():
    selection = select(easy(), STARTS, folds(60), 6)
    families = [c.trail.starts[-1].family for c in selection.candidates]
    assert len(set(families)) == len(families) == 3
    assert selection.candidates[0] is selection.best
    assert families[0] == "Polynomial 2"  # the function is a quadratic
    whole = [c for c in selection.candidates if len(c.folds) == 4]
    assert min(c.curve.min() for c in whole) == selection.best.curve.min()
    for candidate in selection.candidates:
        p = candidate.weights / candidate.weights.sum()
        np.testing.assert_allclose(candidate.curve, candidate.errors @ p)


def test_at_most_so_many():
    assert len(select(easy(), STARTS, folds(60), 2).ranked) <= 2


def test_kept_groups_are_chosen():
    assert 5 in select(easy(kept=[5]), STARTS, folds(60), 6).chosen


@pytest.mark.parametrize("seed", range(3))
def test_noise_selects_nothing(seed):
    noise = np.random.default_rng(100 + seed).normal(size=(60, 1))
    sample = replace(easy(seed=seed), Y=noise)
    assert not len(select(sample, STARTS, folds(60), 6).chosen)


def test_the_unit_of_the_target_does_not_matter():
    """The search is the same up to rounding."""
    sample = draw_sample(n=48, d=5, weighted=True)
    here = select(sample, STARTS, folds(48), 5)
    there = select(replace(sample, Y=1e4 * sample.Y), STARTS, folds(48), 5)
    np.testing.assert_array_equal(here.chosen, there.chosen)
    np.testing.assert_allclose(there.best.curve, 1e4 * here.best.curve, rtol=1e-6)


def test_workers_do_not_change_the_answer():
    sample = easy()
    one = select(sample, STARTS[:2], folds(60), 6)
    with joblib.parallel_config("threading"):
        two = select(sample, STARTS[:2], folds(60), 6, n_jobs=2)
    np.testing.assert_array_equal(one.chosen, two.chosen)
    np.testing.assert_allclose(one.best.errors, two.best.errors, rtol=1e-6)


def test_another_error_decides():
    """With errors that are equal for every size the smallest model is taken."""

    def indifferent(sample, fold_fits):
        return np.ones((len(fold_fits[0].sizes), len(fold_fits))), np.ones(len(fold_fits))

    assert not len(select(easy(), STARTS[:2], folds(60), 6, errors=indifferent).chosen)
