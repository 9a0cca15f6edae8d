"""The algebra of PSD models: every closed form against values, differences or quadrature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative import Bumps, LinearModel, PSDModel


def make(seed=0, m=5, d=2, q=2):
    rng = np.random.default_rng(seed)
    bumps = Bumps(rng.normal(size=(m, d)), rng.uniform(0.5, 2, size=(m, d)))
    return PSDModel(bumps, rng.normal(size=(m, q)))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(-8, 8), st.floats(0.01, 100))
def test_never_negative_anywhere(seed, log_size, spread):
    """Whatever B is, and however near it is to singular."""
    rng = np.random.default_rng(seed)
    m, d, q = rng.integers(1, 6, size=3)
    bumps = Bumps(rng.normal(size=(m, d)), np.exp(rng.normal(size=(m, d))))
    factor = 10**log_size * rng.normal(size=(m, q)) * 10 ** rng.uniform(-8, 0, size=q)
    values = PSDModel(bumps, factor).values(spread * rng.normal(size=(50, d)))
    assert (values >= 0).all()


def test_values_are_the_quadratic_form():
    model, X = make(), np.random.default_rng(1).normal(size=(7, 2))
    v = model.bumps.values(X)
    np.testing.assert_allclose(
        model.values(X), np.einsum("ki,ij,kj->k", v, model.matrix, v), rtol=1e-12
    )


def test_values_in_chunks_are_the_same():
    model = make(m=40)
    X = np.random.default_rng(1).normal(size=(20_000, 2))
    np.testing.assert_allclose(model.values(X)[[0, -1]], model.values(X[[0, -1]]), rtol=1e-12)


@pytest.mark.parametrize("linear", [False, True])
def test_gradients_match_differences(linear):
    model = make()
    if linear:
        model = LinearModel(model.bumps, model.factor[:, 0])
    X, h = np.random.default_rng(1).normal(size=(6, 2)), 1e-5
    for a in range(2):
        step = h * np.eye(2)[a]
        difference = (model.values(X + step) - model.values(X - step)) / (2 * h)
        np.testing.assert_allclose(model.gradients(X)[:, a], difference, rtol=1e-6, atol=1e-8)


def test_integral_and_moments_match_quadrature():
    model = make(d=1)
    f = lambda x: model.values(np.array([[x]]))[0]  # noqa: E731
    assert model.integral() == pytest.approx(quad(f, -15, 15, limit=200)[0], rel=1e-8)
    assert model.integral([-1, 0.4]) == pytest.approx(quad(f, -1, 0.4)[0], rel=1e-8)
    second = quad(lambda x: x**2 * f(x), -15, 15, limit=200)[0]
    assert model.moment([2]) == pytest.approx(second, rel=1e-8)


def test_integral_over_a_box_in_the_plane():
    model = make()
    f = lambda y, x: model.values(np.array([[x, y]]))[0]  # noqa: E731
    expected = dblquad(f, -1, 0.5, 0, 2, epsabs=1e-9)[0]
    assert model.integral([[-1, 0.5], [0, 2]]) == pytest.approx(expected, rel=1e-7)


def test_sum_and_product():
    one, two = make(0), make(1, m=3, q=1)
    X = np.random.default_rng(2).normal(size=(5, 2))
    np.testing.assert_allclose((one + two).values(X), one.values(X) + two.values(X), rtol=1e-12)
    np.testing.assert_allclose((one * two).values(X), one.values(X) * two.values(X), rtol=1e-10)
    np.testing.assert_allclose((3 * one).values(X), 3 * one.values(X), rtol=1e-12)
    with pytest.raises(InvalidParameterError, match="at least 0"):
        one * -1.0


def test_product_with_a_gaussian():
    model, X = make(), np.random.default_rng(3).normal(size=(5, 2))
    mean, variance = np.array([0.3, -1.0]), np.array([2.0, 0.5])
    density = np.exp(-0.5 * np.sum((X - mean) ** 2 / variance, axis=1))
    density /= 2 * np.pi * np.sqrt(variance.prod())
    np.testing.assert_allclose(
        model.times_gaussian(mean, variance).values(X), model.values(X) * density, rtol=1e-10
    )


def test_marginal_matches_quadrature():
    model = make(m=4, d=2)
    marginal = model.marginal(np.array([1]))
    for y in (-1.0, 0.2):
        f = lambda x, y=y: model.values(np.array([[x, y]]))[0]  # noqa: E731
        expected = quad(f, -15, 15, limit=200)[0]
        assert marginal.values(np.array([[y]]))[0] == pytest.approx(expected, rel=1e-8)
    assert marginal.integral() == pytest.approx(model.integral(), rel=1e-10)


def test_fixing_variables():
    model = make(d=3)
    fixed = model.given(np.array([2, 0]), np.array([0.1, -0.7]))
    y = np.linspace(-1, 1, 5)
    X = np.column_stack([np.full(5, -0.7), y, np.full(5, 0.1)])
    np.testing.assert_allclose(fixed.values(y[:, None]), model.values(X), rtol=1e-12)


def test_more_variables_change_nothing():
    model, X = make(), np.random.default_rng(3).normal(size=(5, 4))
    np.testing.assert_allclose(
        model.spread(np.array([3, 1]), 4).values(X), model.values(X[:, [3, 1]]), rtol=1e-12
    )


@pytest.mark.parametrize("box", [[[0, 1]], [[1, 0], [0, 1]], [[np.nan, 1], [0, 1]]])
def test_bad_boxes_are_refused(box):
    with pytest.raises(InvalidParameterError, match="box"):
        make().integral(box)
