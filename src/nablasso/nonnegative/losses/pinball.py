r"""Pinball loss of several quantiles: mean over the levels of ``rho_tau(y - z)``.

.. math:: \rho_\tau(e) = \max(\tau e, (\tau - 1) e), \qquad
          \rho_{\tau,\delta}(e) = \tau e + \delta \log(1 + e^{-e / \delta})

The conjugate is ``a y`` for slopes ``a`` in ``[-tau, 1 - tau]`` (each divided by the number of
levels) and infinite outside. The solver climbs the dual of the loss with its kink rounded,
``rho_{tau,delta}``: that adds ``delta`` times the entropy of ``u = a + tau``, a barrier for the
box. Coordinates are ``t = logit u``. The gap is that of the pinball loss itself and includes what
rounding costs, at most ``delta log 2``. Rounding begins wide and ends at ``softness``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import entr, expit

from nablasso.nonnegative.losses.base import Array, RowLoss, Rows

WIDEST = 0.1  # rounding to begin with, in units of the target's deviation
STEP = 2.5
LARGEST = 15.0  # of the coordinates: slopes within 1e-6 of the box's ends


@dataclass(frozen=True)
class PinballLoss(RowLoss):
    """Outputs are quantiles of ``y`` (n,) at ``levels`` (p,)."""

    y: Array
    levels: Array
    softness: float = 1e-3

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        """Number of levels."""
        return len(self.levels)

    def value(self, Z: Array) -> Array:
        """Mean over the levels."""
        e = self.y[:, None] - Z
        return np.asarray(np.mean(np.maximum(self.levels * e, (self.levels - 1) * e), axis=1))

    def soft_value(self, Z: Array) -> Array:
        """Mean over the levels of the rounded loss."""
        e = (self.y[:, None] - Z) / self.softness
        return np.asarray(self.softness * np.mean(self.levels * e + np.logaddexp(0, -e), axis=1))

    def gradient(self, Z: Array) -> Array:
        """Gradient of the rounded loss."""
        u = expit((Z - self.y[:, None]) / self.softness)
        return np.asarray((u - self.levels) / self.n_outputs)

    def coordinates(self, Z: Array) -> Array:
        """``(z - y) / softness``, bounded."""
        return np.clip((Z - self.y[:, None]) / self.softness, -LARGEST, LARGEST)

    def slopes(self, t: Array) -> Array:
        """``u - tau`` divided by the number of levels."""
        return np.asarray((expit(t) - self.levels) / self.n_outputs)

    def conjugate(self, t: Array) -> Array:
        """``-a y``."""
        return np.asarray(-self.y * self.slopes(t).sum(axis=1))

    def softened(self, t: Array) -> Array:
        """``-a y + softness * entropy(u)``."""
        entropy = entr(expit(t)) + entr(expit(-t))
        return np.asarray(self.conjugate(t) + self.softness * np.mean(entropy, axis=1))

    def ascent(self, t: Array, Z: Array) -> Array:
        """``u' (z - y - softness t)``."""
        rest = Z - self.y[:, None] - self.softness * t
        return np.asarray(expit(t) * expit(-t) * rest / self.n_outputs)

    def jacobian(self, t: Array) -> Array:
        """``u'`` divided by the number of levels."""
        p = self.n_outputs
        return np.asarray((expit(t) * expit(-t))[:, :, None] * np.eye(p) / p)

    def curvature(self, t: Array, Z: Array) -> Array:  # noqa: ARG002
        """``softness u'``: without the part that vanishes at the solution."""
        return np.asarray(self.softness * expit(t) * expit(-t) / self.n_outputs)

    def stages(self) -> tuple[RowLoss, ...]:
        """From widely rounded to this."""
        if self.softness * STEP > WIDEST:
            return (self,)
        return (*replace(self, softness=self.softness * STEP).stages(), self)

    def rows(self, chosen: Rows) -> PinballLoss:
        """The loss of some rows."""
        return PinballLoss(self.y[chosen], self.levels, self.softness)

    def prox(self, Z: Array, step: Array | float) -> Array:
        """Towards ``y`` by at most ``step tau`` from below and ``step (1 - tau)`` from above."""
        s = np.asarray(step) / self.n_outputs
        return Z + np.clip(self.y[:, None] - Z, -s * (1 - self.levels), s * self.levels)
