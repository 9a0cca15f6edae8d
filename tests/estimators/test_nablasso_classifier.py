"""The automatic classifier: what it promises beyond the regressor."""

import numpy as np
import pytest

from nablasso import NablassoClassifier
from nablasso.errors import InvalidDataError


def classes(n=60, seed=0):
    """Noisy classes, so that no function separates them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    codes = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5])
    return X, codes


def classifier(**options):
    return NablassoClassifier("linear", **{"cv": 3, **options})


def test_three_classes_by_name():
    X, codes = classes()
    names = np.array(["low", "middle", "high"])
    model = classifier().fit(X, names[codes])
    assert model.support_[0]
    assert not model.support_[1:].any()
    assert model.classes_.tolist() == ["high", "low", "middle"]
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (60, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities >= 0).all()
    assert model.decision_function(X).shape == (60, 3)
    assert set(model.predict(X)) <= set(names)
    assert model.score(X, names[codes]) > 0.6
    by_number = classifier().fit(X, codes)
    np.testing.assert_array_equal(by_number.support_, model.support_)


def test_two_classes():
    X, codes = classes()
    y = codes > 1
    model = classifier().fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0])
    odds = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)))
    np.testing.assert_array_equal(model.predict(X), odds > 0)
    h = 1e-5 * np.eye(5)
    expected = [(model.decision_function(X + e) - model.decision_function(X - e)) for e in h]
    np.testing.assert_allclose(
        model.predict_gradient(X), np.stack(expected, axis=1) / 2e-5, atol=1e-5
    )


def test_class_weights_are_sample_weights():
    X, codes = classes()
    y = (codes > 1).astype(int)
    by_class = classifier(class_weight={1: 3.0}).fit(X, y)
    by_row = classifier().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    balanced = classifier(class_weight="balanced").fit(X, y)
    assert balanced.predict(X).mean() > classifier().fit(X, y).predict(X).mean()


def test_classes_of_noise_are_not_found():
    X, _ = classes()
    y = np.random.default_rng(3).integers(2, size=60)
    model = classifier().fit(X, y)
    assert not model.support_.any()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), atol=1e-6)
    with pytest.raises(InvalidDataError, match="at least two classes"):
        classifier().fit(X, np.zeros(60))


def test_probabilities_are_scored():
    X, codes = classes()
    model = classifier(scoring="neg_log_loss").fit(X, codes)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0])
