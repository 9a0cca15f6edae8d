"""E1, E2 and E3 against sums written out, and the correlations of their inputs."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from nablasso.datasets import make_correlated_pairs, make_cubic_groups, make_noisy_copies
from nablasso.datasets.structured import cubic_groups_function, pairs_of_columns

TRIPLES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11), (12, 13, 14), (15, 16, 17))
BLOCKS = ((0, 1, 2), (6, 7, 8))


def test_cubic_groups_sum_every_monomial_once():
    problem = make_cubic_groups(random_state=0)
    expected = np.zeros(110)
    for block in BLOCKS:
        monomials = list(combinations_with_replacement(block, 3))
        assert len(monomials) == 10
        for i, j, k in monomials:
            expected += problem.X[:, i] * problem.X[:, j] * problem.X[:, k]
    np.testing.assert_allclose(problem.noise_free, expected, rtol=1e-10, atol=1e-12)


def test_cubic_groups_have_ten_monomials_per_block():
    first_block = np.zeros((1, 18))
    first_block[0, [0, 1, 2]] = 1.0
    assert cubic_groups_function(first_block) == pytest.approx([10.0])
    assert cubic_groups_function(np.ones((1, 18))) == pytest.approx([20.0])


def test_groups_are_consecutive_triples():
    assert make_cubic_groups(random_state=0).groups == TRIPLES
    assert make_noisy_copies(random_state=0).groups == TRIPLES


@pytest.mark.parametrize("make", [make_cubic_groups, make_noisy_copies])
def test_groups_of_three_need_a_multiple_of_three(make):
    assert make(n_features=12, random_state=0).groups == TRIPLES[:4]
    with pytest.raises(ValueError, match=r"n_features=10\. Use a multiple of 3"):
        make(n_features=10, random_state=0)


def test_cubic_groups_inputs_are_independent_standard_normals():
    X = make_cubic_groups(n_samples=50_000, random_state=0).X
    np.testing.assert_allclose(np.cov(X.T), np.eye(18), atol=0.04)


def test_correlated_pairs_sum_every_ordered_product():
    problem = make_correlated_pairs(random_state=0)
    X = problem.X
    expected = np.zeros(110)
    for block in BLOCKS:
        for i, j, k in product(block, repeat=3):
            expected += X[:, i] * X[:, j] * X[:, k]
    np.testing.assert_allclose(problem.noise_free, expected, rtol=1e-9, atol=1e-10)


def test_every_column_has_one_partner():
    pairs = pairs_of_columns(18)
    assert pairs[:3] == ((0, 6), (1, 7), (2, 8))
    assert sorted(a for pair in pairs for a in pair) == list(range(18))


def test_correlations_are_095_within_pairs_and_0_elsewhere():
    X = make_correlated_pairs(n_samples=50_000, random_state=0).X
    expected = np.eye(18)
    for first, second in pairs_of_columns(18):
        expected[first, second] = expected[second, first] = 0.95
    np.testing.assert_allclose(np.cov(X.T), expected, atol=0.04)
    correlation = np.corrcoef(X.T)
    assert [correlation[a, a + 6] for a in range(3)] == pytest.approx([0.95] * 3, abs=0.005)


def test_correlation_is_a_parameter():
    X = make_correlated_pairs(n_samples=50_000, correlation=-0.5, random_state=0).X
    assert np.corrcoef(X[:, 0], X[:, 6])[0, 1] == pytest.approx(-0.5, abs=0.02)
    with pytest.raises(ValueError, match=r"between -1 and 1; got 1\.5"):
        make_correlated_pairs(correlation=1.5)


def test_pairs_need_an_even_number_of_columns():
    with pytest.raises(ValueError, match=r"n_features=11\. Use an even number"):
        make_correlated_pairs(n_features=11)


def test_noisy_copies_follow_the_formula_of_the_latent_variables():
    problem = make_noisy_copies(copy_noise=0.0, random_state=0)
    z = problem.X[:, ::3]  # exact copies show the latent variables
    np.testing.assert_array_equal(problem.X, np.repeat(z, 3, axis=1))
    r = z[:, 0] ** 2 + z[:, 2] ** 2
    np.testing.assert_allclose(problem.noise_free, 10 * r * np.exp(-2 * r), rtol=1e-12)


def test_copy_noise_leaves_the_outputs_alone():
    exact, noisy = (make_noisy_copies(copy_noise=s, random_state=0) for s in (0.0, 0.1))
    np.testing.assert_array_equal(exact.y, noisy.y)


def test_copies_differ_by_independent_errors_of_the_stated_size():
    exact, noisy = (
        make_noisy_copies(n_samples=50_000, copy_noise=s, random_state=0) for s in (0.0, 0.1)
    )
    np.testing.assert_allclose(np.cov((noisy.X - exact.X).T), 0.01 * np.eye(18), atol=5e-4)
    np.testing.assert_allclose(np.cov(exact.X[:, ::3].T), np.eye(6), atol=0.04)
