"""Closed forms of products of Gaussian bumps against quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.gaussians import Bumps, pair_integrals, pair_moments


@pytest.fixture
def bumps():
    return Bumps(np.array([[-1.0], [0.3], [2.0]]), np.array([[1.0], [4.0], [0.25]]))


def product(bumps, i, j):
    return lambda x: float(np.prod(bumps.values(np.array([[x]]))[0, [i, j]]))


@pytest.mark.parametrize("interval", [None, (-0.5, 1.2), (3.0, 8.0), (-np.inf, 0.0)])
def test_integrals_match_quadrature(bumps, interval):
    box = None if interval is None else np.array([interval])
    W = pair_integrals(bumps, box)
    low, high = (-40, 40) if interval is None else interval
    for i in range(3):
        for j in range(3):
            f = product(bumps, i, j)
            assert W[i, j] == pytest.approx(quad(f, low, high, limit=200)[0], rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_moments_match_quadrature(bumps, power):
    W = pair_moments(bumps, np.array([power]))
    for i, j in ((0, 1), (2, 2), (1, 2)):
        f = product(bumps, i, j)
        expected = quad(lambda x, f=f: x**power * f(x), -40, 40, limit=200)[0]
        assert W[i, j] == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_integrals_of_several_variables_are_products():
    rng = np.random.default_rng(0)
    bumps = Bumps(rng.normal(size=(4, 3)), rng.uniform(0.5, 2, size=(4, 3)))
    box = np.array([[-1.0, 0.5], [-np.inf, 1.0], [0.0, np.inf]])
    parts = [pair_integrals(bumps.columns(np.array([a])), box[[a]]) for a in range(3)]
    np.testing.assert_allclose(pair_integrals(bumps, box), np.prod(parts, axis=0), rtol=1e-12)


def test_products_of_bumps_are_bumps():
    rng = np.random.default_rng(1)
    a = Bumps(rng.normal(size=(3, 2)), rng.uniform(0.5, 2, size=(3, 2)))
    b = Bumps(rng.normal(size=(2, 2)), np.array([[0.0, 0.0], [1.0, 3.0]]))
    X = rng.normal(size=(5, 2))
    joint, logs = a.times(b)
    expected = (a.values(X)[:, :, None] * b.values(X)[:, None, :]).reshape(5, 6)
    np.testing.assert_allclose(joint.values(X) * np.exp(logs), expected, rtol=1e-12)


def test_far_tails_keep_their_digits():
    bumps = Bumps(np.zeros((1, 1)), np.ones((1, 1)))
    tail = pair_integrals(bumps, np.array([[6.0, 7.0]]))[0, 0]
    assert tail == pytest.approx(quad(lambda x: np.exp(-(x**2)), 6, 7)[0], rel=1e-6)


def test_a_constant_has_no_integral_over_the_space():
    bumps = Bumps(np.zeros((1, 1)), np.zeros((1, 1)))
    assert pair_integrals(bumps, np.array([[2.0, 5.0]]))[0, 0] == pytest.approx(3.0)
    with pytest.raises(InvalidParameterError, match="bounded box"):
        pair_integrals(bumps)


def test_bumps_in_other_units():
    rng = np.random.default_rng(2)
    bumps = Bumps(rng.normal(size=(3, 2)), rng.uniform(0.5, 2, size=(3, 2)))
    scale, shift, X = np.array([2.0, 0.5]), np.array([1.0, -3.0]), rng.normal(size=(4, 2))
    np.testing.assert_allclose(
        bumps.composed(scale, shift).values(X), bumps.values(X * scale + shift), rtol=1e-12
    )
