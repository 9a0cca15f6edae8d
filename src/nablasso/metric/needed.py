"""Which of the chosen groups are needed: each must clearly reduce the left-out error.

A ranking that failed in some folds lets the curve of nested models fall late, and then carries
groups that do nothing. So groups are taken away, the least useful first, as long as the
leave-one-out absolute errors exceed those of all chosen groups together neither clearly nor by a
tenth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nablasso.metric.cross_fit import CLEARLY
from nablasso.metric.nested import fit_groups
from nablasso.metric.paired import paired, tolerance
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def needed(sample: Sample, start: Start, chosen: Index, scales: Array) -> Index:
    """The chosen groups without those that can go; groups to keep stay."""

    def errors(groups: Index) -> Array:
        residuals = fit_groups(sample, start, groups, scales).residuals
        return np.asarray(np.abs(residuals).sum(axis=1))

    together = errors(chosen)  # the yardstick for all steps: small losses must not add up
    size = float(sample.weights @ together)
    while True:
        without = []
        for group in chosen[~sample.kept[chosen]]:
            rest = chosen[chosen != group]
            loss = paired(errors(rest) - together, sample.weights)
            without.append((loss.mean - tolerance(loss, CLEARLY, size), rest))
        if not without:
            return chosen
        excess, rest = min(without, key=lambda entry: entry[0])
        if excess > 0:
            return chosen
        chosen = rest
