"""The unit in which thresholds of losses are given: a robust deviation of the target."""

from __future__ import annotations

import numpy as np

from nablasso.kernels.base import positive
from nablasso.kernels.width import _weighted_median
from nablasso.types import Array

__all__ = ["positive", "robust_deviation"]

GAUSSIAN = 1.4826  # makes the median absolute deviation of a normal distribution its deviation


def robust_deviation(y: Array, weights: Array) -> float:
    """1.48 times the median absolute deviation; the standard deviation where that is zero."""
    centre = _weighted_median(y, weights)
    deviation = GAUSSIAN * _weighted_median(np.abs(y - centre), weights)
    if deviation == 0.0:
        total = weights.sum()
        deviation = float(np.sqrt(weights @ (y - weights @ y / total) ** 2 / total))
    return deviation if deviation > 0 else 1.0
