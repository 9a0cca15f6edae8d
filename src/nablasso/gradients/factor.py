r"""A kernel as an inner product of few features: ``K = Phi Phi'``.

A function of the RKHS spanned by the points is ``f(x) = phi(x) . b`` with norm ``||f|| = |b|``,
where ``phi`` maps the points to the rows of ``Phi`` (N, r). Pivoted Cholesky factorisation
(:func:`nablasso.spaces.low_rank`) finds ``Phi`` and the rank r, which is p for the linear kernel
however many rows there are. The paper's square root of K is ``Phi`` times a rotation, so norms,
steps and solutions are the same.

With pivots P and the triangle ``L = Phi[P]``: ``phi(x) = L^{-1} k(x_P, x)``, and
``f = sum_l c_l k(x_l, .)`` with ``c_P = L^{-T} b`` and zero elsewhere.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from nablasso.kernels import Kernel
from nablasso.kernels.base import row_blocks
from nablasso.spaces.nystrom import low_rank
from nablasso.types import Array

RANK_TOL = 1e-12  # of the mean of k(x, x): what is left out of K


class KernelFactor:
    """Features of a kernel on points.

    Parameters
    ----------
    kernel : Kernel
    points : array, shape (N, p)
    length_scale : float
        Points are divided by it before the kernel sees them.
    """

    def __init__(self, kernel: Kernel, points: Array, length_scale: float) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.n_points = len(points)
        scaled = points / length_scale
        self.phi, self.pivots, self.triangle = low_rank(kernel(scaled, scaled), tol=RANK_TOL)
        self._centres = scaled[self.pivots]

    @property
    def rank(self) -> int:
        """Number of features."""
        return int(self.phi.shape[1])

    def coefficients(self, B: Array) -> Array:
        """``C`` (s, N) of functions ``B`` (s, r): zero outside the pivots."""
        C = np.zeros((len(B), self.n_points))
        if self.rank:
            C[:, self.pivots] = solve_triangular(self.triangle, B.T, trans="T", lower=True).T
        return C

    def evaluate(self, Z: Array, B: Array) -> Array:
        """Values (m, s) of functions ``B`` (s, r) at new points ``Z`` (m, p)."""
        out = np.zeros((len(Z), len(B)))
        if not self.rank or not len(B):
            return out
        C = solve_triangular(self.triangle, B.T, trans="T", lower=True)
        for rows in row_blocks(len(Z), max(self.rank, Z.shape[1])):
            out[rows] = self.kernel(Z[rows] / self.length_scale, self._centres) @ C
        return out
