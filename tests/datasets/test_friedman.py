import numpy as np
import sklearn.datasets

from nablasso.datasets import make_friedman1
from nablasso.datasets.friedman import friedman1_function


def test_function_agrees_with_scikit_learn():
    X, y = sklearn.datasets.make_friedman1(n_samples=200, n_features=7, noise=0.0, random_state=0)
    np.testing.assert_allclose(friedman1_function(X), y, rtol=1e-12)


def test_inputs_are_uniform_on_the_unit_cube():
    X = make_friedman1(n_samples=50_000, random_state=0).X
    assert X.min() >= 0
    assert X.max() <= 1
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.01)
    np.testing.assert_allclose(X.var(axis=0), 1 / 12, rtol=0.02)


def test_more_irrelevant_columns_can_be_asked_for():
    problem = make_friedman1(n_features=50, random_state=0)
    assert problem.X.shape == (100, 50)
    assert np.flatnonzero(problem.support).tolist() == [0, 1, 2, 3, 4]
