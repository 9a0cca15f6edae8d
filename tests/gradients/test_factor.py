"""Features of a kernel reproduce it, at the points and elsewhere."""

import numpy as np
import pytest

from nablasso.gradients import Constant, Delta, KernelFactor
from nablasso.kernels import Gaussian, Linear, Polynomial

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(20, 4)), RNG.normal(size=(7, 4))


@pytest.mark.parametrize(
    ("kernel", "rank"),
    [(Gaussian(), 20), (Linear(), 4), (Polynomial(1), 5), (Constant(), 1), (Delta(), 20)],
    ids=repr,
)
def test_features_give_the_kernel_and_its_rank(kernel, rank):
    factor = KernelFactor(kernel, X, 1.3)
    assert factor.rank == rank
    np.testing.assert_allclose(factor.phi @ factor.phi.T, kernel(X / 1.3, X / 1.3), atol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear()], ids=repr)
def test_functions_are_kernel_expansions_of_the_same_norm(kernel):
    factor = KernelFactor(kernel, X, 1.3)
    B = np.random.default_rng(1).normal(size=(3, factor.rank))
    C = factor.coefficients(B)
    K = kernel(X / 1.3, X / 1.3)
    np.testing.assert_allclose(np.diag(C @ K @ C.T), np.sum(B**2, axis=1), rtol=1e-8)
    np.testing.assert_allclose(C @ K, B @ factor.phi.T, atol=1e-8)
    expected = kernel(Z / 1.3, X / 1.3) @ C.T
    np.testing.assert_allclose(factor.evaluate(Z, B), expected, atol=1e-8)


def test_delta_tells_equal_points_only():
    points = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    assert Delta()(points, points).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert KernelFactor(Delta(), points, 1.0).rank == 2
