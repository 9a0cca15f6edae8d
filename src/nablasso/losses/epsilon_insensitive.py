r"""Epsilon-insensitive losses of the excess ``e = max(0, |y - z| - epsilon)``.

* squared: ``l = e^2``, conjugate ``l*(y, s) = s y + epsilon |s| + s^2 / 4``;
* smoothed with width ``h``: ``e^2 / 2h`` up to ``e = h``, then ``e - h / 2``; conjugate
  ``s y + epsilon |s| + h s^2 / 2`` for ``|s| <= 1``. The quadratic in the conjugate is what a ridge
  added to the kernel would be.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from nablasso.losses.base import Loss
from nablasso.losses.unit import positive, robust_deviation
from nablasso.types import Array

ROUNDING = 1e-12  # a dual variable may exceed its bound by rounding


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


class SmoothedEpsilonInsensitive(Loss):
    """Absolute errors beyond ``epsilon``, the corner rounded: support vector regression.

    Parameters
    ----------
    epsilon : float
    width : float
        ``h``: excesses up to it count quadratically. Estimators take both in units of a robust
        deviation of ``y`` (1.48 times the median absolute deviation).
    """

    def __init__(self, epsilon: float = 0.1, width: float = 0.1) -> None:
        self.epsilon = epsilon
        self.width = width

    def value(self, y: Array, z: Array) -> Array:
        """``e^2 / 2h``, then ``e - h / 2``."""
        excess = self._excess(y, z)
        near = np.minimum(excess, self.width)
        return np.asarray(near * (excess - near / 2) / self.width)

    def gradient(self, y: Array, z: Array) -> Array:
        """``min(1, e / h)`` with the sign of ``z - y``."""
        return np.asarray(np.sign(z - y) * np.minimum(self._excess(y, z) / self.width, 1.0))

    def curvature(self, y: Array, z: Array) -> Array:
        """``1 / h`` where the corner is rounded."""
        excess = self._excess(y, z)
        return np.where((excess > 0) & (excess < self.width), 1 / self.width, 0.0)

    def conjugate(self, y: Array, s: Array) -> Array:
        """``s y + epsilon |s| + h s^2 / 2``, infinite beyond 1."""
        inside = np.abs(s) <= 1 + ROUNDING
        return np.where(inside, s * y + self.epsilon * np.abs(s) + self.width * s**2 / 2, np.inf)

    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """The excess is divided by ``1 + step / h``, or reduced by ``step`` if that is less."""
        share = step / self.width
        move = np.minimum(self._excess(y, z) * share / (1 + share), step)
        return np.asarray(z - np.sign(z - y) * move)

    def fitted(self, y: Array, weights: Array) -> Self:
        """Both thresholds times a robust deviation of ``y``."""
        unit = robust_deviation(y, weights)
        return type(self)(
            positive(self.epsilon, "epsilon") * unit, positive(self.width, "width") * unit
        )

    def _excess(self, y: Array, z: Array) -> Array:
        return np.maximum(np.abs(y - z) - self.epsilon, 0.0)
