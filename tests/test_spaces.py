"""The representer space against dense matrices and finite differences; penalty points."""

import numpy as np
import pytest

from nablasso import spaces
from nablasso.data.table import prepare
from nablasso.kernels import Anova, Gaussian, Linear, Matern52, Polynomial, RationalQuadratic
from nablasso.spaces import RepresenterSpace, penalty_points
from tests.dense_reference import dense, plain

KERNELS = (
    Gaussian(1.2),
    Matern52(1.5),
    RationalQuadratic(1.0, 0.8),
    Linear(),
    Polynomial(3, 0.5),
    Anova(1),
    Anova(2, Matern52(1.3)),
    Anova(3),
    0.5 * Gaussian(0.8) + Polynomial(2),
)
SCALES = {
    "none": None,
    "ones": np.ones(3),
    "unequal": np.array([0.4, 1.7, 1.0]),
    "one zero": np.array([1.3, 0.0, 0.6]),
}
each = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
each_scale = pytest.mark.parametrize("scales", SCALES.values(), ids=SCALES.keys())


def arrays():
    rng = np.random.default_rng(8)
    X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    u, v = rng.normal(size=7), rng.normal(size=(7, 3))
    for array in (X, Z, u, v):
        array.setflags(write=False)
    return X, Z, u, v


def stretched(kernel, scales):
    """The kernel as a function of the unscaled points."""
    function = plain(kernel)
    factor = np.ones(3) if scales is None else scales
    return lambda s, r: function(s * factor, r * factor)


def close(actual, expected, tolerance=1e-9):
    assert actual.shape == expected.shape
    scale = np.abs(expected).max() + 1e-12
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


@each
@each_scale
def test_products_at_the_centres(kernel, scales):
    X, _, u, v = arrays()
    n, d = X.shape
    K, D, _, L = dense(stretched(kernel, scales), X, X)
    D, L = D.reshape(n * d, n), L.reshape(n * d, n * d)
    space = RepresenterSpace(kernel, X, scales)
    close(space.gram, K, 1e-12)
    values, gradients = K @ u + D.T @ v.ravel(), (D @ u + L @ v.ravel()).reshape(n, d)
    pushed, carry = space.push(v)
    close(pushed, D.T @ v.ravel())
    close(space.pull(u, v, carry), gradients)
    close(space.values(u, v), values)
    close(space.gradients(u, v), gradients)
    close(space.derivative_diagonal(), np.diag(L).reshape(n, d))
    ours_D, ours_L = space.dense()
    close(ours_D, D)
    close(ours_L, L)


@each
@each_scale
def test_evaluation_at_new_points(kernel, scales):
    X, Z, u, v = arrays()
    function = stretched(kernel, scales)
    K, D, C, L = dense(function, Z, X)
    space = RepresenterSpace(kernel, X, scales)
    close(space.evaluate(Z, u, v), K @ u + np.einsum("ija,ja->i", C, v))
    close(space.evaluate(Z, u), K @ u)
    gradients = np.einsum("iaj,j->ia", D, u)
    close(space.evaluate_gradients(Z, u), gradients)
    close(space.evaluate_gradients(Z, u, v), gradients + np.einsum("iajb,jb->ia", L, v))


@each
@each_scale
def test_gradients_are_the_slopes_of_the_function(kernel, scales):
    X, Z, u, v = arrays()
    space = RepresenterSpace(kernel, X, scales)
    gradients = space.evaluate_gradients(Z, u, v)
    h = 1e-5
    for a in range(3):
        step = h * np.eye(3)[a]
        slope = (space.evaluate(Z + step, u, v) - space.evaluate(Z - step, u, v)) / (2 * h)
        np.testing.assert_allclose(
            gradients[:, a], slope, rtol=0, atol=1e-7 * (1 + np.abs(gradients).max())
        )


@each
def test_evaluation_at_the_centres_is_that_of_the_products(kernel):
    X, _, u, v = arrays()
    space = RepresenterSpace(kernel, X, SCALES["unequal"])
    close(space.evaluate(X, u, v), space.values(u, v), 1e-12)
    close(space.evaluate_gradients(X, u, v), space.gradients(u, v), 1e-12)


@each
@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_chunks_give_the_same(kernel, rows, monkeypatch):
    X, Z, u, v = arrays()
    space = RepresenterSpace(kernel, X, SCALES["unequal"])
    expected = space.evaluate(Z, u, v), space.evaluate_gradients(Z, u, v), space.evaluate(Z, u)
    sizes = []
    between = type(kernel).between
    monkeypatch.setattr(
        type(kernel),
        "between",
        lambda self, Z, X: sizes.append(len(Z)) or between(self, Z, X),
    )
    monkeypatch.setattr(spaces, "CHUNK_BYTES", rows * 8 * len(X))
    close(space.evaluate(Z, u, v), expected[0], 1e-12)
    assert max(sizes) == max(rows, 1)
    close(space.evaluate_gradients(Z, u, v), expected[1], 1e-12)
    close(space.evaluate(Z, u), expected[2], 1e-12)


def test_no_new_points_give_empty_results():
    X, Z, u, v = arrays()
    space = RepresenterSpace(Gaussian(), X)
    assert space.evaluate(Z[:0], u, v).shape == (0,)
    assert space.evaluate_gradients(Z[:0], u, v).shape == (0, 3)


@each
def test_a_scale_of_zero_removes_a_variable(kernel):
    X, Z, u, v = arrays()
    space = RepresenterSpace(kernel, X, SCALES["one zero"])
    assert np.all(space.evaluate_gradients(Z, u, v)[:, 1] == 0)
    moved = Z + np.array([0.0, 5.0, 0.0])
    np.testing.assert_array_equal(space.evaluate(moved, u, v), space.evaluate(Z, u, v))


def test_scales_are_inverse_length_scales():
    X, Z, u, v = arrays()
    scaled = RepresenterSpace(Gaussian(), X, np.full(3, 1 / 2.5))
    wide = RepresenterSpace(Gaussian(2.5), X)
    close(scaled.evaluate(Z, u, v), wide.evaluate(Z, u, v), 1e-12)
    close(scaled.gradients(u, v), wide.gradients(u, v), 1e-12)


def test_shape():
    X, *_ = arrays()
    space = RepresenterSpace(Gaussian(), X)
    assert (space.n_samples, space.n_features) == X.shape


def test_penalty_points_have_the_weights_they_should():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(8, 2)), np.repeat(rng.normal(size=(3, 2)), 2, axis=0)
    raw = rng.uniform(0.5, 2.0, size=8)
    table = prepare(X, X[:, 0], raw, standardize=True, centre_y=True)
    assert penalty_points(table, None) is None
    points = penalty_points(table, Z)
    assert points.extra.shape == (3, 2)
    total = raw.sum() + 6
    np.testing.assert_allclose(points.weights[:8], table.weights * raw.sum() / total)
    np.testing.assert_allclose(points.weights[-3:], 2 / total)
    assert points.weights.sum() == pytest.approx(1)
    np.testing.assert_array_equal(penalty_points(table, Z[::-1]).extra, points.extra)
