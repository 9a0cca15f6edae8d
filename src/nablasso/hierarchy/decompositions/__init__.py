"""Kernels of one variable as sums of kernels of growing complexity."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from nablasso.exceptions import InvalidParameterError
from nablasso.hierarchy.decompositions.base import Decomposition, check_degree
from nablasso.hierarchy.decompositions.gaussian import AllSubsetsGaussian
from nablasso.hierarchy.decompositions.hermite import GaussHermite, Hermite
from nablasso.hierarchy.decompositions.kernel_pca import KernelPCA
from nablasso.hierarchy.decompositions.polynomial import Polynomial
from nablasso.hierarchy.decompositions.spline import Spline

WITH_DEGREE: dict[str, Any] = {
    "hermite": Hermite,
    "polynomial": Polynomial,
    "gauss_hermite": GaussHermite,
    "pca": KernelPCA,
}
WITHOUT_DEGREE: dict[str, Any] = {"spline": Spline, "gaussian": AllSubsetsGaussian}


def as_decomposition(decomposition: object, degree: object = 3) -> Decomposition:
    """The decomposition that a name or an object stands for; an object is copied.

    ``degree`` is for names alone; splines have two levels and subsets of variables one.
    """
    degree = check_degree(degree)
    if isinstance(decomposition, Decomposition):
        made: Decomposition = clone(decomposition)
    elif decomposition in WITH_DEGREE:
        made = WITH_DEGREE[str(decomposition)](degree)
    elif decomposition in WITHOUT_DEGREE:
        made = WITHOUT_DEGREE[str(decomposition)]()
    else:
        names = ", ".join([*WITH_DEGREE, *WITHOUT_DEGREE])
        raise InvalidParameterError(
            f"decomposition must be one of {names} or an object of nablasso.hierarchy with the "
            f"methods n_levels and kernel; got {decomposition!r}."
        )
    if made.n_levels() < 2:
        raise InvalidParameterError(
            f"A decomposition needs at least two levels (q of at least 1); {made!r} has "
            f"{made.n_levels()}."
        )
    return made


__all__ = [
    "AllSubsetsGaussian",
    "Decomposition",
    "GaussHermite",
    "Hermite",
    "KernelPCA",
    "Polynomial",
    "Spline",
    "as_decomposition",
]
