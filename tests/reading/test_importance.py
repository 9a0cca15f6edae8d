"""Importances against exact derivatives and loops over levels."""

import numpy as np
import pytest

from nablasso.kernels import Gaussian
from nablasso.reading import importances
from nablasso.spaces import Function, RepresenterSpace
from tests.reading.known_functions import polynomial, weights_of


def flat_at_zero_and_one():
    """f(0) = 0, f(1) = 1, f'(0) = f'(1) = 0, by Hermite interpolation."""
    space = RepresenterSpace(Gaussian(0.5), np.array([[0.0], [1.0]]))
    D, L = space.dense()
    coef = np.linalg.solve(np.block([[space.gram, D.T], [D, L]]), [0.0, 1.0, 0.0, 0.0])
    return Function(0.0, np.array([0]), space, coef[:2], coef[2:].reshape(2, 1))


def test_a_function_flat_at_both_levels_gets_its_due():
    function = flat_at_zero_and_one()
    Z = np.array([[0.0], [1.0], [1.0], [0.0], [1.0]])
    weights = np.full(5, 0.2)
    np.testing.assert_allclose(function.gradients(Z), 0, atol=1e-12)
    np.testing.assert_allclose(importances(function, Z, weights), [1.0])
    as_continuous = importances(function, Z, weights, np.array([False]))
    np.testing.assert_allclose(as_continuous, [0.0], atol=1e-12)


def test_continuous_columns_have_the_weighted_root_mean_squared_derivative():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    weights = weights_of(40, rng)
    function = polynomial(X, X[:, 0] ** 2 + 3 * X[:, 1], 2)
    expected = [2 * np.sqrt(weights @ X[:, 0] ** 2), 3.0, 0.0]
    np.testing.assert_allclose(importances(function, X, weights), expected, atol=1e-7)


def test_discrete_columns_against_a_loop_over_rows_and_levels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    levels = np.array([-1.0, 0.5, 2.0])
    X[:, 1] = rng.choice(levels, size=40)
    weights = weights_of(40, rng)
    function = polynomial(X, X[:, 0] * X[:, 1] ** 2, 3)
    total = 0.0
    for weight, (x, z) in zip(weights, X, strict=True):
        place = list(levels).index(z)
        near = [levels[k] for k in (place - 1, place + 1) if 0 <= k < len(levels)]
        total += weight * np.mean([(x * (z**2 - t**2) / (z - t)) ** 2 for t in near])
    expected = [np.sqrt(weights @ X[:, 1] ** 4), np.sqrt(total)]
    np.testing.assert_allclose(importances(function, X, weights), expected, rtol=1e-6)


def test_columns_the_function_does_not_use_and_constants_have_none():
    X = np.column_stack([np.linspace(-1, 1, 12), np.arange(12) % 2, np.full(12, 3.0)])
    inner = polynomial(X[:, [0]], X[:, 0], 1)
    function = Function(0.0, np.array([0]), inner.space, inner.u)
    found = importances(function, X, np.full(12, 1 / 12))
    np.testing.assert_allclose(found, [1.0, 0.0, 0.0], atol=1e-8)
    flat = Function(2.0, np.array([], dtype=np.intp))
    assert importances(flat, X, np.full(12, 1 / 12)) == pytest.approx([0, 0, 0])
