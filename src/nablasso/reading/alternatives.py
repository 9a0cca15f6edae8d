"""Columns that could stand in for a selected one: "x3 could be replaced by x7".

For a selected ``a`` and an unselected ``b`` that goes with it (correlation of values or of ranks at
least 0.5 in size), ``b`` takes the place of ``a`` in kernel ridge regression on the selected
columns. If the left-out error does not rise by more than its paired standard error, the rows
cannot tell the two apart and ``b`` is an alternative; unless leaving out ``a`` without a
replacement does no more harm.

Cost: one eigendecomposition, one more for each of at most 20 swaps, and one for each column that
passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from nablasso.reading.left_out import Evidence, compare
from nablasso.types import Array

DEPENDENCE = 0.5  # correlation, of values or of ranks, under which b is no candidate
PER_COLUMN = 3
SWAPS = 20


class Alternative(NamedTuple):
    """``b`` could replace ``a``; ``change`` is the relative change of the left-out error."""

    a: int
    b: int
    change: float


def alternatives(evidence: Evidence) -> list[Alternative]:
    """Unselected columns that could replace selected ones, the best for each first.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    list of Alternative
        In the order of the selected columns.
    """
    evidence = evidence.at_most()
    deviations = np.sqrt(evidence.weights @ _centred(evidence.X, evidence.weights) ** 2)
    dropped: dict[int, float] = {}  # left-out error without the column
    found = []
    for place, b in _candidates(evidence):
        a = evidence.selected[place]
        inputs, scales = evidence.X[:, evidence.selected], evidence.scales.copy()
        inputs[:, place] = evidence.X[:, b]
        scales[place] *= deviations[a] / deviations[b]
        after = evidence.left_out(inputs, scales)
        change = compare(evidence.residuals, after, evidence.weights)
        if change.mean > change.error:
            continue
        if place not in dropped:
            rest = evidence.left_out(np.delete(inputs, place, 1), np.delete(scales, place))
            dropped[place] = float(evidence.weights @ rest**2)
        if evidence.weights @ after**2 < dropped[place]:
            found.append((place, Alternative(int(a), b, change.relative)))
    return [pair for _, pair in sorted(found, key=lambda item: (item[0], item[1].change))]


def _candidates(evidence: Evidence) -> list[tuple[int, int]]:
    """Pairs (place in ``selected``, unselected column), the most dependent first."""
    size = _dependence(evidence.X, evidence.weights)[evidence.selected]
    size[:, evidence.selected] = 0.0
    size[evidence.scales == 0] = 0.0
    closest = np.argsort(-size, axis=1, kind="stable")[:, :PER_COLUMN]
    pairs = [
        (-size[place, b], place, int(b))
        for place, row in enumerate(closest)
        for b in row
        if size[place, b] >= DEPENDENCE
    ]
    return [(place, b) for _, place, b in sorted(pairs)[:SWAPS]]


def _dependence(X: Array, weights: Array) -> Array:
    """The larger of the correlations of values and of ranks, in size, (d, d)."""
    both = [_correlation(X, weights), _correlation(rankdata(X, axis=0), weights)]
    return np.asarray(np.max(np.abs(both), axis=0))


def _correlation(X: Array, weights: Array) -> Array:
    centred = _centred(X, weights)
    deviations = np.sqrt(weights @ centred**2)
    unit = centred / np.where(deviations > 0, deviations, 1.0)
    return np.asarray((unit * weights[:, None]).T @ unit)


def _centred(X: Array, weights: Array) -> Array:
    return np.asarray(X - weights @ X)
