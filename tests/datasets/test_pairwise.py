"""Correlated Gaussian inputs and their pairwise products."""

from itertools import combinations

import numpy as np
import pytest

from nablasso.datasets import make_pairwise
from nablasso.datasets.pairwise import pair_coefficients, pairwise_signal_sd, wishart_correlation


@pytest.mark.parametrize("n_relevant", [2, 4, 7])
def test_noise_free_sums_the_pairs(n_relevant):
    problem = make_pairwise(n_relevant=n_relevant, random_state=0)
    expected = sum(problem.X[:, i] * problem.X[:, j] for i, j in combinations(range(n_relevant), 2))
    np.testing.assert_allclose(problem.noise_free, expected, rtol=1e-10, atol=1e-12)
    assert problem.support.sum() == n_relevant


def test_correlation_matrix_is_one():
    C = wishart_correlation(12, 0)
    np.testing.assert_allclose(np.diag(C), 1.0)
    np.testing.assert_array_equal(C, C.T)
    assert np.linalg.eigvalsh(C).min() > 0


def test_correlations_have_the_spread_of_2p_degrees_of_freedom():
    """A sample correlation of m independent pairs has variance 1 / m."""
    p = 60
    off_diagonal = wishart_correlation(p, 0)[np.triu_indices(p, k=1)]
    assert off_diagonal.std() == pytest.approx((2 * p) ** -0.5, rel=0.05)


def test_inputs_have_that_correlation():
    X = make_pairwise(n_samples=100_000, n_features=8, design_state=3, random_state=0).X
    np.testing.assert_allclose(np.cov(X.T), wishart_correlation(8, 3), atol=0.03)


def test_signal_sd_matches_a_sample():
    C = np.array([[1.0, 0.6, -0.2], [0.6, 1.0, 0.3], [-0.2, 0.3, 1.0]])
    X = np.random.default_rng(0).multivariate_normal(np.zeros(3), C, size=1_000_000)
    f = X[:, 0] * X[:, 1] + X[:, 0] * X[:, 2] + X[:, 1] * X[:, 2]
    assert pairwise_signal_sd(C, 3) == pytest.approx(f.std(), rel=0.01)


def test_training_and_test_rows_share_the_design_by_default():
    train, test = (make_pairwise(50_000, 8, random_state=s) for s in (0, 1))
    other = make_pairwise(50_000, 8, design_state=1, random_state=1)
    np.testing.assert_allclose(np.cov(train.X.T), np.cov(test.X.T), atol=0.05)
    assert np.abs(np.cov(train.X.T) - np.cov(other.X.T)).max() > 0.2


@pytest.mark.parametrize("design_state", range(3))
def test_ratio_holds_for_every_design(design_state):
    problem = make_pairwise(200_000, 6, design_state=design_state, random_state=0)
    noise = problem.y - problem.noise_free
    assert problem.noise_free.std() / noise.std() == pytest.approx(3.0, rel=0.02)


def test_one_variable_has_no_pair():
    with pytest.raises(ValueError, match="n_relevant of at least 2; got 1"):
        make_pairwise(n_relevant=1)


def test_coefficients_are_ones_by_default():
    np.testing.assert_array_equal(pair_coefficients(4, None), np.ones(6))


@pytest.mark.parametrize("coefficients", [[1.0, 2.0], np.ones((3, 1)), 1.0])
def test_coefficients_are_one_number_per_pair(coefficients):
    with pytest.raises(ValueError, match=r"shape \(3,\) for n_relevant=3; got shape"):
        pair_coefficients(3, coefficients)
