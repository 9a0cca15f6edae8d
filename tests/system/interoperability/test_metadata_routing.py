"""Sample weights and groups reach the estimator through scikit-learn's metadata routing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nablasso import DerivativeLasso, DerivativeLassoCV, NablassoRegressor, StabilitySelection

CHEAP = {"alpha": 0.2, "ridge": 1e-2, "tol": 1e-5}
CHEAP_CV = {"alphas": (0.2, 0.4), "ridges": (1e-2,), "tol": 1e-5}


@pytest.fixture(autouse=True)
def _routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 5))
    y = X[:, 1] * X[:, 3] + X[:, 1] + 0.05 * rng.normal(size=60)
    weights = rng.integers(0, 3, size=60).astype(float)
    y[weights == 0] += 100  # who ignores the weights sees nothing
    return X, y, weights, np.repeat(np.arange(12), 5)


def test_a_pipeline_hands_on_the_weights(data):
    X, y, weights, _ = data
    model = DerivativeLasso("polynomial", **CHEAP)
    direct = clone(model).fit(X, y, sample_weight=weights)
    asked = model.set_fit_request(sample_weight=True)
    routed = make_pipeline("passthrough", asked).fit(X, y, sample_weight=weights)
    assert_allclose(routed.predict(X), direct.predict(X))
    assert_array_equal(np.flatnonzero(routed[-1].get_support()), [1, 3])


def test_weights_that_nobody_asked_for_are_an_error(data):
    X, y, weights, _ = data
    pipeline = make_pipeline(StandardScaler(), DerivativeLasso("polynomial", **CHEAP))
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        pipeline.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "model",
    [DerivativeLassoCV("polynomial", **CHEAP_CV), NablassoRegressor("polynomial")],
    ids=lambda model: type(model).__name__,
)
def test_a_pipeline_hands_on_weights_and_groups(model, data):
    X, y, weights, groups = data
    model.set_params(cv=GroupKFold(3))
    direct = clone(model).fit(X, y, sample_weight=weights, groups=groups)
    asked = model.set_fit_request(sample_weight=True, groups=True)
    pipeline = make_pipeline("passthrough", asked)
    pipeline.fit(X, y, sample_weight=weights, groups=groups)
    assert_allclose(pipeline.predict(X), direct.predict(X))
    assert_array_equal(np.flatnonzero(pipeline[-1].get_support()), [1, 3])


def test_grid_search_hands_on_weights_to_fit_and_score_and_groups_to_the_splitter(data):
    X, y, weights, groups = data
    model = DerivativeLasso("polynomial", **CHEAP)
    asked = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(asked, {"alpha": [0.01, 10.0]}, cv=GroupKFold(3))
    search.fit(X, y, sample_weight=weights, groups=groups)
    assert search.best_params_ == {"alpha": 0.01}
    assert search.best_score_ > 0.9  # the spoilt rows have no weight in the scores either


def test_cross_validate_hands_on_both(data):
    X, y, weights, groups = data
    model = DerivativeLassoCV("polynomial", **CHEAP_CV, cv=GroupKFold(2))
    asked = model.set_fit_request(sample_weight=True, groups=True)
    asked.set_score_request(sample_weight=True)
    scores = cross_validate(
        asked, X, y, cv=GroupKFold(3), params={"sample_weight": weights, "groups": groups}
    )
    assert scores["test_score"].min() > 0.9


def test_stability_selection_hands_weights_to_its_estimator(data):
    X, y, weights, _ = data
    selector = StabilitySelection(DerivativeLasso("polynomial", **CHEAP), n_pairs=2, random_state=0)
    selector.fit(X, y, sample_weight=weights)
    assert_array_equal(np.flatnonzero(selector.get_support()), [1, 3])
    routed = make_pipeline(clone(selector).set_fit_request(sample_weight=True), "passthrough")
    routed.fit(X, y, sample_weight=weights)
    assert_array_equal(routed[0].get_support(), selector.get_support())
