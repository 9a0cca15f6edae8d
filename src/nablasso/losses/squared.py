r"""Squared loss ``l(y, z) = (y - z)^2``, conjugate ``l*(y, s) = s y + s^2 / 4``."""

from __future__ import annotations

import numpy as np

from nablasso.losses.base import Loss
from nablasso.types import Array


class Squared(Loss):
    """The loss of least squares."""

    def value(self, y: Array, z: Array) -> Array:
        """``(y - z)^2``."""
        return np.asarray((y - z) ** 2)

    def gradient(self, y: Array, z: Array) -> Array:
        """``2 (z - y)``."""
        return 2 * (z - y)

    def curvature(self, y: Array, z: Array) -> Array:  # noqa: ARG002
        """``2``."""
        return np.full_like(z, 2.0)

    def conjugate(self, y: Array, s: Array) -> Array:
        """``s y + s^2 / 4``."""
        return s * y + s**2 / 4

    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """``(z + 2 step y) / (1 + 2 step)``."""
        return np.asarray((z + 2 * step * y) / (1 + 2 * step))

    def best_intercept(self, y: Array, z: Array, weights: Array) -> float:
        """Weighted mean of the residuals."""
        return float(weights @ (y - z))
