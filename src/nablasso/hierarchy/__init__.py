"""Hierarchical kernel learning: kernels on a DAG, selected by a norm whose patterns are hulls."""

from nablasso.hierarchy.dag import ExplicitDag, Hierarchy, KernelDag, Node, Outside
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
from nablasso.hierarchy.refit import HullLearner, Pruner, Refitter
from nablasso.hierarchy.search import (
    Budget,
    Found,
    HullConsistency,
    Search,
    hull_consistency,
    largest_alpha,
)

__all__ = [
    "AllSubsetsGaussian",
    "Budget",
    "Decomposition",
    "ExplicitDag",
    "Flat",
    "Found",
    "GaussHermite",
    "Grid",
    "Hermite",
    "Hierarchy",
    "HullConsistency",
    "HullLearner",
    "HullProblem",
    "KernelDag",
    "KernelPCA",
    "LossSample",
    "Monomials",
    "Node",
    "Outside",
    "Pruner",
    "Refitter",
    "Search",
    "Spline",
    "as_decomposition",
    "hull_consistency",
    "largest_alpha",
]
