"""Spaces: where f lives, with its values, gradients and norm."""

from nablasso.spaces.choice import (
    ExactSpace,
    FourierSpace,
    NystromSpace,
    SpaceChoice,
    choose_space,
)
from nablasso.spaces.compressed import FeatureSpace
from nablasso.spaces.feature_machine import (
    MachineData,
    best_feature_machine,
    feature_machine,
    feature_refit,
)
from nablasso.spaces.feature_ridge import FeatureRidge
from nablasso.spaces.feature_rows import FeatureRows
from nablasso.spaces.fourier import FourierFeatures, draw_fourier, slope_moments
from nablasso.spaces.frequencies import has_frequencies
from nablasso.spaces.frozen import FrozenSpace
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
from nablasso.spaces.moments import FeatureMap, Moments, row_moments
from nablasso.spaces.nystrom import NystromFeatures, draw_nystrom, nystrom_features
from nablasso.spaces.penalty_points import PenaltyPoints, penalty_points
from nablasso.spaces.representer import RepresenterSpace
from nablasso.spaces.ridge import SMALLEST as SMALLEST_RIDGE
from nablasso.spaces.ridge import RidgeInverse
from nablasso.spaces.space import Space
from nablasso.spaces.statistics import SufficientStatistics
from nablasso.spaces.weighted_ridge import WeightedRidge

__all__ = [
    "SMALLEST_MACHINE",
    "SMALLEST_RIDGE",
    "ExactSpace",
    "FeatureMap",
    "FeatureRidge",
    "FeatureRows",
    "FeatureSpace",
    "FourierFeatures",
    "FourierSpace",
    "FrozenSpace",
    "Function",
    "MachineData",
    "Moments",
    "NystromFeatures",
    "NystromSpace",
    "PenaltyPoints",
    "Refit",
    "RepresenterSpace",
    "RidgeInverse",
    "Space",
    "SpaceChoice",
    "SufficientStatistics",
    "WeightedRidge",
    "best_feature_machine",
    "best_machine",
    "choose_space",
    "draw_fourier",
    "draw_nystrom",
    "dual_feasible",
    "feature_machine",
    "feature_refit",
    "has_frequencies",
    "kernel_machine",
    "kernel_ridge",
    "kernel_trace",
    "length_scale",
    "machine_on_grid",
    "machine_refit",
    "nystrom_features",
    "penalty_points",
    "quadratic_model",
    "require_memory",
    "row_moments",
    "slope_moments",
]
