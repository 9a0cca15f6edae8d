r"""Ridge regression on features with leave-one-out in closed form: fewer features than rows.

What :class:`nablasso.spaces.RidgeInverse` does from the n x n kernel, from the thin singular value
decomposition of the weighted, centred features ``Q S Phi = U diag(sigma) V'`` instead: O(n D^2).
The directions that no feature reaches have eigenvalue zero,

.. math:: P = S \big[U \mathrm{diag}\big(1 / (\sigma^2 + \lambda)\big) U^\top
    + (Q - U U^\top) / \lambda\big] S .
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import svd

from nablasso.spaces.ridge import RIDGE_GRID
from nablasso.types import Array

NEGLIGIBLE = 1e-13  # relative singular values below are rounding


class ThinRidge:
    """Coefficients and left-out residuals at the best ridge."""

    def __init__(self, Phi: Array, y: Array, weights: Array, *, fit_intercept: bool) -> None:
        self.root = np.sqrt(weights)
        self.mean = weights @ Phi if fit_intercept else np.zeros(Phi.shape[1])
        self.y_mean = float(weights @ y) if fit_intercept else 0.0
        A = self.root[:, None] * (Phi - self.mean)
        U, sigma, Vt = svd(A, full_matrices=False, check_finite=False)
        keep = sigma > NEGLIGIBLE * max(float(np.max(sigma, initial=0.0)), 1e-300)
        self.U, self.sigma, self.Vt = U[:, keep], sigma[keep], Vt[keep]
        self.target = self.root * (y - self.y_mean)
        self.fit_intercept = fit_intercept
        unit = float(np.sum(self.sigma**2)) or 1.0
        ridges = unit * RIDGE_GRID
        errors = np.array([float(weights @ self.left_out(r) ** 2) for r in ridges])
        best = np.flatnonzero(errors <= errors.min() * (1 + 1e-10))[-1]
        self.ridge = float(ridges[best])

    def left_out(self, ridge: float) -> Array:
        """Residual of each row when it is left out."""
        inside = self.U.T @ self.target
        shrunk = 1 / (self.sigma**2 + ridge) - 1 / ridge
        Py = self.U @ (shrunk * inside) + self.target / ridge
        reach = 1 - self.root**2 if self.fit_intercept else np.ones(len(self.root))
        diagonal = (self.U**2) @ shrunk + reach / ridge
        return np.asarray(Py / (diagonal * self.root))

    def coefficients(self) -> tuple[Array, float]:
        """Coefficients of the features, and the intercept."""
        coef = self.Vt.T @ (self.sigma / (self.sigma**2 + self.ridge) * (self.U.T @ self.target))
        return np.asarray(coef), self.y_mean - float(self.mean @ coef)
