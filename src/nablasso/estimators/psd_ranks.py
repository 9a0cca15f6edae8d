"""Columns a second time, as ranks: the share of the rows below a value.

A skewed column is uneven ground for one length scale. Its rank is even, and a kernel that sees
both follows whichever the target does.
"""

from __future__ import annotations

import numpy as np

from nablasso.types import Array


class Ranks:
    """Ranks in units of their deviation, linear between the values of training rows."""

    def __init__(self, X: Array, weights: Array) -> None:
        self._knots = [_knots(column, weights) for column in X.T]

    def __call__(self, X: Array) -> Array:
        """Ranks of the rows of ``X``, shape (k, d); those of the ends outside the range."""
        columns = zip(X.T, self._knots, strict=True)
        return np.column_stack([np.interp(x, *knots) for x, knots in columns])

    def slopes(self, X: Array) -> Array:
        """Derivatives of the ranks, shape (k, d); zero outside the range."""
        out = np.zeros_like(X)
        for a, (values, ranks) in enumerate(self._knots):
            at = np.searchsorted(values, X[:, a], side="right")
            steep = np.concatenate([[0.0], np.diff(ranks) / np.diff(values), [0.0]])
            out[:, a] = steep[at]
        return out


def _knots(column: Array, weights: Array) -> tuple[Array, Array]:
    """Distinct values and their ranks, ties in the middle."""
    values, inverse = np.unique(column, return_inverse=True)
    mass = np.bincount(inverse.ravel(), weights=weights)
    ranks = np.cumsum(mass) - 0.5 * mass
    centred = ranks - mass @ ranks
    return values, centred / (float(np.sqrt(mass @ centred**2)) or 1.0)
