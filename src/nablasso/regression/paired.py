r"""Paired comparison: what rows have in common is taken out.

For differences ``e_i`` between two predictions of the same rows, with weights ``p`` adding up to
one,

.. math:: \bar e = \sum_i p_i e_i, \qquad \mathrm{se}^2 = \sum_i p_i^2 (e_i - \bar e)^2 .
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nablasso.types import Array


class Difference(NamedTuple):
    """Weighted mean of a difference between rows, and its standard error."""

    mean: float
    error: float

    @property
    def in_errors(self) -> float:
        """The mean in standard errors; zero where there is none."""
        return self.mean / self.error if self.error > 0 else 0.0


def paired(differences: Array, weights: Array) -> Difference:
    """Mean and standard error of ``differences`` (n,); ``weights`` need not add up to one."""
    weights = weights / weights.sum()
    mean = float(weights @ differences)
    return Difference(mean, float(np.sqrt(weights**2 @ (differences - mean) ** 2)))


def saving(null: Array, ours: Array, weights: Array) -> tuple[float, float]:
    """Share of the losses ``null`` that ``ours`` save, and that in units of its standard error."""
    gain, size = paired(null - ours, weights), float(np.average(null, weights=weights))
    return (gain.mean / size if size > 0 else 0.0), gain.in_errors
