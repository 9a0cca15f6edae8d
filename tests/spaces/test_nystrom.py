"""Nystrom features against the projection of the kernel, written out."""

import numpy as np
import pytest

from nablasso.errors import InvalidParameterError
from nablasso.kernels import Anova, Gaussian, Linear, Polynomial
from nablasso.persistence import digest
from nablasso.spaces import draw_nystrom, nystrom_features

SCALES = np.array([0.6, 0.4, 0.0, 0.9])


def rows(n=150):
    rng = np.random.default_rng(11)
    weights = rng.uniform(0.2, 2.0, size=n)
    return rng.normal(size=(n, 4)), weights / weights.sum()


@pytest.mark.parametrize("kernel", [Gaussian(1.2), Anova(2), Polynomial(2)], ids=repr)
def test_features_are_the_projection_of_the_kernel(kernel):
    X, weights = rows()
    features = draw_nystrom(kernel, SCALES, X, weights, 30)
    phi = features.features(X)
    cross = kernel(X * SCALES, features.landmarks * SCALES)
    inner = kernel(features.landmarks * SCALES, features.landmarks * SCALES)
    expected = cross @ np.linalg.pinv(inner, rcond=1e-13, hermitian=True) @ cross.T
    np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-6 * expected.max())
    w = np.linspace(-1, 1, features.n_components)
    np.testing.assert_allclose(features.evaluate(X, w), phi @ w, atol=1e-8)
    step, gradients = 1e-5, features.evaluate_gradients(X, w)
    for a in range(4):
        shift = step * np.eye(4)[a]
        moved = features.evaluate(X + shift, w) - features.evaluate(X - shift, w)
        np.testing.assert_allclose(moved / (2 * step), gradients[:, a], atol=1e-5)


def test_all_rows_as_landmarks_give_the_kernel():
    X, weights = rows(60)
    features = draw_nystrom(Gaussian(0.4), SCALES, X, weights, 60)
    phi = features.features(X)
    np.testing.assert_allclose(phi @ phi.T, Gaussian(0.4)(X * SCALES, X * SCALES), atol=1e-6)


def test_rank_precision_and_fingerprint():
    X, weights = rows()
    features = draw_nystrom(Linear(), SCALES, X, weights, 40)
    assert features.n_components == 3  # of 40 landmarks: the linear kernel of three live columns
    assert features.features(X.astype(np.float32)).dtype == np.float32
    again = draw_nystrom(Linear(), SCALES, X, weights, 40)
    other = draw_nystrom(Linear(), SCALES, X, weights, 40, random_state=1)
    assert digest(features) == digest(again) != digest(other)


def test_rows_of_no_weight_are_no_landmarks_and_a_large_table_is_sampled():
    X, weights = rows()
    weights[75:] = 0.0
    features = draw_nystrom(Gaussian(), SCALES, X, weights / weights.sum(), 30, pool=40)
    assert all(np.any(np.all(X[:75] == row, axis=1)) for row in features.landmarks)


def test_errors_name_what_to_do():
    X, weights = rows()
    with pytest.raises(InvalidParameterError, match="at least 1"):
        draw_nystrom(Gaussian(), SCALES, X, weights, 0)
    with pytest.raises(InvalidParameterError, match="zero at all landmarks"):
        nystrom_features(Linear(), np.zeros(4), X)
