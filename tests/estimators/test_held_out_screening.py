"""Screening as a transformer."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from nablasso import DerivativeLasso, HeldOutScreening
from nablasso.errors import InvalidParameterError

N, D = 120, 200


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).normal(size=(N, D))
    return X, X[:, 3] ** 2 + X[:, 10] * X[:, 11]


def test_keeps_single_columns_and_pairs(table):
    X, y = table
    model = HeldOutScreening(n_spare=0).fit(X, y)
    assert set(np.flatnonzero(model.support_)) >= {3, 10, 11}
    assert model.support_.sum() <= 6
    np.testing.assert_array_equal(model.support_, model.clear_)
    assert model.scores_.argmax() == 3
    assert model.scores_[3] > model.chance_ > np.median(model.scores_)
    assert model.transform(X).shape == (N, model.support_.sum())
    assert "x3" in model.summary()
    more = HeldOutScreening(n_spare=7).fit(X, y)
    assert more.support_.sum() >= model.support_.sum() + 7
    np.testing.assert_array_equal(more.clear_, model.clear_)


def test_order_and_copies_do_not_matter(table):
    X, y = table
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, size=N)
    model = HeldOutScreening().fit(X, y, sample_weight=weights)
    rows, columns = rng.permutation(N), rng.permutation(D)
    moved = HeldOutScreening().fit(X[rows][:, columns], y[rows], sample_weight=weights[rows])
    np.testing.assert_array_equal(moved.support_, model.support_[columns])
    np.testing.assert_array_equal(moved.scores_, model.scores_[columns])
    copies = np.repeat(np.arange(N), weights)
    copied = HeldOutScreening().fit(X[copies], y[copies])
    np.testing.assert_array_equal(copied.support_, model.support_)


def test_groups_kept_columns_and_constant_ones(table):
    X, y = table
    X = X.copy()
    X[:, 150] = 1.0
    labels = np.arange(D) // 2
    model = HeldOutScreening(n_spare=0, feature_groups=labels, always_keep=[100]).fit(X, y)
    support = model.support_
    assert support[[2, 3, 10, 11, 100, 101]].all()
    assert not support[150]
    np.testing.assert_array_equal(
        np.delete(support, [150, 151])[::2], np.delete(support, [150, 151])[1::2]
    )


def test_labels(table):
    X, y = table
    two = np.where(y > np.median(y), "high", "low")
    assert set(np.flatnonzero(HeldOutScreening(n_spare=0).fit(X, two).support_)) >= {3}
    three = np.digitize(X[:, 5] ** 2, [0.2, 1.0])
    model = HeldOutScreening(n_spare=0, task="classification").fit(X, three)
    named = HeldOutScreening(n_spare=0).fit(X, np.array(["c", "a", "b"])[three])
    assert model.support_[5]
    np.testing.assert_array_equal(model.support_, named.support_)


def test_in_a_pipeline(table):
    X, y = table
    model = make_pipeline(HeldOutScreening(n_spare=0), DerivativeLasso(alpha=1e-3)).fit(X, y)
    assert model.predict(X).shape == (N,)


def test_nothing_to_be_found():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 80)), rng.normal(size=60)
    model = HeldOutScreening(n_spare=3, pairs=False).fit(X, y)
    assert 3 <= model.support_.sum() <= 5


@pytest.mark.parametrize(
    ("parameters", "words"), [({"n_spare": -1}, "n_spare"), ({"task": "ranking"}, "task")]
)
def test_refuses(table, parameters, words):
    with pytest.raises(InvalidParameterError, match=words):
        HeldOutScreening(**parameters).fit(*table)
