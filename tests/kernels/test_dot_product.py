"""Powers of an additive kernel: what is true of them alone."""

from itertools import combinations

import numpy as np
import pytest

from nablasso.errors import InvalidParameterError
from nablasso.kernels import AdditivePower, Gaussian, Linear, Polynomial

RNG = np.random.default_rng(3)
Z, X = RNG.normal(size=(5, 4)), RNG.normal(size=(6, 4))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 0.5), AdditivePower(2)], ids=repr)
def test_a_variable_of_scale_zero_adds_nothing(kernel):
    """Features vanish at zero, so the column may as well be left out."""
    others = [0, 2, 3]
    expected = kernel(Z[:, others], X[:, others])
    np.testing.assert_allclose(kernel(Z * [1, 0, 1, 1], X), expected, rtol=1e-12)


def test_features_are_flat_far_outside():
    far = np.array([[30.0], [-300.0]])
    Phi, J = AdditivePower().features(far)
    np.testing.assert_allclose(Phi[0], Phi[1], rtol=1e-12)
    np.testing.assert_allclose(J, 0, atol=1e-12)


def test_order_one_is_nearly_a_sum_of_gaussian_kernels():
    """Inside the knots the features are those of the width 0.8, less their value at zero."""
    x = np.linspace(-2.5, 2.5, 9)[:, None]
    zero, g = np.zeros((1, 1)), Gaussian(0.8)
    expected = g(x, x) - g(x, zero) - g(zero, x) + g(zero, zero)
    np.testing.assert_allclose(AdditivePower(1, 0.0)(x, x), expected, atol=0.02)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_functions_have_interactions_of_at_most_the_order(order):
    """The mixed difference over one variable more than the order is zero; over the order, not."""
    u = RNG.normal(size=len(X))
    operator = AdditivePower(order, 0.4)

    def mixed_difference(variables):
        total = 0.0
        for size in range(len(variables) + 1):
            for moved in combinations(variables, size):
                point = Z[:1].copy()
                point[0, list(moved)] = X[0, list(moved)]
                total += (-1) ** size * float((operator(point, X) @ u)[0])
        return total

    scale = np.abs(operator(X, X)).max()
    assert abs(mixed_difference(range(order + 1))) < 1e-10 * scale
    assert abs(mixed_difference(range(order))) > 1e-5 * scale


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (AdditivePower(0), "integer of at least 1; got 0"),
        (AdditivePower(1.5), "integer of at least 1; got 1.5"),
        (AdditivePower(2, -0.1), "offset must be zero or positive.*; got -0.1"),
        (AdditivePower(2, 1.0, 2), "rank must be an integer of at least 3; got 2"),
        (AdditivePower(2, 1.0, 4.5), "rank must be an integer of at least 3; got 4.5"),
    ],
    ids=repr,
)
def test_invalid_parameters_are_refused(kernel, message):
    for use in (kernel.derivative_diagonal, lambda X: kernel.between(X, X)):
        with pytest.raises(InvalidParameterError, match=message):
            use(X)
