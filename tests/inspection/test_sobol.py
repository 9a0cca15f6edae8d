"""Indices of any model, from rows or between ranges."""

import numpy as np
import pytest

from nablasso import DerivativeLasso, DerivativeLassoClassifier, NablassoRegressor
from nablasso.errors import InvalidParameterError
from nablasso.inspection import interaction_shares, sobol, sobol_indices
from nablasso.inspection.dependence import inspected_columns

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
    np.testing.assert_allclose(found.total_interval.T, [found.total] * 2)  # nothing is unsure
    pairs = np.zeros((4, 4))
    pairs[1, 2] = pairs[2, 1] = 1 / 9 / whole
    pairs[np.arange(4), np.arange(4)] = np.nan
    np.testing.assert_allclose(found.second_order, pairs, atol=0.01)
    for end in np.moveaxis(found.second_order_interval, 2, 0):
        np.testing.assert_allclose(end, found.second_order)
    assert found.names == list(found.table["column"]) == ["x0", "x1", "x2", "x3"]


def test_a_pair_is_its_own_term_without_what_the_two_do_with_others(known):
    fitted = known(lambda Z: Z[:, 0] * Z[:, 1] * Z[:, 2] + Z[:, 2] * Z[:, 3]).fit(X)
    found = sobol_indices(fitted, ranges=[(-1, 1)] * 4)
    assert found.second_order[2, 3] == pytest.approx(0.75, abs=0.03)
    assert found.second_order[0, 1] == pytest.approx(0.0, abs=0.03)
    assert found.total[0] == pytest.approx(0.25, abs=0.02)


def test_rows_move_the_intervals_of_a_function_that_is_known(known):
    fitted = known(lambda Z: Z[:, 0] + Z[:, 1]).fit(X)
    found = sobol_indices(fitted, X)
    low, high = found.total_interval.T
    assert (high[:2] - low[:2] > 0.05).all()
    assert low[1] < 0.8 < high[1]
    assert not np.nan_to_num(found.second_order).any()  # they add up


def test_indices_are_of_the_columns_of_a_table():
    pandas = pytest.importorskip("pandas")
    colour = np.array(["red", "blue", "green"])[np.arange(60) % 3]
    table = pandas.DataFrame({"a": X[:, 0], "colour": colour, "idle": X[:, 3]})
    model = DerivativeLasso("linear", alpha=1e-3).fit(table, X[:, 0] + 5.0 * (colour == "red"))
    found = sobol_indices(model, table)
    assert found.names == list(found.table["column"]) == list(table)
    assert found.share.sum() == pytest.approx(1)
    assert found.share[1] > found.share[0] > 0.05 > found.share[2]


def test_a_fitted_function_has_a_spread():
    Z = RNG.uniform(size=(60, 3))
    model = NablassoRegressor("polynomial", cv=3).fit(Z, Z[:, 0] + 0.3 * RNG.normal(size=60))
    found = sobol_indices(model, ranges=[(0, 1)] * 3)
    assert found.total[0] > 0.7
    assert found.share.sum() == pytest.approx(1)


def test_second_order_indices_of_a_fit_have_intervals_that_hold_the_true_ones():
    rng = np.random.default_rng(105)  # of thirty draws one or two lie outside, as they should
    Z = rng.uniform(-1, 1, size=(80, 3))
    y = Z[:, 0] + 2 * Z[:, 0] * Z[:, 2] + 0.2 * rng.normal(size=80)
    model = NablassoRegressor("polynomial").fit(Z, y)
    true = 4 / 9 / (1 / 3 + 4 / 9)
    for given in ({}, {"X": Z}, {"ranges": [(-1, 1)] * 3}):
        found = sobol_indices(model, **given)
        np.testing.assert_array_equal(found.second_order, found.second_order.T)
        low, high = found.second_order_interval[0, 2]
        assert low < found.second_order[0, 2] < high
        assert low < true < high
        assert 0.01 < high - low < 0.4
        assert found.second_order[0, 1] == pytest.approx(0, abs=0.02)
    narrow = sobol_indices(model, Z, level=0.5).second_order_interval[0, 2]
    wide = sobol_indices(model, Z, level=0.95).second_order_interval[0, 2]
    assert np.ptp(narrow) < np.ptp(wide)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "got neither"),
        ({"ranges": [(0, 1)]}, "one pair for each of the 4"),
        ({"X": X, "ranges": [(0, 1)] * 4}, "got both"),
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
    found = sobol_indices(model)
    for kind in set(found.table) - {"column"}:
        np.testing.assert_array_equal(np.asarray(found.table[kind])[place], table[kind])
    for low, value, high in zip(table["low"], table["share"], table["high"], strict=True):
        assert low < value < high
        if low > 0 and high < 1:
            assert value - low == pytest.approx(high - value)
    others = sobol_indices(model, Z[:35])
    assert not np.array_equal(others.total_interval, found.total_interval)


def test_pairs_of_a_foreign_model_take_memory_by_the_columns_asked_for(known):
    d = 1500
    wide = np.random.default_rng(7).normal(size=(30, d))
    fitted = known(lambda Z: Z[:, 3] * Z[:, 8] + Z[:, 900]).fit(wide)
    explanation = sobol._of_others(fitted, wide, None, None, None, np.array([3, 8, 10]))
    assert explanation.law.correlation.shape == (4, 4)
    pairs = {(a, b): share for a, b, share in interaction_shares(fitted, wide, [3, 8, 10])}
    assert max(pairs, key=pairs.get) == (3, 8)
    assert pairs[3, 10] == pytest.approx(0, abs=1e-9)


def test_classes_are_judged_by_their_log_odds(known_odds):
    fitted = known_odds(lambda Z: Z[:, 0] * Z[:, 1]).fit(X)
    ((_, _, share),) = interaction_shares(fitted, X, [0, 1])
    assert share == pytest.approx(1, abs=0.15)


def test_several_classes_add_up():
    y = np.digitize(X[:, 0] * X[:, 1], (-0.4, 0.4))
    fitted = DerivativeLassoClassifier(alpha=1e-2, ridge=1e-1, tol=1e-2).fit(X, y)
    ((_, _, both),) = interaction_shares(fitted, X, [0, 1])
    each = [interaction_shares(fitted, X, [0, 1], target=k)[0][2] for k in range(3)]
    assert min(each) <= both <= max(each)


def test_the_selected_columns_are_looked_at_and_one_has_no_pair(monkeypatch):
    fitted = DerivativeLasso("linear", alpha=0.3).fit(X, X[:, 0])
    assert inspected_columns(fitted).tolist() == [0]
    assert interaction_shares(fitted, X) == []
    fitted.support_ = np.ones(4, dtype=bool)
    fitted.feature_importances_ = np.array([0.1, 0.4, 0.3, 0.2])
    monkeypatch.setattr("nablasso.inspection.dependence.MAX_COLUMNS", 2)
    assert inspected_columns(fitted).tolist() == [1, 2]
