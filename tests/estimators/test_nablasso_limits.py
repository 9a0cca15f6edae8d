"""The automatic estimators at the edges: many relevant columns, many rows, odd scores."""

from __future__ import annotations

import numpy as np
import pytest

from nablasso import NablassoClassifier, NablassoRegressor
from nablasso.estimators import automatic
from nablasso.exceptions import InvalidDataError
from nablasso.kernels import Linear
from nablasso.metric import Sample, Start
from nablasso.metric.needed import needed


def table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng


def test_small_losses_do_not_add_up_when_groups_are_taken_away():
    X, rng = table(100, 32)
    y = X.sum(axis=1) + 0.5 * rng.normal(size=100)
    sample = Sample(
        X, y[:, None] / y.std(), np.full(100, 0.01), np.arange(32), np.zeros(32, dtype=bool)
    )
    left = needed(sample, Start(Linear()), np.arange(32), np.ones(32))
    assert len(left) >= 25


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


def test_with_many_rows_the_predictor_uses_more_than_the_search(monkeypatch):
    monkeypatch.setattr(automatic, "SEARCH_ROWS", 40)
    X, rng = table(130, 3)
    noise = rng.normal(size=130)
    model = NablassoRegressor("linear").fit(X, noise)
    assert model.n_rows_searched_ == 40
    assert not model.support_.any()
    np.testing.assert_allclose(model.predict(X[:2]), noise.mean())
    rare = np.where(np.arange(130) < 3, "rare", "common")
    shares = NablassoClassifier("linear").fit(X, rare).predict_proba(X[:1])
    assert (shares > 0).all()
    signal = X[:, 0] + 0.1 * noise
    model.fit(X, signal)
    assert model.support_.tolist() == [True, False, False]
    assert np.abs(model.predict(X) - signal).mean() < 0.12


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
