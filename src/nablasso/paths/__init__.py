"""Families of problems in the exact space, on features, on landmarks; paths along alpha."""

from nablasso.paths.family import (
    DEFAULT_FRACTION,
    RIDGE_FLOOR,
    Formulation,
    ProblemFamily,
    alpha_grid,
    walk_path,
)
from nablasso.paths.statistics_family import StatisticsFamily

__all__ = [
    "DEFAULT_FRACTION",
    "RIDGE_FLOOR",
    "Formulation",
    "ProblemFamily",
    "StatisticsFamily",
    "alpha_grid",
    "walk_path",
]
