"""Functions that must stay non-negative: PSD models, their algebra, and the tasks they serve."""

from nablasso.nonnegative.base import Fit, FittedFunction
from nablasso.nonnegative.fitting import InfeasibleError, PSDFitter, check_solver, fit
from nablasso.nonnegative.gaussians import Bumps
from nablasso.nonnegative.losses import (
    GaussianLoss,
    LogLoss,
    PinballLoss,
    PoissonLoss,
    RowLoss,
    SquaredLoss,
)
from nablasso.nonnegative.model import LinearModel, PSDModel
from nablasso.nonnegative.task import Base, Functional, Task, natural_height

__all__ = [
    "Base",
    "Bumps",
    "Fit",
    "FittedFunction",
    "Functional",
    "GaussianLoss",
    "InfeasibleError",
    "LinearModel",
    "LogLoss",
    "PSDFitter",
    "PSDModel",
    "PinballLoss",
    "PoissonLoss",
    "RowLoss",
    "SquaredLoss",
    "Task",
    "check_solver",
    "fit",
    "natural_height",
]
