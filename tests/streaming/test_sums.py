"""Hashes of rows: of their content alone, and even."""

import numpy as np
import pytest

from nablasso.streaming.sums import fold_numbers, row_hashes


def test_equal_numbers_have_equal_hashes_in_both_precisions():
    X = np.random.default_rng(0).standard_normal((3000, 3)).astype(np.float32)
    y = X[:, 0].copy()
    one = row_hashes(X, y, 0)
    assert np.array_equal(one, row_hashes(X.astype(float), y.astype(float), 0))
    order = np.random.default_rng(1).permutation(3000)
    assert np.array_equal(one[order], row_hashes(X[order], y[order], 0))
    assert not np.array_equal(one, row_hashes(X, y, 1))


def test_minus_zero_is_zero():
    zero, y = np.zeros((1, 2)), np.zeros(1)
    assert row_hashes(zero, y, 0) == row_hashes(-zero, -y, 0)


@pytest.mark.parametrize("values", [2, 10, None])
def test_folds_are_even_even_for_round_numbers(values):
    rng = np.random.default_rng(0)
    n, K = 20000, 5
    X = rng.standard_normal((n, 30)) if values is None else rng.integers(0, values, (n, 30))
    folds = fold_numbers(row_hashes(X, np.zeros(n), 7), K)
    counts = np.bincount(folds, minlength=K)
    assert ((counts - n / K) ** 2 / (n / K)).sum() < 20  # chi-squared with 4 degrees of freedom
    assert len(np.unique(row_hashes(X, np.zeros(n), 7))) > 0.999 * n


def test_inputs_and_target_both_count_and_change_places():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    assert len(np.unique(row_hashes(X, np.array([0.0, 0.0, 1.0]), 0))) == 3
