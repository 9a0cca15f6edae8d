r"""Losses of one or several outputs per row, and their conjugates in good coordinates.

A loss is ``l_i(z)`` for outputs ``z`` of row i, shape (n, p). The dual needs the conjugate
``l*(a) = sup_z a.z - l(z)``. Where that has a barrier or a curved domain the solver works in
coordinates ``t`` instead, in which ``-l*`` is linear or quadratic and the domain is everything:

* log loss ``-log z``: ``a = -e^t``, ``-l* = 1 + t``; at the optimum ``t = -log z``
* Poisson ``z - y log z``: ``a = 1 - y e^t``, ``-l* = y log y + y t``
* Gaussian with precision ``h`` and ``theta = mean * h``: ``b = mean - y``,
  ``a_h = (y^2 - (y + b)^2 - e^t) / 2``, ``-l* = (1 + t + log 2 pi) / 2``

All three leave the dual concave in ``t``: the slopes ``-a`` of functions that stay non-negative are
convex in ``t`` and the conjugate of their penalty increases with them. Rows have unit weight here;
the solver multiplies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from nablasso.types import Array

TINY = 1e-300
LARGEST_EXPONENT = 200.0
LOG_TWO_PI = float(np.log(2 * np.pi))
PROX_STEPS = 60


class RowLoss(ABC):
    """A convex function of the ``p`` outputs of each of ``n`` rows."""

    bounded: bool = False  # slopes live in a box, and coordinates are in (0, 1)

    @abstractmethod
    def value(self, Z: Array) -> Array:
        """``l_i(z_i)`` for outputs (n, p), infinite outside the domain."""

    @abstractmethod
    def coordinates(self, Z: Array) -> Array:
        """Dual coordinates ``t`` (n, c) that belong to outputs ``Z``, in the interior."""

    def start(self, Z: Array) -> Array:
        """Coordinates to start from when the outputs are about ``Z``."""
        return self.coordinates(Z)

    def coordinates_of(self, slopes: Array, Z: Array) -> Array:  # noqa: ARG002
        """Coordinates of ``slopes`` (n, p), which are subgradients at the outputs ``Z``."""
        return self.coordinates(Z)

    @abstractmethod
    def slopes(self, t: Array) -> Array:
        """``a(t)``, shape (n, p)."""

    @abstractmethod
    def conjugate(self, t: Array) -> Array:
        """``-l*(a(t))``, shape (n,)."""

    @abstractmethod
    def ascent(self, t: Array, Z: Array) -> Array:
        """Derivative in ``t`` of ``-l*(a(t)) + a(t).z`` for fixed ``z``, shape (n, c)."""

    @abstractmethod
    def jacobian(self, t: Array) -> Array:
        """``da/dt``, shape (n, p, c)."""

    @abstractmethod
    def curvature(self, t: Array, Z: Array) -> Array:
        """Minus the derivative of :meth:`ascent` in ``t`` for fixed ``z``: diagonal, (n, c)."""

    @abstractmethod
    def prox(self, Z: Array, step: Array | float) -> Array:
        """``argmin_x step l(x) + |x - z|^2 / 2`` per row, shape (n, p)."""


@dataclass(frozen=True)
class PoissonLoss(RowLoss):
    """``slope (z - y) - y log(z / y)`` for targets (n,).

    With slope 1 half the Poisson deviance of counts ``y`` with mean ``z``. With slope 0 and ``y``
    of ones ``-log z``, the negative log-likelihood of a density (:func:`density_loss`).
    """

    y: Array
    slope: float = 1.0

    def value(self, Z: Array) -> Array:
        """Loss; zero outputs are allowed where y is zero."""
        z, y = Z[:, 0], self.y
        inside = self.slope * (z - y) - xlogy(y, np.maximum(z, TINY)) + xlogy(y, y)
        return np.where((z > 0) | ((y == 0) & (z >= 0)), inside, np.inf)

    def coordinates(self, Z: Array) -> Array:
        """``-log z``."""
        return np.asarray(-np.log(np.maximum(Z, TINY)))

    def slopes(self, t: Array) -> Array:
        """``slope - y e^t``; the slope where y is zero, whatever z is."""
        return np.asarray(self.slope - self.y[:, None] * bounded_exp(t))

    def conjugate(self, t: Array) -> Array:
        """``y log y + y t + (1 - slope) y``."""
        return np.asarray(xlogy(self.y, self.y) + self.y * (t[:, 0] + 1 - self.slope))

    def ascent(self, t: Array, Z: Array) -> Array:
        """``y (1 - e^t z)``."""
        return np.asarray(self.y[:, None] * (1 - bounded_exp(t) * Z))

    def jacobian(self, t: Array) -> Array:
        """``-y e^t``."""
        return -(self.y[:, None] * bounded_exp(t))[:, :, None]

    def curvature(self, t: Array, Z: Array) -> Array:
        """``y e^t z``."""
        return np.asarray(self.y[:, None] * bounded_exp(t) * Z)

    def prox(self, Z: Array, step: Array | float) -> Array:
        """Positive root of ``x^2 - (z - step slope) x - step y``."""
        b = Z - np.asarray(step) * self.slope
        return np.asarray((b + np.sqrt(b**2 + 4 * step * self.y[:, None])) / 2)


def density_loss(n_rows: int) -> PoissonLoss:
    """``-log z``: the negative log-likelihood of a density at ``n_rows`` points."""
    return PoissonLoss(np.ones(n_rows), slope=0.0)


@dataclass(frozen=True)
class SquaredLoss(RowLoss):
    """``sum_s (y_s - z_s)^2`` for targets (n, p)."""

    y: Array

    def value(self, Z: Array) -> Array:
        """Sum of squares."""
        return np.asarray(np.sum((self.y - Z) ** 2, axis=1))

    def coordinates(self, Z: Array) -> Array:
        """``2 (z - y)``: the slopes themselves."""
        return 2 * (Z - self.y)

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

    def prox(self, Z: Array, step: Array | float) -> Array:
        """``(z + 2 step y) / (1 + 2 step)``."""
        return np.asarray((Z + 2 * step * self.y) / (1 + 2 * np.asarray(step)))


@dataclass(frozen=True)
class GaussianLoss(RowLoss):
    r"""Gaussian negative log-likelihood, convex in the natural parameters of mean and noise.

    .. math:: l(h, \theta) = -\tfrac12 \log h + \tfrac12 h y^2 - \theta y + \tfrac{\theta^2}{2 h}
                           + \tfrac12 \log 2\pi, \qquad h = 1/\sigma^2,\; \theta = \mu / \sigma^2 .

    Outputs are the precision ``h`` and ``theta``, for targets ``y`` (n,). The conjugate at slopes
    ``(a, b)`` is ``-(1 + log 2 pi + log 2c) / 2`` with ``2c = y^2 - (y + b)^2 - 2a > 0``; the
    coordinates are ``t = log 2c`` and ``b``. At the optimum ``h = e^{-t}`` and the mean is
    ``y + b``.
    """

    y: Array

    def value(self, Z: Array) -> Array:
        """Negative log-likelihood."""
        h, theta = Z.T
        safe = np.maximum(h, TINY)
        inside = -0.5 * np.log(safe) + 0.5 * safe * (self.y - theta / safe) ** 2
        return np.where(h > 0, inside + 0.5 * LOG_TWO_PI, np.inf)

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


@dataclass(frozen=True)
class PinballLoss(RowLoss):
    """Mean over the levels of ``max(tau e, (tau - 1) e)``, ``e = y - z``.

    Outputs are quantiles of ``y`` (n,) at ``levels`` (p,). The conjugate is ``a y`` for slopes
    ``a`` in ``[-tau, 1 - tau]`` (each divided by the number of levels) and infinite outside.
    Coordinates are ``u = a + tau`` in ``(0, 1)``, for the interior point method.
    """

    y: Array
    levels: Array
    bounded = True

    def value(self, Z: Array) -> Array:
        """Mean over the levels."""
        e = self.y[:, None] - Z
        return np.asarray(np.mean(np.maximum(self.levels * e, (self.levels - 1) * e), axis=1))

    def coordinates(self, Z: Array) -> Array:
        """1 above ``y``, 0 below, 1/2 at it."""
        return np.asarray(np.heaviside(Z - self.y[:, None], 0.5))

    def coordinates_of(self, slopes: Array, Z: Array) -> Array:  # noqa: ARG002
        """``a + tau``, whatever the outputs: at the kink they do not say the slope."""
        return np.clip(len(self.levels) * slopes + self.levels, 0.0, 1.0)

    def start(self, Z: Array) -> Array:
        """Slopes zero."""
        return np.asarray(np.broadcast_to(self.levels, Z.shape))

    def slopes(self, t: Array) -> Array:
        """``u - tau`` divided by the number of levels."""
        return np.asarray((t - self.levels) / len(self.levels))

    def conjugate(self, t: Array) -> Array:
        """``-a y``."""
        return np.asarray(-self.y * self.slopes(t).sum(axis=1))

    def ascent(self, t: Array, Z: Array) -> Array:  # noqa: ARG002
        """``z - y`` divided by the number of levels."""
        return np.asarray((Z - self.y[:, None]) / len(self.levels))

    def jacobian(self, t: Array) -> Array:
        """The identity divided by the number of levels."""
        p = len(self.levels)
        return np.asarray(np.broadcast_to(np.eye(p) / p, (len(t), p, p)))

    def curvature(self, t: Array, Z: Array) -> Array:  # noqa: ARG002
        """None: the conjugate is linear in the box."""
        return np.zeros_like(t)

    def prox(self, Z: Array, step: Array | float) -> Array:
        """Towards ``y`` by at most ``step tau`` from below and ``step (1 - tau)`` from above."""
        s = np.asarray(step) / len(self.levels)
        return Z + np.clip(self.y[:, None] - Z, -s * (1 - self.levels), s * self.levels)


def bounded_exp(t: Array) -> Array:
    """``e^t`` without overflow."""
    return np.exp(np.minimum(t, LARGEST_EXPONENT))
