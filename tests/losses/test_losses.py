"""What every loss promises; adding one to ``ALL_LOSSES`` is enough."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from nablasso.losses import Squared

ALL_LOSSES = (Squared(),)
each_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)

quick = settings(max_examples=60, deadline=None, derandomize=True)
numbers = st.floats(-20, 20)
steps = st.floats(1e-3, 1e3)


def scalar(method, *arguments):
    """One sample through a method for arrays."""
    arrays = [np.array([argument]) for argument in arguments]
    result = method(*arrays)
    assert result.shape == (1,)
    return float(result[0])


def test_squared_loss_is_the_square():
    y, z = np.array([0.0, 1.0, -2.0]), np.array([0.0, 3.0, 1.0])
    np.testing.assert_array_equal(Squared().value(y, z), [0.0, 4.0, 9.0])


@each_loss
@quick
@given(y=numbers, z=numbers)
def test_gradient_is_the_slope(loss, y, z):
    h = 1e-4
    slope = (scalar(loss.value, y, z + h) - scalar(loss.value, y, z - h)) / (2 * h)
    assert scalar(loss.gradient, y, z) == pytest.approx(slope, rel=1e-6, abs=1e-6)


@each_loss
@quick
@given(y=numbers, s=numbers)
def test_conjugate_is_the_supremum(loss, y, s):
    best = minimize_scalar(lambda z: scalar(loss.value, y, z) - s * z)
    assert scalar(loss.conjugate, y, s) == pytest.approx(-best.fun, rel=1e-7, abs=1e-7)


@each_loss
@quick
@given(y=numbers, z=numbers, s=numbers)
def test_fenchel_inequality(loss, y, z, s):
    both = scalar(loss.value, y, z) + scalar(loss.conjugate, y, s)
    assert both >= s * z - 1e-9 * (1 + abs(s * z))


@each_loss
@quick
@given(y=numbers, z=numbers)
def test_fenchel_equality_at_the_gradient(loss, y, z):
    s = scalar(loss.gradient, y, z)
    both = scalar(loss.value, y, z) + scalar(loss.conjugate, y, s)
    assert both == pytest.approx(s * z, rel=1e-9, abs=1e-9)


@each_loss
@quick
@given(y=numbers, z=numbers, step=steps, other=numbers)
def test_prox_is_the_minimiser(loss, y, z, step, other):
    def objective(x):
        return step * scalar(loss.value, y, x) + (x - z) ** 2 / 2

    x = scalar(loss.prox, y, z, step)
    # the objective is strongly convex: every other point is worse by half the squared distance
    rounding = 1e-11 * (objective(other) + 1)
    assert objective(other) >= objective(x) + (other - x) ** 2 / 2 - rounding
    for nearby in (x - 1e-3, x + 1e-3):
        assert objective(nearby) >= objective(x) + 0.4e-6 - 1e-11 * (objective(x) + 1)


@each_loss
@quick
@given(y=numbers, z=numbers, step=steps)
def test_moreau_identity(loss, y, z, step):
    """``x = prox_{step l}(z)`` exactly when ``(z - x) / step`` is the slope of ``l`` at ``x``."""
    x = scalar(loss.prox, y, z, step)
    assert x + step * scalar(loss.gradient, y, x) == pytest.approx(z, rel=1e-6, abs=1e-6)


@each_loss
@quick
@given(y=numbers, z=numbers, other=numbers, step=steps)
def test_prox_is_firmly_nonexpansive(loss, y, z, other, step):
    difference = scalar(loss.prox, y, z, step) - scalar(loss.prox, y, other, step)
    assert difference**2 <= difference * (z - other) + 1e-9


@each_loss
def test_samples_are_independent_and_steps_may_differ(loss):
    y, z, step = np.array([1.0, -2.0, 0.5]), np.array([0.0, 1.0, 4.0]), np.array([0.1, 1.0, 5.0])
    for array in (y, z, step):
        array.setflags(write=False)
    one_by_one = [scalar(loss.prox, *row) for row in zip(y, z, step, strict=True)]
    np.testing.assert_allclose(loss.prox(y, z, step), one_by_one)
    np.testing.assert_allclose(loss.prox(y, z, 0.1)[0], one_by_one[0])
    for method in (loss.value, loss.gradient, loss.conjugate):
        expected = [scalar(method, *row) for row in zip(y, z, strict=True)]
        np.testing.assert_allclose(method(y, z), expected)


@each_loss
def test_parameters_make_the_round_trip(loss):
    assert clone(loss).get_params() == loss.get_params()
