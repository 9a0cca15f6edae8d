"""Functions that are known, behind scikit-learn's face; and figures that are closed again."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import validate_data


class Known(RegressorMixin, BaseEstimator):
    """Predicts a given function."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        validate_data(self, X)
        self.fitted_ = True
        return self

    def predict(self, X):
        return self.function(validate_data(self, X, reset=False))


class KnownOdds(ClassifierMixin, BaseEstimator):
    """Two classes with given log-odds of the second, "yes"."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        validate_data(self, X)
        self.classes_ = np.array(["no", "yes"])
        return self

    def decision_function(self, X):
        return self.function(X)

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-self.function(X)))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[(self.function(X) > 0).astype(int)]


@pytest.fixture
def known():
    return Known


@pytest.fixture
def known_odds():
    return KnownOdds


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")
