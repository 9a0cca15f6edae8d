"""Hierarchical kernel learning: kernels on a DAG, selected by a norm whose patterns are hulls."""

from nablasso.hierarchy.dag import ExplicitDag, KernelDag
from nablasso.hierarchy.decompositions import (
    AllSubsetsGaussian,
    Decomposition,
    GaussHermite,
    Hermite,
    KernelPCA,
    Monomials,
    Spline,
)
from nablasso.hierarchy.search import HullConsistency, hull_consistency

__all__ = [
    "AllSubsetsGaussian",
    "Decomposition",
    "ExplicitDag",
    "GaussHermite",
    "Hermite",
    "HullConsistency",
    "KernelDag",
    "KernelPCA",
    "Monomials",
    "Spline",
    "hull_consistency",
]
