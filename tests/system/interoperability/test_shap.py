"""SHAP explains the predictors: values add up to the prediction and vanish where f is flat."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nablasso import DerivativeLassoClassifier, NablassoRegressor

shap = pytest.importorskip(
    "shap", reason='SHAP is not installed: pip install "nablasso[interop]" (make nightly does)'
)
pytestmark = pytest.mark.slow  # it compiles its own functions first


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(50, 4))
    return X, X[:, 1] * X[:, 3] + X[:, 1]


def test_values_of_a_regressor(data):
    X, y = data
    model = NablassoRegressor("polynomial", cv=3).fit(X, y)
    assert np.flatnonzero(model.get_support()).tolist() == [1, 3]
    explained = shap.Explainer(model.predict, X)(X[:10])
    total = explained.values.sum(axis=1) + explained.base_values
    assert_allclose(total, model.predict(X[:10]), atol=1e-8)
    assert_allclose(explained.values[:, [0, 2]], 0, atol=1e-12)  # not selected
    assert np.abs(explained.values[:, [1, 3]]).mean(axis=0).min() > 0.1


def test_values_of_a_classifiers_probabilities(data):
    X, y = data
    model = DerivativeLassoClassifier("polynomial", alpha=0.02, ridge=1e-2, tol=1e-3)
    model.fit(X, y > 0)
    explained = shap.Explainer(lambda Z: model.predict_proba(Z)[:, 1], X)(X[:5])
    total = explained.values.sum(axis=1) + explained.base_values
    assert_allclose(total, model.predict_proba(X[:5])[:, 1], atol=1e-8)
