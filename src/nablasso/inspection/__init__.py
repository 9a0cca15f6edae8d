"""Looking at fitted models: dependences, interactions, paths, and displays of them."""

from nablasso.estimators.display import Dependence, PairDependence
from nablasso.inspection.dependence import pair_dependence, partial_dependence
from nablasso.inspection.function_displays import (
    DensityDisplay,
    DerivativeDisplay,
    InteractionDisplay,
    PairDisplay,
    QuantileDisplay,
)
from nablasso.inspection.sobol import SobolIndices, interaction_shares, sobol_indices
from nablasso.inspection.structure_displays import DagDisplay, EdrDisplay, PathDisplay

__all__ = [
    "DagDisplay",
    "DensityDisplay",
    "Dependence",
    "DerivativeDisplay",
    "EdrDisplay",
    "InteractionDisplay",
    "PairDependence",
    "PairDisplay",
    "PathDisplay",
    "QuantileDisplay",
    "SobolIndices",
    "interaction_shares",
    "pair_dependence",
    "partial_dependence",
    "sobol_indices",
]
