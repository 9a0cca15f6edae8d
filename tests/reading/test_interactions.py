"""Cross derivatives against exact ones and against loops over levels."""

from itertools import product

import numpy as np
import pytest

from nablasso.kernels import Anova, Gaussian, Matern52
from nablasso.reading import interactions
from nablasso.spaces import Function, RepresenterSpace
from tests.reading.known_functions import polynomial, weights_of


def as_dict(found):
    return {(pair.a, pair.b): pair.strength for pair in found}


def test_products_have_their_exact_cross_derivatives_and_are_ranked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    weights = weights_of(60, rng)
    function = polynomial(X, X[:, 0] * X[:, 2] + 5 * X[:, 1] + X[:, 0] ** 2 * X[:, 3], 3)
    found = interactions(function, X, weights, [3, 2, 1, 0])
    assert [pair.strength for pair in found] == sorted((p.strength for p in found), reverse=True)
    assert {(pair.a, pair.b) for pair in found[:2]} == {(0, 2), (0, 3)}
    sizes = as_dict(found)
    assert sizes[0, 2] == pytest.approx(1.0, rel=1e-6)
    assert sizes[0, 3] == pytest.approx(2 * np.sqrt(weights @ X[:, 0] ** 2), rel=1e-6)
    others = [sizes[pair] for pair in ((0, 1), (1, 2), (1, 3), (2, 3))]
    np.testing.assert_allclose(others, 0, atol=1e-6)


def test_an_additive_function_has_none():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    X[:, 2] = rng.integers(0, 2, size=30)
    function = Function(1.0, np.arange(3), RepresenterSpace(Anova(1), X), rng.normal(size=30))
    found = interactions(function, X, np.full(30, 1 / 30), range(3))
    np.testing.assert_allclose([pair.strength for pair in found], 0, atol=1e-9)


def test_a_gaussian_expansion_against_its_analytic_cross_derivatives():
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(25, 3)), rng.normal(size=(40, 3))
    scales, u, weights = np.array([0.5, 1.5, 1.0]), rng.normal(size=25), weights_of(40, rng)
    function = Function(0.0, np.arange(3), RepresenterSpace(Gaussian(), X, scales), u)
    delta = (Z[:, None] - X) * scales
    k = np.exp(-np.sum(delta**2, axis=2) / 2)
    for (a, b), size in as_dict(interactions(function, Z, weights, range(3))).items():
        cross = scales[a] * scales[b] * np.sum(u * k * delta[:, :, a] * delta[:, :, b], axis=1)
        assert size == pytest.approx(np.sqrt(weights @ cross**2), rel=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Matern52(1.0), Anova(2)], ids=repr)
def test_derivative_terms_against_differences_of_values(kernel):
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(12, 2)), rng.normal(size=(20, 2))
    space = RepresenterSpace(kernel, X)
    function = Function(0.0, np.arange(2), space, rng.normal(size=12), rng.normal(size=(12, 2)))
    step = 1e-3
    cross = sum(
        i * j * function.values(Z + step * np.array([i, j])) for i, j in product((-1, 1), repeat=2)
    )
    expected = np.sqrt(np.mean((cross / (4 * step**2)) ** 2))
    (pair,) = interactions(function, Z, np.full(20, 0.05), [0, 1])
    assert pair.strength == pytest.approx(expected, rel=1e-3)


def neighbours(levels, z):
    place = list(levels).index(z)
    return [levels[k] for k in (place - 1, place + 1) if 0 <= k < len(levels)]


def test_discrete_with_continuous_and_with_discrete_against_loops():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    first, second = np.array([-1.0, 0.0, 2.0]), np.array([0.0, 1.0])
    X[:, 0], X[:, 1] = rng.choice(first, size=60), rng.choice(second, size=60)
    weights = weights_of(60, rng)
    function = polynomial(X, X[:, 0] ** 2 * X[:, 2] + 2 * X[:, 0] ** 2 * X[:, 1], 3)
    squares = {(0, 2): 0.0, (0, 1): 0.0, (1, 2): 0.0}
    for weight, (a, b) in zip(weights, X[:, :2], strict=True):
        near = neighbours(first, a)
        squares[0, 2] += weight * np.mean([((t**2 - a**2) / (t - a)) ** 2 for t in near])
        second_differences = [
            (2 * (t**2 * s - t**2 * b - a**2 * s + a**2 * b) / ((t - a) * (s - b))) ** 2
            for t in near
            for s in neighbours(second, b)
        ]
        squares[0, 1] += weight * np.mean(second_differences)
    found = as_dict(interactions(function, X, weights, range(3)))
    for pair, square in squares.items():
        assert found[pair] == pytest.approx(np.sqrt(square), rel=1e-6, abs=1e-6)


def test_two_discrete_columns_alone():
    X = np.array(list(product([0.0, 1.0], repeat=2)) * 2)
    function = polynomial(X, 3 * X[:, 0] * X[:, 1], 2)
    (pair,) = interactions(function, X, np.full(8, 0.125), [1, 0])
    assert (pair.a, pair.b, pair.strength) == (0, 1, pytest.approx(3.0))


@pytest.mark.parametrize("columns", [[], [1]])
def test_fewer_than_two_columns_have_no_pairs(columns):
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert interactions(polynomial(X, X[:, 0], 1), X, np.full(20, 0.05), columns) == []
