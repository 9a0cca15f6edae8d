"""Paired comparison: what rows have in common is taken out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nablasso.types import Array

TENTH = 0.1


class Difference(NamedTuple):
    """Weighted mean of a difference between rows, and its standard error."""

    mean: float
    error: float


def paired(differences: Array, weights: Array) -> Difference:
    """Mean and standard error of ``differences`` (n,); ``weights`` need not add up to one."""
    weights = weights / weights.sum()
    mean = float(weights @ differences)
    return Difference(mean, float(np.sqrt(weights**2 @ (differences - mean) ** 2)))


def tolerance(loss: Difference, clearly: float, error: float) -> float:
    """How much worse than ``error`` a smaller model may be: not clearly, and never by a tenth.

    With few rows hardly anything is clear, and a model must not lose half of what it predicts.
    """
    return min(clearly * loss.error, TENTH * error)
