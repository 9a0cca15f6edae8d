"""The Poisson loss with the identity link: the function is the mean itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from nablasso.nonnegative.losses.base import TINY, RowLoss, Rows, bounded_exp
from nablasso.types import Array


@dataclass(frozen=True)
class PoissonLoss(RowLoss):
    """``z - y log z + y log y - y``: half the deviance of counts with mean ``z``."""

    y: Array

    def value(self, Z: Array) -> Array:
        """Half the deviance."""
        z, y = Z[:, 0], self.y
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = z - xlogy(y, np.maximum(z, TINY)) + xlogy(y, y) - y
        return np.where((z > 0) | ((y == 0) & (z >= 0)), inside, np.inf)

    def gradient(self, Z: Array) -> Array:
        """``1 - y / z``."""
        return np.asarray(1 - self.y[:, None] / np.maximum(Z, TINY))

    def coordinates(self, Z: Array) -> Array:
        """``-log z``."""
        return np.asarray(-np.log(np.maximum(Z, TINY)))

    def slopes(self, t: Array) -> Array:
        """``1 - y e^t``; 1 where y is zero, whatever z is."""
        return np.asarray(1 - self.y[:, None] * bounded_exp(t))

    def conjugate(self, t: Array) -> Array:
        """``y log y + y t``."""
        return np.asarray(xlogy(self.y, self.y) + self.y * t[:, 0])

    def ascent(self, t: Array, Z: Array) -> Array:
        """``y (1 - e^t z)``."""
        return np.asarray(self.y[:, None] * (1 - bounded_exp(t) * Z))

    def jacobian(self, t: Array) -> Array:
        """``-y e^t``."""
        return -(self.y[:, None] * bounded_exp(t))[:, :, None]

    def curvature(self, t: Array, Z: Array) -> Array:
        """``y e^t z``."""
        return np.asarray(self.y[:, None] * bounded_exp(t) * Z)

    def rows(self, chosen: Rows) -> PoissonLoss:
        """The loss of some rows."""
        return PoissonLoss(self.y[chosen])

    def prox(self, Z: Array, step: Array | float) -> Array:
        """Positive root of ``x^2 - (z - step) x - step y``."""
        b = Z - step
        return np.asarray((b + np.sqrt(b**2 + 4 * step * self.y[:, None])) / 2)
