"""Predictions in the units of the target: warps, bounds, intervals, further rows."""

import numpy as np
import pytest

from nablasso.regression.evidence import FLOOR
from nablasso.search.assumptions import Assumption, Warp
from nablasso.search.decide import Decision
from nablasso.search.families import FAMILIES
from nablasso.search.predictor import ROOM, _predictor, predictor_of, with_more_rows
from tests.search.rows import draw, few_rows

LINEAR, QUADRATIC, GAUSSIAN = FAMILIES[0], FAMILIES[1], FAMILIES[6]
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
    np.testing.assert_allclose(
        predictor.left_out, rows.targets[:, 0] - deviation * residuals, atol=1e-9
    )
    low, high = predictor.interval(Z, 0.5).T
    np.testing.assert_allclose(high - low, deviation)
    np.testing.assert_allclose((low + high) / 2, mean + deviation * function.values(Z))


def test_a_warped_prediction_is_a_mean_over_left_out_residuals():
    rows = skewed()
    decision = decided(rows, LINEAR, COLUMNS[:2])
    predictor = predictor_of(decision)
    assert predictor.warp is not None
    mean, deviation = (float(part[0]) for part in rows.unit)
    t = mean + deviation * rows.function(decision.model).values(rows.X)
    e = np.quantile(predictor.residuals, (np.arange(200) + 0.5) / 200)
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
    low, high = predictor.interval(rows.X, 0.3).T
    np.testing.assert_allclose(low, np.exp(t - 0.3 * deviation) - 0.01, rtol=1e-9)
    np.testing.assert_allclose(high, np.exp(t + 0.3 * deviation) - 0.01, rtol=1e-9)


def test_a_warp_that_does_not_predict_better_gives_way_to_the_target_itself():
    rows = draw()
    bad = rows.under(Assumption(warp=Warp(1.0, float(rows.targets.min()), 1e-9)))
    assert predictor_of(decided(bad)).warp is None


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
        predictor.on_columns(columns).values(wide), predictor.values(wide[:, columns])
    )


@pytest.mark.parametrize("family", [QUADRATIC, GAUSSIAN], ids=lambda f: f.name)
def test_the_same_rows_again_give_the_same_function(family):
    """All rows as landmarks: ``(K W K + r K) u = K W (y - b)`` is solved by the exact fit."""
    rows = draw(weights=np.linspace(0.5, 1.5, N))
    decision = decided(rows, family)
    predictor = predictor_of(decision)
    block = (rows.X, rows.targets[:, 0], rows.weights)
    again = with_more_rows(predictor, iter([block]))
    Z = np.random.default_rng(1).normal(size=(20, D))
    size = np.ptp(rows.targets)
    np.testing.assert_allclose(again.values(Z), predictor.values(Z), atol=1e-3 * size)


@pytest.mark.parametrize("warp", [None, Warp(1.0, 0.0, 0.01)])
def test_further_rows_enter_by_landmarks(warp):
    """``min sum_i w_i (t_i - b - f(x_i))^2 + r |f|^2`` over functions of the first fifty rows."""
    rows = skewed(150).under(Assumption(warp=warp))
    few = rows.first(50)
    model = few.tune(LINEAR if warp else GAUSSIAN, COLUMNS[:2])
    predictor = _predictor(few, model)
    assert predictor.noise == pytest.approx(np.exp(model.noise))
    weights = np.linspace(0.5, 1.5, 150)
    y = rows.targets[:, 0]
    parts = [slice(0, 70), slice(70, 71), slice(71, 150)]
    more = with_more_rows(predictor, ((rows.X[p], y[p], weights[p]) for p in parts))

    t = y if warp is None else warp(y)
    t = (t - predictor.mean) / predictor.deviation
    space, columns = predictor.function.space, predictor.function.columns
    centres = space.X * space.scales
    gram = space.kernel(centres, centres)
    S, V = np.linalg.eigh(gram + FLOOR * np.trace(gram) / 50 * np.eye(50))
    features = space.kernel(rows.X[:, columns] * space.scales, centres) @ V / np.sqrt(S)
    left = np.vstack(
        [
            np.column_stack([features, np.ones(150)]) * np.sqrt(weights)[:, None],
            np.eye(51)[:50] * np.sqrt(predictor.noise),
        ]
    )
    right = np.concatenate([t * np.sqrt(weights), np.zeros(50)])
    solution = np.linalg.lstsq(left, right, rcond=None)[0]
    fitted = features @ solution[:-1] + solution[-1]
    np.testing.assert_allclose(more.function.values(rows.X), fitted, rtol=1e-5, atol=1e-5)
    assert more.high == max(predictor.high, y.max())
    assert np.abs(fitted - predictor.function.values(rows.X)).max() > 1e-2  # rows did something


def test_further_rows_move_the_mean_where_nothing_is_selected():
    rows = draw()
    decision = decided(rows, groups=COLUMNS[:0])
    predictor = predictor_of(decision)
    y = np.array([1.0, 2.0, 6.0])
    block = (np.zeros((3, D)), y, np.array([2.0, 1.0, 1.0]))
    more = with_more_rows(predictor, iter([block]))
    np.testing.assert_allclose(more.values(np.zeros((2, D))), 2.5, rtol=1e-6)
