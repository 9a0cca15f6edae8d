"""Sparse gradient learning: gradients of a function from pairs of rows, most of them zero."""

from nablasso.gradients.functions import Constant, Delta, KernelFactor, find_directions
from nablasso.gradients.learner import (
    SOLVERS,
    GradientData,
    GradientFit,
    GradientParameters,
    Learner,
    union_of,
)
from nablasso.gradients.pairs import make_pairs
from nablasso.gradients.problem import FORMS, GradientPoint, GradientProblem, RowPenalty
from nablasso.gradients.solvers import DEFAULT_MAX_ITER, ActiveSet, ForwardBackward, null_point

__all__ = [
    "DEFAULT_MAX_ITER",
    "FORMS",
    "SOLVERS",
    "ActiveSet",
    "Constant",
    "Delta",
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
