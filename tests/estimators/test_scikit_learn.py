"""scikit-learn's own estimator checks, on one cheap instance per class."""

from __future__ import annotations

import pytest
from sklearn.linear_model import Lasso
from sklearn.utils.estimator_checks import parametrize_with_checks

import nablasso
from nablasso import (
    DerivativeElasticNet,
    DerivativeElasticNetClassifier,
    DerivativeElasticNetClassifierCV,
    DerivativeElasticNetCV,
    DerivativeGroupLasso,
    DerivativeGroupLassoClassifier,
    DerivativeGroupLassoClassifierCV,
    DerivativeGroupLassoCV,
    DerivativeLasso,
    DerivativeLassoClassifier,
    DerivativeLassoClassifierCV,
    DerivativeLassoCV,
    KnockoffSelector,
    NablassoClassifier,
    NablassoRegressor,
    RandomizationTest,
    StabilitySelection,
)

CHEAP_FIT = {"alpha": 1e-3, "ridge": 1e-2, "debias": False, "tol": 1e-2}
CHEAP_FOLDS = {"alphas": (1e-3,), "ridges": (1e-2,), "cv": 2, "debias": False, "tol": 1e-2}

INSTANCES = [
    DerivativeLasso(**CHEAP_FIT),
    DerivativeGroupLasso(**CHEAP_FIT),
    DerivativeElasticNet(**CHEAP_FIT),
    DerivativeLassoCV(**CHEAP_FOLDS),
    DerivativeGroupLassoCV(**CHEAP_FOLDS),
    DerivativeElasticNetCV(**CHEAP_FOLDS),
    DerivativeLassoClassifier(**CHEAP_FIT),
    DerivativeGroupLassoClassifier(**CHEAP_FIT),
    DerivativeElasticNetClassifier(**CHEAP_FIT),
    DerivativeLassoClassifierCV(**CHEAP_FOLDS),
    DerivativeGroupLassoClassifierCV(**CHEAP_FOLDS),
    DerivativeElasticNetClassifierCV(**CHEAP_FOLDS),
    NablassoClassifier("linear", cv=3),
    NablassoRegressor("linear", cv=3),
    StabilitySelection(Lasso(0.01), n_pairs=3),
    RandomizationTest(Lasso(0.01), n_draws=19, cv=3),
    KnockoffSelector(Lasso(0.01), fdr=0.5, offset=0),
]


def test_every_public_estimator_is_checked():
    public = {name for name in nablasso.__all__ if hasattr(getattr(nablasso, name), "fit")}
    assert public == {type(instance).__name__ for instance in INSTANCES}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::nablasso.exceptions.DegenerateFitWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")  # tiny data: thresholds, nothing selected
@parametrize_with_checks(INSTANCES)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::nablasso.exceptions.DegenerateFitWarning")
@parametrize_with_checks([DerivativeLasso(), DerivativeLassoCV(alphas=4, ridges=(0.1,), cv=3)])
def test_scikit_learn_check_at_default_accuracy(estimator, check):
    check(estimator)
