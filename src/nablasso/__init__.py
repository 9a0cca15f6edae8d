"""nablasso: the lasso for nonlinear functions.

Which columns does y depend on, in what shape, and what will y be next? No linearity, no additivity
assumed; every answer carries a duality gap.
"""

from nablasso.estimators import (
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
    DerivativePath,
    KnockoffSelector,
    NablassoClassifier,
    NablassoRegressor,
    RandomizationTest,
    StabilitySelection,
    derivative_path,
)

__version__ = "0.1.0"

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
    "__version__",
    "derivative_path",
]
