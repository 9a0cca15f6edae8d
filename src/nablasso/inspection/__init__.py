"""Looking at fitted models: dependences, interactions, paths, and displays of them."""

from nablasso.estimators.alpha_path import Path
from nablasso.inspection.category import category_dependence
from nablasso.inspection.dag_display import DagDisplay
from nablasso.inspection.density_display import DensityDisplay
from nablasso.inspection.dependence import (
    Dependence,
    PairDependence,
    pair_dependence,
    partial_dependence,
)
from nablasso.inspection.derivative_display import DerivativeDisplay
from nablasso.inspection.edr_display import EdrDisplay
from nablasso.inspection.interaction_display import InteractionDisplay
from nablasso.inspection.pair_display import PairDisplay
from nablasso.inspection.path_display import PathDisplay
from nablasso.inspection.paths import path_of
from nablasso.inspection.quantile_display import QuantileDisplay
from nablasso.inspection.response import Response, response_of
from nablasso.inspection.strengths import interaction_strengths

__all__ = [
    "DagDisplay",
    "DensityDisplay",
    "Dependence",
    "DerivativeDisplay",
    "EdrDisplay",
    "InteractionDisplay",
    "PairDependence",
    "PairDisplay",
    "Path",
    "PathDisplay",
    "QuantileDisplay",
    "Response",
    "category_dependence",
    "interaction_strengths",
    "pair_dependence",
    "partial_dependence",
    "path_of",
    "response_of",
]
