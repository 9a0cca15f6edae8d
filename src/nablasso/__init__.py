"""nablasso: the lasso for nonlinear functions.

Which columns does y depend on, in what shape, and what will y be next? No linearity, no additivity
assumed; every answer carries a duality gap.

The estimators of :mod:`nablasso.estimators` are names of this module, with :func:`load` and
:func:`save`. They are imported when first asked for: the command's help needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nablasso.estimators import *  # noqa: F403 (its __all__ is the list of the estimators)
    from nablasso.persistence import load as load
    from nablasso.persistence import save as save

__version__ = "0.2.0"

FILES = ("load", "save")


def __getattr__(name: str) -> Any:
    """An estimator, a folder of the library, or ``__all__``."""
    if name in FILES:
        return getattr(import_module("nablasso.persistence"), name)
    if not name.startswith("_") and find_spec(f"nablasso.{name}") is not None:
        return import_module(f"nablasso.{name}")
    estimators = import_module("nablasso.estimators")
    if name == "__all__":
        return [*estimators.__all__, *FILES, "__version__"]
    if name not in estimators.__all__:
        raise AttributeError(f"module 'nablasso' has no attribute {name!r}")
    return getattr(estimators, name)


def __dir__() -> list[str]:
    """What there is to use."""
    return sorted({*globals(), *__getattr__("__all__")})
