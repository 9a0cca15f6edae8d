"""Hierarchical kernel learning: kernels on a DAG, selected by a norm whose patterns are hulls."""

from nablasso.hierarchy.dag import Hierarchy, Node, Outside, hull_of, sinks_of
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
from nablasso.hierarchy.explicit import DagHierarchy, ExplicitDag, KernelDag
from nablasso.hierarchy.flat import Flat
from nablasso.hierarchy.function import HullFunction, function_of
from nablasso.hierarchy.grid import Grid
from nablasso.hierarchy.path import largest_alpha, walk
from nablasso.hierarchy.pruning import Pruned, Pruner, has_likelihood
from nablasso.hierarchy.reduced import ReducedProblem, Sample
from nablasso.hierarchy.refit import HullRefit, Refitter, penalised
from nablasso.hierarchy.search import Found, Search, Settings
from nablasso.hierarchy.solvers import SOLVERS, ReducedSolver, as_reduced_solver
from nablasso.hierarchy.whitened import Whitened

__all__ = [
    "SOLVERS",
    "AllSubsetsGaussian",
    "DagHierarchy",
    "Decomposition",
    "ExplicitDag",
    "Flat",
    "Found",
    "GaussHermite",
    "Grid",
    "Hermite",
    "Hierarchy",
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
    "hull_of",
    "largest_alpha",
    "penalised",
    "sinks_of",
    "walk",
]
