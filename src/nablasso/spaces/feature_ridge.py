r"""Ridge regression on features: all ridges from one eigendecomposition, leave-one-out on the rows.

.. math:: \min_{w, b} \sum_i p_i (y_i - b - w \cdot \varphi(x_i))^2 + \lambda |w|^2

With ``C = V diag(e) V'`` (:mod:`nablasso.spaces.moments`) ``w = V (e + lambda)^{-1} V' c``. The
residual of row ``i`` when it is left out is its residual over ``1 - h_i``,

.. math:: h_i = p_i \big(1 + \psi_i^\top (C + \lambda)^{-1} \psi_i\big), \qquad
          \psi_i = \varphi(x_i) - mean ,

without the one and the mean where there is no intercept. It is what
:class:`~nablasso.spaces.RidgeInverse` computes, in O(n m^2) instead of O(n^3): the ridge is chosen
by the mean square of these residuals on the first ``JUDGED`` rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from nablasso.spaces.function import Function
from nablasso.spaces.kernel_ridge import Refit
from nablasso.spaces.moments import CHUNK_BYTES, FeatureMap, Moments, row_moments
from nablasso.spaces.ridge import RIDGE_GRID
from nablasso.types import Array, Index

JUDGED = 20_000  # rows that choose the ridge; their order is canonical, so they are a fair sample


class FeatureRidge:
    """Ridge regression of ``y`` on the features of the rows ``Z``; ``weights`` add up to one."""

    def __init__(
        self,
        features: FeatureMap,
        Z: Array,
        y: Array,
        weights: Array,
        *,
        fit_intercept: bool,
        moments: Moments | None = None,
    ) -> None:
        self.features, self.Z, self.y, self.weights = features, Z, y, weights
        self.fit_intercept = fit_intercept
        self._moments = moments

    @cached_property
    def moments(self) -> Moments:
        """Of the rows."""
        if self._moments is not None:
            return self._moments
        return row_moments(self.features, self.Z, self.y, self.weights)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array, Array]:
        """Eigenvalues and vectors of ``C``, and ``V' c``."""
        moments = self.moments
        C, c = (moments.C, moments.c) if self.fit_intercept else moments.uncentred()[:2]
        e, V = eigh(C, driver="evd", check_finite=False)
        return np.maximum(e, 0.0), V, V.T @ c

    @property
    def trace(self) -> float:
        """Trace of ``C``: the natural unit of ``ridge``."""
        return float(self._spectrum[0].sum())

    def coefficients(self, ridge: float) -> tuple[Array, float]:
        """``w`` and the intercept."""
        e, V, c = self._spectrum
        w = V @ (c / (e + ridge))
        moments = self.moments
        b = moments.y_mean - float(w @ moments.mean) if self.fit_intercept else 0.0
        return w, b

    def loo_residuals(self, ridges: Array, n_rows: int | None = None) -> Iterator[Array]:
        """Leave-one-out residuals (rows, ridges), chunk by chunk of the first ``n_rows`` rows."""
        e, V, c = self._spectrum
        inverse = 1 / (e[:, None] + ridges)
        own = 1.0 if self.fit_intercept else 0.0
        n = len(self.Z) if n_rows is None else min(n_rows, len(self.Z))
        step = max(1, CHUNK_BYTES // (8 * max(1, self.features.n_components)))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            phi = np.asarray(self.features.features(self.Z[rows]), dtype=float)
            B = (phi - own * self.moments.mean) @ V
            residuals = (self.y[rows] - own * self.moments.y_mean)[:, None]
            residuals = residuals - B @ (inverse * c[:, None])
            leverage = self.weights[rows, None] * (own + B**2 @ inverse)
            yield residuals / np.maximum(1 - leverage, 1e-10)

    def best_ridge(self, floor: float = 0.0) -> float:
        """Ridge of smallest leave-one-out error on the grid ``trace * RIDGE_GRID``."""
        ridges = (self.trace or 1.0) * RIDGE_GRID[floor <= RIDGE_GRID]
        errors, start = np.zeros(len(ridges)), 0
        for residuals in self.loo_residuals(ridges, JUDGED):
            stop = start + len(residuals)
            errors += self.weights[start:stop] @ residuals**2
            start = stop
        # the largest among ties: flat curves take the smooth end
        best = np.flatnonzero(errors <= errors.min() * (1 + 1e-10))[-1]
        return float(ridges[best])

    def refit(self, columns: Index) -> Refit:
        """The function at the best ridge, of these columns of the input."""
        ridge = self.best_ridge()
        w, b = self.coefficients(ridge)
        residuals = [part[:, 0] for part in self.loo_residuals(np.array([ridge]))]
        return Refit(Function(b, columns, self.features, w), ridge, np.concatenate(residuals))
