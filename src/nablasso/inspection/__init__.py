"""Looking at fitted models: dependences, interactions, paths, and displays of them."""

from nablasso.estimators.display import Dependence, PairDependence
from nablasso.inspection.dependence import (
    InspectedFunction,
    pair_dependence,
    partial_dependence,
    response_of,
)
from nablasso.inspection.function_displays import (
    DensityDisplay,
    DerivativeDisplay,
    InteractionDisplay,
    PairDisplay,
    QuantileDisplay,
)
from nablasso.inspection.sobol import SobolIndices, interaction_shares, sobol_indices
from nablasso.inspection.structure_displays import DagDisplay, EdrDisplay, PathDisplay, path_of

__all__ = [
    "DagDisplay",
    "DensityDisplay",
    "Dependence",
    "DerivativeDisplay",
    "EdrDisplay",
    "InspectedFunction",
    "InteractionDisplay",
    "PairDependence",
    "PairDisplay",
    "PathDisplay",
    "QuantileDisplay",
    "SobolIndices",
    "interaction_shares",
    "pair_dependence",
    "partial_dependence",
    "path_of",
    "response_of",
    "sobol_indices",
]
