"""The log loss: densities at points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.nonnegative.losses.base import TINY, RowLoss, Rows, bounded_exp
from nablasso.types import Array


@dataclass(frozen=True)
class LogLoss(RowLoss):
    """``-log z``: the negative log-likelihood of a density at ``n`` points."""

    n: int

    def value(self, Z: Array) -> Array:
        """``-log z``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(Z[:, 0] > 0, -np.log(np.maximum(Z[:, 0], TINY)), np.inf)

    def gradient(self, Z: Array) -> Array:
        """``-1 / z``."""
        return np.asarray(-1 / np.maximum(Z, TINY))

    def coordinates(self, Z: Array) -> Array:
        """``-log z``."""
        return np.asarray(-np.log(np.maximum(Z, TINY)))

    def slopes(self, t: Array) -> Array:
        """``-e^t``."""
        return -bounded_exp(t)

    def conjugate(self, t: Array) -> Array:
        """``1 + t``."""
        return np.asarray(1 + t[:, 0])

    def ascent(self, t: Array, Z: Array) -> Array:
        """``1 - e^t z``."""
        return np.asarray(1 - bounded_exp(t) * Z)

    def jacobian(self, t: Array) -> Array:
        """``-e^t``."""
        return -bounded_exp(t)[:, :, None]

    def curvature(self, t: Array, Z: Array) -> Array:
        """``e^t z``."""
        return np.asarray(bounded_exp(t) * Z)

    def rows(self, chosen: Rows) -> LogLoss:
        """The loss of some rows."""
        return LogLoss(len(np.arange(self.n)[chosen]))

    def prox(self, Z: Array, step: Array | float) -> Array:
        """``(z + sqrt(z^2 + 4 step)) / 2``."""
        return np.asarray((Z + np.sqrt(Z**2 + 4 * np.asarray(step))) / 2)
