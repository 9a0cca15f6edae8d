"""Spaces: where f lives, with its values, gradients and norm."""

from nablasso.spaces.function import Function
from nablasso.spaces.kernel_ridge import Refit, kernel_ridge, length_scale
from nablasso.spaces.memory import require_memory
from nablasso.spaces.representer import RepresenterSpace
from nablasso.spaces.ridge import RidgeInverse

__all__ = [
    "Function",
    "Refit",
    "RepresenterSpace",
    "RidgeInverse",
    "kernel_ridge",
    "length_scale",
    "require_memory",
]
