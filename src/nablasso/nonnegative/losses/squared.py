"""The squared loss of one or several outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.nonnegative.losses.base import RowLoss, Rows
from nablasso.types import Array


@dataclass(frozen=True)
class SquaredLoss(RowLoss):
    """``sum_s (y_s - z_s)^2`` for targets (n, p)."""

    y: Array

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        """Number of outputs."""
        return int(self.y.shape[1])

    def value(self, Z: Array) -> Array:
        """Sum of squares."""
        return np.asarray(np.sum((self.y - Z) ** 2, axis=1))

    def gradient(self, Z: Array) -> Array:
        """``2 (z - y)``."""
        return 2 * (Z - self.y)

    def coordinates(self, Z: Array) -> Array:
        """``2 (z - y)``: the slopes themselves."""
        return self.gradient(Z)

    def slopes(self, t: Array) -> Array:
        """``t``."""
        return t

    def conjugate(self, t: Array) -> Array:
        """``-t.y - |t|^2 / 4``."""
        return np.asarray(-np.sum(t * self.y + t**2 / 4, axis=1))

    def ascent(self, t: Array, Z: Array) -> Array:
        """``z - y - t / 2``."""
        return Z - self.y - t / 2

    def jacobian(self, t: Array) -> Array:
        """The identity."""
        return np.broadcast_to(np.eye(t.shape[1]), (*t.shape, t.shape[1]))

    def curvature(self, t: Array, Z: Array) -> Array:  # noqa: ARG002
        """``1 / 2``."""
        return np.full(t.shape, 0.5)

    def rows(self, chosen: Rows) -> SquaredLoss:
        """The loss of some rows."""
        return SquaredLoss(self.y[chosen])

    def prox(self, Z: Array, step: Array | float) -> Array:
        """``(z + 2 step y) / (1 + 2 step)``."""
        return np.asarray((Z + 2 * step * self.y) / (1 + 2 * np.asarray(step)))
