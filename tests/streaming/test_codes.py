"""Codes and functions of columns, against what others compute."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

from nablasso.streaming.codes import BINS, CodedColumn, draft, with_functions


def column(x: np.ndarray, weight: np.ndarray | None = None) -> CodedColumn:
    weight = np.ones(len(x)) if weight is None else weight
    plan = draft(x, weight, BINS)
    counts = np.bincount(plan.encode(x), weights=weight, minlength=len(plan.centres))
    return with_functions(plan, counts, 40)


def test_functions_are_orthonormal_over_the_rows_and_the_first_is_x():
    x = np.random.default_rng(0).normal(size=3000)
    found = column(x)
    F = found.table[found.encode(x)]
    np.testing.assert_allclose(F.T @ F / len(x), np.eye(F.shape[1]), atol=1e-9)
    np.testing.assert_allclose(F.mean(axis=0), 0, atol=1e-9)
    centres = found.centres[found.encode(x)]
    assert abs(np.corrcoef(F[:, 0], centres)[0, 1]) > 1 - 1e-12
    assert len(found.centres) <= BINS


def test_the_prior_is_that_of_the_smoothing_spline():
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(-1, 1, 60))
    x = (x - x.mean()) / x.std()
    y = np.sin(2 * x) + 0.2 * rng.normal(size=60)
    found = with_functions(draft(x, np.ones(60), BINS), np.ones(60), 60)
    F = np.column_stack([np.ones(60), found.table[found.encode(x)]])
    penalty = np.concatenate([[0.0, 0.0], 1 / found.prior[1:]])
    fit = F @ np.linalg.solve(F.T @ F + 0.3 * np.diag(penalty), F.T @ y)
    np.testing.assert_allclose(fit, make_smoothing_spline(x, y, lam=0.3)(x), atol=1e-6)


def test_few_values_are_codes_as_they_are():
    x = np.array([3.0, 1.0, 2.0, 1.0, 3.0, 2.0])
    found = column(x)
    assert found.encode(x).tolist() == [2, 0, 1, 0, 2, 1]
    F = found.table[found.encode(x)]
    assert F.shape == (6, 2)  # x, curvature
    np.testing.assert_allclose(F.T @ F / 6, np.eye(2), atol=1e-12)


def test_neighbouring_numbers_have_codes_of_their_own():
    tiny = np.nextafter(0, 1)
    x = np.array([1.0, np.nextafter(1, 2), np.nextafter(1, 0), -tiny, 0.0, tiny, 3 * tiny])
    plan = draft(x, np.ones(len(x)), BINS)
    assert sorted(plan.encode(x)) == list(range(len(x)))
    assert np.isfinite(plan.centres).all()


def test_a_weight_is_as_many_copies():
    rng = np.random.default_rng(2)
    x, times = rng.normal(size=500), rng.integers(1, 4, size=500)
    a, b = column(x, times.astype(float)), column(np.repeat(x, times))
    np.testing.assert_array_equal(a.edges, b.edges)
    np.testing.assert_allclose(a.table, b.table, atol=1e-9)


def test_values_between_centres_are_linear_and_constant_beyond():
    x = np.random.default_rng(4).normal(size=2000)
    found = column(x)
    np.testing.assert_allclose(found.at(found.centres, 5), found.table[:, :5], atol=1e-9)
    far = found.at(np.array([-1e9, 1e9]), 5)
    np.testing.assert_allclose(far, found.table[[0, len(found.centres) - 1], :5])
    new, h = np.linspace(-1.5, 1.5, 40), 1e-7
    slopes = (found.at(new + h, 5) - found.at(new - h, 5)) / (2 * h)
    np.testing.assert_allclose(found.slopes(new, 5), slopes, rtol=1e-4, atol=1e-4)
    assert np.all(found.slopes(np.array([-1e9, 1e9]), 5) == 0)


@pytest.mark.parametrize("scale", [1e-33, 1e33])
def test_any_unit(scale):
    x = np.random.default_rng(5).normal(size=400)
    np.testing.assert_allclose(column(x * scale).table, column(x).table, atol=1e-8)


def test_columns_may_reach_as_far_as_numbers_do():
    x = np.random.default_rng(1).uniform(-1, 1, size=20_000) * 9.5e307
    plan = draft(x[:5000], np.ones(5000), BINS)
    np.testing.assert_array_equal(plan.encode(x), np.searchsorted(plan.edges, x))


@pytest.mark.parametrize("power", [1, 9])
def test_codes_on_a_grid_are_those_of_a_search(power):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(20_000) ** power
    x[:50] = rng.choice(x, 50)
    plan = draft(np.concatenate([x[:5000], np.round(x[5000:7000], 1)]), np.ones(7000), BINS)
    values = np.concatenate([x, plan.edges, np.nextafter(plan.edges, np.inf), [1e308, -1e308]])
    np.testing.assert_array_equal(plan.encode(values), np.searchsorted(plan.edges, values))
    assert plan.encode(values[:9000].astype(np.float32)).max() < len(plan.centres)
