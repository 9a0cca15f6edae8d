r"""Kernel ridge regression for one set of weights and one ridge, by one Cholesky factorisation.

:class:`~nablasso.spaces.ridge.RidgeInverse` serves all ridges of one set of weights; Newton's
method for other losses changes its weights at every step and has one ridge. With ``S = diag(sqrt
q)``, ``e = sqrt q`` and ``B = (S K S + lambda)^{-1}`` the operator of that module is

.. math:: P = S \Big(B - \frac{B e e^\top B}{e^\top B e}\Big) S ,

without the second term where there is no intercept. O(n^3) once, O(n^2) a product.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri, dtrtri

from nablasso.types import Array


class WeightedRidge:
    """``P`` for weights ``q`` (any positive numbers) and a ridge."""

    def __init__(self, gram: Array, weights: Array, ridge: float, *, fit_intercept: bool) -> None:
        self.root = np.sqrt(weights)
        A = gram * self.root[:, None] * self.root
        A[np.diag_indices_from(A)] += ridge
        self.factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        self.fit_intercept = fit_intercept
        if fit_intercept:
            self.Be = cho_solve(self.factor, self.root, check_finite=False)
            self.eBe = float(self.root @ self.Be)

    def solve(self, target: Array) -> Array:
        """``P target``."""
        scaled = self.root * target
        x = cho_solve(self.factor, scaled, check_finite=False)
        if self.fit_intercept:
            x -= self.Be * (self.Be @ scaled / self.eBe)
        return np.asarray(self.root * x)

    def diagonal(self) -> Array:
        """Diagonal of ``P``, from the inverse of the triangular factor."""
        inverse = dtrtri(self.factor[0], lower=1)[0]
        B = np.einsum("ki,ki->i", *(np.tril(inverse),) * 2)
        if self.fit_intercept:
            B -= self.Be**2 / self.eBe
        return np.asarray(B * self.root**2)

    def matrix(self) -> Array:
        """``P``, shape (n, n)."""
        B = np.tril(dpotri(self.factor[0], lower=1)[0])
        B += np.tril(B, -1).T
        if self.fit_intercept:
            B -= np.outer(self.Be, self.Be / self.eBe)
        return np.asarray(B * self.root[:, None] * self.root)
