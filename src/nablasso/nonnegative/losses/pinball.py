r"""Pinball loss of several quantiles: mean over the levels of ``rho_tau(y - z)``.

.. math:: \rho_\tau(e) = \max(\tau e, (\tau - 1) e)

The conjugate is ``a y`` for slopes ``a`` in ``[-tau, 1 - tau]`` (each divided by the number of
levels) and infinite outside. Coordinates are ``u = a + tau`` in ``(0, 1)``, for the interior point
method (:mod:`nablasso.nonnegative.interior`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.nonnegative.losses.base import RowLoss, Rows
from nablasso.types import Array


@dataclass(frozen=True)
class PinballLoss(RowLoss):
    """Outputs are quantiles of ``y`` (n,) at ``levels`` (p,)."""

    y: Array
    levels: Array
    bounded = True

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        """Number of levels."""
        return len(self.levels)

    def value(self, Z: Array) -> Array:
        """Mean over the levels."""
        e = self.y[:, None] - Z
        return np.asarray(np.mean(np.maximum(self.levels * e, (self.levels - 1) * e), axis=1))

    def gradient(self, Z: Array) -> Array:
        """``1 - tau`` above ``y`` and ``-tau`` below, divided by the number of levels."""
        return self.slopes(self.coordinates(Z))

    def coordinates(self, Z: Array) -> Array:
        """1 above ``y``, 0 below, 1/2 at it."""
        return np.asarray(np.heaviside(Z - self.y[:, None], 0.5))

    def coordinates_of(self, slopes: Array, Z: Array) -> Array:  # noqa: ARG002
        """``a + tau``, whatever the outputs: at the kink they do not say the slope."""
        return np.clip(self.n_outputs * slopes + self.levels, 0.0, 1.0)

    def start(self, Z: Array) -> Array:
        """Slopes zero."""
        return np.asarray(np.broadcast_to(self.levels, Z.shape))

    def slopes(self, t: Array) -> Array:
        """``u - tau`` divided by the number of levels."""
        return np.asarray((t - self.levels) / self.n_outputs)

    def conjugate(self, t: Array) -> Array:
        """``-a y``."""
        return np.asarray(-self.y * self.slopes(t).sum(axis=1))

    def ascent(self, t: Array, Z: Array) -> Array:  # noqa: ARG002
        """``z - y`` divided by the number of levels."""
        return np.asarray((Z - self.y[:, None]) / self.n_outputs)

    def jacobian(self, t: Array) -> Array:
        """The identity divided by the number of levels."""
        p = self.n_outputs
        return np.asarray(np.broadcast_to(np.eye(p) / p, (len(t), p, p)))

    def curvature(self, t: Array, Z: Array) -> Array:  # noqa: ARG002
        """None: the conjugate is linear in the box."""
        return np.zeros_like(t)

    def rows(self, chosen: Rows) -> PinballLoss:
        """The loss of some rows."""
        return PinballLoss(self.y[chosen], self.levels)

    def prox(self, Z: Array, step: Array | float) -> Array:
        """Towards ``y`` by at most ``step tau`` from below and ``step (1 - tau)`` from above."""
        s = np.asarray(step) / self.n_outputs
        return Z + np.clip(self.y[:, None] - Z, -s * (1 - self.levels), s * self.levels)
