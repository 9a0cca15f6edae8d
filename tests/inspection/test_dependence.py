"""Partial dependences against direct computation and known functions."""

import json

import numpy as np
import pytest

from nablasso import DerivativeLasso, DerivativeLassoClassifier
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.inspection import pair_dependence, partial_dependence
from nablasso.inspection.dependence import response_of

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 3))
LEVELLED = np.column_stack([X[:, 0], RNG.integers(0, 3, size=60), X[:, 2]])


@pytest.fixture(scope="module")
def model():
    y = np.sin(X[:, 0]) + X[:, 0] * X[:, 1]
    return DerivativeLasso(alpha=1e-3, ridge=1e-3).fit(X, y)


def averaged(predict, rows, column, values):
    out = []
    for value in values:
        moved = rows.copy()
        moved[:, column] = value
        out.append(predict(moved).mean())
    return np.array(out)


def test_the_mean_is_the_mean_over_the_rows(model):
    curve = partial_dependence(model, X, "x0", grid_size=7)
    np.testing.assert_allclose(curve.mean, averaged(model.predict, X, 0, curve.grid))
    assert curve.name == "x0"
    assert curve.kind == "continuous"


def test_slopes_are_the_exact_partial_derivatives(model):
    curve = partial_dependence(model, X, 0, grid_size=5)
    for k, value in enumerate(curve.grid):
        moved = X.copy()
        moved[:, 0] = value
        exact = model.predict_gradient(moved)[:, 0]
        assert curve.slope_mean[k] == pytest.approx(exact.mean(), abs=1e-5)
        low, high = np.quantile(exact, (0.1, 0.9), method="inverted_cdf")
        assert (curve.slope_low[k], curve.slope_high[k]) == pytest.approx((low, high), abs=1e-5)


def test_slopes_are_the_derivative_of_the_mean(model):
    curve = partial_dependence(model, X, 0, grid_size=80)
    inner = np.gradient(curve.mean, curve.grid)[1:-1]
    np.testing.assert_allclose(curve.slope_mean[1:-1], inner, atol=2e-2)


def test_a_known_function_gives_its_own_curve(known):
    fitted = known(lambda Z: Z[:, 0] ** 2 + 5 * Z[:, 1]).fit(X)
    curve = partial_dependence(fitted, X, 0)
    np.testing.assert_allclose(curve.mean, curve.grid**2 + 5 * X[:, 1].mean())
    np.testing.assert_allclose(curve.slope_mean, 2 * curve.grid, atol=1e-8)
    np.testing.assert_allclose(curve.band_high, curve.band_low, atol=1e-9)  # no interaction
    assert curve.direction == "bends"
    assert curve.effect == pytest.approx(np.ptp(curve.mean))
    falling = partial_dependence(known(lambda Z: -Z[:, 0]).fit(X), X, 0)
    assert falling.direction == "falls"
    assert partial_dependence(fitted, X, 2).direction == "flat"


def test_the_band_holds_the_middle_of_the_moved_curves(known):
    fitted = known(lambda Z: Z[:, 0] * Z[:, 1] + 7 * Z[:, 2]).fit(X)
    curve = partial_dependence(fitted, X, 0, grid_size=9)
    middle = curve.grid.mean()
    moved = (curve.grid[:, None] - middle) * X[:, 1] + curve.mean.mean()
    low, high = np.quantile(moved, (0.1, 0.9), axis=1, method="inverted_cdf")
    np.testing.assert_allclose(curve.band_low, low)
    np.testing.assert_allclose(curve.band_high, high)


def test_a_discrete_column_has_steps_between_its_levels(known):
    fitted = known(lambda Z: Z[:, 1] ** 2 * Z[:, 0]).fit(LEVELLED)
    curve = partial_dependence(fitted, LEVELLED, 1)
    assert curve.kind == "discrete"
    np.testing.assert_array_equal(curve.grid, [0, 1, 2])
    np.testing.assert_array_equal(curve.slope_grid, [0.5, 1.5])
    mean = LEVELLED[:, 0].mean()
    np.testing.assert_allclose(curve.slope_mean, [mean, 3 * mean])


def test_weight_k_equals_k_copies_and_weight_zero_is_absent(model):
    weights = np.ones(60)
    weights[:20], weights[20:30] = 2, 0
    copies = np.vstack([X[:20], X[:20], X[30:]])
    ours = partial_dependence(model, X, 1, sample_weight=weights)
    theirs = partial_dependence(model, copies, 1)
    for name in ("grid", "mean", "band_low", "slope_high", "quantiles"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), err_msg=name)


def test_a_sample_of_rows_does_not_depend_on_their_order(model):
    one = partial_dependence(model, X, 0, max_rows=20)
    other = partial_dependence(model, X[::-1], 0, max_rows=20)
    np.testing.assert_allclose(one.mean, other.mean)
    assert not np.allclose(one.mean, partial_dependence(model, X, 0).mean)


def test_probabilities_of_either_class_add_up_to_one():
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    fitted = DerivativeLassoClassifier(alpha=1e-2, ridge=1e-1, tol=1e-3).fit(X, y)
    yes, no = (partial_dependence(fitted, X, 0, target=label) for label in ("yes", "no"))
    np.testing.assert_allclose(yes.mean + no.mean, 1)
    np.testing.assert_allclose(yes.slope_mean, -no.slope_mean)
    assert yes.unit == "probability of yes"
    assert partial_dependence(fitted, X, 0).unit == yes.unit  # the second class
    assert yes.band_low.min() >= 0
    assert yes.band_high.max() <= 1
    odds = response_of(fitted, "no", "log-odds")
    np.testing.assert_allclose(odds.values(X), -fitted.decision_function(X))


def test_three_classes_ask_for_one_of_them():
    y = np.digitize(X[:, 0], (-0.5, 0.5))
    fitted = DerivativeLassoClassifier(alpha=1e-2, ridge=1e-1, tol=1e-2).fit(X, y)
    with pytest.raises(InvalidParameterError, match="one of the 3 classes"):
        partial_dependence(fitted, X, 0)
    with pytest.raises(InvalidParameterError, match="got 7"):
        partial_dependence(fitted, X, 0, target=7)
    total = sum(partial_dependence(fitted, X, 0, target=k).mean for k in range(3))
    np.testing.assert_allclose(total, 1)
    odds = response_of(fitted, 1, "log-odds")
    np.testing.assert_allclose(odds.values(X), fitted.decision_function(X)[:, 1])


def test_a_pair_is_the_mean_with_both_moved(known):
    fitted = known(lambda Z: Z[:, 0] * Z[:, 1] + Z[:, 2]).fit(X)
    pair = pair_dependence(fitted, X, ("x0", 1), grid_size=4)
    expected = np.outer(pair.grid_a, pair.grid_b) + X[:, 2].mean()
    np.testing.assert_allclose(pair.mean, expected)
    centred = np.outer(pair.grid_a - pair.grid_a.mean(), pair.grid_b - pair.grid_b.mean())
    np.testing.assert_allclose(pair.joint, centred, atol=1e-12)
    assert pair.strength == pytest.approx(np.var(centred) / np.var(expected))
    alone = pair_dependence(known(lambda Z: Z[:, 0] + Z[:, 1]).fit(X), X, (0, 1), grid_size=4)
    assert alone.strength == pytest.approx(0)


def test_names_of_a_data_frame_are_kept_and_nobody_warns(recwarn):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    fitted = DerivativeLasso("linear", alpha=1e-3).fit(frame, X[:, 0])
    recwarn.clear()
    assert partial_dependence(fitted, frame, "a").name == "a"
    assert pair_dependence(fitted, frame, ("a", "b"), grid_size=3).names == ("a", "b")
    assert not [w for w in recwarn if "feature names" in str(w.message)]


def test_everything_goes_into_json(model):
    for found in (
        partial_dependence(model, X, 0, grid_size=3),
        pair_dependence(model, X, (0, 1), grid_size=3),
    ):
        assert json.loads(json.dumps(found.to_json()))["unit"] == "prediction"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: partial_dependence(m, X, "price"), "names column 'price'"),
        (lambda m: partial_dependence(m, X, 0, grid_size=1), "grid_size must be at least 2"),
        (lambda m: partial_dependence(m, X, 0, target="yes"), "target names a class"),
        (lambda m: pair_dependence(m, X, (0, 0)), "two different columns"),
        (lambda m: pair_dependence(m, X, (0,)), "two different columns"),
    ],
)
def test_mistakes_are_named(model, call, words):
    with pytest.raises(InvalidParameterError, match=words):
        call(model)


def test_rows_without_weight_are_no_rows(model):
    with pytest.raises(InvalidDataError, match="positive weight"):
        partial_dependence(model, X, 0, sample_weight=np.zeros(60))


def test_a_category_moves_all_its_columns_together():
    pandas = pytest.importorskip("pandas")
    colour = np.array(["red", "blue", "green"])[np.arange(60) % 3]
    frame = pandas.DataFrame({"a": X[:, 0], "colour": colour, "two": np.arange(60) % 2 == 0})
    frame["two"] = np.where(frame["two"], "yes", "no")
    fitted = DerivativeLasso("linear", alpha=1e-4, ridge=1e-4).fit(frame, 5.0 * (colour == "red"))
    found = partial_dependence(fitted, frame, "colour")
    assert (found.name, found.kind, found.column) == ("colour", "category", 1)
    assert sorted(found.labels) == ["blue", "green", "red"]
    for label, mean in zip(found.labels, found.mean, strict=True):
        moved = frame.assign(colour=label)
        assert mean == pytest.approx(fitted.predict(moved).mean())
    assert found.direction == "differs"
    assert found.slope_mean.size == 0
    assert sorted(partial_dependence(fitted, frame, "two").labels) == ["no", "yes"]
