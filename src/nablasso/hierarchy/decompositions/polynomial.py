r"""Polynomials: ``(1 + x x')^q = sum_j binomial(q, j) (x x')^j``, every level of rank one."""

from __future__ import annotations

import numpy as np
from scipy.special import comb

from nablasso.hierarchy.decompositions.base import Array, Decomposition, check_degree


class Polynomial(Decomposition):
    """Monomials up to degree ``q``.

    Parameters
    ----------
    degree : int, default=3
        ``q``.
    """

    def __init__(self, degree: int = 3) -> None:
        self.degree = degree

    def n_levels(self) -> int:
        """``q + 1``."""
        return check_degree(self.degree) + 1

    def features(self, x: Array, level: int) -> Array:
        """``sqrt(binomial(q, j)) x^j``."""
        return np.asarray(np.sqrt(comb(self.degree, level)) * x[:, None] ** level)

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """``binomial(q, j) (x z)^j``."""
        return np.asarray(self.features(x, level) @ self.features(z, level).T)
