"""Copies are found, strangers are not."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.drawn import make_noisy_copies
from nablasso.reading.doubts import PER_COLUMN, SWAPS, _candidates, alternatives, compare
from tests.reading.known_functions import evidence


def twins(seed, spread=0.02, n=80):
    """Column 2 copies column 0, column 3 is a stranger, column 4 goes with 0 only loosely."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 2] = X[:, 0] + spread * rng.normal(size=n)
    X[:, 4] = X[:, 0] + rng.normal(size=n)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2 + 0.3 * rng.normal(size=n)


def pairs(case):
    return [(found.a, found.b) for found in alternatives(case)]


def test_a_copy_is_found_and_strangers_are_not():
    counts = {}
    for seed in range(12):
        for pair in pairs(evidence(*twins(seed), [0, 1])):
            counts[pair] = counts.get(pair, 0) + 1
    assert counts.pop((0, 2)) >= 9
    assert counts == {}


def test_a_column_worse_than_nothing_is_no_alternative():
    """A few rows with large errors can make the standard error large enough for any swap."""
    case = evidence(*twins(9), [0, 1])
    swapped = case.left_out(case.X[:, [4, 1]], case.scales)
    worse, error = compare(case.residuals, swapped, case.weights)
    assert worse <= error
    assert np.mean(swapped**2) > np.mean(case.left_out(case.X[:, [1]], case.scales[1:]) ** 2)
    assert pairs(case) == [(0, 2)]


def test_copies_of_a_latent_variable_replace_each_other():
    found = []
    for seed in range(8):
        made = make_noisy_copies(110, 18, random_state=seed)
        found += pairs(evidence(made.X, made.y, [0, 6]))
    assert set(found) == {(0, 1), (0, 2), (6, 7), (6, 8)}
    assert len(found) >= 24  # of 32


def test_scores_are_those_of_left_out_rows():
    case = evidence(*twins(0), [0, 1])
    (found,) = alternatives(case)
    other = replace(case, selected=np.array([2, 1]))
    spread = np.var(case.y)
    assert found.ours == pytest.approx(1 - np.mean(case.residuals**2) / spread)
    assert found.theirs == pytest.approx(1 - np.mean(other.residuals**2) / spread)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_classes_are_the_shares_that_are_put_right(n_classes):
    X, _ = twins(3, spread=1e-4, n=90)
    codes = np.digitize(X[:, 0], [0.0] if n_classes == 2 else [-0.5, 0.5])
    labels = np.eye(n_classes)[codes][:, 1:] if n_classes == 2 else np.eye(n_classes)[codes]
    y = (labels - labels.mean(axis=0)) / labels.std(axis=0)
    case = replace(evidence(X, y[:, 0], [0]), y=y, classes=True)
    fits = labels.mean(axis=0) + labels.std(axis=0) * (y - case.residuals)
    told = fits.argmax(axis=1) if n_classes == 3 else (fits[:, 0] > 0.5).astype(int)
    (found,) = [pair for pair in alternatives(case) if pair.b == 2]
    assert found.ours == pytest.approx(np.mean(told == codes))
    assert found.theirs > 0.8


def test_units_and_monotone_functions_of_a_column_do_not_matter():
    X, y = twins(1)
    case = evidence(X, y, [0, 1])
    expected = alternatives(case)
    units = np.array([1.0, 1.0, 1000.0, 1.0, 1.0])
    found = alternatives(replace(case, X=case.X * units))
    assert [(f.a, f.b) for f in found] == [(f.a, f.b) for f in expected] == [(0, 2)]
    assert found[0].theirs == pytest.approx(expected[0].theirs)
    steep = case.X.copy()
    steep[:, 2] = np.exp(3 * steep[:, 2])
    assert (0, 2) in _candidates(replace(case, X=steep))


def test_the_number_of_swaps_is_bounded():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 20)), 5, axis=1) + 0.1 * rng.normal(size=(30, 100))
    candidates = _candidates(evidence(X, X[:, 0], np.arange(0, 100, 5)))
    assert len(candidates) == SWAPS
    assert np.bincount([place for place, _ in candidates]).max() <= PER_COLUMN


def test_nothing_selected_has_no_alternatives():
    X, y = twins(0)
    assert alternatives(evidence(X, y, [])) == []
