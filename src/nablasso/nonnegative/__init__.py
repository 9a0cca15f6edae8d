"""Functions that must stay non-negative: PSD models, their algebra, and the tasks they serve."""

from nablasso.nonnegative.fitting import SOLVERS, FittedTask, PSDFitter, fit
from nablasso.nonnegative.losses import (
    GaussianLoss,
    PinballLoss,
    PoissonLoss,
    RowLoss,
    SquaredLoss,
    density_loss,
)
from nablasso.nonnegative.model import Bumps, LinearModel, PSDModel, pair_integrals
from nablasso.nonnegative.task import Base, Task, natural_height

__all__ = [
    "SOLVERS",
    "Base",
    "Bumps",
    "FittedTask",
    "GaussianLoss",
    "LinearModel",
    "PSDFitter",
    "PSDModel",
    "PinballLoss",
    "PoissonLoss",
    "RowLoss",
    "SquaredLoss",
    "Task",
    "density_loss",
    "fit",
    "natural_height",
    "pair_integrals",
]
