"""scikit-learn estimators: validate, build, solve, unpack."""

from nablasso.estimators.automatic import NablassoClassifier, NablassoRegressor
from nablasso.estimators.cross_validation import Path, path
from nablasso.estimators.derivative import (
    DerivativeLasso,
    DerivativeLassoClassifier,
    DerivativeLassoClassifierCV,
    DerivativeLassoCV,
)
from nablasso.estimators.error_control import (
    KnockoffSelector,
    RandomizationTest,
    StabilitySelection,
)
from nablasso.estimators.held_out_screening import HeldOutScreening
from nablasso.estimators.hierarchical import (
    HierarchicalKernelClassifier,
    HierarchicalKernelClassifierCV,
    HierarchicalKernelRegressor,
    HierarchicalKernelRegressorCV,
)
from nablasso.estimators.nonnegative import PSDDensity, PSDDensityCV
from nablasso.estimators.nonnegative_regressors import (
    ConeRegressor,
    ConeRegressorCV,
    HeteroscedasticRegressor,
    HeteroscedasticRegressorCV,
    MultiQuantileRegressor,
    MultiQuantileRegressorCV,
    PSDRegressor,
    PSDRegressorCV,
)
from nablasso.estimators.sparse_gradient import (
    SparseGradientClassifier,
    SparseGradientClassifierCV,
    SparseGradientRegressor,
    SparseGradientRegressorCV,
)

__all__ = [
    "ConeRegressor",
    "ConeRegressorCV",
    "DerivativeLasso",
    "DerivativeLassoCV",
    "DerivativeLassoClassifier",
    "DerivativeLassoClassifierCV",
    "HeldOutScreening",
    "HeteroscedasticRegressor",
    "HeteroscedasticRegressorCV",
    "HierarchicalKernelClassifier",
    "HierarchicalKernelClassifierCV",
    "HierarchicalKernelRegressor",
    "HierarchicalKernelRegressorCV",
    "KnockoffSelector",
    "MultiQuantileRegressor",
    "MultiQuantileRegressorCV",
    "NablassoClassifier",
    "NablassoRegressor",
    "PSDDensity",
    "PSDDensityCV",
    "PSDRegressor",
    "PSDRegressorCV",
    "Path",
    "RandomizationTest",
    "SparseGradientClassifier",
    "SparseGradientClassifierCV",
    "SparseGradientRegressor",
    "SparseGradientRegressorCV",
    "StabilitySelection",
    "path",
]
