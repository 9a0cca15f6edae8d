"""Spaces: where f lives, with its values, gradients and norm."""

from nablasso.spaces.exact import (
    Function,
    PenaltyPoints,
    RepresenterSpace,
    Space,
    SpaceChoice,
    choose_space,
    penalty_points,
    require_memory,
)
from nablasso.spaces.features import (
    FeatureMap,
    FeatureRows,
    FeatureSpace,
    Moments,
    PseudoRows,
    slope_map,
)
from nablasso.spaces.maps import (
    FourierFeatures,
    LowRank,
    NystromFeatures,
    draw_fourier,
    draw_nystrom,
    low_rank,
    nystrom_features,
    slope_moments,
)

__all__ = [
    "FeatureMap",
    "FeatureRows",
    "FeatureSpace",
    "FourierFeatures",
    "Function",
    "LowRank",
    "Moments",
    "NystromFeatures",
    "PenaltyPoints",
    "PseudoRows",
    "RepresenterSpace",
    "Space",
    "SpaceChoice",
    "choose_space",
    "draw_fourier",
    "draw_nystrom",
    "low_rank",
    "nystrom_features",
    "penalty_points",
    "require_memory",
    "slope_map",
    "slope_moments",
]
