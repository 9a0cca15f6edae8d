r"""Kernel ridge regression in closed form, for all ridges from one eigendecomposition.

For weights ``p`` (adding up to one), with an unpenalised intercept,

.. math:: \min_{u, b} \sum_i p_i (y_i - b - (K u)_i)^2 + \lambda\, u^\top K u

is solved by ``H u = y - b``, ``1'u = 0`` with ``H = K + lambda diag(1/p)``. Put
``S = diag(sqrt p)``, ``s = sqrt p`` (a unit vector) and ``Q = I - s s'``. With
``Q S K S Q = V diag(w) V'``

.. math:: u = P y, \qquad P = S V \,\mathrm{diag}\big(1/(w + \lambda)\big)\, V^\top S

where the eigenvector ``s`` is left out: kept, it would let small ridges look perfect. Without
intercept ``Q = I``. The residual of row ``i`` when it is left out is ``(P y)_i / P_ii``.

Cost: O(n^3) once, O(n^2) per ridge for the leave-one-out error.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from nablasso.types import Array

# both in units of the trace of the weighted centred kernel
SMALLEST = 1e-11
RIDGE_GRID = np.logspace(-9, 1, 41)


class RidgeInverse:
    """The operator ``P`` for any ridge.

    Parameters
    ----------
    gram : array, shape (n, n)
    weights : array, shape (n,)
        Positive, adding up to one.
    fit_intercept : bool
    """

    def __init__(self, gram: Array, weights: Array, *, fit_intercept: bool = True) -> None:
        self.root = np.sqrt(weights)
        self.fit_intercept = fit_intercept
        A = gram * self.root[:, None] * self.root
        rounding = len(A) * np.finfo(float).eps * (float(np.trace(A)) or 1.0)
        if fit_intercept:
            A = _deflate(A, self.root)
        eigenvalues, V = eigh((A + A.T) / 2, driver="evd", overwrite_a=True, check_finite=False)
        if fit_intercept:  # the top eigenvector is s; make the others exactly orthogonal to it
            eigenvalues, V = eigenvalues[:-1], V[:, :-1]
            V -= np.outer(self.root, self.root @ V)
        self.eigenvalues = np.where(eigenvalues > rounding, eigenvalues, 0.0)
        self.vectors = V * self.root[:, None]

    @property
    def trace(self) -> float:
        """Trace of the weighted centred kernel: the natural unit of ``ridge``."""
        return float(self.eigenvalues.sum())

    @property
    def smallest_ridge(self) -> float:
        """Below this, rounding decides the solution."""
        return SMALLEST * (self.trace or 1.0)

    def matrix(self, ridge: float) -> Array:
        """``P``, shape (n, n)."""
        return (self.vectors / (self.eigenvalues + ridge)) @ self.vectors.T

    def coefficients(self, y: Array, ridge: float) -> Array:
        """``P y`` for targets ``y`` (n,) or (n, q), without forming ``P``."""
        g = 1 / (self.eigenvalues + ridge)
        return np.asarray(self.vectors @ (g * (self.vectors.T @ y).T).T)

    def loo_residuals(self, y: Array, ridge: float) -> Array:
        """Leave-one-out residuals at one ridge, shaped as ``y``: (n,) or (n, q)."""
        diagonal = (self.vectors**2) @ (1 / (self.eigenvalues + ridge))
        return np.asarray((self.coefficients(y, ridge).T / diagonal).T)

    def loo_errors(self, y: Array, ridges: Array) -> Array:
        """Weighted mean squared leave-one-out residual at each ridge, added up over targets."""
        g = 1 / (self.eigenvalues[:, None] + ridges)
        diagonal = (self.vectors**2) @ g
        errors = np.zeros(len(ridges))
        for c in np.atleast_2d((self.vectors.T @ y).T):
            errors += self.root**2 @ ((self.vectors @ (g * c[:, None])) / diagonal) ** 2
        return errors

    def best_ridge(self, y: Array, floor: float = 0.0) -> float:
        """Ridge of smallest leave-one-out error on the grid ``trace * RIDGE_GRID``.

        ``floor`` leaves out the ridges under that fraction of the trace.
        """
        return self._best(y, floor)[0]

    def smallest_error(self, y: Array) -> float:
        """Leave-one-out error at that ridge."""
        return self._best(y)[1]

    def _best(self, y: Array, floor: float = 0.0) -> tuple[float, float]:
        unit = self.trace if self.trace > 0 else 1.0
        ridges = unit * RIDGE_GRID[floor <= RIDGE_GRID]
        errors = self.loo_errors(y, ridges)
        # the largest among ties: flat curves (constant y, pure rounding) take the smooth end
        best = np.flatnonzero(errors <= errors.min() * (1 + 1e-10))[-1]
        return float(ridges[best]), float(errors[best])


def _deflate(A: Array, s: Array) -> Array:
    """``Q A Q`` with the unit vector ``s`` moved to the top of the spectrum.

    Left at eigenvalue zero, ``s`` would mix with the null space of a kernel of low rank.
    """
    As = A @ s
    centred = A - np.outer(s, As) - np.outer(As, s) + (s @ As) * np.outer(s, s)
    above = 2 * float(np.trace(A)) or 1.0
    return np.asarray(centred + above * np.outer(s, s))
