r"""Left-out rows as the judge between two sets of columns.

Kernel ridge regression on some columns predicts each row from the others in closed form
(:class:`nablasso.regression.ridge.Ridge`), the ridge being the best of its grid. Two sets are
compared row by row by the difference of their squared left-out residuals
(:func:`nablasso.regression.paired.paired`).

Cost: one eigendecomposition per set, at no more than 500 rows: the first ones, which in the
canonical order of :mod:`nablasso.data.table` are a fair sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nablasso.kernels import Kernel
from nablasso.regression.paired import paired
from nablasso.regression.ridge import Ridge
from nablasso.spaces import RepresenterSpace
from nablasso.types import Array, Index

MAX_ROWS = 500


class Change(NamedTuple):
    """Mean difference of squared left-out residuals, its standard error, and the mean before."""

    mean: float
    error: float
    before: float

    @property
    def relative(self) -> float:
        """The change as a fraction of the error before it."""
        if self.before > 0:
            return self.mean / self.before
        return 0.0 if self.mean == 0 else float(np.inf)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a fit on some columns rests on.

    Parameters
    ----------
    kernel : Kernel
    X : array, shape (n, d)
        All columns, the selected and the others.
    y, weights : arrays, shape (n,)
        The weights add up to one.
    selected : array of int, shape (s,)
    scales : array, shape (s,)
        Multiplier of each selected column inside the kernel, ``1 / length_scale`` or the metric's.
    """

    kernel: Kernel
    X: Array
    y: Array
    weights: Array
    selected: Index
    scales: Array

    def at_most(self, n_rows: int = MAX_ROWS) -> Evidence:
        """The first ``n_rows`` rows."""
        if len(self.y) <= n_rows:
            return self
        weights = self.weights[:n_rows]
        return replace(self, X=self.X[:n_rows], y=self.y[:n_rows], weights=weights / weights.sum())

    @cached_property
    def inverse(self) -> Ridge:
        """Ridge regression on the selected columns."""
        return self.inverse_on(self.X[:, self.selected], self.scales)

    @cached_property
    def residuals(self) -> Array:
        """Left-out residuals on the selected columns."""
        return self._residuals(self.inverse)

    def inverse_on(self, inputs: Array, scales: Array) -> Ridge:
        """Ridge regression on other inputs of the same rows; the mean if there are none."""
        n = len(self.y)
        gram = RepresenterSpace(self.kernel, inputs, scales).gram if scales.size else np.ones(())
        return Ridge(np.broadcast_to(gram, (n, n)), self.weights)

    def left_out(self, inputs: Array, scales: Array) -> Array:
        """Left-out residuals on other inputs of the same rows."""
        return self._residuals(self.inverse_on(inputs, scales))

    def _residuals(self, inverse: Ridge) -> Array:
        return inverse.loo_residuals(self.y, inverse.best_ridge(self.y))


def compare(before: Array, after: Array, weights: Array) -> Change:
    """Compare two sets of left-out residuals of the same rows."""
    return Change(*paired(after**2 - before**2, weights), float(weights @ before**2))
