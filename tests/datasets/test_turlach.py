import numpy as np

from nablasso.datasets import make_turlach


def test_noise_free_follows_the_formula():
    problem = make_turlach(random_state=0)
    expected = [(2 * x[0] - 1) ** 2 + x[1] + x[2] + x[3] + x[4] for x in problem.X]
    np.testing.assert_allclose(problem.noise_free, expected, rtol=1e-12)


def test_inputs_are_uniform_on_the_unit_cube():
    X = make_turlach(n_samples=50_000, random_state=0).X
    assert X.min() >= 0
    assert X.max() <= 1
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.01)
    np.testing.assert_allclose(X.var(axis=0), 1 / 12, rtol=0.02)


def test_the_noise_variance_is_that_of_the_paper():
    problem = make_turlach(n_samples=100_000, random_state=0)
    assert abs((problem.y - problem.noise_free).var() - 0.05) < 0.001


def test_the_first_variable_is_uncorrelated_with_the_output():
    problem = make_turlach(n_samples=100_000, random_state=0)
    correlation = [np.corrcoef(column, problem.y)[0, 1] for column in problem.X.T]
    assert abs(correlation[0]) < 0.015
    assert min(correlation[1:5]) > 0.3
