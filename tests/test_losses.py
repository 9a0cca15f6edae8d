"""What every loss promises; adding one to ``ALL_LOSSES`` is enough."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.losses import (
    REGRESSION_LOSSES,
    Huber,
    Logistic,
    LossSample,
    Poisson,
    Squared,
    SquaredEpsilonInsensitive,
    as_loss,
)

ALL_LOSSES = (
    Squared(),
    Logistic(),
    Huber(0.7),
    SquaredEpsilonInsensitive(0.4),
    Poisson(),
)
each_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)

quick = settings(max_examples=40)
numbers = st.floats(-20, 20)
steps = st.floats(1e-3, 1e3)


def target(loss, y):
    """A target that the loss allows."""
    if isinstance(loss, Logistic):
        return 1.0 if y >= 0 else -1.0
    return abs(y) if isinstance(loss, Poisson) else y


def dual_domain(loss, y):
    """Where the conjugate is finite, written down from the definition."""
    if isinstance(loss, Logistic):
        return sorted((0.0, -y))
    if isinstance(loss, Huber):
        return [-2 * loss.delta, 2 * loss.delta]
    return [-y if isinstance(loss, Poisson) else -np.inf, np.inf]


def scalar(method, *arguments):
    """One sample through a method for arrays."""
    arrays = [np.array([argument]) for argument in arguments]
    result = method(*arrays)
    assert result.shape == (1,)
    return float(result[0])


def test_squared_loss_is_the_square():
    y, z = np.array([0.0, 1.0, -2.0]), np.array([0.0, 3.0, 1.0])
    np.testing.assert_array_equal(Squared().value(y, z), [0.0, 4.0, 9.0])


def test_values_by_hand():
    y, z = np.array([1.0, -1.0, 1.0]), np.array([0.0, 2.0, -900.0])
    np.testing.assert_allclose(Logistic().value(y, z), [np.log(2), np.log1p(np.exp(2)), 900.0])
    np.testing.assert_allclose(Huber(1.0).value(y, z), [1.0, 5.0, 1801.0])
    np.testing.assert_allclose(SquaredEpsilonInsensitive(0.5).value(y, z), [0.25, 6.25, 900.5**2])
    counts, logs = np.array([0.0, 3.0]), np.array([0.0, np.log(3.0)])
    np.testing.assert_allclose(Poisson().value(counts, logs), [1.0, 0.0], atol=1e-14)


def curvature_jump(loss, y, z, h):
    """Change of the second derivative from ``z - h`` to ``z + h``."""
    return abs(scalar(loss.curvature, y, z + h) - scalar(loss.curvature, y, z - h))


@each_loss
@quick
@given(y=numbers, z=numbers)
def test_gradient_is_the_slope(loss, y, z):
    h, y = 1e-4, target(loss, y)
    slope = (scalar(loss.value, y, z + h) - scalar(loss.value, y, z - h)) / (2 * h)
    # where second derivatives jump the difference quotient is off by at most half of h times that
    tolerance = 1e-6 + h * curvature_jump(loss, y, z, h)
    assert scalar(loss.gradient, y, z) == pytest.approx(slope, rel=1e-6, abs=tolerance)


@each_loss
@quick
@given(y=numbers, z=st.floats(-8, 8))
def test_curvature_is_the_slope_of_the_gradient(loss, y, z):
    h, y = 1e-5, target(loss, y)
    assume(curvature_jump(loss, y, z, 2 * h) < 0.1)  # no kink of the gradient here
    slope = (scalar(loss.gradient, y, z + h) - scalar(loss.gradient, y, z - h)) / (2 * h)
    assert scalar(loss.curvature, y, z) == pytest.approx(slope, rel=1e-5, abs=1e-6)


@each_loss
@quick
@given(y=numbers, position=st.floats(0.02, 0.98))
def test_conjugate_is_the_supremum(loss, y, position):
    y = target(loss, y)
    low, high = np.clip(dual_domain(loss, y), -20, 20)
    s = low + position * (high - low)
    best = minimize_scalar(
        lambda z: scalar(loss.value, y, z) - s * z,
        bounds=(-60, 60),
        method="bounded",
        options={"xatol": 1e-10, "maxiter": 1000},
    )
    assert scalar(loss.conjugate, y, s) == pytest.approx(-best.fun, rel=1e-6, abs=1e-6)


@each_loss
@pytest.mark.parametrize("y", [-1.0, 0.0, 2.5])
def test_conjugate_is_infinite_outside_its_domain(loss, y):
    y = target(loss, y)
    low, high = dual_domain(loss, y)
    for end, outside in ((low, low - 1e-3), (high, high + 1e-3)):
        if np.isfinite(end):
            assert np.isfinite(scalar(loss.conjugate, y, end))
            assert scalar(loss.conjugate, y, outside) == np.inf
            # and rightly so: the supremum goes beyond any bound
            z = 1e5 * np.sign(outside - end)
            assert outside * z - scalar(loss.value, y, z) > 10


@each_loss
@quick
@given(y=numbers, z=numbers, s=numbers)
def test_fenchel_inequality(loss, y, z, s):
    y = target(loss, y)
    both = scalar(loss.value, y, z) + scalar(loss.conjugate, y, s)
    assert both >= s * z - 1e-9 * (1 + abs(s * z))


@each_loss
@quick
@given(y=numbers, z=numbers)
def test_fenchel_equality_at_the_gradient(loss, y, z):
    y = target(loss, y)
    s = scalar(loss.gradient, y, z)
    both = scalar(loss.value, y, z) + scalar(loss.conjugate, y, s)
    assert both == pytest.approx(s * z, rel=1e-7, abs=1e-7)


@each_loss
@pytest.mark.parametrize("seed", range(4))
def test_best_intercept_is_the_minimiser(loss, seed):
    rng = np.random.default_rng(seed)
    z, weights = 3 * rng.normal(size=12), rng.uniform(0.1, 1.0, size=12)
    weights /= weights.sum()
    y = np.array([target(loss, value) for value in 5 * rng.normal(size=12) + 10 * (seed == 3)])
    if isinstance(loss, Logistic):
        y[0] = -y[1]
    b = loss.best_intercept(y, z, weights)
    assert abs(weights @ loss.gradient(y, z + b)) <= 1e-12
    reached = weights @ loss.value(y, z + b)
    for other in (b - 1e-2, b + 1e-2, b - 1, b + 1, 0.0):
        assert reached <= weights @ loss.value(y, z + other) + 1e-12


@each_loss
def test_samples_are_independent(loss):
    y = np.array([target(loss, value) for value in (1.0, -2.0, 0.5)])
    z = np.array([0.0, 1.0, 4.0])
    for array in (y, z):
        array.setflags(write=False)
    for method in (loss.value, loss.gradient, loss.curvature, loss.conjugate):
        expected = [scalar(method, *row) for row in zip(y, z, strict=True)]
        np.testing.assert_allclose(method(y, z), expected)


@each_loss
def test_parameters_make_the_round_trip(loss):
    assert clone(loss).get_params() == loss.get_params()


@each_loss
def test_translation(loss):
    y, z = np.array([target(loss, 3.0)]), np.array([0.7])
    moved = loss.value(y + 2.0, z + 2.0)
    assert loss.translates == np.allclose(moved, loss.value(y, z))


@each_loss
@pytest.mark.parametrize("z", [-2.0, 0.3])
def test_the_mean_and_its_derivative(loss, z):
    slope = (scalar(loss.mean, z + 1e-5) - scalar(loss.mean, z - 1e-5)) / 2e-5
    assert scalar(loss.mean_derivative, z) == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize(("loss", "name"), [(Huber(2.0), "delta"), (ALL_LOSSES[3], "epsilon")])
def test_thresholds_are_in_units_of_a_robust_deviation(loss, name):
    rng = np.random.default_rng(0)
    y, weights = 7.0 * rng.normal(size=4001), np.full(4001, 1 / 4001)
    y[:200] = 1e6  # a few wild targets do not move the unit far
    unit = getattr(loss.fitted(y, weights), name) / getattr(loss, name)
    assert unit == pytest.approx(7.0, rel=0.1)
    assert getattr(loss.fitted(np.zeros(5), np.full(5, 0.2)), name) == getattr(loss, name)
    with pytest.raises(InvalidParameterError, match=name):
        type(loss)(-1.0).fitted(y, weights)


def test_targets_that_a_loss_cannot_take_are_refused():
    with pytest.raises(InvalidDataError, match="at least zero"):
        Poisson().check_target(np.array([1.0, -1.0]))
    with pytest.raises(InvalidDataError, match="some of them positive"):
        Poisson().check_target(np.zeros(3))
    with pytest.raises(InvalidDataError, match="labels -1 and 1"):
        Logistic().check_target(np.array([0.0, 1.0]))
    Poisson().check_target(np.array([0.0, 1.5]))
    Logistic().check_target(np.array([-1.0, 1.0]))


def test_names_stand_for_losses():
    for name, cls in REGRESSION_LOSSES.items():
        assert type(as_loss(name)) is cls
    mine = Huber(3.0)
    assert as_loss(mine) is not mine
    assert as_loss(mine).delta == 3.0
    with pytest.raises(InvalidParameterError, match="loss must be one of squared"):
        as_loss("absolute")


def test_large_counts_are_not_constant():
    """Their loss is tiny beside their squares; a constant target's is rounding."""
    y, p = 1e6 + 1e3 * np.arange(5.0), np.full(5, 0.2)
    sample = LossSample(y, p, Poisson())
    assert sample.reference == pytest.approx(p @ Poisson().value(y, sample.null), rel=1e-12)
    assert LossSample(np.full(5, 1e6), p, Poisson()).reference == pytest.approx(1e12)
