"""Spaces: where f lives, with its values, gradients and norm."""

from nablasso.spaces.function import Function
from nablasso.spaces.kernel_machine import (
    best_machine,
    dual_feasible,
    kernel_machine,
    quadratic_model,
)
from nablasso.spaces.kernel_ridge import (
    SMALLEST_MACHINE,
    Refit,
    kernel_ridge,
    kernel_trace,
    length_scale,
    machine_on_grid,
    machine_refit,
)
from nablasso.spaces.memory import require_memory
from nablasso.spaces.penalty_points import PenaltyPoints, penalty_points
from nablasso.spaces.representer import RepresenterSpace
from nablasso.spaces.ridge import RidgeInverse
from nablasso.spaces.weighted_ridge import WeightedRidge

__all__ = [
    "SMALLEST_MACHINE",
    "Function",
    "PenaltyPoints",
    "Refit",
    "RepresenterSpace",
    "RidgeInverse",
    "WeightedRidge",
    "best_machine",
    "dual_feasible",
    "kernel_machine",
    "kernel_ridge",
    "kernel_trace",
    "length_scale",
    "machine_on_grid",
    "machine_refit",
    "penalty_points",
    "quadratic_model",
    "require_memory",
]
