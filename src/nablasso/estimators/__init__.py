"""scikit-learn estimators: validate, build, solve, unpack."""

from nablasso.estimators.derivative import (
    DerivativeElasticNet,
    DerivativeGroupLasso,
    DerivativeLasso,
)
from nablasso.estimators.derivative_classifier import (
    DerivativeElasticNetClassifier,
    DerivativeElasticNetClassifierCV,
    DerivativeGroupLassoClassifier,
    DerivativeGroupLassoClassifierCV,
    DerivativeLassoClassifier,
    DerivativeLassoClassifierCV,
)
from nablasso.estimators.derivative_cv import (
    DerivativeElasticNetCV,
    DerivativeGroupLassoCV,
    DerivativeLassoCV,
)
from nablasso.estimators.knockoffs import KnockoffSelector
from nablasso.estimators.nablasso import NablassoClassifier, NablassoRegressor
from nablasso.estimators.path import DerivativePath, derivative_path
from nablasso.estimators.randomization import RandomizationTest
from nablasso.estimators.stability import StabilitySelection

__all__ = [
    "DerivativeElasticNet",
    "DerivativeElasticNetCV",
    "DerivativeElasticNetClassifier",
    "DerivativeElasticNetClassifierCV",
    "DerivativeGroupLasso",
    "DerivativeGroupLassoCV",
    "DerivativeGroupLassoClassifier",
    "DerivativeGroupLassoClassifierCV",
    "DerivativeLasso",
    "DerivativeLassoCV",
    "DerivativeLassoClassifier",
    "DerivativeLassoClassifierCV",
    "DerivativePath",
    "KnockoffSelector",
    "NablassoClassifier",
    "NablassoRegressor",
    "RandomizationTest",
    "StabilitySelection",
    "derivative_path",
]
