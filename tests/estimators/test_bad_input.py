"""Input that is not ideal gets an answer, or an error that says what was expected and what came."""

from __future__ import annotations

import numpy as np
import pytest

from nablasso import NablassoClassifier, NablassoRegressor


def rows(n, d, seed=0):
    """Normal columns, and y that follows the first."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, 0] + 0.1 * np.random.default_rng(seed + 1).standard_normal(n)


def nan_in_y():
    X, y = rows(30, 3)
    y[4] = np.nan
    return X, y


def copies_of_one_column():
    X, y = rows(40, 1)
    return np.repeat(X, 5, axis=1), y


def one_huge_value():
    X, y = rows(60, 4)
    y[7] = 1e12
    return X, y


def columns_of_any_scale():
    X, y = rows(60, 6)
    return X * 10.0 ** np.array([-33, 33, 0, -20, 20, 5]), y


def unit_of(size):
    """y whose squares are no numbers any more."""
    X, y = rows(30, 3)
    return X, y * size


REFUSED = {
    "nan in y": (nan_in_y, "NaN"),
    "squares overflow": (lambda: unit_of(1e200), "another unit"),
    "squares underflow": (lambda: unit_of(1e-200), "another unit"),
    "one class": (lambda: (rows(20, 2)[0], np.zeros(20, dtype=int)), "class"),
}
ANSWERED = {
    "constant y": lambda: (rows(30, 3)[0], np.full(30, 2.5)),
    "one column": lambda: rows(40, 1),
    "copies of one column": copies_of_one_column,
    "one huge value": one_huge_value,
    "columns of any scale": columns_of_any_scale,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_fitted_is_refused_with_a_reason(name):
    make, word = REFUSED[name]
    kind = NablassoClassifier if name == "one class" else NablassoRegressor
    with pytest.raises(ValueError, match=word):
        kind().fit(*make())


@pytest.mark.parametrize("name", ANSWERED)
def test_an_answer_is_finite_and_near_what_was_seen(name):
    X, y = ANSWERED[name]()
    model = NablassoRegressor(random_state=0).fit(X, y)
    predicted = model.predict(X)
    span = np.ptp(y) or 1.0
    assert (predicted >= y.min() - span).all()
    assert (predicted <= y.max() + span).all()
    if name in ("one column", "columns of any scale"):
        assert model.support_.tolist() == [a == 0 for a in range(X.shape[1])]
    if name == "copies of one column":
        assert model.support_.any()
    if name == "constant y":
        assert not model.support_.any()


def test_two_rows_are_refused_with_their_number():
    with pytest.raises(ValueError, match="At least 5 rows are needed; got n_samples=2"):
        NablassoRegressor().fit(*rows(2, 3))


@pytest.mark.slow
def test_many_more_columns_than_rows_are_answered():
    X, y = rows(50, 20_000)
    model = NablassoRegressor(random_state=0).fit(X, y)
    assert model.support_[0]
    assert model.support_.sum() <= 3
