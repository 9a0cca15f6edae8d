r"""Squared epsilon-insensitive loss ``l(y, z) = max(0, |y - z| - epsilon)^2``.

Conjugate ``l*(y, s) = s y + epsilon |s| + s^2 / 4``.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from nablasso.losses.base import Array, Loss
from nablasso.losses.unit import positive, robust_deviation


class SquaredEpsilonInsensitive(Loss):
    """Least squares that forgives residuals up to ``epsilon``.

    Parameters
    ----------
    epsilon : float
        Estimators take it in units of a robust deviation of ``y`` (1.48 times the median absolute
        deviation).
    """

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def value(self, y: Array, z: Array) -> Array:
        """``max(0, |y - z| - epsilon)^2``."""
        return np.asarray(self._excess(y, z) ** 2)

    def gradient(self, y: Array, z: Array) -> Array:
        """``2 (z - y)`` moved towards zero by ``2 epsilon``."""
        return np.asarray(2 * np.sign(z - y) * self._excess(y, z))

    def curvature(self, y: Array, z: Array) -> Array:
        """``2`` outside the tube, ``0`` inside."""
        return np.where(np.abs(y - z) > self.epsilon, 2.0, 0.0)

    def conjugate(self, y: Array, s: Array) -> Array:
        """``s y + epsilon |s| + s^2 / 4``."""
        return np.asarray(s * y + self.epsilon * np.abs(s) + s**2 / 4)

    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """The excess over ``epsilon`` is divided by ``1 + 2 step``."""
        return np.asarray(z - np.sign(z - y) * self._excess(y, z) * (2 * step / (1 + 2 * step)))

    def fitted(self, y: Array, weights: Array) -> Self:
        """``epsilon`` times a robust deviation of ``y``."""
        return type(self)(positive(self.epsilon, "epsilon") * robust_deviation(y, weights))

    def _excess(self, y: Array, z: Array) -> Array:
        return np.maximum(np.abs(y - z) - self.epsilon, 0.0)
