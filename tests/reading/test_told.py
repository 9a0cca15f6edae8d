"""Columns that others together tell."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from nablasso.reading.doubts import told_by_others

EQUAL = np.ones(120)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def mixture(seed, noise=0.3):
    """Column 0 is what the others leave of a mixture; none of them goes with it alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 6))
    X[:, 0] = -X[:, 1] - X[:, 2] - X[:, 3] + noise * rng.normal(size=120)
    return standardised(X)


def test_parts_of_a_mixture_tell_each_other():
    X = mixture(0)
    assert np.abs(np.corrcoef(X.T)[0, 1:]).max() < 0.8
    ((a, by, r2),) = told_by_others(X, EQUAL, np.arange(6), np.array([0, 5]))
    assert (a, set(by)) == (0, {1, 2, 3})
    left_out = cross_val_predict(LinearRegression(), X[:, by], X[:, 0], cv=LeaveOneOut())
    assert r2 == pytest.approx(1 - np.mean((X[:, 0] - left_out) ** 2), abs=1e-9)


def test_curves_tell_too():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    X[:, 0] = X[:, 1] ** 2 + 0.2 * rng.normal(size=120)
    ((a, by, _),) = told_by_others(standardised(X), EQUAL, np.arange(3), np.array([0]))
    assert (a, by.tolist()) == (0, [1])


@pytest.mark.parametrize(("n", "d"), [(120, 6), (30, 30), (12, 40), (50, 5000)])
def test_strangers_tell_nothing(n, d):
    for seed in range(20):
        X = standardised(np.random.default_rng(seed).normal(size=(n, d)))
        assert told_by_others(X, np.ones(n), np.arange(d), np.arange(3)) == []


def test_a_group_is_told_as_a_whole_and_never_by_itself():
    X = mixture(2)
    labels = np.array([0, 0, 1, 2, 3, 4])  # 0 and 1 together: 2 and 3 tell their sum alone
    assert told_by_others(X, EQUAL, labels, np.array([0, 1])) == []
    both = X.copy()
    both[:, 4] = both[:, 1] + 0.1 * np.random.default_rng(0).normal(size=120)
    ((_, by, _),) = told_by_others(standardised(both), EQUAL, labels, np.array([0, 1]))
    assert set(by) == {2, 3, 4}


def test_weights_are_copies_of_rows():
    X = mixture(3)
    counts = np.random.default_rng(0).integers(1, 4, size=120)
    ((_, weighted, share),) = told_by_others(X, counts.astype(float), np.arange(6), np.array([0]))
    copied = np.repeat(X, counts, axis=0)
    ((_, plain, same),) = told_by_others(copied, np.ones(len(copied)), np.arange(6), np.array([0]))
    assert weighted.tolist() == plain.tolist()
    assert share == pytest.approx(same, abs=0.01)
