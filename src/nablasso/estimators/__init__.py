"""scikit-learn estimators: validate, build, solve, unpack."""

from nablasso.estimators.derivative import (
    DerivativeElasticNet,
    DerivativeGroupLasso,
    DerivativeLasso,
)
from nablasso.estimators.derivative_cv import (
    DerivativeElasticNetCV,
    DerivativeGroupLassoCV,
    DerivativeLassoCV,
)
from nablasso.estimators.path import DerivativePath, derivative_path

__all__ = [
    "DerivativeElasticNet",
    "DerivativeElasticNetCV",
    "DerivativeGroupLasso",
    "DerivativeGroupLassoCV",
    "DerivativeLasso",
    "DerivativeLassoCV",
    "DerivativePath",
    "derivative_path",
]
