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
    Polynomial,
    Spline,
    as_decomposition,
)
from nablasso.hierarchy.grid import Flat, Grid, Whitened
from nablasso.hierarchy.problem import ReducedProblem, Sample
from nablasso.hierarchy.pruning import Pruned, Pruner, has_likelihood
from nablasso.hierarchy.refit import HullFunction, HullRefit, Refitter, function_of, penalised
from nablasso.hierarchy.search import Budget, Found, Search, Settings, largest_alpha, walk
from nablasso.hierarchy.solvers import SOLVERS, ReducedSolver, as_reduced_solver

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
    "HullRefit",
    "KernelDag",
    "KernelPCA",
    "Node",
    "Outside",
    "Polynomial",
    "Pruned",
    "Pruner",
    "ReducedProblem",
    "ReducedSolver",
    "Refitter",
    "Sample",
    "Search",
    "Settings",
    "Spline",
    "Whitened",
    "as_decomposition",
    "as_reduced_solver",
    "function_of",
    "has_likelihood",
    "hull_consistency",
    "hull_of",
    "largest_alpha",
    "penalised",
    "sinks_of",
    "walk",
]
