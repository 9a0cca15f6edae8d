"""Predictions in the units of the target: warps, bounds."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso import NablassoRegressor, load, save
from nablasso.prediction.predictor import (
    ROOM,
    Predictor,
    predictor_of,
    stacked,
    with_faint,
    with_states,
)
from nablasso.regression.models import LINEAR, QUADRATIC, ROUGH, STATED
from nablasso.regression.noise import Assumption, Warp
from nablasso.search.few import Decision
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


def with_many_faint(n=150, d=12, faint=0.25, seed=0):
    """One strong column; all others together carry as much, none of them much."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2 * X[:, 0] + faint * X[:, 1:].sum(axis=1) + 0.5 * rng.normal(size=n)


def test_stacked_shares_are_the_best_of_the_simplex():
    rng = np.random.default_rng(0)
    y, p = rng.normal(size=40), rng.uniform(0.2, 2, size=40)
    L = y[:, None] + rng.normal(size=(40, 3)) * np.array([0.5, 0.6, 3.0])
    shares = stacked(L, y, p)
    assert shares.sum() == pytest.approx(1)
    grid = np.linspace(0, 1, 201)
    trials = np.array([(a, b, 1 - a - b) for a in grid for b in grid if a + b <= 1])
    errors = ((y[:, None] - L @ trials.T) ** 2).T @ p
    assert p @ (y - L @ shares) ** 2 <= errors.min() * (1 + 1e-4)
    np.testing.assert_allclose(stacked(np.column_stack([y, y + 1]), y, p), [1, 0], atol=1e-12)


def test_other_columns_share_a_variance_where_it_pays():
    X, y = with_many_faint()
    rows = few_rows(X, y)
    one = np.array([0])
    wider = with_faint(rows, rows.tune(ROUGH, one), rows.rules.surprise)
    assert wider.groups.tolist() == list(range(12))
    assert len(wider.logs) == 2
    assert wider.value < rows.tune(ROUGH, one).value - 20
    X, y = with_many_faint(faint=0.0)
    idle = few_rows(X, y)
    assert with_faint(idle, idle.tune(ROUGH, one), idle.rules.surprise) is None
    everything = rows.tune(ROUGH, np.arange(12))
    assert with_faint(rows, everything, rows.rules.surprise) is None


def with_codes(n=150, *, states=True, seed=3):
    """A size and twelve codes, whose effect grows with them or, as ``states``, does as it likes."""
    rng = np.random.default_rng(seed)
    x, code = rng.uniform(-2, 2, n), rng.integers(0, 12, n)
    likes = np.array([1, -1, 1, 1, -1, -1, 1, -1, 1, -1, -1, 1.0])
    level = code / 2.0 + states * likes[code]
    f = np.sin(x) + level * (1 + 0.3 * x)
    X = np.column_stack([x, code.astype(float), rng.normal(size=n)])
    return X, f + 0.1 * rng.normal(size=n), f


def test_codes_are_states_where_that_explains_the_rows():
    X, y, _ = with_codes()
    rows = few_rows(X, y)
    found = np.array([0, 1])
    stated = with_states(rows, rows.tune(ROUGH, found), rows.rules.surprise)
    assert stated.groups.tolist() == [0, 1, 3 + 1]
    assert stated.value < rows.tune(STATED, found).value - 20
    # the same model on indicators of the codes as a group of columns
    columns = np.column_stack([rows.X[:, :2], X[:, [1]] == np.arange(12)])
    plain = few_rows(columns, y, labels=[0, 1, *[2] * 12], standardise=False)
    value = plain.value(replace(stated, family=ROUGH, groups=np.arange(3)), stated.variances)
    assert rows.value(stated, stated.variances) == pytest.approx(value, rel=1e-9)
    many = with_states(rows, rows.tune(ROUGH, np.array([0])), rows.rules.surprise)
    assert many is None  # no value of x comes back
    alone = replace(rows, families=(ROUGH,))
    assert with_states(alone, alone.tune(ROUGH, found), rows.rules.surprise) is None
    X, y, _ = with_codes(states=False)
    sizes = few_rows(X, y)
    assert with_states(sizes, sizes.tune(ROUGH, found), sizes.rules.surprise) is None


@pytest.mark.parametrize("n", [200, 800])
def test_states_predict_and_are_named(n, tmp_path):
    X, y, _ = with_codes(n)
    new, _, truth = with_codes(500, seed=4)
    model = NablassoRegressor().fit(X, y)
    assert model.support_.tolist() == [True, True, False]
    assert np.mean((model.predict(new) - truth) ** 2) < 0.01 * truth.var()
    assert model.stated_.tolist() == [False, True, False]
    assert "Predictions also ask whether two values of x1 are equal" in model.summary()
    assert not model.predict_gradient(new)[:, 2].any()
    order = np.random.default_rng(5).permutation(n)
    np.testing.assert_allclose(
        NablassoRegressor().fit(X[order][:, [2, 1, 0]], y[order]).predict(new[:, [2, 1, 0]]),
        model.predict(new),
        atol=1e-6 * y.std(),
    )
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(new), model.predict(new))


def test_faint_columns_predict_and_are_named():
    X, y = with_many_faint(60, 20, 0.2, seed=1)
    model = NablassoRegressor().fit(X, y)
    limited = NablassoRegressor(max_features=int(model.support_.sum())).fit(X, y)
    np.testing.assert_array_equal(limited.support_, model.support_)
    assert model.faint_.any()
    assert not (model.faint_ & model.support_).any()
    assert not limited.faint_.any()
    slopes = np.abs(model.predict_gradient(X)).max(axis=0)
    np.testing.assert_array_equal(slopes > 0, model.support_ | model.faint_)
    new, truth = with_many_faint(500, 20, 0.2, seed=2)
    errors = [np.mean((one.predict(new) - truth) ** 2) for one in (model, limited)]
    assert errors[0] < 0.9 * errors[1]
    table = model.contributions(new)
    assert list(table)[-1] == "(others)"
    np.testing.assert_allclose(sum(np.array(table[c]) for c in table), model.predict(new))
    assert "too faint to be selected" in model.summary()
    assert "faint" not in limited.summary()


def test_what_left_out_rows_show_to_hold_holds_further_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = X[:, 0] ** 3 + X[:, 1] * X[:, 2]
    far = np.array([[7.0, 0, 0, 0], [-9.0, 1, 1, 0]])
    sure = NablassoRegressor().fit(X, y + 1e-3 * rng.normal(size=80))
    np.testing.assert_allclose(sure.predict(far), far[:, 0] ** 3 + far[:, 1] * far[:, 2], rtol=0.05)
    noisy = NablassoRegressor().fit(X, y + 2 * rng.normal(size=80))
    assert np.abs(noisy.predict(far) - y.mean()).max() < 2 * np.ptp(y) + 10
