"""Sparse gradient learning: gradients of a function from pairs of rows, most of them zero."""

from nablasso.gradients.active_set import (
    DEFAULT_MAX_ITER,
    ActiveSet,
    GradientSolution,
    Iterates,
    largest_curvature,
)
from nablasso.gradients.directions import Directions, find_directions
from nablasso.gradients.factor import KernelFactor
from nablasso.gradients.fit import SOLVERS, GradientFit, Learner, union_of
from nablasso.gradients.forward_backward import ForwardBackward
from nablasso.gradients.function import GradientFunction
from nablasso.gradients.kernels import Constant, Delta
from nablasso.gradients.pairs import DensePairs, Pairs, SparsePairs, make_pairs
from nablasso.gradients.path import alpha_scale, null_point
from nablasso.gradients.penalty import FORMS, RowPenalty
from nablasso.gradients.problem import Certificate, GradientProblem, Point
from nablasso.gradients.setting import Recipe, Setting, column_groups

__all__ = [
    "DEFAULT_MAX_ITER",
    "FORMS",
    "SOLVERS",
    "ActiveSet",
    "Certificate",
    "Constant",
    "Delta",
    "DensePairs",
    "Directions",
    "ForwardBackward",
    "GradientFit",
    "GradientFunction",
    "GradientProblem",
    "GradientSolution",
    "Iterates",
    "KernelFactor",
    "Learner",
    "Pairs",
    "Point",
    "Recipe",
    "RowPenalty",
    "Setting",
    "SparsePairs",
    "alpha_scale",
    "column_groups",
    "find_directions",
    "largest_curvature",
    "make_pairs",
    "null_point",
    "union_of",
]
