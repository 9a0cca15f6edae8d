"""Non-negative, heteroscedastic, quantile and cone-valued regression."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nablasso import (
    ConeRegressor,
    ConeRegressorCV,
    HeteroscedasticRegressor,
    HeteroscedasticRegressorCV,
    MultiQuantileRegressor,
    MultiQuantileRegressorCV,
    PSDRegressor,
    PSDRegressorCV,
)
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.nonnegative import solvers

GRID = np.linspace(-2, 3, 300)[:, None]


def noisy(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, 2 * np.sin(2 * np.pi * X[:, 0]) + (X[:, 0] + 0.2) * rng.normal(size=n)


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_non_negative_regression(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(150, 1))
    truth = 4 * np.exp(-(X[:, 0] ** 2) / 2)
    y = rng.poisson(truth).astype(float)
    model = PSDRegressor(loss=loss, weight=1e-3).fit(X, y)
    assert (model.predict(10 * GRID) >= 0).all()
    assert np.mean((model.predict(X) - truth) ** 2) < 0.3
    assert model.dual_gap_ <= 1e-5
    assert "of 1 columns: objective" in model.summary()
    h = 1e-5
    slope = (model.predict(X + h) - model.predict(X - h)) / (2 * h)
    np.testing.assert_allclose(model.predict_gradient(X)[:, 0], slope, rtol=1e-4, atol=1e-5)


def test_negative_targets_are_named_by_row():
    X, y = noisy()
    bad = np.flatnonzero(y < 0)
    with pytest.raises(InvalidDataError, match=f"rows {bad[0]}, {bad[1]}"):
        PSDRegressor().fit(X, y)


@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_constant_targets(loss, value):
    X, _ = noisy(30)
    predictions = PSDRegressor(loss=loss, weight=1e-4).fit(X, np.full(30, value)).predict(X)
    np.testing.assert_allclose(predictions, value, atol=0.02 * max(value, 0.1))


def test_no_column_varies():
    y = np.arange(10.0)
    model = PSDRegressor(weight=1e-6).fit(np.ones((10, 2)), y)
    np.testing.assert_allclose(model.predict(np.ones((3, 2))), 4.5, rtol=1e-2)


def test_mean_and_noise_level():
    X, y = noisy(400)
    model = HeteroscedasticRegressor(weight=1e-4).fit(X, y)
    x = np.array([[0.1], [0.5], [0.9]])
    mean, deviation = model.predict(x, return_std=True)
    np.testing.assert_allclose(mean, 2 * np.sin(2 * np.pi * x[:, 0]), atol=0.4)
    np.testing.assert_allclose(deviation, x[:, 0] + 0.2, atol=0.2)
    np.testing.assert_array_equal(model.predict(x), mean)
    _, far = model.predict([[1e6]], return_std=True)
    assert 0 < far[0] <= 10 * y.std() * (1 + 1e-9)
    draws = model.sample(x, 4000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.1)
    np.testing.assert_allclose(draws.std(axis=1), deviation, rtol=0.1)
    assert model.log_likelihood(X, y) > -1.1


def test_constant_target_has_a_note():
    X, _ = noisy(30)
    with pytest.warns(UserWarning, match="y is constant"):
        model = HeteroscedasticRegressor().fit(X, np.full(30, 2.0))
    np.testing.assert_allclose(model.predict(X), 2.0, atol=1e-6)


def test_quantiles_never_cross():
    X, y = noisy()
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    model = MultiQuantileRegressor(levels, width=0.3, weight=1e-2).fit(X, y)
    Z = model.predict(GRID)
    assert Z.shape == (300, 5)
    assert (np.diff(Z, axis=1) >= 0).all()
    below = np.mean(y[:, None] <= model.predict(X), axis=0)
    np.testing.assert_allclose(below, model.levels_, atol=0.06)
    assert 0 <= model.dual_gap_ <= 1e-3


def test_a_scalar_level_gives_one_column():
    X, y = noisy(40)
    assert MultiQuantileRegressor(0.5).fit(X, y).predict(X).shape == (40,)


def test_levels_are_sorted_with_a_note():
    X, y = noisy(40)
    with pytest.warns(UserWarning, match="sorted"):
        model = MultiQuantileRegressor((0.9, 0.1, 0.1)).fit(X, y)
    np.testing.assert_array_equal(model.levels_, [0.1, 0.9])


@pytest.mark.parametrize("levels", [0.0, 1.0, (0.5, 1.2), (), np.nan])
def test_bad_levels_are_refused(levels):
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        MultiQuantileRegressor(levels).fit(*noisy(20))


PYRAMID = np.array([[1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1]], dtype=float).T


@pytest.mark.parametrize("cone", ["nonnegative", "monotone", "convex", PYRAMID])
def test_outputs_stay_in_the_cone(cone):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 1))
    Y = np.column_stack([X[:, 0], 0.2 + 0 * X[:, 0], 1 - X[:, 0]]) + 0.3 * rng.normal(size=(60, 3))
    Z = ConeRegressor(cone, weight=1e-3).fit(X, Y).predict(GRID)
    orders = {"nonnegative": 0, "monotone": 1, "convex": 2}
    C = np.diff(np.eye(3), n=orders[cone], axis=0).T if isinstance(cone, str) else cone
    assert (Z @ C >= -1e-9).all()


def test_a_cone_that_does_not_bind_is_least_squares():
    """With targets well inside, the fit follows them."""
    X = np.linspace(0, 1, 40)[:, None]
    Y = np.column_stack([np.sin(4 * X[:, 0]), np.sin(4 * X[:, 0]) + 2])
    Z = ConeRegressor("monotone", weight=1e-7).fit(X, Y).predict(X)
    np.testing.assert_allclose(Z, Y, atol=0.02)


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (PSDRegressor(weight=0.01, tol=1e-8), "abs"),
        (HeteroscedasticRegressor(tol=1e-8), "plain"),
        (MultiQuantileRegressor((0.3, 0.8)), "plain"),
        (ConeRegressor("monotone", tol=1e-8), "two"),
    ],
)
def test_weights_are_copies(estimator, y):
    X, target = noisy(25)
    target = {"abs": np.abs(target), "plain": target, "two": np.column_stack([target, X])}[y]
    weights = np.random.default_rng(1).integers(0, 3, size=25)
    weighted = estimator.fit(X, target, sample_weight=weights).predict(X)
    copies = np.repeat(np.arange(25), weights)[::-1]
    repeated = estimator.fit(X[copies], target[copies]).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("estimator", "keys"),
    [
        (PSDRegressorCV(weights=(0.1, 1e-3), widths=(0.5,), cv=2), {"width", "weight"}),
        (
            HeteroscedasticRegressorCV(weights=(0.1, (1e-3, 1e-2)), widths=(0.5,), cv=2),
            {"width", "weight", "linear_weight"},
        ),
        (
            MultiQuantileRegressorCV(0.5, weights=(0.1, 1e-2), widths=(0.5,), cv=2),
            {"width", "weight", "linear_weight"},
        ),
        (
            ConeRegressorCV(weights=(0.1, 1e-3), widths=(0.5,), cv=2),
            {"width", "weight", "linear_weight"},
        ),
    ],
)
def test_cross_validation_scores_what_predict_returns(estimator, keys):
    X, y = noisy(60)
    y = np.abs(y)
    halves = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    model = estimator.set_params(cv=halves).fit(X, y)
    assert set(model.best_params_) == keys
    assert model.best_score_ == model.cv_results_["mean_test_score"].max()
    single = {
        "PSDRegressorCV": PSDRegressor,
        "HeteroscedasticRegressorCV": HeteroscedasticRegressor,
        "MultiQuantileRegressorCV": lambda **p: MultiQuantileRegressor(0.5, **p),
        "ConeRegressorCV": ConeRegressor,
    }[type(model).__name__](**model.best_params_)
    train, test = halves[0]
    single.fit(X[train], y[train])
    predicted = single.predict(X[test])
    if isinstance(model, HeteroscedasticRegressorCV):
        expected = single.log_likelihood(X[test], y[test])
    elif isinstance(model, MultiQuantileRegressorCV):
        expected = single.score(X[test], y[test])
    else:
        expected = -np.mean((y[test] - predicted) ** 2)
    score = model.cv_results_["split0_test_score"][model.best_index_]
    assert score == pytest.approx(expected, abs=0.02)


def test_log_likelihood_takes_a_column_and_refuses_other_lengths():
    X, y = noisy(60)
    model = HeteroscedasticRegressor().fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.log_likelihood(X, y[:1])
    assert model.log_likelihood(X, y[:, None]) == model.log_likelihood(X, y)


def test_levels_that_are_no_numbers():
    with pytest.raises(InvalidParameterError, match="levels must be between"):
        MultiQuantileRegressor("median").fit(*noisy(30))


def test_an_interrupt_ends_the_fit_and_not_one_step_of_it(monkeypatch):
    X, y = noisy(60)
    real, calls = solvers._newton_step, []

    def climb(*args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(solvers, "_newton_step", climb)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = HeteroscedasticRegressor(weight=1e-4).fit(X, y)
    assert len(calls) == 2
    assert model.dual_gap_ >= 0
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        HeteroscedasticRegressorCV(cv=2, widths=[1.0], weights=[1e-4]).fit(X, y)
    assert len(calls) == 2


# ------------------------------------------------------------------------- metric="evidence"


def by_evidence(X, y, **settings):
    return MultiQuantileRegressor(metric="evidence", rank=30, **settings).fit(X, y)


def test_columns_that_say_nothing_get_small_scales():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4))
    y = np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=80)
    columns, ranks = by_evidence(X, y)._relative
    scales = np.hypot(columns, ranks)
    assert (scales > 0).all()  # nothing is dropped
    assert np.delete(scales, 1).max() < 0.5 * scales[1]


def test_units_do_not_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=40)
    units = np.array([100.0, 0.01])
    plain = by_evidence(X, y, standardize=False, tol=1e-8)
    scaled = by_evidence(X * units, y, standardize=False, tol=1e-8)
    np.testing.assert_allclose(plain.predict(X), scaled.predict(X * units), atol=1e-3)


def test_a_constant_target_has_equal_scales():
    X = np.random.default_rng(4).normal(size=(20, 2))
    columns, ranks = by_evidence(X, np.ones(20))._relative
    assert np.ptp(columns) == pytest.approx(0)
    assert np.ptp(ranks) == pytest.approx(0)
