"""scikit-learn estimators: validate, build, solve, unpack."""

from nablasso.estimators.density import PSDDensity, PSDDensityCV
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
from nablasso.estimators.held_out_screening import HeldOutScreening
from nablasso.estimators.hierarchical import (
    HierarchicalKernelClassifier,
    HierarchicalKernelRegressor,
)
from nablasso.estimators.hierarchical_cv import (
    HierarchicalKernelClassifierCV,
    HierarchicalKernelRegressorCV,
)
from nablasso.estimators.hierarchical_path import HierarchicalPath, hierarchical_path
from nablasso.estimators.knockoffs import KnockoffSelector
from nablasso.estimators.multiple_kernel import (
    MultipleKernelClassifier,
    MultipleKernelClassifierCV,
    MultipleKernelRegressor,
    MultipleKernelRegressorCV,
)
from nablasso.estimators.nablasso import NablassoClassifier, NablassoRegressor
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
from nablasso.estimators.path import DerivativePath, derivative_path
from nablasso.estimators.randomization import RandomizationTest
from nablasso.estimators.sparse_gradient import (
    SparseGradientClassifier,
    SparseGradientRegressor,
)
from nablasso.estimators.sparse_gradient_cv import (
    SparseGradientClassifierCV,
    SparseGradientRegressorCV,
)
from nablasso.estimators.sparse_gradient_path import SparseGradientPath, sparse_gradient_path
from nablasso.estimators.stability import StabilitySelection

__all__ = [
    "ConeRegressor",
    "ConeRegressorCV",
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
    "HeldOutScreening",
    "HeteroscedasticRegressor",
    "HeteroscedasticRegressorCV",
    "HierarchicalKernelClassifier",
    "HierarchicalKernelClassifierCV",
    "HierarchicalKernelRegressor",
    "HierarchicalKernelRegressorCV",
    "HierarchicalPath",
    "KnockoffSelector",
    "MultiQuantileRegressor",
    "MultiQuantileRegressorCV",
    "MultipleKernelClassifier",
    "MultipleKernelClassifierCV",
    "MultipleKernelRegressor",
    "MultipleKernelRegressorCV",
    "NablassoClassifier",
    "NablassoRegressor",
    "PSDDensity",
    "PSDDensityCV",
    "PSDRegressor",
    "PSDRegressorCV",
    "RandomizationTest",
    "SparseGradientClassifier",
    "SparseGradientClassifierCV",
    "SparseGradientPath",
    "SparseGradientRegressor",
    "SparseGradientRegressorCV",
    "StabilitySelection",
    "derivative_path",
    "hierarchical_path",
    "sparse_gradient_path",
]
