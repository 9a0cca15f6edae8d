"""Bumps, PSD models and their draws: every closed form against values, differences, quadrature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad
from scipy.stats import kstest

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative import Bumps, LinearModel, PSDModel
from nablasso.nonnegative.model import pair_integrals


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
    turned = bumps.composed(scale, shift, np.array([1, 0]))
    np.testing.assert_allclose(
        turned.values(X), bumps.values(X[:, ::-1] * scale + shift), rtol=1e-12
    )


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
        model.values(X), np.einsum("ki,ij,kj->k", v, model.factor @ model.factor.T, v), rtol=1e-12
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


def test_integral_matches_quadrature():
    model = make(d=1)
    f = lambda x: model.values(np.array([[x]]))[0]  # noqa: E731
    assert model.integral() == pytest.approx(quad(f, -15, 15, limit=200)[0], rel=1e-8)
    assert model.integral([-1, 0.4]) == pytest.approx(quad(f, -1, 0.4)[0], rel=1e-8)


def test_integral_over_a_box_in_the_plane():
    model = make()
    f = lambda y, x: model.values(np.array([[x, y]]))[0]  # noqa: E731
    expected = dblquad(f, -1, 0.5, 0, 2, epsabs=1e-9)[0]
    assert model.integral([[-1, 0.5], [0, 2]]) == pytest.approx(expected, rel=1e-7)


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


@pytest.mark.parametrize("box", [[[0, 1]], [[1, 0], [0, 1]], [[np.nan, 1], [0, 1]]])
def test_bad_boxes_are_refused(box):
    with pytest.raises(InvalidParameterError, match="box"):
        make().integral(box)


def density(d, seed=0):
    rng = np.random.default_rng(seed)
    bumps = Bumps(rng.normal(size=(6, d)), rng.uniform(0.5, 2, size=(6, d)))
    model = PSDModel(bumps, rng.normal(size=(6, 2)))
    return model * (1 / model.integral())


def distribution(model, points):
    return np.array([model.integral([[-np.inf, x]]) for x in points])


def test_one_variable_follows_its_distribution_function():
    model = density(1)
    X = model.sample(1500, np.random.default_rng(1))[:, 0]
    assert kstest(X, lambda x: distribution(model, x)).pvalue > 0.01


def test_inversion_is_exact():
    """The distribution function of the draws gives the uniform numbers back."""
    model, seed = density(1), 5
    X = model.sample(50, np.random.default_rng(seed))[:, 0]
    uniform = np.random.default_rng(seed).random((50, 1))[:, 0]
    np.testing.assert_allclose(distribution(model, X), uniform, atol=1e-9)


def test_every_coordinate_follows_its_marginal():
    model = density(3)
    X = model.sample(600, np.random.default_rng(2))
    for a in range(3):
        marginal = model.marginal(np.array([a]))
        assert kstest(X[:, a], lambda x, m=marginal: distribution(m, x)).pvalue > 0.01


def test_draws_are_fixed_by_the_generator():
    model = density(2)
    first, second = (model.sample(5, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_narrow_bumps_far_apart():
    """As many panels as the bumps need, none in the gaps between them."""
    centres = np.array([-300.0, -3.0, -2.9, 0.0, 1.0, 200.0])[:, None]
    model = PSDModel(Bumps(centres, np.full((6, 1), 1e4)), np.eye(6))
    model = model * (1 / model.integral())
    seed = 3
    X = model.sample(60, np.random.default_rng(seed))[:, 0]
    uniform = np.random.default_rng(seed).random((60, 1))[:, 0]
    np.testing.assert_allclose(distribution(model, X), uniform, atol=1e-6)
