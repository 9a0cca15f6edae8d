r"""Fourier features of the rows themselves: for losses that sums over rows cannot serve.

The space of :mod:`nablasso.spaces.compressed` with the true rows in place of pseudo-rows,

.. math:: w(u, v) = \Phi^\top u - \sum_a \omega_a \circ (R^\top v_a), \qquad
          f(x_i) = \varphi(x_i) \cdot w, \qquad g_a = -R\,(\omega_a \circ w) ,

so that a loss of any shape sees the predictions it needs. Derivatives stay at pseudo-points: their
norms come from ``S``, which does not depend on the loss. The kernel of the rows is never formed.

Cost: O(n m) for the values, O(d m^2) for the gradients. ``Phi`` is kept up to ``KEEP_BYTES`` and
computed anew in chunks beyond.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from nablasso.spaces.compressed import FeatureSpace, Slopes, slope_map
from nablasso.spaces.fourier import FourierFeatures
from nablasso.spaces.moments import CHUNK_BYTES, Moments, row_moments
from nablasso.types import Array

KEEP_BYTES = 512 << 20


class FeatureRows:
    """Features at rows ``Z``, and slopes at the penalty points by their moments ``S``."""

    def __init__(self, features: FourierFeatures, Z: Array, S: Array) -> None:
        self.features, self.Z = features, Z
        self.slopes: Slopes = slope_map(features, S)
        self.points: Array = np.zeros((self.slopes.n_points, features.n_columns))

    @property
    def n_samples(self) -> int:
        """``n``."""
        return len(self.Z)

    @property
    def n_features(self) -> int:
        """Number of variables."""
        return self.features.n_columns

    @cached_property
    def _kept(self) -> Array | None:
        if 8 * len(self.Z) * self.features.n_components > KEEP_BYTES:
            return None
        return np.asarray(self.features.features(self.Z), dtype=float)

    def chunks(self) -> list[slice]:
        """Rows whose features are handled at a time."""
        step = max(1, CHUNK_BYTES // (8 * max(1, self.features.n_components)))
        return [slice(start, start + step) for start in range(0, len(self.Z), step)]

    def phi(self, rows: slice) -> Array:
        """Features of some rows."""
        if self._kept is not None:
            return self._kept[rows]
        return np.asarray(self.features.features(self.Z[rows]), dtype=float)

    def at_rows(self, w: Array) -> Array:
        """``Phi w``."""
        return np.concatenate([self.phi(rows) @ w for rows in self.chunks()])

    def adjoint(self, u: Array) -> Array:
        """``Phi' u``."""
        out = np.zeros(self.features.n_components)
        for rows in self.chunks():
            out += u[rows] @ self.phi(rows)
        return out

    def compressed(self, target: Array, weights: Array, *, fit_intercept: bool) -> FeatureSpace:
        """(P) with the squared loss on these rows, weights adding up to one: its pseudo-rows."""
        moments = self.moments(target, weights)
        return FeatureSpace(self.features, moments, fit_intercept=fit_intercept, slopes=self.slopes)

    def moments(self, target: Array, weights: Array) -> Moments:
        """Of the rows with another target and other weights: one pass."""
        return row_moments(self.features, self.Z, target, weights, self._kept)

    @cached_property
    def gram(self) -> Array:
        """``K = Phi Phi'``, shape (n, n): for small tables only."""
        phi = self.phi(slice(None))
        return phi @ phi.T

    def coefficients(self, u: Array, v: Array) -> Array:
        """``w`` of the function, shape (m,)."""
        return self.adjoint(u) - self.slopes.adjoint(v)

    def push(self, v: Array) -> tuple[Array, Array]:
        """``D' v`` at the rows, and what ``v`` contributes to ``w``."""
        w = -self.slopes.adjoint(v)
        return self.at_rows(w), w

    def pull(self, u: Array, v: Array, carry: Array) -> Array:  # noqa: ARG002 carry says it all
        """``D u + L v`` at the pseudo-points, shape (k, d)."""
        return -self.slopes.apply(self.adjoint(u) + carry)

    def products(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Values at the rows and gradients at the pseudo-points."""
        w = self.coefficients(u, v)
        return self.at_rows(w), -self.slopes.apply(w)

    def values(self, u: Array, v: Array) -> Array:
        """``K u + D' v``."""
        return self.at_rows(self.coefficients(u, v))

    def gradients(self, u: Array, v: Array) -> Array:
        """``D u + L v``."""
        return -self.slopes.apply(self.coefficients(u, v))

    def derivative_diagonal(self) -> Array:
        """Squared norms of the functionals ``f -> g_ia``, shape (k, d)."""
        return self.slopes.diagonal()

    def dense(self) -> tuple[Array, Array]:
        """``D`` (k d x n) and ``L`` (k d x k d): for small tables only."""
        G = -self.slopes.dense()
        return G @ self.phi(slice(None)).T, G @ G.T
