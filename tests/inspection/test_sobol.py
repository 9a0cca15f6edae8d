"""Indices of any model, from rows or between ranges."""

import numpy as np
import pytest

from nablasso import DerivativeLasso, DerivativeLassoClassifier, NablassoRegressor
from nablasso.errors import InvalidParameterError
from nablasso.inspection import interaction_shares, sobol, sobol_indices
from nablasso.inspection.response import inspected_columns

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 4)) * [1.0, 2.0, 0.5, 1.0]


def test_known_functions_between_ranges(known):
    fitted = known(lambda Z: Z[:, 0] + Z[:, 1] * Z[:, 2]).fit(X)
    found = sobol_indices(fitted, ranges=[(-1, 1)] * 4)
    whole = 1 / 3 + 1 / 9
    np.testing.assert_allclose(found.first_order, np.array([1 / 3, 0, 0, 0]) / whole, atol=0.01)
    totals = np.array([1 / 3, 1 / 9, 1 / 9, 0]) / whole
    np.testing.assert_allclose(found.total, totals, atol=0.01)
    shares = np.array([1 / 3, 1 / 18, 1 / 18, 0]) / whole
    np.testing.assert_allclose(found.share, shares, atol=0.01)
    assert found.second_order[1, 2] == pytest.approx(1 / 9 / whole, abs=0.01)
    assert found.second_order[2, 1] == found.second_order[1, 2]
    assert found.second_order[0, 1] == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(found.total_interval.T, [found.total] * 2)  # nothing is unsure
    assert list(found.to_frame()["column"]) == ["x0", "x1", "x2", "x3"]


def test_rows_move_the_intervals_of_a_function_that_is_known(known):
    fitted = known(lambda Z: Z[:, 0] + Z[:, 1]).fit(X)
    found = sobol_indices(fitted, X)
    low, high = found.total_interval.T
    assert (high[:2] - low[:2] > 0.05).all()
    assert low[1] < 0.8 < high[1]


def test_some_ranges_leave_the_other_columns_to_the_rows(known):
    fitted = known(lambda Z: Z[:, 0] + Z[:, 1]).fit(X)
    found = sobol_indices(fitted, X, ranges={"x0": (-6, 6)})
    assert found.share[0] == pytest.approx(12 / (12 + X[:, 1].var()), abs=0.02)


def test_a_fitted_function_has_a_spread():
    Z = RNG.uniform(size=(60, 3))
    model = NablassoRegressor("polynomial", cv=3).fit(Z, Z[:, 0] + 0.3 * RNG.normal(size=60))
    found = sobol_indices(model, ranges=[(0, 1)] * 3)
    assert found.total[0] > 0.7
    assert found.share.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "got neither"),
        ({"ranges": [(0, 1)]}, "one pair for each of the 4"),
        ({"ranges": {"x0": (0, 1)}}, "missing: x1"),
        ({"ranges": [(1, 0)] * 4}, "the lower first"),
        ({"X": X, "level": 2}, "level"),
    ],
)
def test_what_cannot_be_is_said(known, options, words):
    fitted = known(lambda Z: Z[:, 0]).fit(X)
    with pytest.raises(InvalidParameterError, match=words):
        sobol_indices(fitted, **options)


def test_pairs_of_a_known_function(known):
    fitted = known(lambda Z: Z[:, 0] * Z[:, 1] + Z[:, 2]).fit(X)
    pairs = {(a, b): s for a, b, s in interaction_shares(fitted, X)}
    assert max(pairs, key=pairs.get) == (0, 1)
    part = X[:, 0].var() * X[:, 1].var()
    assert pairs[0, 1] == pytest.approx(part / (part + X[:, 2].var()), rel=0.3)
    assert max(s for pair, s in pairs.items() if pair != (0, 1)) < 1e-9


def test_the_automatic_estimators_list_the_same_to_the_last_digit():
    fitted = NablassoRegressor("polynomial", cv=3).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    assert [tuple(p) for p in interaction_shares(fitted, X)] == fitted.interactions_


def test_importances_and_indices_have_the_same_intervals_around_their_estimates():
    Z = np.random.default_rng(5).uniform(size=(70, 3))
    y = Z[:, 0] + Z[:, 1] ** 2 + 0.2 * np.random.default_rng(6).normal(size=70)
    model = NablassoRegressor("polynomial", cv=3).fit(Z, y)
    table = model.importances_
    place = [int(name[1:]) for name in table["column"]]
    for found in (sobol_indices(model), sobol_indices(model, Z[::-1])):
        for kind, low in (("share", "low"), ("first_order", None), ("total", None)):
            low = low or f"{kind}_low"
            ends = getattr(found, f"{kind}_interval")[place]
            np.testing.assert_array_equal(getattr(found, kind)[place], table[kind])
            np.testing.assert_array_equal(ends[:, 0], table[low])
            np.testing.assert_array_equal(ends[:, 1], table[low.replace("low", "high")])
    for low, value, high in zip(table["low"], table["share"], table["high"], strict=True):
        assert low < value < high
        if low > 0 and high < 1:
            assert value - low == pytest.approx(high - value)
    others = sobol_indices(model, Z[:35])
    assert not np.array_equal(others.total_interval, sobol_indices(model).total_interval)


def test_pairs_of_a_foreign_model_take_memory_by_the_columns_asked_for(known):
    d = 1500
    wide = np.random.default_rng(7).normal(size=(30, d))
    fitted = known(lambda Z: Z[:, 3] * Z[:, 8] + Z[:, 900]).fit(wide)
    explanation = sobol._explanation(fitted, wide, None, None, None, None, np.array([3, 8, 10]))
    assert explanation.law.correlation.shape == (4, 4)
    pairs = {(a, b): share for a, b, share in interaction_shares(fitted, wide, [3, 8, 10])}
    assert max(pairs, key=pairs.get) == (3, 8)
    assert pairs[3, 10] == pytest.approx(0, abs=1e-9)


def test_classes_are_judged_by_their_log_odds(known_odds):
    fitted = known_odds(lambda Z: Z[:, 0] * Z[:, 1]).fit(X)
    (pair,) = interaction_shares(fitted, X, [0, 1])
    assert pair.share == pytest.approx(1, abs=0.15)


def test_several_classes_add_up():
    y = np.digitize(X[:, 0] * X[:, 1], (-0.4, 0.4))
    fitted = DerivativeLassoClassifier(alpha=1e-2, ridge=1e-1, tol=1e-2).fit(X, y)
    (both,) = interaction_shares(fitted, X, [0, 1])
    each = [interaction_shares(fitted, X, [0, 1], target=k)[0].share for k in range(3)]
    assert min(each) <= both.share <= max(each)


def test_the_selected_columns_are_looked_at_and_one_has_no_pair():
    fitted = DerivativeLasso("linear", alpha=0.3).fit(X, X[:, 0])
    assert inspected_columns(fitted).tolist() == [0]
    assert interaction_shares(fitted, X) == []
    fitted.support_ = np.ones(4, dtype=bool)
    fitted.feature_importances_ = np.array([0.1, 0.4, 0.3, 0.2])
    assert inspected_columns(fitted, most=2).tolist() == [1, 2]
