"""Cross-validation of the sparse gradient estimators."""

import numpy as np
import pytest

import nablasso
from nablasso import (
    SparseGradientClassifierCV,
    SparseGradientRegressor,
    SparseGradientRegressorCV,
)
from nablasso.datasets import make_turlach
from nablasso.errors import InvalidParameterError
from nablasso.kernels import Polynomial

DATA = make_turlach(80, 7, random_state=0)


def test_alpha_is_one_of_the_grid_and_the_fit_that_of_all_rows():
    settings = {"kernel": Polynomial(1), "n_neighbors": 10, "tol": 1e-5}
    model = SparseGradientRegressorCV(alphas=6, cv=3, selection_rule="min", **settings)
    model.fit(DATA.X, DATA.y)
    results = model.cv_results_
    assert results["param_alpha"].shape == (6,)
    assert results["param_alpha"][0] == pytest.approx(model.alpha_max_)
    assert model.best_index_ == int(np.argmax(results["mean_test_score"]))
    assert model.best_params_ == {"alpha": model.alpha_}
    assert model.best_score_ == results["mean_test_score"].max()
    assert {"split2_test_score", "rank_test_score", "mean_fit_time"} <= results.keys()
    single = SparseGradientRegressor(model.alpha_, **settings).fit(DATA.X, DATA.y)
    np.testing.assert_allclose(model.predict(DATA.X), single.predict(DATA.X))
    assert model.support_[:5].all()


def test_one_standard_error_selects_no_more_than_the_best():
    rules = [
        SparseGradientRegressorCV(
            alphas=6, cv=3, selection_rule=rule, kernel=Polynomial(1), tol=1e-3
        ).fit(DATA.X, DATA.y)
        for rule in ("1se", "min")
    ]
    assert rules[0].support_.sum() <= rules[1].support_.sum()
    assert rules[0].alpha_ >= rules[1].alpha_


def test_a_score_is_what_the_fold_model_predicts():
    alpha, rows = 0.002, np.arange(80)
    folds = [(rows[rows % 2 == 0], rows[rows % 2 == 1])]
    settings = {"kernel": Polynomial(1), "tol": 1e-4, "two_step": True, "adaptive_weights": True}
    model = SparseGradientRegressorCV(alphas=[alpha], cv=folds, **settings).fit(DATA.X, DATA.y)
    train, test = folds[0]
    by_hand = SparseGradientRegressor(alpha, **settings).fit(DATA.X[train], DATA.y[train])
    error = np.mean((DATA.y[test] - by_hand.predict(DATA.X[test])) ** 2)
    assert model.best_score_ == pytest.approx(-error, rel=1e-6)


def test_classes_are_scored_by_log_loss_and_any_scorer():
    y = np.where(DATA.y > np.median(DATA.y), "high", "low")
    settings = {"kernel": Polynomial(1), "n_neighbors": 10, "alphas": 3, "cv": 3, "tol": 1e-3}
    model = SparseGradientClassifierCV(**settings).fit(DATA.X, y)
    assert -np.log(2) < model.best_score_ < 0
    accurate = SparseGradientClassifierCV(scoring="accuracy", **settings).fit(DATA.X, y)
    assert 0.6 < accurate.best_score_ <= 1


def test_bad_parameters_are_named():
    with pytest.raises(InvalidParameterError, match="selection_rule"):
        SparseGradientRegressorCV(selection_rule="2se").fit(DATA.X, DATA.y)
    with pytest.raises(InvalidParameterError, match="alphas must be a list of positive numbers"):
        SparseGradientRegressorCV(alphas=[0.1, -1]).fit(DATA.X, DATA.y)
    with pytest.raises(InvalidParameterError, match="alphas must be a positive number"):
        nablasso.path(SparseGradientRegressor(), DATA.X, DATA.y, n_alphas=0)
