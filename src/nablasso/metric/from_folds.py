r"""Which groups: those ranked first on all rows, unless a fold's are clearly better.

How many groups is decided out of sample, which ones by the ranking on all rows. But a walk can end
elsewhere on all rows than in the folds, and then the number was judged with other groups. So the
groups that each fold ranked first, in the metric that it learned, are fitted to all rows too. A
fold's groups take the place of the others when their left-out absolute errors are clearly smaller,

.. math:: \bar\delta > 2\, \mathrm{se}(\delta), \qquad \delta_i = e_i - e_i^{\mathrm{fold}},

a paired comparison with sets that are not larger, so that nothing is won by taking more in.

Cost: an eigendecomposition for each fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.metric.cross_fit import CLEARLY, FoldFits
from nablasso.metric.nested import Fit, fit_groups, ridge_fit
from nablasso.metric.paired import paired
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Ranked(NamedTuple):
    """Groups, and a scale for every group of the sample."""

    groups: Index
    scales: Array


def best_ranked(
    sample: Sample, start: Start, ranked: Ranked, folds: Sequence[FoldFits], size: int
) -> Ranked:
    """The groups ranked first on all rows or in the fold that is clearly better."""
    if not len(ranked.groups):
        return ranked
    reference = _errors(fit_groups(sample, start, *ranked))
    best, gain = ranked, 0.0
    for fold in folds:
        there = fold.fits[size]  # of fewer groups where more brought nothing
        groups = fold.order[np.isin(fold.order, sample.labels[there.columns])]
        larger = len(groups) > len(ranked.groups)
        if there.space is None or larger or set(groups) == set(ranked.groups):
            continue
        again = ridge_fit(sample, there.space.kernel, there.columns, there.space.scales)
        found = paired(reference - _errors(again), sample.weights)
        if found.mean > max(gain, CLEARLY * found.error):
            scales = np.zeros(sample.n_groups)
            scales[sample.labels[there.columns]] = there.space.scales
            best, gain = Ranked(groups, scales), found.mean
    return best


def _errors(fit: Fit) -> Array:
    """Left-out absolute errors, added up over targets."""
    return np.asarray(np.abs(fit.residuals).sum(axis=1))
