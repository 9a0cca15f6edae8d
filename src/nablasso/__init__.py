"""nablasso: the lasso for nonlinear functions.

Which columns does y depend on, in what shape, and what will y be next? No linearity, no additivity
assumed; every answer carries a duality gap.
"""

from nablasso.estimators import (
    DerivativeElasticNet,
    DerivativeElasticNetCV,
    DerivativeGroupLasso,
    DerivativeGroupLassoCV,
    DerivativeLasso,
    DerivativeLassoCV,
    DerivativePath,
    derivative_path,
)

__version__ = "0.1.0"

__all__ = [
    "DerivativeElasticNet",
    "DerivativeElasticNetCV",
    "DerivativeGroupLasso",
    "DerivativeGroupLassoCV",
    "DerivativeLasso",
    "DerivativeLassoCV",
    "DerivativePath",
    "__version__",
    "derivative_path",
]
