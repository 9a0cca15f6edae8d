"""Weights of pairs and their products, against loops over the pairs."""

import numpy as np
import pytest

from nablasso.errors import InvalidParameterError
from nablasso.gradients.problem import make_pairs
from tests.gradients.problems import as_dense

N, P = 12, 3


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.5, 1.5, N)
    return rng.normal(size=(N, P)), weights / weights.sum()


def test_gaussian_weights_are_those_of_formula_5(data):
    X, p = data
    m = make_pairs(X, p, 0.8, None).weights
    for i, j in ((0, 0), (2, 5), (5, 2)):
        expected = p[i] * p[j] * np.exp(-np.sum((X[i] - X[j]) ** 2) / (2 * 0.8**2))
        assert m[i, j] == pytest.approx(expected, rel=1e-12)


def test_neighbour_weights_are_those_of_formula_58_and_each_row_with_itself(data):
    X, p = data
    pairs = make_pairs(X, p, 0.8, 3)
    assert pairs.weights.shape == (N, 4)
    m = as_dense(pairs)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    for i in range(N):
        near = np.argsort(distances[i])[:4]  # itself first
        expected = np.zeros(N)
        expected[near] = p[i] * p[near] * np.exp(-2 * distances[i, near] ** 2 / 0.8**2)
        np.testing.assert_allclose(m[i], expected, rtol=1e-10)


@pytest.mark.parametrize("n_neighbors", [None, 4])
def test_products_are_sums_over_pairs_and_adjoint(data, n_neighbors):
    X, p = data
    rng = np.random.default_rng(0)
    pairs = make_pairs(X, p, 1.0, n_neighbors)
    G = rng.normal(size=(N, P))
    z = pairs.slopes(G, X)
    expected = np.einsum("ia,ija->ij", G, X[None] - X[:, None])
    first, second = np.nonzero(as_dense(pairs))
    flat = as_dense(pairs, z)[first, second]
    np.testing.assert_allclose(flat, expected[first, second], atol=1e-12)

    theta = rng.normal(size=pairs.weights.shape)
    product = np.sum(theta * z)
    assert np.sum(pairs.gather(theta, X) * G) == pytest.approx(product, rel=1e-12)
    assert np.sum(pairs.scatter(theta, G) * X) == pytest.approx(product, rel=1e-12)


def test_as_many_neighbours_as_rows_are_refused(data):
    X, p = data
    with pytest.raises(InvalidParameterError, match=r"n_neighbors must be smaller .* 12; got 12"):
        make_pairs(X, p, 1.0, N)


@pytest.mark.parametrize("n_neighbors", [None, 2])
def test_rows_far_from_all_others_are_isolated(data, n_neighbors):
    X, p = data
    X[7] += 1e4
    assert make_pairs(X, p, 1.0, n_neighbors).isolated().tolist() == [7]
