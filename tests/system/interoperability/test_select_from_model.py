"""``SelectFromModel`` with the documented threshold selects what the estimator itself selects.

Importances are exactly zero outside the support, so the smallest positive float separates them.
Without a threshold scikit-learn takes 1e-5 where the class name contains "Lasso", else the mean.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_selection import SelectFromModel

from nablasso import (
    DerivativeLasso,
    DerivativeLassoClassifier,
    HierarchicalKernelRegressor,
    NablassoClassifier,
    NablassoRegressor,
    SparseGradientRegressor,
)
from nablasso.kernels import Polynomial

SMALLEST = np.finfo(float).tiny
CHEAP = {"alpha": 0.2, "ridge": 1e-2, "tol": 1e-5}
SELECTORS = [
    DerivativeLasso("polynomial", **CHEAP),
    DerivativeLasso("polynomial", feature_groups=[[0, 2], [1], [3], [4, 5]], **CHEAP),
    DerivativeLasso("polynomial", l1_ratio=0.5, **CHEAP),
    DerivativeLassoClassifier("polynomial", **CHEAP),
    HierarchicalKernelRegressor(alpha=0.05, decomposition="polynomial", degree=1),
    HierarchicalKernelRegressor(
        alpha=0.05, interactions=False, decomposition="polynomial", degree=1
    ),
    NablassoRegressor("polynomial", cv=3),
    NablassoClassifier("polynomial", cv=3),
    SparseGradientRegressor(kernel=Polynomial(1), max_iter=50),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 6))
    X[:, 4] = rng.integers(0, 3, size=60)  # a discrete column among them
    y = X[:, 1] * X[:, 3] + X[:, 1] + 0.3 * X[:, 4] + 0.05 * rng.normal(size=60)
    return X, y


@pytest.mark.parametrize("model", SELECTORS, ids=lambda model: type(model).__name__)
def test_the_smallest_threshold_is_the_models_own_choice(model, data):
    X, y = data
    target = (y > np.median(y)).astype(int) if "Classifier" in type(model).__name__ else y
    selector = SelectFromModel(model, threshold=SMALLEST).fit(X, target)
    support = selector.estimator_.get_support()
    assert support.any()
    assert_array_equal(selector.get_support(), support)


def test_the_default_threshold_is_that_of_scikit_learn(data):
    X, y = data
    lasso = SelectFromModel(DerivativeLasso("polynomial", **CHEAP)).fit(X, y)
    assert lasso.threshold_ == 1e-5
    assert_array_equal(lasso.get_support(), lasso.estimator_.get_support())
    automatic = SelectFromModel(NablassoRegressor("polynomial", cv=3)).fit(X, y)
    assert automatic.threshold_ == pytest.approx(automatic.estimator_.feature_importances_.mean())


def test_the_strongest_only(data):
    X, y = data
    selector = SelectFromModel(
        DerivativeLasso("polynomial", **CHEAP), max_features=1, threshold=SMALLEST
    )
    assert_array_equal(np.flatnonzero(selector.fit(X, y).get_support()), [1])
