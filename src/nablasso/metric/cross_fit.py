r"""Out-of-sample errors of nested models, the metric learned anew in every training fold.

The leave-one-out error of a model whose variables were chosen on the same rows is too small: with
many noise columns it falls with every variable taken in. So each fold follows a trail on its
training rows, ranks the variables there, and predicts its test rows by the first ``k`` of them for
every ``k``.

**How many.** With absolute errors ``e_i(k)`` on the held-out rows and ``k*`` of smallest mean, the
choice is the smallest ``k`` that is not clearly worse,

.. math:: \bar\delta \le \min\big(c\,\mathrm{se}(\delta),\; \bar e(k^*) / 10\big), \qquad
          \delta_i = e_i(k) - e_i(k^*), \; c = 2,

a paired comparison, which takes out what rows have in common. Absolute errors, because a few rows
with large values would decide for squared ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nablasso.metric.nested import Fit, fit_groups, ranking, sizes
from nablasso.metric.paired import paired, tolerance
from nablasso.metric.sample import Sample
from nablasso.metric.screening import screened
from nablasso.metric.search import follow
from nablasso.metric.start import Start

Array = NDArray[np.float64]
Index = NDArray[np.intp]

CLEARLY = 2.0  # standard errors
PATIENCE = 5  # sizes
GAIN = 0.02


@dataclass(frozen=True)
class FoldFits:
    """Nested fits of one training fold and their predictions of its test rows.

    ``predictions`` (number of sizes, test rows, q); ``order`` ranks the groups.
    """

    test: Index
    order: Index
    sizes: list[int]
    fits: list[Fit]
    predictions: Array


def fit_fold(
    sample: Sample, train: Index, test: Index, starts: Sequence[Start], largest: int
) -> FoldFits:
    """Learn the metric on the training rows, fit nested models, predict the test rows."""
    inner = screened(sample.rows(train))
    metric = follow(inner, starts)
    order = ranking(inner, metric)
    tried = sizes(min(largest, sample.n_groups), int(sample.kept.sum()))
    fits: list[Fit] = []
    for k in tried:
        if k > len(order) or _flat(fits):  # nothing more to take in, or to gain
            fits.append(fits[-1])
        else:
            fits.append(fit_groups(inner, starts[-1], order[:k], metric.scales))
    values = {id(fit): fit.values(sample.X[test]) for fit in fits}
    return FoldFits(test, order, tried, fits, np.array([values[id(fit)] for fit in fits]))


def _flat(fits: Sequence[Fit]) -> bool:
    """Whether the last ``PATIENCE`` sizes brought no gain worth more fits.

    Judged by the leave-one-out error on the training rows, which errs on the side of more.
    """
    if len(fits) <= PATIENCE:
        return False
    before = min(fit.error for fit in fits[:-PATIENCE])
    return min(fit.error for fit in fits[-PATIENCE:]) > (1 - GAIN) * before


def absolute_errors(sample: Sample, folds: Sequence[FoldFits]) -> tuple[Array, Array]:
    """Absolute errors on held-out rows, (number of sizes, rows), and the weights of the rows.

    Rows come in the order of the folds; errors of several targets are added up.
    """
    errors = [np.abs(fold.predictions - sample.Y[fold.test]).sum(axis=2) for fold in folds]
    weights = [sample.weights[fold.test] for fold in folds]
    return np.concatenate(errors, axis=1), np.concatenate(weights)


def fewest(errors: Array, weights: Array, clearly: float = CLEARLY) -> tuple[int, int]:
    """Index of the smallest model not clearly worse than the best, and of the best."""
    curve = errors @ (weights / weights.sum())
    best = int(np.argmin(curve))
    size = float(curve[best]) if errors.min(initial=0.0) >= 0 else np.inf  # scores have no zero
    for k in range(best):
        loss = paired(errors[k] - errors[best], weights)
        if loss.mean <= tolerance(loss, clearly, size):
            return k, best
    return best, best
