"""The problem (P): primal, dual, gap, bounds and alpha_max, for the squared and other losses."""

from nablasso.problems.base import ABOVE, Coefficients, DualPoint, Problem, between
from nablasso.problems.feature_smooth import FeatureSmoothProblem
from nablasso.problems.smooth import SmoothProblem, descend
from nablasso.problems.squared import SquaredProblem, top_eigenvalue

__all__ = [
    "ABOVE",
    "Coefficients",
    "DualPoint",
    "FeatureSmoothProblem",
    "Problem",
    "SmoothProblem",
    "SquaredProblem",
    "between",
    "descend",
    "top_eigenvalue",
]
