"""Formulas written out, and population constants and moments against large samples."""

from itertools import combinations, product

import numpy as np
import pytest

from experiments.drawn import (
    MONOMIALS,
    RADIAL_SD,
    draw_quadratic,
    make_bow_tie,
    make_correlated_pairs,
    make_noisy_copies,
    make_pairwise,
    make_parabola,
    make_quadratic,
    make_radial,
    make_three_way,
    pairs_of_columns,
    pairwise_signal_sd,
    quadratic_signal_sd,
    wishart_correlation,
)
from nablasso.datasets import make_wavy_noise
from nablasso.errors import InvalidParameterError

BLOCKS = ((0, 1, 2), (6, 7, 8))


def test_parabola_inputs():
    X = make_parabola(n_samples=100_000, random_state=0).X
    assert np.abs(X[:, 0]).max() <= 1.0
    assert X[:, 0].std() == pytest.approx(1 / np.sqrt(3), rel=0.02)
    assert X[:, 1].std() == pytest.approx(0.05, rel=0.02)
    assert abs(X[:, 1].mean()) < 0.001


def test_parabola_takes_more_irrelevant_inputs():
    problem = make_parabola(n_samples=50_000, n_features=4, random_state=0)
    np.testing.assert_allclose(problem.X[:, 1:].std(axis=0), 0.05, rtol=0.02)
    assert problem.support.tolist() == [True, False, False, False]


@pytest.mark.parametrize("n_terms", range(2, 10))
def test_all_three_variables_and_degree_two(n_terms):
    for seed in range(20):
        drawn = draw_quadratic(n_terms, np.random.default_rng(seed))
        assert len(drawn) == n_terms
        assert {a for which in drawn for a in which} == {0, 1, 2}
        assert max(map(len, drawn)) == 2


def test_the_deviation_of_every_monomial():
    X = np.random.default_rng(0).uniform(-1, 1, size=(200_000, 3))
    for which in MONOMIALS:
        values = np.prod(X[:, list(which)], axis=1)
        assert values.std() == pytest.approx(quadratic_signal_sd({which: 1.0}), rel=0.01)


def test_training_and_test_rows_share_the_polynomial():
    one = make_quadratic(5000, n_terms=9, design_state=3, random_state=1)
    two = make_quadratic(5000, n_terms=9, design_state=3, random_state=2)
    other = make_quadratic(5000, n_terms=9, design_state=4, random_state=2)
    assert one.noise_sd == two.noise_sd != other.noise_sd


@pytest.mark.parametrize("n_terms", [1, 10])
def test_a_number_of_terms_that_is_not_there_is_refused(n_terms):
    with pytest.raises(InvalidParameterError, match="between 2 and 9"):
        make_quadratic(n_terms=n_terms)


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


def test_pairs_need_an_even_number_of_columns():
    with pytest.raises(ValueError, match=r"n_features=11\. Use an even number"):
        make_correlated_pairs(n_features=11)


def test_standardised_noise_is_standard_wherever_x_is():
    for make in (make_wavy_noise, make_bow_tie):
        data = make(60_000, random_state=1)
        z = (data.y - data.noise_free) / data.noise_sd
        for part in np.array_split(np.argsort(data.X[:, 0]), 4):
            assert abs(z[part].mean()) < 0.03
            assert abs(z[part].std() - 1) < 0.03


def test_the_bow_tie_has_no_rows_in_the_middle_and_no_mean():
    data = make_bow_tie(1000, random_state=0)
    x = data.X[:, 0]
    assert not ((x > 1 / 3) & (x < 2 / 3)).any()
    assert 0.4 < np.mean(x < 0.5) < 0.6
    assert not data.noise_free.any()
    assert not data.gradient.any()
    np.testing.assert_allclose(data.noise_sd, np.where(x < 0.5, 1 / 3 - x, x - 2 / 3))


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


def test_the_parabola_is_one():
    problem = make_parabola(random_state=0)
    np.testing.assert_allclose(problem.noise_free, problem.X[:, 0] ** 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "formula"),
    [
        (make_three_way, lambda x: (x[0] * x[1] * x[2]) ** 2),
        (
            make_radial,
            lambda x: (x[0] ** 2 + x[1] ** 2) * np.exp(-(x[0] ** 2) - x[1] ** 2) / np.pi,
        ),
    ],
)
def test_noise_free_follows_the_formula_on_a_centred_cube(make, formula):
    problem = make(5000, random_state=0)
    expected = [formula(row) for row in problem.X]
    np.testing.assert_allclose(problem.noise_free, expected, rtol=1e-12)
    assert 1.99 < np.abs(problem.X).max() <= 2


def test_copies_come_in_triples():
    groups = make_noisy_copies(n_features=12, random_state=0).groups
    assert groups == ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))
    with pytest.raises(ValueError, match=r"n_features=10\. Use a multiple of 3"):
        make_noisy_copies(n_features=10, random_state=0)


def test_the_radial_deviation_by_quadrature():
    nodes, weights = np.polynomial.legendre.leggauss(64)
    r = 4 * (nodes[:, None] ** 2 + nodes**2)
    values, p = r * np.exp(-r) / np.pi, np.outer(weights, weights) / 4
    assert np.sqrt(np.sum(p * (values - np.sum(p * values)) ** 2)) == pytest.approx(RADIAL_SD)


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
