"""Sparse gradient learning: gradients of a function from pairs of rows, most of them zero."""

from nablasso.gradients.learner import (
    SOLVERS,
    GradientData,
    GradientFit,
    GradientParameters,
    KernelFactor,
    Learner,
    find_directions,
    union_of,
)
from nablasso.gradients.problem import FORMS, GradientPoint, GradientProblem, RowPenalty, make_pairs
from nablasso.gradients.solvers import DEFAULT_MAX_ITER, ActiveSet, ForwardBackward, null_point

__all__ = [
    "DEFAULT_MAX_ITER",
    "FORMS",
    "SOLVERS",
    "ActiveSet",
    "ForwardBackward",
    "GradientData",
    "GradientFit",
    "GradientParameters",
    "GradientPoint",
    "GradientProblem",
    "KernelFactor",
    "Learner",
    "RowPenalty",
    "find_directions",
    "make_pairs",
    "null_point",
    "union_of",
]
