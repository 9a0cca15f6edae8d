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

import numpy as np

from nablasso.types import Array, Index

Rows = Index | slice

TINY = 1e-300
LARGEST_EXPONENT = 200.0


class RowLoss(ABC):
    """A convex function of the outputs of each row; ``n`` rows, ``p`` outputs."""

    n_outputs: int = 1
    bounded: bool = False  # slopes live in a box, and coordinates are in (0, 1)

    @abstractmethod
    def value(self, Z: Array) -> Array:
        """``l_i(z_i)`` for outputs (n, p), infinite outside the domain."""

    @abstractmethod
    def gradient(self, Z: Array) -> Array:
        """Gradients (n, p)."""

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
    def rows(self, chosen: Rows) -> RowLoss:
        """The loss of some rows."""

    @abstractmethod
    def prox(self, Z: Array, step: Array | float) -> Array:
        """``argmin_x step l(x) + |x - z|^2 / 2`` per row, shape (n, p)."""


def bounded_exp(t: Array) -> Array:
    """``e^t`` without overflow."""
    return np.exp(np.minimum(t, LARGEST_EXPONENT))
