r"""What a variable that screening has dropped would add to the final model.

All dropped columns are ranked by the larger of two held-out scores for the leave-one-out residuals
of the model (:mod:`~nablasso.metric.held_out`): that of the column alone and those of its products
with the selected columns. The first of them are then added to the model in earnest: kernel ridge
regression on the selected columns and this one, in the same kernel, the new column with the largest
scale of the others. What it gains is the rise of the leave-one-out R2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.kernels import AdditivePower
from nablasso.metric.held_out import column_scores, product_scores
from nablasso.metric.nested import Fit, ridge_fit
from nablasso.metric.sample import Sample

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_PARTNERS = 20  # selected columns whose products with the dropped ones are looked at


class AddedBack(NamedTuple):
    """A dropped column and the rise of the leave-one-out R2 when it joins the model."""

    column: int
    gain: float


def added_back(sample: Sample, fit: Fit, dropped: Index, n_refits: int) -> list[AddedBack]:
    """The most promising of the dropped columns, the largest gain first."""
    scores = promise(sample, fit, dropped)
    best = dropped[np.argsort(-scores, kind="stable")[:n_refits]]
    found = [AddedBack(int(a), gain_of(sample, fit, int(a))) for a in best]
    return sorted(found, key=lambda one: -one.gain)


def promise(sample: Sample, fit: Fit, dropped: Index) -> Array:
    """Held-out score of each dropped column, alone or times a selected one, for the residuals."""
    scores = column_scores(sample.X, fit.residuals, sample.weights, dropped)
    for b in fit.columns[:MAX_PARTNERS]:
        pairs = np.column_stack([dropped, np.full_like(dropped, b)])
        products = product_scores(sample.X, fit.residuals, sample.weights, pairs)
        np.maximum(scores, products, out=scores)
    return scores


def gain_of(sample: Sample, fit: Fit, column: int) -> float:
    """Rise of the leave-one-out R2 when one column joins the model."""
    kernel, scales = AdditivePower(1), np.empty(0)  # next to no column, that column's own curve
    if fit.space is not None:
        kernel, scales = fit.space.kernel, fit.space.scales
    joined = np.append(scales, scales.max(initial=0.0) or 1.0)
    error = ridge_fit(sample, kernel, np.append(fit.columns, column), joined).error
    variance = float(np.sum(sample.weights @ (sample.Y - sample.weights @ sample.Y) ** 2))
    return (fit.error - error) / variance if variance > 0 else 0.0
