r"""Poisson loss with the log link: half the deviance of counts ``y`` whose mean is ``exp(z)``.

.. math:: l(y, z) = e^z - y z + y \log y - y

Conjugate, with ``a = s + y >= 0``: ``l*(y, s) = a log a - a - y log y + y``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import wrightomega, xlogy

from nablasso.errors import InvalidDataError
from nablasso.losses.base import Loss
from nablasso.types import Array


class Poisson(Loss):
    """For counts and other targets that are not negative; the prediction is the log of the mean."""

    translates = False

    def value(self, y: Array, z: Array) -> Array:
        """``exp(z) - y z + y log y - y``."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(z) - y * z + xlogy(y, y) - y)

    def gradient(self, y: Array, z: Array) -> Array:
        """``exp(z) - y``."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(z) - y)

    def curvature(self, y: Array, z: Array) -> Array:  # noqa: ARG002
        """``exp(z)``."""
        with np.errstate(over="ignore"):
            return np.exp(z)

    def conjugate(self, y: Array, s: Array) -> Array:
        """``a log a - a - y log y + y`` with ``a = s + y``, infinite for negative ``a``."""
        a = s + y
        inside = a >= 0
        a = np.where(inside, a, 0.0)
        return np.where(inside, xlogy(a, a) - a - xlogy(y, y) + y, np.inf)

    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """``t - omega(t + log step)`` with ``t = z + step y`` and Wright's omega function."""
        t = z + step * y
        return np.asarray(t - wrightomega(t + np.log(step)))

    def best_intercept(self, y: Array, z: Array, weights: Array) -> float:
        """Log of the ratio of the means of ``y`` and ``exp(z)``."""
        top = float(z.max())  # exp of large numbers would overflow
        return float(np.log((weights @ y) / (weights @ np.exp(z - top)))) - top

    def check_target(self, y: Array) -> None:
        """Targets are not negative, and not all zero."""
        if (y < 0).any() or not (y > 0).any():
            raise InvalidDataError(
                f"The Poisson loss needs targets of at least zero, some of them positive; got "
                f"values from {y.min():g} to {y.max():g}."
            )

    def mean(self, z: Array) -> Array:
        """``exp(z)``."""
        return np.exp(z)

    def mean_derivative(self, z: Array) -> Array:
        """``exp(z)``."""
        return np.exp(z)
