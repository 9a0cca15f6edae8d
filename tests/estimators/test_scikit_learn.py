"""scikit-learn's own estimator checks, on one cheap instance per class."""

from __future__ import annotations

import pytest
from sklearn.linear_model import Lasso
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import nablasso
from nablasso import (
    ConeRegressor,
    ConeRegressorCV,
    DerivativeLasso,
    DerivativeLassoClassifier,
    DerivativeLassoClassifierCV,
    DerivativeLassoCV,
    HeldOutScreening,
    HeteroscedasticRegressor,
    HeteroscedasticRegressorCV,
    HierarchicalKernelClassifier,
    HierarchicalKernelClassifierCV,
    HierarchicalKernelRegressor,
    HierarchicalKernelRegressorCV,
    KnockoffSelector,
    MultiQuantileRegressor,
    MultiQuantileRegressorCV,
    NablassoClassifier,
    NablassoRegressor,
    PSDDensity,
    PSDDensityCV,
    PSDRegressor,
    PSDRegressorCV,
    RandomizationTest,
    SparseGradientClassifier,
    SparseGradientClassifierCV,
    SparseGradientRegressor,
    SparseGradientRegressorCV,
    StabilitySelection,
)
from nablasso.kernels import Polynomial

CHEAP_FIT = {"alpha": 1e-3, "ridge": 1e-2, "debias": False, "tol": 1e-2}
CHEAP_FOLDS = {"alphas": (1e-3,), "ridges": (1e-2,), "cv": 2, "debias": False, "tol": 1e-2}
CHEAP_GRADIENTS = {"kernel": Polynomial(1), "max_iter": 20}
CHEAP_CLASSES = {**CHEAP_GRADIENTS, "n_neighbors": 2, "ridge": 1e-3}

CHEAP_PSD = {"rank": 30, "tol": 0.1}
CHEAP_PSD_FOLDS = {"widths": (1.0,), "weights": (0.001,), "cv": 2, **CHEAP_PSD}
CHEAP_KERNELS = {"decomposition": "polynomial", "degree": 1, "debias": False, "tol": 0.3}
CHEAP_HULL = {"alpha": 0.05, **CHEAP_KERNELS}
CHEAP_HULL_FOLDS = {"alphas": (0.05,), "cv": 2, **CHEAP_KERNELS}

INSTANCES = [
    DerivativeLasso(**CHEAP_FIT),
    DerivativeLassoCV(**CHEAP_FOLDS),
    DerivativeLassoClassifier(**CHEAP_FIT),
    DerivativeLassoClassifierCV(l1_ratio=0.5, **CHEAP_FOLDS),
    HierarchicalKernelRegressor(**CHEAP_HULL),
    HierarchicalKernelClassifier(**CHEAP_HULL),
    HierarchicalKernelRegressorCV(betas=(2.0,), **CHEAP_HULL_FOLDS),
    HierarchicalKernelClassifierCV(betas=(2.0,), **CHEAP_HULL_FOLDS),
    HierarchicalKernelRegressor(interactions=False, **CHEAP_HULL),
    HeldOutScreening(),
    NablassoClassifier("linear", cv=3),
    NablassoRegressor("linear", cv=3),
    SparseGradientRegressor(**CHEAP_GRADIENTS),
    SparseGradientClassifier(**CHEAP_CLASSES),
    SparseGradientRegressorCV(**CHEAP_GRADIENTS, alphas=(1e-2,), cv=2),
    SparseGradientClassifierCV(**CHEAP_CLASSES, alphas=1, cv=2),
    StabilitySelection(Lasso(0.01), n_pairs=3),
    RandomizationTest(Lasso(0.01), n_draws=19, cv=3),
    KnockoffSelector(Lasso(0.01), fdr=0.5),
    PSDDensity(**CHEAP_PSD),
    PSDRegressor(weight=0.001, rank=30, tol=0.01),
    HeteroscedasticRegressor(weight=0.001, **CHEAP_PSD),
    MultiQuantileRegressor(0.5, **CHEAP_PSD),
    ConeRegressor(**CHEAP_PSD),
    PSDDensityCV(**CHEAP_PSD_FOLDS),
    PSDRegressorCV(**CHEAP_PSD_FOLDS | {"tol": 0.01}),
    HeteroscedasticRegressorCV(**CHEAP_PSD_FOLDS),
    MultiQuantileRegressorCV(0.5, **CHEAP_PSD_FOLDS),
    ConeRegressorCV(**CHEAP_PSD_FOLDS),
]


# A third of the time. Estimators with cross-validation fit by the code of those without, which
# pass them here, and what is fitted again from memory that cannot be written is fitted by one more
# check too: their own turn is in make nightly.
MANY_FITS = {
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_estimators_dtypes",
    "check_pipeline_consistency",
    "check_regressor_data_not_an_array",
    "check_regressors_train",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
}


def checks():
    """Every check of every instance."""
    for number, instance in enumerate(INSTANCES):
        for estimator, check in estimator_checks_generator(instance):
            name, kind = check.func.__name__, type(estimator).__name__
            again = kind.endswith("CV") or "readonly_memmap" in check.keywords
            slow = again and name in MANY_FITS
            options = "".join(f"-{key}" for key in check.keywords if key != "name")
            yield pytest.param(
                *(estimator, check),
                id=f"{number}-{kind}-{name}{options}",
                marks=[pytest.mark.slow] if slow else [],
            )


def test_every_public_estimator_is_checked():
    public = {name for name in nablasso.__all__ if hasattr(getattr(nablasso, name), "fit")}
    assert public == {type(instance).__name__ for instance in INSTANCES}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::nablasso.errors.DegenerateFitWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")  # tiny data: thresholds, nothing selected
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::nablasso.errors.DegenerateFitWarning")
@parametrize_with_checks([DerivativeLasso(), DerivativeLassoCV(alphas=4, ridges=(0.1,), cv=3)])
def test_scikit_learn_check_at_default_accuracy(estimator, check):
    check(estimator)
