"""Where walks start."""

import numpy as np
import pytest

from nablasso.kernels import AdditivePower, Gaussian, Linear, Polynomial
from nablasso.metric import Start, default_starts, starts_of
from nablasso.metric.start import FAMILIES, FORWARD


def test_families_are_tried_with_both_powers():
    starts = default_starts(1000, 1000)  # too much work for forward starts
    assert len(starts) == 2 * len(FAMILIES)
    assert {start.power for start in starts} == {0.5, 1.0}
    assert not any(start.forward for start in starts)
    assert sum(start.forward for start in default_starts(50, 100)) == len(FORWARD)


def test_starts_of_a_kernel_have_three_widths_where_it_has_one():
    assert len(starts_of(Gaussian())) == 6
    assert {start.multiplier for start in starts_of(Gaussian())} == {0.5, 1.0, 2.0}
    assert len(starts_of(Linear())) == 2
    assert {start.multiplier for start in starts_of(Polynomial())} == {1.0}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Gaussian(), Gaussian(2.0), True),
        (Polynomial(2, 0.05), Polynomial(2, 0.5), True),
        (Polynomial(2), Polynomial(3), False),
        (AdditivePower(1), AdditivePower(2), False),
        (Linear(), Gaussian(), False),
    ],
)
def test_families_differ_in_more_than_width_and_offset(one, other, same):
    assert (Start(one).family == Start(other, 0.5).family) is same


def test_binding_does_not_change_the_users_kernel():
    X = np.random.default_rng(0).normal(size=(10, 3))
    kernel = AdditivePower(2, 0.3)
    bound, _ = Start(kernel).bind(X, np.full(10, 0.1))
    assert kernel.offset == 0.3
    assert bound is not kernel


@pytest.mark.parametrize(
    "kernel", [kernel for kernel, _ in FAMILIES if not isinstance(kernel, AdditivePower)], ids=repr
)
def test_natural_units_make_the_unit_of_the_data_irrelevant(kernel):
    """Additive powers expect standardised columns; all others measure the data."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    weights = np.full(12, 1 / 12)
    grams = []
    for unit in (1.0, 1e3):
        bound, width = Start(kernel, 0.7).bind(unit * X, weights)
        grams.append(bound(unit * X / width, unit * X / width))
    np.testing.assert_allclose(*grams, rtol=1e-9, atol=1e-12)
    bound, width = Start(kernel).bind(0 * X, weights)  # all points coincide
    assert width > 0
