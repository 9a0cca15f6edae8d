"""Pipelines, grid searches, column transformers and clones of scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from nablasso import (
    DerivativeLasso,
    DerivativeLassoClassifier,
    DerivativeLassoCV,
    NablassoRegressor,
)
from tests.estimators.test_scikit_learn import INSTANCES

CHEAP = {"alpha": 0.2, "ridge": 1e-2, "tol": 1e-5}


def table(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """y = x1 x3 + x1, little noise."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 5))
    return X, X[:, 1] * X[:, 3] + X[:, 1] + 0.05 * rng.normal(size=n)


class Noted:
    """A splitter that notes what it was asked to split."""

    def __init__(self, splitter):
        self.splitter, self.groups, self.calls = splitter, None, 0

    def split(self, X, y=None, groups=None):
        self.groups, self.calls = groups, self.calls + 1
        return self.splitter.split(X, y, groups)

    def get_n_splits(self, X=None, y=None, groups=None):
        return self.splitter.get_n_splits(X, y, groups)


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: type(instance).__name__)
def test_clone_has_equal_parameters_and_nothing_fitted(instance):
    copy = clone(instance)
    assert copy is not instance
    assert repr(copy) == repr(instance)
    assert [name for name in vars(copy) if name.endswith("_")] == []
    assert copy.get_params(deep=False).keys() == instance.get_params(deep=False).keys()


def test_grid_search_over_ordered_rows():
    X, y = table()
    search = GridSearchCV(
        DerivativeLasso("polynomial", **CHEAP),
        {"alpha": [0.01, 0.1, 10.0], "kernel": ["linear", "polynomial"]},
        cv=TimeSeriesSplit(3),
    ).fit(X, y)
    assert search.best_params_["kernel"] == "polynomial"
    assert search.best_params_["alpha"] < 10
    assert_array_equal(np.flatnonzero(search.best_estimator_.get_support()), [1, 3])


def test_grid_search_with_groups_of_rows():
    X, y = table()
    groups = np.repeat(np.arange(12), 5)
    search = GridSearchCV(
        DerivativeLasso("polynomial", **CHEAP), {"alpha": [0.01, 10.0]}, cv=GroupKFold(3)
    ).fit(X, y, groups=groups)
    assert search.best_params_ == {"alpha": 0.01}


def test_parameters_of_the_kernel_are_searched_by_their_names():
    from nablasso.kernels import Polynomial

    X, y = table()
    search = GridSearchCV(
        DerivativeLasso(Polynomial(2), **CHEAP), {"kernel__degree": [1, 2]}, cv=TimeSeriesSplit(2)
    ).fit(X, y)
    assert search.best_params_ == {"kernel__degree": 2}


@pytest.mark.parametrize(
    "model",
    [
        DerivativeLassoCV("polynomial", alphas=(0.2, 0.4), ridges=(1e-2,), tol=1e-5),
        NablassoRegressor("polynomial"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_our_own_folds_take_splitters_and_groups(model):
    X, y = table()
    groups = np.repeat(np.arange(12), 5)
    by_groups, in_time = Noted(GroupKFold(3)), Noted(TimeSeriesSplit(3))
    grouped = clone(model).set_params(cv=by_groups).fit(X, y, groups=groups)
    ordered = clone(model).set_params(cv=in_time).fit(X, y)
    assert_array_equal(by_groups.groups, groups)
    assert in_time.calls == 1
    for fitted in (grouped, ordered):
        assert_array_equal(np.flatnonzero(fitted.get_support()), [1, 3])


def test_pipeline_before_and_after():
    X, y = table()
    X[3, 0] = np.nan
    select = DerivativeLasso("polynomial", **CHEAP)
    as_predictor = make_pipeline(SimpleImputer(), StandardScaler(), clone(select)).fit(X, y)
    assert as_predictor.score(X, y) > 0.9
    names = [f"x{a}" for a in range(5)]
    frame = pd.DataFrame(X, columns=names)
    as_step = make_pipeline(SimpleImputer(), clone(select), LinearRegression())
    as_step.set_output(transform="pandas").fit(frame, y)
    assert as_step[-1].feature_names_in_.tolist() == ["x1", "x3"]
    assert as_step[:-1].get_feature_names_out().tolist() == ["x1", "x3"]


def test_selection_inside_cross_validation_sees_training_rows_only():
    X, y = table(90)
    model = make_pipeline(DerivativeLasso("polynomial", **CHEAP), RandomForestRegressor(20))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.5
    left_out = cross_val_predict(DerivativeLasso("polynomial", **CHEAP), X, y, cv=3)
    assert np.corrcoef(left_out, y)[0, 1] > 0.9


def test_column_transformer_with_one_group_for_the_levels():
    X, y = table()
    names = [f"x{a}" for a in range(5)]
    colour = np.random.default_rng(0).choice(["blue", "green", "red"], size=60)
    y = y + 2 * (colour == "red")
    frame = pd.DataFrame(X, columns=names).assign(colour=colour)
    columns = ColumnTransformer(
        [("words", OneHotEncoder(sparse_output=False), ["colour"])],
        remainder=StandardScaler(),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    levels = ["colour_blue", "colour_green", "colour_red"]
    model = DerivativeLasso(
        "polynomial", feature_groups=[levels, *([name] for name in names)], **CHEAP
    )
    pipeline = make_pipeline(columns, model).fit(frame, y)
    selected = pipeline[-1].get_feature_names_out().tolist()
    assert selected[:3] == levels
    assert {"x1", "x3"} <= set(selected)
    assert "x0" not in selected
    assert_allclose(pipeline.predict(frame[frame.columns[::-1]]), pipeline.predict(frame))


def test_selector_inside_a_column_transformer():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    columns = ColumnTransformer(
        [("select", DerivativeLasso("polynomial", **CHEAP), ["a", "b", "d"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    assert list(columns.fit_transform(frame, y).columns) == ["b", "d", "c", "e"]


def test_models_of_models():
    X, y = table()
    model = DerivativeLasso("polynomial", **CHEAP)
    logged = TransformedTargetRegressor(model, func=np.log1p, inverse_func=np.expm1)
    assert logged.fit(X, np.exp(y)).score(X, np.exp(y)) > 0.5
    several = MultiOutputRegressor(model).fit(X, np.column_stack([y, X[:, 0]]))
    assert_allclose(several.predict(X)[:, 1], clone(model).fit(X, X[:, 0]).predict(X))


def test_classifier_in_a_grid_search_by_probabilities():
    X, y = table()
    words = np.where(y > 0, "much", "little")
    search = GridSearchCV(
        DerivativeLassoClassifier("polynomial", **CHEAP),
        {"alpha": [0.01, 10.0]},
        scoring=["neg_log_loss", "roc_auc"],
        refit="neg_log_loss",
        cv=3,
    ).fit(X, words)
    assert search.best_params_ == {"alpha": 0.01}
    assert search.cv_results_["mean_test_roc_auc"].max() > 0.7
