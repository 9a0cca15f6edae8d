"""Twins: groups that carry the same information as a selected one, taken in where that helps.

Of noisy copies of one variable a ranking may pick any, and which one is an accident of the rows.
Together they predict better than one, since their noise averages out. So the selected groups are
compared with their closure, all groups correlated with one of them, each with the scale of its
partner. Near copies (correlation ``COPY``) join unless the leave-one-out error clearly grows: the
rows give no reason to prefer one of them. Weaker relatives join only if it clearly falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nablasso.metric.nested import fit_groups
from nablasso.metric.paired import paired
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start
from nablasso.preparation import absolute_correlations

Array = NDArray[np.float64]
Index = NDArray[np.intp]

COPY = 0.95
THRESHOLDS = (COPY, 0.85, 0.7)  # correlations that make a pair, tried in turn
CLEARLY = 1.0  # standard errors of the paired difference
ROUNDING = 1e-9  # relative difference between the errors of a fit with and without an exact copy


def group_correlations(sample: Sample, chosen: Index) -> Array:
    """Largest absolute correlation between columns of two groups, (chosen, all groups)."""
    out = np.zeros((len(chosen), sample.n_groups))
    columns = sample.columns(chosen)
    sizes = absolute_correlations(sample.X, sample.weights, columns)
    for row, group in enumerate(chosen):
        own = sizes[sample.labels[columns] == group]
        np.maximum.at(out[row], sample.labels, own.max(axis=0))
    return out


def with_twins(
    sample: Sample,
    starts: Sequence[Start],
    chosen: Index,
    scales: Array,
    largest: int | None = None,
) -> Index:
    """The chosen groups, with their twins where these are to join, at most ``largest`` in all.

    Either side is fitted with whichever of ``starts`` suits it best.
    """

    def errors(groups: Index, scales: Array) -> Array:
        fits = (fit_groups(sample, start, groups, scales) for start in starts)
        return np.asarray(np.sum(min(fits, key=lambda fit: fit.error).residuals ** 2, axis=1))

    closures = [
        closure
        for closure in (_closures(sample, chosen, scales) if len(chosen) else ())
        if largest is None or len(closure[1]) <= largest
    ]
    if not closures:
        return chosen
    alone = errors(chosen, scales)
    best, gain = chosen, -np.inf
    for threshold, groups, shared in closures:
        mean, error = paired(alone - errors(groups, shared), sample.weights)
        clear = CLEARLY * error + ROUNDING * float(sample.weights @ alone)
        if mean >= (-clear if threshold == COPY else clear) and mean > gain:
            best, gain = groups, mean
    return best


def _closures(sample: Sample, chosen: Index, scales: Array) -> Iterator[tuple[float, Index, Array]]:
    """Closures that differ: correlation needed, groups, and the scales of all groups."""
    decided = chosen[~sample.kept[chosen]]  # what is kept by decree draws nothing in
    if not len(decided):
        return
    correlations = group_correlations(sample, decided)
    partner = decided[np.argmax(correlations, axis=0)]
    strongest = correlations.max(axis=0)
    strongest[chosen] = 0.0
    n_before = 0
    for threshold in THRESHOLDS:
        added = np.flatnonzero(strongest >= threshold)
        if len(added) == n_before:
            continue
        n_before = len(added)
        shared = scales.copy()
        shared[added] = scales[partner[added]]
        yield threshold, np.concatenate([chosen, added]), shared
