"""Densities: one in all, never negative, with closed forms that agree with quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.model_selection import KFold

from nablasso import PSDDensity, PSDDensityCV
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators import nonnegative

# The terms of a closed form cancel: their absolute sum times the machine precision is 3e-6 here.
CANCELLED = 3e-5


def two_bumps(n=120, d=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 0] += np.where(rng.random(n) < 0.5, -2, 2)
    return 3 * X + 10


@pytest.mark.parametrize("base_measure", [None, "gaussian", (10.0, 60.0)])
def test_integral_is_one_by_quadrature(base_measure):
    X = two_bumps()
    model = PSDDensity(base_measure=base_measure).fit(X)
    density = lambda x: np.exp(model.score_samples([[x]])[0])  # noqa: E731
    assert quad(density, -40, 60, limit=300)[0] == pytest.approx(1.0, abs=CANCELLED)
    assert model.integrate() == pytest.approx(1.0, abs=CANCELLED)
    part = quad(density, 8, 12, limit=300)[0]
    assert model.integrate([[8, 12]]) == pytest.approx(part, abs=CANCELLED)


def test_integral_is_one_in_the_plane():
    model = PSDDensity().fit(two_bumps(d=2))
    x, y = np.linspace(-20, 40, 400), np.linspace(-10, 30, 300)
    grid = np.array(np.meshgrid(x, y, indexing="ij")).reshape(2, -1).T
    values = model.density(grid)
    assert (values >= 0).all()
    total = values.sum() * (x[1] - x[0]) * (y[1] - y[0])  # the trapezoidal rule is exact here
    assert total == pytest.approx(1.0, abs=CANCELLED)
    column = values.reshape(400, 300).sum(axis=1) * (y[1] - y[0])
    np.testing.assert_allclose(model.marginal([0]).values(x[:, None]), column, atol=CANCELLED)
    conditional = model.conditional([0], [x[150]])
    expected = values.reshape(400, 300)[150] / column[150]
    np.testing.assert_allclose(conditional.values(y[:, None]), expected, atol=CANCELLED)


def test_finds_two_bumps():
    model = PSDDensity().fit(two_bumps(400))
    middle, bump = model.density([[10.0], [4.0]])
    truth = 0.5 * np.exp(0) / (3 * np.sqrt(2 * np.pi))
    assert bump == pytest.approx(truth, rel=0.25)
    assert middle < 0.5 * bump


def test_weights_are_copies_and_order_does_not_matter():
    X = two_bumps(30, d=2)
    weights = np.random.default_rng(1).integers(0, 4, size=30)
    weighted = PSDDensity(tol=1e-8).fit(X, sample_weight=weights)
    copies = PSDDensity(tol=1e-8).fit(np.repeat(X, weights, axis=0)[::-1])
    np.testing.assert_allclose(weighted.score_samples(X), copies.score_samples(X), rtol=1e-8)
    turned = PSDDensity(tol=1e-8).fit(X[:, ::-1], sample_weight=weights)
    np.testing.assert_allclose(
        turned.score_samples(X[:, ::-1]), weighted.score_samples(X), rtol=1e-12
    )


def test_samples_look_like_the_data():
    X = two_bumps(300)
    drawn = PSDDensity().fit(X).sample(2000, random_state=0)
    assert drawn.shape == (2000, 1)
    assert drawn.mean() == pytest.approx(X.mean(), abs=0.6)
    assert drawn.std() == pytest.approx(X.std(), rel=0.1)


def test_points_repeated_many_times():
    X = np.repeat(two_bumps(12, d=2), 20, axis=0)
    model = PSDDensity().fit(X)
    assert model.integrate() == pytest.approx(1.0, abs=CANCELLED)
    assert np.isfinite(model.score(X))


def test_constant_columns_are_named():
    X = np.column_stack([two_bumps(20), np.ones(20)])
    with pytest.raises(InvalidDataError, match="x1 are constant"):
        PSDDensity().fit(X)


def test_many_dimensions_give_the_effective_sample_size():
    X = np.random.default_rng(0).normal(size=(40, 31))
    with pytest.warns(UserWarning, match="rows lie within one length scale"):
        PSDDensity(tol=0.1).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l1_ratio": 1.0}, "less than 1"),
        ({"weight": 0}, "weight must be a positive"),
        ({"width": -1}, "width must be a positive"),
        ({"rank": 0}, "rank must be"),
        ({"base_measure": "cauchy"}, "base_measure must be"),
        ({"base_measure": (0.0, -1.0)}, "positive"),
        ({"length_scale": "wide"}, "length_scale must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        PSDDensity(**parameters).fit(two_bumps(20))


def test_conditional_needs_values_near_the_data():
    model = PSDDensity(tol=1e-2).fit(two_bumps(30, d=2))
    with pytest.raises(InvalidParameterError, match="zero to machine precision"):
        model.conditional([0], [1e9])
    with pytest.raises(InvalidParameterError, match="one value per column"):
        model.conditional([0], [1.0, 2.0])


def test_cross_validation_takes_the_best_candidate():
    X = two_bumps(60)
    model = PSDDensityCV(widths=(0.3, 3.0), weights=(1.0, 0.01), cv=3).fit(X)
    results = model.cv_results_
    assert model.best_score_ == results["mean_test_score"].max()
    assert model.best_params_["width"] == 0.3
    assert len(results["params"]) == 4
    single = PSDDensity(**model.best_params_).fit(X)
    np.testing.assert_allclose(model.score_samples(X), single.score_samples(X), atol=1e-6)


def test_cross_validation_refuses_pairs_of_weights():
    with pytest.raises(InvalidParameterError, match="weights must be a list of positive numbers;"):
        PSDDensityCV(weights=[(1.0, 2.0)]).fit(two_bumps(20))


def test_log_density_is_finite_far_from_the_data():
    density = PSDDensity().fit(two_bumps(n=60))
    logs = density.score_samples([[10.0], [1e3], [1e4]])
    assert np.isfinite(logs).all()
    assert (np.diff(logs) < 0).all()
    assert np.exp(logs[0]) == pytest.approx(density.density([[10.0]])[0], rel=1e-8)


def test_an_outlier_does_not_stop_tuning():
    X = np.vstack([two_bumps(n=40), [[900.0]]])
    model = PSDDensityCV(cv=3, weights=[0.3]).fit(X)
    scores = model.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert model.best_params_["width"] == 1.0


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_a_density_beyond_floating_point_numbers(unit):
    X = unit * np.random.default_rng(0).normal(size=(20, 30))
    with pytest.raises(InvalidDataError, match="floating-point"):
        PSDDensity().fit(X)


def test_columns_and_counts_are_checked():
    model = PSDDensity().fit(two_bumps(n=40, d=2))
    assert model.marginal([0, 0]).n_features == 1
    with pytest.raises(InvalidParameterError, match="at least one column"):
        model.marginal([])
    with pytest.raises(InvalidParameterError, match="different ones"):
        model.conditional([0, 0], [1.0, 2.0])
    with pytest.raises(InvalidParameterError, match="whole number"):
        model.sample(2.5)


def test_many_rows_are_judged_by_the_first_of_the_table(monkeypatch):
    monkeypatch.setattr(nonnegative, "TUNING_ROWS", 30)
    model = PSDDensityCV(cv=3)
    data = model._read(two_bumps(60), None, None)
    table = model._look_at(data)
    folds = model._folds(data, table, None)
    judged = np.sort(np.concatenate([test for _, test in folds]))
    np.testing.assert_array_equal(judged, np.flatnonzero(table.rows < 30))
    assert {len(train) + len(test) for train, test in folds} == {30}


@pytest.mark.parametrize("grouped", [False, True])
def test_many_rows_are_judged_by_the_same_rows_in_folds_of_ones_own(monkeypatch, grouped):
    monkeypatch.setattr(nonnegative, "TUNING_ROWS", 30)
    model = PSDDensityCV(cv=None if grouped else KFold(4, shuffle=True, random_state=0))
    data = model._read(two_bumps(60), None, None)
    table = model._look_at(data)
    folds = model._folds(data, table, np.arange(60) // 3 if grouped else None)
    judged = np.sort(np.concatenate([test for _, test in folds]))
    np.testing.assert_array_equal(judged, np.flatnonzero(table.rows < 30))
    assert {len(train) + len(test) for train, test in folds} == {30}


def test_verbose_logs(caplog):
    PSDDensity(verbose=1).fit(np.random.default_rng(0).normal(size=(20, 1)))
    assert "PSDDensity" in caplog.text
