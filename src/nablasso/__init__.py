"""nablasso: the lasso for nonlinear functions.

Which columns does y depend on, in what shape, and what will y be next? No linearity, no additivity
assumed; every answer carries a duality gap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nablasso.estimators import (
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
        MultipleKernelClassifier,
        MultipleKernelClassifierCV,
        MultipleKernelRegressor,
        MultipleKernelRegressorCV,
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
    from nablasso.estimators.alpha_path import Path, path
    from nablasso.persistence import load, save

__version__ = "0.2.0"

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
    "Path",
    "RandomizationTest",
    "SparseGradientClassifier",
    "SparseGradientClassifierCV",
    "SparseGradientRegressor",
    "SparseGradientRegressorCV",
    "StabilitySelection",
    "__version__",
    "load",
    "path",
    "save",
]


def __getattr__(name: str) -> Any:
    """Names and folders of the library, imported when first asked for.

    The command's help and ``nablasso.__version__`` need none of them.
    """
    if name in __all__:
        home = "persistence" if name in ("load", "save") else "estimators"
        value = getattr(import_module(f"nablasso.{home}"), name)
        globals()[name] = value
        return value
    if name.startswith("_"):
        raise AttributeError(f"module 'nablasso' has no attribute {name!r}")
    try:
        return import_module(f"nablasso.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"nablasso.{name}":
            raise
        raise AttributeError(f"module 'nablasso' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    """What there is to use."""
    return sorted({*globals(), *__all__})
