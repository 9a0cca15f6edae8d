"""Hierarchical kernel learning: kernels on a DAG, selected by a norm whose patterns are hulls."""

from nablasso.hierarchy.consistency import HullConsistency, hull_consistency
from nablasso.hierarchy.dag import (
    DagHierarchy,
    ExplicitDag,
    Hierarchy,
    KernelDag,
    Node,
    Outside,
    hull_of,
    sinks_of,
)
from nablasso.hierarchy.decompositions import (
    AllSubsetsGaussian,
    Decomposition,
    GaussHermite,
    Hermite,
    KernelPCA,
    Monomials,
    Spline,
    as_decomposition,
)
from nablasso.hierarchy.grid import Flat, Grid
from nablasso.hierarchy.problem import HullProblem, LossSample
from nablasso.hierarchy.refit import (
    HullFunction,
    HullLearner,
    HullRefit,
    Penalised,
    Pruned,
    Pruner,
    Refitter,
    function_of,
    has_likelihood,
)
from nablasso.hierarchy.search import Budget, Found, Search, largest_alpha, walk
from nablasso.hierarchy.solvers import SOLVERS, HullSolver

__all__ = [
    "SOLVERS",
    "AllSubsetsGaussian",
    "Budget",
    "DagHierarchy",
    "Decomposition",
    "ExplicitDag",
    "Flat",
    "Found",
    "GaussHermite",
    "Grid",
    "Hermite",
    "Hierarchy",
    "HullConsistency",
    "HullFunction",
    "HullLearner",
    "HullProblem",
    "HullRefit",
    "HullSolver",
    "KernelDag",
    "KernelPCA",
    "LossSample",
    "Monomials",
    "Node",
    "Outside",
    "Penalised",
    "Pruned",
    "Pruner",
    "Refitter",
    "Search",
    "Spline",
    "as_decomposition",
    "function_of",
    "has_likelihood",
    "hull_consistency",
    "hull_of",
    "largest_alpha",
    "sinks_of",
    "walk",
]
