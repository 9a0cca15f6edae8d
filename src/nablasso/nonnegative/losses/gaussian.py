r"""Gaussian negative log-likelihood in natural parameters: mean and noise level jointly, convex.

.. math:: l(h, \theta) = -\tfrac12 \log h + \tfrac12 h y^2 - \theta y + \tfrac{\theta^2}{2 h}
                       + \tfrac12 \log 2\pi, \qquad h = 1/\sigma^2,\; \theta = \mu / \sigma^2 .

Its conjugate at slopes ``(a, b)`` is ``-(1 + log 2 pi + log 2c) / 2`` with
``2c = y^2 - (y + b)^2 - 2a > 0``; the coordinates are ``t = log 2c`` and ``b``. At the optimum
``h = e^{-t}`` and the mean is ``y + b``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.nonnegative.losses.base import TINY, RowLoss, Rows, bounded_exp
from nablasso.types import Array

LOG_TWO_PI = float(np.log(2 * np.pi))
PROX_STEPS = 60


@dataclass(frozen=True)
class GaussianLoss(RowLoss):
    """Outputs are the precision and precision times mean, for targets ``y`` (n,)."""

    y: Array
    n_outputs = 2

    def value(self, Z: Array) -> Array:
        """Negative log-likelihood."""
        h, theta = Z.T
        safe = np.maximum(h, TINY)
        inside = -0.5 * np.log(safe) + 0.5 * safe * (self.y - theta / safe) ** 2
        return np.where(h > 0, inside + 0.5 * LOG_TWO_PI, np.inf)

    def gradient(self, Z: Array) -> Array:
        """Gradients in the precision and in ``theta``."""
        h = np.maximum(Z[:, 0], TINY)
        mean = Z[:, 1] / h
        return np.column_stack([0.5 * (self.y**2 - mean**2 - 1 / h), mean - self.y])

    def coordinates(self, Z: Array) -> Array:
        """``-log h`` and ``mean - y``."""
        h = np.maximum(Z[:, 0], TINY)
        return np.column_stack([-np.log(h), Z[:, 1] / h - self.y])

    def slopes(self, t: Array) -> Array:
        """``(y^2 - (y + b)^2 - e^t) / 2`` and ``b``."""
        b = t[:, 1]
        a = 0.5 * (self.y**2 - (self.y + b) ** 2 - bounded_exp(t[:, 0]))
        return np.column_stack([a, b])

    def conjugate(self, t: Array) -> Array:
        """``(1 + t + log 2 pi) / 2``."""
        return np.asarray(0.5 * (1 + LOG_TWO_PI + t[:, 0]))

    def ascent(self, t: Array, Z: Array) -> Array:
        """``(1 - e^t h) / 2`` and ``theta - (y + b) h``."""
        h, theta = Z.T
        first = 0.5 * (1 - bounded_exp(t[:, 0]) * h)
        return np.column_stack([first, theta - (self.y + t[:, 1]) * h])

    def jacobian(self, t: Array) -> Array:
        """``(-e^t / 2, -(y + b))`` and ``(0, 1)``."""
        J = np.zeros((len(t), 2, 2))
        J[:, 0, 0] = -0.5 * bounded_exp(t[:, 0])
        J[:, 0, 1] = -(self.y + t[:, 1])
        J[:, 1, 1] = 1.0
        return J

    def curvature(self, t: Array, Z: Array) -> Array:
        """``e^t h / 2`` and ``h``."""
        h = Z[:, 0]
        return np.column_stack([0.5 * bounded_exp(t[:, 0]) * h, h])

    def rows(self, chosen: Rows) -> GaussianLoss:
        """The loss of some rows."""
        return GaussianLoss(self.y[chosen])

    def prox(self, Z: Array, step: Array | float) -> Array:
        """One increasing equation for ``h``, solved by Newton's method inside a bracket.

        In it ``theta = h m`` with ``m = (theta_0 + step y) / (h + step)``.
        """
        s = np.broadcast_to(np.asarray(step, dtype=float), self.y.shape)
        h0, top = Z[:, 0], Z[:, 1] + s * self.y

        def equation(h: Array) -> tuple[Array, Array]:
            m = top / (h + s)
            value = h - h0 + 0.5 * s * (self.y**2 - 1 / h - m**2)
            return value, 1 + 0.5 * s / h**2 + s * m**2 / (h + s)

        low, high = np.full_like(h0, TINY), np.maximum(h0, 0) + np.sqrt(s) + top**2 / s + 1
        h = np.maximum(h0, np.sqrt(s / 2))
        for _ in range(PROX_STEPS):
            value, slope = equation(h)
            low, high = np.where(value < 0, h, low), np.where(value > 0, h, high)
            new = h - value / slope
            h = np.where((new > low) & (new < high), new, 0.5 * (low + high))
        return np.column_stack([h, h * top / (h + s)])
