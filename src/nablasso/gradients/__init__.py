"""Sparse gradient learning: gradients of a function from pairs of rows, most of them zero."""

from nablasso.gradients.functions import (
    Constant,
    Delta,
    Directions,
    GradientFunction,
    KernelFactor,
    find_directions,
)
from nablasso.gradients.learner import (
    SOLVERS,
    GradientData,
    GradientFit,
    GradientParameters,
    Learner,
    union_of,
)
from nablasso.gradients.pairs import RowPairs, SparsePairs, make_pairs
from nablasso.gradients.problem import (
    FORMS,
    GradientCertificate,
    GradientPoint,
    GradientProblem,
    RowPenalty,
)
from nablasso.gradients.solvers import (
    DEFAULT_MAX_ITER,
    ActiveSet,
    ForwardBackward,
    GradientSolution,
    alpha_scale,
    null_point,
)

__all__ = [
    "DEFAULT_MAX_ITER",
    "FORMS",
    "SOLVERS",
    "ActiveSet",
    "Constant",
    "Delta",
    "Directions",
    "ForwardBackward",
    "GradientCertificate",
    "GradientData",
    "GradientFit",
    "GradientFunction",
    "GradientParameters",
    "GradientPoint",
    "GradientProblem",
    "GradientSolution",
    "KernelFactor",
    "Learner",
    "RowPairs",
    "RowPenalty",
    "SparsePairs",
    "alpha_scale",
    "find_directions",
    "make_pairs",
    "null_point",
    "union_of",
]
