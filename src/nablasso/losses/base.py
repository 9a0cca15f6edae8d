r"""What a loss is: ``sum_i p_i l(y_i, z_i)`` with weights ``p`` that add up to one.

Its conjugate in the prediction is ``l*(y, s) = sup_z s z - l(y, z)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

Array = NDArray[np.float64]


class Loss(BaseEstimator, ABC):
    """A convex function of a prediction, per sample."""

    @abstractmethod
    def value(self, y: Array, z: Array) -> Array:
        """``l(y, z)`` per sample."""

    @abstractmethod
    def gradient(self, y: Array, z: Array) -> Array:
        """``dl/dz`` per sample."""

    @abstractmethod
    def conjugate(self, y: Array, s: Array) -> Array:
        """``l*(y, s)`` per sample."""

    @abstractmethod
    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """``argmin_x step l(y, x) + (x - z)^2 / 2`` per sample."""
