"""The automatic estimators at the edges: many relevant columns, many rows, odd scores."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nablasso import NablassoClassifier, NablassoRegressor
from nablasso.errors import InvalidDataError
from nablasso.estimators import automatic
from nablasso.rules import Rules
from nablasso.search import decide


def table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng


def test_p_values_do_not_depend_on_the_order_of_the_columns():
    X, rng = table(60, 6)
    y = X[:, 0] + 0.7 * X[:, 1] + rng.normal(size=60)
    order = rng.permutation(6)
    model = NablassoRegressor("linear", fdr=0.2, cv=4)
    one, other = model.fit(X, y).p_values_, model.fit(X[:, order], y).p_values_
    np.testing.assert_array_equal(one[order], other)
    assert one.min() < 0.05


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_a_score_that_is_not_a_number_is_refused():
    X, rng = table(40, 3)
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    with pytest.raises(InvalidDataError, match="fewer folds"):
        NablassoRegressor("linear", scoring="r2", cv=30).fit(X, y)


def test_a_scorer_sees_the_rows_as_they_came():
    X, rng = table(30, 3)
    X = 50 + 2 * X
    y = X[:, 2] + 0.1 * rng.normal(size=30)
    seen = []

    def score(model, X, y):
        seen.append(X)
        return -float(np.abs(model.predict(X) - y).mean())

    NablassoRegressor("linear", scoring=score, cv=3).fit(X, y)
    rows = {tuple(row) for row in np.round(X, 6)}
    assert all(tuple(row) in rows for part in seen for row in np.round(part, 6))


def test_with_many_rows_the_predictor_uses_more_than_the_search():
    rules = Rules(few_rows=40)
    X, rng = table(130, 3)
    noise = rng.normal(size=130)
    model = NablassoRegressor("linear", rules=rules).fit(X, noise)
    assert model.n_rows_searched_ == 40
    assert not model.support_.any()
    np.testing.assert_allclose(model.predict(X[:2]), noise.mean(), rtol=1e-6)
    rare = np.where(np.arange(130) < 3, "rare", "common")
    shares = NablassoClassifier("linear", rules=rules).fit(X, rare).predict_proba(X[:1])
    assert (shares > 0).all()
    signal = X[:, 0] + 0.1 * noise
    model.fit(X, signal)
    assert model.support_.tolist() == [True, False, False]
    slope, offset = np.polyfit(X[:, 0], signal, 1)  # of all rows
    np.testing.assert_allclose(model.predict(X), offset + slope * X[:, 0], atol=2e-3)


def test_copies_of_a_column_kept_by_decree_do_not_join():
    X, rng = table(60, 5)
    X[:, 4] = X[:, 3] + 0.05 * rng.normal(size=60)
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    model = NablassoRegressor("linear", always_keep=[3], cv=4).fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == [0, 3]


def test_folds_that_leave_nothing_to_train_on_are_refused():
    X, _ = table(40, 2)
    with pytest.raises(InvalidDataError, match="training rows"):
        NablassoRegressor("linear", cv=[(np.arange(3), np.arange(3, 40))]).fit(X, X[:, 0])


def many_rows(n=1500):
    X, rng = table(n, 5)
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n), rng


def few(monkeypatch):
    """The stages of a large table on a small one."""
    monkeypatch.setattr(automatic, "PREPARED_ROWS", 700)
    return Rules(walked_rows=80, few_rows=160)


def test_more_rows_than_are_walked_than_are_tuned_than_are_prepared(monkeypatch):
    rules = few(monkeypatch)
    X, y, _ = many_rows()
    model = NablassoRegressor("gaussian", rules=rules).fit(X, y)
    assert model.n_rows_searched_ == 160
    assert model.support_.tolist() == [True, True, False, False, False]
    assert model.score(X, y) > 0.95
    lower, upper = model.predict(X, return_interval=0.9)[1].T
    assert 0.85 < np.mean((lower <= y) & (y <= upper)) <= 1.0


@pytest.mark.parametrize("stage", ["assumed", "finished"])
def test_an_interrupt_leaves_the_best_answer_so_far(monkeypatch, stage):
    rules = few(monkeypatch)
    X, y, _ = many_rows()

    def impatient(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(decide, stage, impatient)
    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        model = NablassoRegressor("gaussian", rules=rules).fit(X, y)
    assert model.selection_status_ == "interrupted"
    assert model.answer_.interrupted
    assert model.answer_.remedies()[0] == "Fit again for the whole answer."
    assert model.alternatives_ == model.cautions_ == []  # what takes long is left out
    assert model.support_.tolist() == [True, True, False, False, False]
    assert model.score(X, y) > 0.9


def test_an_interrupt_before_there_is_an_answer_is_an_interrupt(monkeypatch):
    def impatient(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(decide, "proposed", impatient)
    X, _ = table(40, 3)
    with pytest.raises(KeyboardInterrupt):
        NablassoRegressor("linear").fit(X, X[:, 0])


def test_where_nothing_is_to_be_decided_nothing_is_said_to_be_found():
    X, rng = table(40, 2)
    model = NablassoRegressor(always_keep=[0, 1]).fit(X, X[:, 0] + 0.1 * rng.normal(size=40))
    assert model.summary().startswith("All are kept as asked: x0 (")
    assert "nats" not in model.summary()
    assert model.score(X, X[:, 0]) > 0.95


def test_a_large_table_gives_the_same_whatever_the_order(monkeypatch):
    rules = few(monkeypatch)
    X, y, rng = many_rows()
    model = NablassoRegressor("gaussian", rules=rules).fit(X, y)
    rows, columns = rng.permutation(len(X)), rng.permutation(5)
    again = NablassoRegressor("gaussian", rules=rules).fit(X[rows][:, columns], y[rows])
    np.testing.assert_array_equal(again.support_, model.support_[columns])
    np.testing.assert_allclose(again.predict(X[:9, columns]), model.predict(X[:9]), rtol=1e-6)


def test_a_weight_is_that_many_copies_in_a_large_table(monkeypatch):
    rules = few(monkeypatch)
    X, y, rng = many_rows(1000)
    weights = rng.integers(1, 4, size=1000)
    model = NablassoRegressor("gaussian", rules=rules).fit(X, y, sample_weight=weights)
    again = NablassoRegressor("gaussian", rules=rules).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    np.testing.assert_allclose(again.predict(X[:9]), model.predict(X[:9]), rtol=1e-6)


def test_warnings_point_at_the_line_that_called_fit():
    X, _ = table(80, 3)
    y = np.sign(X[:, 0]) + 0.01 * X[:, 1]
    with pytest.warns(UserWarning, match="side of a threshold") as seen:
        NablassoRegressor("gaussian").fit(X, y)
    assert {warning.filename for warning in seen} == {__file__}
