r"""Logistic loss ``l(y, z) = log(1 + exp(-y z))`` for labels ``y`` of -1 and 1.

Conjugate, with ``a = -s y`` in [0, 1]: ``l*(y, s) = a log a + (1 - a) log(1 - a)``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from nablasso.errors import InvalidDataError
from nablasso.losses.base import Loss
from nablasso.types import Array

STEPS = 100  # bisection alone would end at rounding after about 60


class Logistic(Loss):
    """Minus the log-likelihood of a label whose log-odds are the prediction."""

    translates = False

    def value(self, y: Array, z: Array) -> Array:
        """``log(1 + exp(-y z))``."""
        return np.logaddexp(0.0, -y * z)

    def gradient(self, y: Array, z: Array) -> Array:
        """``-y / (1 + exp(y z))``."""
        return np.asarray(-y * expit(-y * z))

    def curvature(self, y: Array, z: Array) -> Array:  # noqa: ARG002
        """``1 / ((1 + exp(z)) (1 + exp(-z)))``."""
        return np.asarray(expit(z) * expit(-z))

    def conjugate(self, y: Array, s: Array) -> Array:
        """Negative entropy of ``-s y``, infinite unless that lies in [0, 1]."""
        a = -s * y
        inside = (a >= 0) & (a <= 1)
        a = np.where(inside, a, 0.0)
        return np.where(inside, xlogy(a, a) + xlog1py(1 - a, -a), np.inf)

    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """Root of ``x - z - step y / (1 + exp(y x))``, which lies between z and z + step y.

        Newton's steps as long as they halve, for they may jump to and fro; else bisection.
        """
        low, high = np.minimum(z, z + step * y), np.maximum(z, z + step * y)
        x = (low + high) / 2
        moved = high - low
        for _ in range(STEPS):
            here = x - z + step * self.gradient(y, x)
            low, high = np.where(here < 0, x, low), np.where(here < 0, high, x)
            new = x - here / (1 + step * self.curvature(y, x))
            good = (new >= low) & (new <= high) & (np.abs(new - x) <= moved / 2)
            new = np.where(good, new, (low + high) / 2)
            moved = np.abs(new - x)
            done = np.abs(new - x) <= 2 * np.finfo(float).eps * np.abs(x)
            x = new
            if done.all():
                break
        return np.asarray(x)

    def check_target(self, y: Array) -> None:
        """Labels are -1 and 1, both present."""
        if not np.array_equal(np.unique(y), [-1.0, 1.0]):
            raise InvalidDataError(
                f"The logistic loss needs labels -1 and 1, both present; got "
                f"{np.unique(y)[:10].tolist()}. Use a classifier, which takes any labels."
            )

    def mean(self, z: Array) -> Array:
        """Probability of the label 1."""
        return np.asarray(expit(z))

    def mean_derivative(self, z: Array) -> Array:
        """Derivative of the probability."""
        return np.asarray(expit(z) * expit(-z))
