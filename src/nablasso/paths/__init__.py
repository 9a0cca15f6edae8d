"""Families of problems in the exact space, in feature spaces, on landmarks; paths along alpha."""

from nablasso.paths.family import DEFAULT_FRACTION, RIDGE_FLOOR, Family, Formulation
from nablasso.paths.feature_family import FeatureFamily
from nablasso.paths.landmark_family import LandmarkFamily
from nablasso.paths.smooth_feature_family import SmoothFeatureFamily
from nablasso.paths.spaces import family_in
from nablasso.paths.statistics_family import StatisticsFamily
from nablasso.paths.walk import alpha_grid, consistent_tau, support_of, walk_path

__all__ = [
    "DEFAULT_FRACTION",
    "RIDGE_FLOOR",
    "Family",
    "FeatureFamily",
    "Formulation",
    "LandmarkFamily",
    "SmoothFeatureFamily",
    "StatisticsFamily",
    "alpha_grid",
    "consistent_tau",
    "family_in",
    "support_of",
    "walk_path",
]
