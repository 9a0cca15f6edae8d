"""Warps, tails, levels and serial noise: densities, bounds and Jacobians by numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from scipy.stats import t as student

from nablasso.regression.models import LINEAR, QUADRATIC
from nablasso.regression.noise import (
    PLAIN,
    Assumption,
    Warp,
    in_time,
    lag_correlation,
    log_student,
    tail_weights,
    warps,
)
from tests.regression.dense_process import best_log_evidence
from tests.search.rows import draw, few_rows

N = 60


# -------------------------------------------------------------------------- warps


@pytest.mark.parametrize(
    ("warp", "y"),
    [
        (Warp(1.0, -2.0, 0.3), np.linspace(-2, 30, 40)),
        (Warp(-1.0, 5.0, 0.1), np.linspace(-30, 5, 40)),
    ],
)
def test_a_warp_and_its_derivative(warp, y):
    t, h = warp(y), 1e-6
    assert (np.diff(t) > 0).all()  # either side up
    np.testing.assert_allclose(warp.back(t), y, rtol=1e-9, atol=1e-9)
    inside = y[1:-1]
    slope = (warp(inside + h) - warp(inside - h)) / (2 * h)
    plain = Assumption(warp=warp)
    np.testing.assert_allclose(
        [plain.jacobian(y[:, None]) for y in inside[:, None]], np.log(slope), atol=1e-5
    )
    bend = [plain.jacobian(one[:, None]) for one in y[:, None]]
    assert (np.diff(bend) * warp.side < 0).all()  # flatter away from the end


def test_warps_bend_the_long_side_down():
    rng = np.random.default_rng(0)
    y = rng.exponential(size=200)
    right = warps(y, y - y.mean(), None)
    assert {warp.side for warp in right} == {1.0}
    assert {warp.end for warp in right} == {y.min()}
    left = warps(-y, -(y - y.mean()), None)
    assert {warp.side for warp in left} == {-1.0}
    assert {warp.end for warp in left} == {-y.min()}
    offsets = [warp.offset for warp in right]
    np.testing.assert_allclose(offsets, sorted(offsets))
    assert right[1] not in warps(y, y, right[1])
    counts = rng.poisson(2.0, size=200).astype(float)
    assert min(warp.offset for warp in warps(counts, counts, None)) >= 1.0  # a step of counts


# -------------------------------------------------------------------------- tails


@pytest.mark.parametrize("nu", [2.0, 5.0])
def test_log_student_is_the_density(nu):
    z = np.linspace(-6, 6, 25)
    np.testing.assert_allclose(log_student(z**2, nu), student(nu).logpdf(z))


@pytest.mark.parametrize("nu", [2.0, 5.0])
def test_the_weighted_normal_bounds_student_from_below(nu):
    """For every weight, everywhere; with equality at the residual that the weight belongs to."""
    z = np.linspace(-8, 8, 41)
    for own in (0.0, 0.5, 1.7, 6.0):
        w = (nu + 1) / (nu + own**2)
        assumption = Assumption(nu=nu, weights=np.array([w]))
        constant = 0.5 * np.log(1) - assumption.price(1)  # a single row: log n is zero
        bound = norm(0, 1 / np.sqrt(w)).logpdf(z) + constant
        assert (bound <= student(nu).logpdf(z) + 1e-12).all()
        at_own = norm(0, 1 / np.sqrt(w)).logpdf(own) + constant
        assert at_own == pytest.approx(student(nu).logpdf(own))


@pytest.mark.parametrize("nu", [2.0, 5.0])
def test_the_evidence_under_tails_is_a_bound_of_the_true_one(nu):
    """Without columns: the integral over the mean by numbers, the scale at its best."""
    y = np.array([-1.2, -0.4, -0.1, 0.0, 0.3, 0.5, 0.9, 9.0])
    n = len(y)

    means = np.linspace(-12, 16, 4001)

    def true(log_scale):
        logs = student(nu, scale=np.exp(log_scale)).logpdf(y - means[:, None]).sum(axis=1)
        return -np.log(trapezoid(np.exp(logs), means))

    least = float(minimize_scalar(true, bounds=(-3, 2), method="bounded").fun)
    weights, _ = tail_weights(y - np.median(y), nu)
    rows = few_rows(np.zeros((n, 1)), y, standardise=False)
    rows = rows.under(Assumption(nu=nu, weights=weights))
    # constants that all totals lack, and the price of nu
    constants = 0.5 * (n - 1) * (np.log(2 * np.pi) + 1) + 0.5 * np.log(n) - 0.5 * np.log(n)
    bound = rows.base + constants
    assert least <= bound < least + 1.0


def test_tail_weights_are_those_of_the_most_likely_scale():
    rng = np.random.default_rng(0)
    e = 3.0 * rng.standard_t(3, size=400)
    for nu in (2.0, 5.0):
        weights, gain = tail_weights(e, nu)
        scale = student.fit(e, fdf=nu, floc=0.0)[2]
        np.testing.assert_allclose(weights, (nu + 1) / (nu + (e / scale) ** 2), rtol=1e-3)
        normal = norm(0, np.sqrt(np.mean(e**2))).logpdf(e).sum()
        assert gain == pytest.approx(student(nu, scale=scale).logpdf(e).sum() - normal, abs=1e-3)
    assert tail_weights(rng.normal(size=400), 2.0)[1] < 0


# -------------------------------------------------------------------------- shapes and prices


def test_serial_noise():
    time = np.array([3.0, 0.0, 1.0, 7.0])
    shape = Assumption(serial=(0.8, 0.7)).noise(4, time)
    expected = 0.7 * 0.8 ** np.abs(time[:, None] - time)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(shape, expected)
    assert np.linalg.eigvalsh(shape).min() > 0
    level = np.array([0.0, 1.0, -1.0, 0.5])
    both = Assumption(serial=(0.8, 0.7), level=level).noise(4, time)
    np.testing.assert_allclose(np.diag(both), np.exp(level))
    np.testing.assert_allclose(both / np.sqrt(np.outer(np.exp(level), np.exp(level))), expected)


def test_levels_and_weights_are_variances():
    level, weights = np.array([0.0, 1.0]), np.array([0.5, 2.0])
    np.testing.assert_allclose(
        Assumption(level=level, nu=2.0, weights=weights).noise(2, None), np.exp(level) / weights
    )
    np.testing.assert_array_equal(PLAIN.noise(2, None), np.ones(2))


def test_prices_by_hand():
    half = 0.5 * np.log(100)
    assert PLAIN.price(100) == 0.0
    assert Assumption(warp=Warp(1.0, 0.0, 1.0)).price(100) == pytest.approx(half)
    assert Assumption(serial=(0.9, 1.0)).price(100) == pytest.approx(2 * half)
    level = Assumption(level=np.zeros(100), level_price=4.5)
    assert level.price(100) == pytest.approx(4.5)
    normal = Assumption(nu=1e7, weights=np.full(100, 1.0))  # no tails: nothing but its number
    assert normal.price(100) == pytest.approx(half, abs=1e-3)


def test_a_warp_says_what_it_does_and_moves_with_its_target():
    assert str(Warp(-1.0, 3.0, 0.25)) == "-log(3 - y + 0.25)"
    assert str(Warp(1.0, -3.0, 0.25)) == "log(y + 3 + 0.25)"
    moved = Warp(1.0, -3.0, 0.25).moved(5.0)
    assert str(moved) == "log(y - 2 + 0.25)"
    y = np.array([0.0, 1.0, 2.5])
    np.testing.assert_allclose(moved(y + 5.0), Warp(1.0, -3.0, 0.25)(y))


# -------------------------------------------------------------------------- totals


WARP = Warp(1.0, -20.0, 3.0)


def scaled(warp, factor):
    return replace(warp, end=factor * warp.end, offset=factor * warp.offset)


@pytest.mark.parametrize("factor", [1e-3, 1e4])
def test_totals_compare_whatever_the_unit_of_the_target(factor):
    def gaps(unit):
        rows = draw(time=np.arange(N, dtype=float))
        rows = replace(rows, targets=unit * rows.targets)
        made = [
            PLAIN,
            Assumption(warp=scaled(WARP, unit)),
            Assumption(nu=2.0, weights=np.linspace(0.2, 1.4, N)),
            Assumption(level=np.linspace(-1, 1, N), level_price=3.0),
            Assumption(serial=(0.8, 1.0)),
        ]
        totals = []
        for assumption in made:
            under = rows.under(assumption)
            model = under.tune(QUADRATIC, np.array([0, 1, 2]))
            totals.append(under.total(model))
        return np.array(totals[1:]) - totals[0], totals[0]

    (one, plain), (other, moved) = gaps(1.0), gaps(factor)
    np.testing.assert_allclose(other, one, atol=1e-4)
    assert moved - plain == pytest.approx((N - 1) * np.log(factor))  # n - 1 contrasts


def test_the_total_is_minus_the_log_density_of_the_target_itself():
    """Of contrasts of ``t(y)``, and the mean log slope of ``t`` by differences, n - 1 times."""
    rows = draw().under(Assumption(warp=WARP))
    y, h = rows.targets[:, 0], 1e-6
    slope = (WARP(y + h) - WARP(y - h)) / (2 * h)
    density = best_log_evidence(np.eye(N), WARP(y)) + (N - 1) * np.mean(np.log(slope))
    constants = 0.5 * (N - 1) * (np.log(2 * np.pi) + 1)
    expected = -density - constants + 0.5 * np.log(N)
    assert rows.total(rows.tune(LINEAR, rows.kept)) == pytest.approx(expected, abs=1e-4)


# -------------------------------------------------------------------------- rows in time


def test_rows_may_be_in_time_unless_the_table_is_sorted():
    rng = np.random.default_rng(0)
    y, time = rng.normal(size=100), np.arange(100.0)
    assert in_time(y, time)
    assert not in_time(np.sort(y), time)
    assert in_time(np.sort(y), rng.permutation(100).astype(float))
    assert not in_time(y[:10], time[:10])  # too few to tell
    assert not in_time(np.repeat([0.0, 1.0], 50), time)


def test_the_correlation_of_neighbours():
    e, time = np.array([1.0, -2.0, 0.5, 3.0]), np.array([2.0, 0.0, 3.0, 1.0])
    # in time: -2, 3, 1, 0.5
    expected = (-6 + 3 + 0.5) / (4 + 9 + 1 + 0.25) * 2
    assert lag_correlation(e, time) == pytest.approx(expected)
    assert lag_correlation(np.zeros(4), time) == 0.0
    rng = np.random.default_rng(1)
    looks = [lag_correlation(rng.normal(size=200), np.arange(200.0)) for _ in range(200)]
    assert np.std(looks) == pytest.approx(1.0, abs=0.15)
