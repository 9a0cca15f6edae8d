"""Losses of one or several outputs per row."""

from nablasso.nonnegative.losses.base import RowLoss
from nablasso.nonnegative.losses.gaussian import GaussianLoss
from nablasso.nonnegative.losses.log import LogLoss
from nablasso.nonnegative.losses.pinball import PinballLoss
from nablasso.nonnegative.losses.poisson import PoissonLoss
from nablasso.nonnegative.losses.squared import SquaredLoss

__all__ = [
    "GaussianLoss",
    "LogLoss",
    "PinballLoss",
    "PoissonLoss",
    "RowLoss",
    "SquaredLoss",
]
