"""Rays and lineality spaces of polyhedral cones."""

import numpy as np
import pytest

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.cones import cone_matrix, decompose

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
    from scipy.optimize import nnls

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
