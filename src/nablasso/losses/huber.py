r"""Huber's loss: ``r^2`` for residuals ``r = y - z`` up to ``delta``, then a straight line.

The line is ``2 delta |r| - delta^2``.

Conjugate ``l*(y, s) = s y + s^2 / 4`` for ``|s| <= 2 delta``: that of the squared loss, bounded.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from nablasso.losses.base import Loss
from nablasso.losses.unit import positive, robust_deviation
from nablasso.types import Array

ROUNDING = 1e-12  # a dual variable may exceed its bound by rounding


class Huber(Loss):
    """Least squares that a few wild targets cannot dominate.

    Parameters
    ----------
    delta : float
        Residuals beyond it count linearly. Estimators take it in units of a robust deviation of
        ``y`` (1.48 times the median absolute deviation).
    """

    def __init__(self, delta: float = 0.5) -> None:
        self.delta = delta

    def value(self, y: Array, z: Array) -> Array:
        """``r^2``, then ``2 delta |r| - delta^2``."""
        r = np.abs(y - z)
        near = np.minimum(r, self.delta)
        return np.asarray(near * (2 * r - near))

    def gradient(self, y: Array, z: Array) -> Array:
        """``2 (z - y)``, clipped at ``2 delta``."""
        return np.clip(2 * (z - y), -2 * self.delta, 2 * self.delta)

    def curvature(self, y: Array, z: Array) -> Array:
        """``2``, then ``0``."""
        return np.where(np.abs(y - z) <= self.delta, 2.0, 0.0)

    def conjugate(self, y: Array, s: Array) -> Array:
        """``s y + s^2 / 4``, infinite beyond ``2 delta``."""
        inside = np.abs(s) <= 2 * self.delta * (1 + ROUNDING)
        return np.where(inside, s * y + s**2 / 4, np.inf)

    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """That of the squared loss, but no more than ``2 step delta`` away."""
        move = 2 * step * (y - z) / (1 + 2 * step)
        return np.asarray(z + np.clip(move, -2 * step * self.delta, 2 * step * self.delta))

    def fitted(self, y: Array, weights: Array) -> Self:
        """``delta`` times a robust deviation of ``y``."""
        return type(self)(positive(self.delta, "delta") * robust_deviation(y, weights))
