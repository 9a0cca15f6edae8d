"""Tasks: rays and lineality spaces of cones, the height of a kernel, scales by evidence."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import multivariate_normal

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative import Base, PSDModel
from nablasso.nonnegative.fitting import make_factor
from nablasso.nonnegative.model import pair_integrals
from nablasso.nonnegative.task import (
    SIGNAL_SPREAD,
    SPREAD,
    Ranks,
    ScaleEvidence,
    cone_matrix,
    decompose,
    natural_height,
)

PYRAMID = np.array([[1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1]], dtype=float).T  # four faces


@pytest.mark.parametrize(
    "C",
    [
        cone_matrix("nonnegative", 3),
        cone_matrix("monotone", 4),
        cone_matrix("convex", 5),
        PYRAMID,
        np.column_stack([PYRAMID, [0.0, 0.0, 1.0]]),  # one inequality that the others imply
        np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]),  # the same one twice
    ],
)
def test_rays_and_lines_make_the_cone(C):
    G, N = decompose(C)
    rng = np.random.default_rng(0)
    inside = G @ rng.exponential(size=(G.shape[1], 50)) + N @ rng.normal(size=(N.shape[1], 50))
    assert (C.T @ inside >= -1e-9).all()
    np.testing.assert_allclose(C.T @ N, 0, atol=1e-12)
    # every point of the cone is a combination: least squares with non-negative coefficients
    points = rng.normal(size=(400, len(C)))
    points = points[(points @ C >= 0).all(axis=1)][:20]
    assert len(points)
    for point in points:
        assert nnls(np.column_stack([G, N, -N]), point)[1] < 1e-8


def test_a_pyramid_has_four_rays():
    G, N = decompose(PYRAMID)
    assert G.shape == (3, 4)
    assert N.shape == (3, 0)


def test_independent_inequalities_are_the_coordinates():
    C = np.array([[1.0, 0.2], [0.3, -1.0], [0.0, 0.5]])
    G, _ = decompose(C)
    np.testing.assert_allclose(C.T @ G, np.eye(2), atol=1e-12)


@pytest.mark.parametrize(
    ("cone", "p"), [("rising", 3), ("monotone", 1), (np.ones((2, 1)), 3), (np.zeros((2, 1)), 2)]
)
def test_bad_cones_are_refused(cone, p):
    with pytest.raises(InvalidParameterError, match="cone"):
        cone_matrix(cone, p)


def test_a_cone_without_rays_is_refused():
    with pytest.raises(InvalidParameterError, match="linear model"):
        decompose(np.array([[1.0, -1.0], [0.0, 0.0]]))


@pytest.mark.parametrize("base", [None, Base(np.array([0.5, 0.0]), np.array([2.0, 3.0]))])
def test_height_makes_squared_kernels_integrate_to_one(base):
    X, scales = np.random.default_rng(3).normal(size=(5, 2)), np.array([1.5, 0.8])
    height = natural_height(X, scales, base)
    factor = make_factor(X * scales, np.full(5, 0.2), 5, np.random.default_rng(0))
    bumps = factor.bumps.composed(scales, np.zeros(2))
    if base is None:
        masses = np.diag(pair_integrals(bumps)) * scales.prod()
    else:
        unit = [np.eye(5)[:, [i]] for i in range(5)]
        masses = [
            PSDModel(bumps, e).times_gaussian(base.mean, base.variance).integral() for e in unit
        ]
    assert height**2 * np.mean(masses) == pytest.approx(1.0)


def test_value_and_gradient():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(25, 3)), np.array([0, 1, 1])
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=25)
    weights = rng.uniform(0.5, 1.5, size=25)
    weights /= weights.sum()
    evidence = ScaleEvidence(X, y, weights, labels)
    x = evidence.start + 0.3 * rng.normal(size=4)
    value, gradient = evidence(x)
    scaled = X * np.exp(x[:2])[labels]
    distances = np.sum((scaled[:, None] - scaled) ** 2, axis=2)
    covariance = np.exp(x[2]) * np.exp(-distances / 2) + np.diag(np.exp(x[3]) / (25 * weights))
    log_density = multivariate_normal(cov=covariance).logpdf(evidence.y)
    prior = np.sum((x - evidence.start)[:2] ** 2) / (2 * SPREAD**2)
    prior += x[2] ** 2 / (2 * SIGNAL_SPREAD**2)
    assert value == pytest.approx(-log_density + prior - 12.5 * np.log(2 * np.pi))
    h = 1e-5
    differences = [(evidence(x + h * e)[0] - evidence(x - h * e)[0]) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)


def test_ranks_are_even():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.exponential(size=50) ** 3, rng.integers(0, 3, size=50)])
    weights = np.full(50, 0.02)
    ranks = Ranks(X, weights)
    R = ranks(X)
    np.testing.assert_allclose(weights @ R, 0, atol=1e-12)
    np.testing.assert_allclose(weights @ R**2, 1)
    assert np.allclose(np.diff(np.sort(R[:, 0])), np.diff(np.sort(R[:, 0]))[0])
    outside = np.array([[-9.0, 9.0]])
    assert np.isclose(ranks(outside)[0, 0], R[:, 0].min())
