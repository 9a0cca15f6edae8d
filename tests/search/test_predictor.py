"""Predictions in the units of the target: warps, bounds."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso import NablassoRegressor
from nablasso.regression.noise import Assumption, Warp
from nablasso.search.families import LINEAR, QUADRATIC
from nablasso.search.few import Decision
from nablasso.search.predictor import ROOM, Predictor, predictor_of
from nablasso.spaces import Function
from tests.search.rows import draw, few_rows

COLUMNS = np.array([0, 1, 2])
N, D = 60, 5


def decided(rows, family=QUADRATIC, groups=COLUMNS):
    return Decision(rows, rows, rows.tune(family, groups))


def skewed(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    y = np.exp(X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n))
    return few_rows(X, y, assumption=Assumption(warp=Warp(1.0, 0.0, 0.01)))


def test_without_a_warp_it_is_the_function_in_the_units_of_the_target():
    rows = draw()
    decision = decided(rows)
    predictor = predictor_of(decision)
    mean, deviation = (float(part[0]) for part in rows.unit)
    Z = np.random.default_rng(1).normal(size=(7, D))
    function = rows.function(decision.model)
    np.testing.assert_allclose(predictor.values(Z), mean + deviation * function.values(Z))
    np.testing.assert_allclose(predictor.gradients(Z), deviation * function.gradients(Z))
    residuals = rows.solved(decision.model).left_out()[0][:, 0]
    np.testing.assert_array_equal(predictor.observed, rows.targets[:, 0])
    np.testing.assert_allclose(
        predictor.left_out, rows.targets[:, 0] - deviation * residuals, atol=1e-9
    )
    np.testing.assert_array_equal(predictor.even(rows.targets), rows.targets)


def test_a_warped_prediction_is_a_mean_over_left_out_residuals():
    rows = skewed()
    decision = decided(rows, LINEAR, COLUMNS[:2])
    predictor = predictor_of(decision)
    assert predictor.warp is not None
    mean, deviation = (float(part[0]) for part in rows.unit)
    t = mean + deviation * rows.function(decision.model).values(rows.X)
    levels, residuals = (np.arange(200) + 0.5) / 200, rows.solved(decision.model).left_out()[0]
    e = np.quantile(residuals, levels, method="hazen")
    expected = np.mean(np.exp(t[:, None] + deviation * e) - 0.01, axis=1)
    np.testing.assert_allclose(predictor.values(rows.X), expected, rtol=1e-9)
    assert np.mean(predictor.values(rows.X)) == pytest.approx(rows.targets.mean(), rel=0.1)
    h = 1e-5
    slopes = [
        (predictor.values(rows.X + e) - predictor.values(rows.X - e)) / (2 * h)
        for e in h * np.eye(D)
    ]
    np.testing.assert_allclose(
        predictor.gradients(rows.X), np.stack(slopes, axis=1), rtol=1e-4, atol=1e-6
    )
    even = predictor.even(predictor.values(rows.X))
    np.testing.assert_allclose(even, np.log(predictor.values(rows.X) + 0.01))
    np.testing.assert_allclose(predictor.back(even), predictor.values(rows.X), rtol=1e-9)
    np.testing.assert_allclose(
        predictor.residuals, np.log((rows.targets[:, 0] + 0.01) / (predictor.left_out + 0.01))
    )


def test_a_warp_that_does_not_predict_better_gives_way_to_the_target_itself():
    rows = draw()
    bad = rows.under(Assumption(warp=Warp(1.0, float(rows.targets.min()), 1e-9)))
    plain = decided(rows)
    plain = replace(plain, tried=(plain.model,))
    predictor = predictor_of(replace(decided(bad), plain=plain))
    assert predictor.parts[0].warp is None
    np.testing.assert_allclose(predictor.values(rows.X), predictor_of(plain).values(rows.X))
    assert predictor_of(decided(bad)).parts[0].warp is not None


def test_predictions_stay_within_one_range_of_what_was_seen():
    rows = draw()
    predictor = predictor_of(decided(rows))
    far = predictor.values(100 * rows.X)
    low, high = rows.targets.min(), rows.targets.max()
    room = ROOM * (high - low)
    assert far.min() == pytest.approx(low - room)
    assert far.max() == pytest.approx(high + room)
    inside = predictor.values(rows.X)
    assert (inside > low - room).all()
    assert (inside < high + room).all()


def test_columns_of_a_wider_table():
    rows = draw()
    predictor = predictor_of(decided(rows))
    wide = np.random.default_rng(3).normal(size=(6, 9))
    columns = np.array([8, 2, 5, 0, 1])
    np.testing.assert_allclose(
        predictor_of(decided(rows), columns).values(wide), predictor.values(wide[:, columns])
    )


def test_predictions_of_a_skewed_target_stay_near_its_least_value():
    far = Function(-50.0, np.empty(0, dtype=np.intp))
    none = np.empty(0)
    made = Predictor((far,), np.ones(1), none, none, none, 1.0, 10.0)
    assert made.values(np.zeros((1, 1)))[0] == 1 - 9
    warped = replace(made, warp=Warp(1.0, 1.0, 1.0))  # log y: one range below 1 is 1 / 10
    assert warped.values(np.zeros((1, 1)))[0] == pytest.approx(0.1)
    assert warped.limits[1] == 10 + 9


def test_an_outlier_is_not_averaged_back_through_an_exponential():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.exp(X[:, 0] + 0.1 * rng.normal(size=150))
    y[:4] *= 1e4
    new = rng.normal(size=(200, 3))
    predicted = NablassoRegressor().fit(X, y).predict(new)
    truth = np.exp(new[:, 0] + 0.005)
    assert np.median(predicted / truth) == pytest.approx(1, rel=0.2)
