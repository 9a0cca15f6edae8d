"""Every decomposition adds up to the kernel it promises; users' own need two methods."""

from itertools import product
from math import factorial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_hermite

from nablasso.errors import InvalidParameterError
from nablasso.hierarchy import (
    AllSubsetsGaussian,
    Decomposition,
    GaussHermite,
    Hermite,
    KernelPCA,
    Monomials,
    Spline,
)
from nablasso.hierarchy.decompositions import as_decomposition
from nablasso.hierarchy.grid import Grid

RNG = np.random.default_rng(5)
x, z = RNG.normal(size=7), RNG.normal(size=5)
ALL = [Monomials(3), Hermite(3), GaussHermite(3), Spline(), AllSubsetsGaussian(), KernelPCA(3)]


def levels(decomposition, a, b):
    return [decomposition.kernel(a, b, j) for j in range(decomposition.n_levels())]


def test_polynomial_levels_add_up():
    found = sum(levels(Monomials(4), x, z))
    np.testing.assert_allclose(found, (1 + np.outer(x, z)) ** 4, atol=1e-12)


@pytest.mark.parametrize("ratio", [0.3, 0.7])
def test_hermite_levels_add_up_to_the_series(ratio):
    """The series with the H_j of the paper at x / sqrt 2, to many terms."""
    series = sum(
        ratio**j
        / (2**j * factorial(j))
        * np.outer(eval_hermite(j, x / np.sqrt(2)), eval_hermite(j, z / np.sqrt(2)))
        for j in range(120)
    )
    np.testing.assert_allclose(sum(levels(Hermite(3, ratio), x, z)), series, rtol=1e-9, atol=1e-12)


def test_hermite_terms_are_orthogonal_for_normal_data():
    nodes, weights = np.polynomial.hermite_e.hermegauss(30)
    terms = [Hermite(4, 0.5).features(nodes, j)[:, 0] for j in range(4)]
    gram = np.array([[np.sum(weights * a * b) for a in terms] for b in terms])
    np.testing.assert_allclose(gram / weights.sum(), np.diag(0.5 ** np.arange(4)), atol=1e-12)


@pytest.mark.parametrize("variance", [0.5, 2.0])
def test_gauss_hermite_levels_add_up_to_the_gaussian_kernel(variance):
    gaussian = np.exp(-0.3 * (x[:, None] - z) ** 2)
    np.testing.assert_allclose(sum(levels(GaussHermite(3, 0.3, variance), x, z)), gaussian)
    long = GaussHermite(40, 0.3, variance)  # its last level holds next to nothing
    np.testing.assert_allclose(sum(levels(long, x, z)[:-1]), gaussian, atol=1e-10)


def test_the_cubic_spline_kernel_is_an_integral():
    for a, b in product(x, z):
        end = min(abs(a), abs(b)) if a * b >= 0 else 0.0
        value = quad(lambda t, a=a, b=b: (abs(a) - t) * (abs(b) - t), 0, end)[0]
        found = Spline().kernel(np.array([a]), np.array([b]), 2)[0, 0]
        assert found == pytest.approx(value / 1.0, abs=1e-12)


def test_splines_continue_as_straight_lines():
    far = np.array([3.0, 4.0, 5.0])
    values = Spline().kernel(far, np.array([0.5, 1.7, 2.9]), 2)
    np.testing.assert_allclose(values[2] - values[1], values[1] - values[0])


def test_subsets_add_up_to_a_product():
    X = RNG.normal(size=(6, 3))
    grid = Grid(X, np.full(6, 1 / 6), AllSubsetsGaussian(0.4, 1.5))
    total = np.ones((6, 6))
    for column in X.T:
        total *= 1 + 1.5 * np.exp(-0.4 * (column[:, None] - column) ** 2)
    np.testing.assert_allclose(sum(_gram(grid, node) for node in _all_nodes(3, 1)), total)


def test_kernel_pca_adds_up_to_one_plus_the_centred_kernel():
    weights = RNG.random(7)
    fitted = KernelPCA(3, 0.5).fitted(x, weights)
    p = weights / weights.sum()
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    C = np.eye(7) - np.outer(np.ones(7), p)
    np.testing.assert_allclose(sum(levels(fitted, x, x)), 1 + C @ K @ C.T, atol=1e-12)
    first, second = (fitted.features(x, j)[:, 0] for j in (1, 2))
    assert p @ (first * second) == pytest.approx(0, abs=1e-12)
    assert p @ first**2 > p @ second**2


def test_a_column_of_two_values_has_one_component():
    fitted = KernelPCA(4).fitted(np.repeat([0.0, 1.0], 5), np.ones(10))
    assert fitted.loadings_.shape == (10, 1)
    assert not fitted.features(z, 2).any()


@pytest.mark.parametrize("decomposition", ALL, ids=lambda d: type(d).__name__)
def test_features_are_those_of_the_kernel_and_levels_are_positive(decomposition):
    fitted = decomposition.fitted(x, np.ones(7))
    for j in range(fitted.n_levels()):
        K = fitted.kernel(x, x, j)
        assert np.linalg.eigvalsh(K).min() > -1e-10 * max(np.trace(K), 1)
        left, right = fitted.features(x, j), fitted.features(z, j)
        if left is not None:
            np.testing.assert_allclose(left @ right.T, fitted.kernel(x, z, j), atol=1e-12)


@pytest.mark.parametrize("decomposition", ALL, ids=lambda d: type(d).__name__)
def test_all_nodes_of_a_grid_add_up_to_the_product_of_sums(decomposition):
    X = RNG.normal(size=(8, 2))
    grid = Grid(X, np.full(8, 1 / 8), decomposition)
    total = np.ones((8, 8))
    for column in X.T:
        total *= sum(levels(decomposition.fitted(column, np.ones(8)), column, column))
    found = sum(_gram(grid, node) for node in _all_nodes(2, grid.q))
    np.testing.assert_allclose(found, total, rtol=1e-7, atol=1e-7 * np.trace(total))


class Sine(Decomposition):
    """A user's own: two methods, no features."""

    def n_levels(self):
        return 3

    def kernel(self, a, b, level):
        return np.cos(level * (a[:, None] - b)) / 2**level


def test_a_users_own_decomposition_needs_two_methods():
    X = RNG.normal(size=(9, 2))
    grid = Grid(X, np.full(9, 1 / 9), Sine())
    expected = Sine().kernel(X[:, 0], X[:, 0], 2) * Sine().kernel(X[:, 1], X[:, 1], 1)
    np.testing.assert_allclose(_gram(grid, ((0, 2), (1, 1))), expected, atol=1e-9)
    new = RNG.normal(size=(4, 2))
    block = grid.block(((0, 2), (1, 1)))
    cross = Sine().kernel(new[:, 0], X[:, 0], 2) * Sine().kernel(new[:, 1], X[:, 1], 1)
    np.testing.assert_allclose(block.evaluate(new) @ block.train.T, cross, atol=1e-8)


@pytest.mark.parametrize("degree", [0, -1, 1.5, True, "two"])
def test_a_degree_is_a_positive_whole_number(degree):
    with pytest.raises(InvalidParameterError, match="degree must be"):
        as_decomposition("hermite", degree)


def test_the_last_level_is_what_the_others_leave_of_the_total():
    class Rest(Sine):
        def features(self, x, level):
            return np.ones((len(x), 1)) if level == 0 else None

        def total(self, x, z):
            return 1 + np.sin(x)[:, None] * np.sin(z)

        kernel = Decomposition.kernel

    np.testing.assert_allclose(Rest().kernel(x, z, 1), np.sin(x)[:, None] * np.sin(z), atol=1e-15)
    Rest.total = Decomposition.total
    with pytest.raises(InvalidParameterError, match="Rest needs a method kernel"):
        Rest().kernel(x, z, 1)


def test_unknown_decompositions_are_refused():
    with pytest.raises(InvalidParameterError, match="hermite, polynomial"):
        as_decomposition("wavelet")


def _all_nodes(p, q):
    for levels_ in product(range(q + 1), repeat=p):
        yield tuple((g, j) for g, j in enumerate(levels_) if j)


def _gram(grid, node):
    F = grid.block(node).train
    return F @ F.T
