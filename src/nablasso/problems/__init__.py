"""The problem (P): primal, dual, gap, bounds and alpha_max, for the squared and other losses."""

from nablasso.problems.base import (
    ABOVE,
    Coefficients,
    DualPoint,
    Problem,
    SquaredProblem,
    between,
    conjugate_gradients,
    top_eigenvalue,
)
from nablasso.problems.smooth import SmoothProblem, descend, on_pseudo_rows

__all__ = [
    "ABOVE",
    "Coefficients",
    "DualPoint",
    "Problem",
    "SmoothProblem",
    "SquaredProblem",
    "between",
    "conjugate_gradients",
    "descend",
    "on_pseudo_rows",
    "top_eigenvalue",
]
