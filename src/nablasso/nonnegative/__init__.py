"""Functions that must stay non-negative: PSD models, their algebra, and the tasks they serve."""

from nablasso.nonnegative.fitting import FittedTask
from nablasso.nonnegative.model import Bumps, LinearModel, PSDModel
from nablasso.nonnegative.task import Base, Task

__all__ = ["Base", "Bumps", "FittedTask", "LinearModel", "PSDModel", "Task"]
