r"""What a loss is: ``sum_i p_i l(y_i, z_i)`` with weights ``p`` that add up to one.

Its conjugate in the prediction is ``l*(y, s) = sup_z s z - l(y, z)``, infinite outside its domain.
Every loss is convex and once differentiable in ``z``; where a second derivative does not exist
``curvature`` is one of its generalised values. Losses are zero where the prediction is perfect.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from nablasso.types import Array

ROUNDING = float(np.finfo(float).eps)
STEPS = 200  # of the search for the intercept: it ends at rounding, long before


class Loss(BaseEstimator, ABC):
    """A convex function of a prediction, per sample."""

    translates: ClassVar[bool] = True  # whether l(y + c, z + c) = l(y, z): y may then be centred

    @abstractmethod
    def value(self, y: Array, z: Array) -> Array:
        """``l(y, z)`` per sample."""

    @abstractmethod
    def gradient(self, y: Array, z: Array) -> Array:
        """``dl/dz`` per sample."""

    @abstractmethod
    def curvature(self, y: Array, z: Array) -> Array:
        """``d^2 l/dz^2`` per sample."""

    @abstractmethod
    def conjugate(self, y: Array, s: Array) -> Array:
        """``l*(y, s)`` per sample; infinite outside its domain."""

    @abstractmethod
    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """``argmin_x step l(y, x) + (x - z)^2 / 2`` per sample."""

    def best_intercept(self, y: Array, z: Array, weights: Array) -> float:
        """``argmin_b sum_i p_i l(y_i, z_i + b)``: Newton steps inside a shrinking bracket."""

        def slope(b: float) -> float:
            return float(weights @ self.gradient(y, z + b))

        low, high = _bracket(slope)
        b = min(max(0.0, low), high)
        for _ in range(STEPS):
            slopes = self.gradient(y, z + b)
            here = float(weights @ slopes)
            if abs(here) <= ROUNDING * float(weights @ np.abs(slopes)):
                break
            low, high = (low, b) if here > 0 else (b, high)
            bend = float(weights @ self.curvature(y, z + b))
            new = b - here / bend if bend > 0 else np.inf
            new = new if low < new < high else (low + high) / 2
            if abs(new - b) <= ROUNDING * max(abs(b), 1e-3):
                break
            b = float(new)
        return b

    def fitted(self, y: Array, weights: Array) -> Self:  # noqa: ARG002
        """The loss in the units of ``y``; the loss itself where it has no unit."""
        return self

    def check_target(self, y: Array) -> None:
        """Refuse targets for which the loss makes no sense."""

    def mean(self, z: Array) -> Array:
        """Prediction in the units of ``y``."""
        return z

    def mean_derivative(self, z: Array) -> Array:
        """Derivative of :meth:`mean`."""
        return np.ones_like(z)


def _bracket(slope: Callable[[float], float]) -> tuple[float, float]:
    """An interval at whose ends an increasing function has opposite signs."""
    low, high = -1.0, 1.0
    for _ in range(60):
        if slope(low) <= 0:
            break
        low *= 2
    for _ in range(60):
        if slope(high) >= 0:
            break
        high *= 2
    return low, high
