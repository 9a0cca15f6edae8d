"""What a metric is learned from: rows, targets, weights, groups of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]


class Shortlist(NamedTuple):
    """What screening looks at again on other rows (:mod:`nablasso.metric.screening`).

    ``columns`` (k,) and ``pairs`` (m, 2) of columns, the most promising on all rows.
    """

    columns: Index
    pairs: Index


@dataclass(frozen=True)
class Sample:
    """Rows with one or several targets.

    ``X`` (n, d), ``Y`` (n, q), ``weights`` (n,) adding up to one. ``labels`` (d,) numbers the
    group of each column from 0; groups in ``kept`` (one flag per group) are never dropped. On a
    wide table a search begins from the groups that are ``open``, found on these very rows.
    """

    X: Array
    Y: Array
    weights: Array
    labels: Index
    kept: Mask
    shortlist: Shortlist | None = None
    open: Mask | None = None

    @property
    def n_groups(self) -> int:
        """Number of groups of columns."""
        return len(self.kept)

    def rows(self, chosen: Index | Mask) -> Sample:
        """Some of the rows, their weights adding up to one again; what is open is forgotten."""
        weights = self.weights[chosen]
        return replace(
            self,
            X=self.X[chosen],
            Y=self.Y[chosen],
            weights=weights / float(weights.sum()),
            open=None,
        )

    def first(self, n_rows: int) -> Sample:
        """The first rows; all of them when there are no more."""
        return self if len(self.X) <= n_rows else self.rows(np.arange(n_rows))

    def groups(self, chosen: Index) -> Sample:
        """Some of the groups, renumbered in the order given; all of them are kept."""
        columns = self.columns(chosen)
        new = np.empty(self.n_groups, dtype=np.intp)
        new[chosen] = np.arange(len(chosen))
        kept = np.ones(len(chosen), dtype=bool)
        return replace(
            self,
            X=self.X[:, columns],
            labels=new[self.labels[columns]],
            kept=kept,
            shortlist=None,
            open=None,
        )

    def columns(self, chosen: Index) -> Index:
        """Columns of the given groups, in the order of the table."""
        return np.flatnonzero(np.isin(self.labels, chosen))

    def mean_square(self, per_column: Array) -> Array:
        """Mean over the columns of each group of the squares."""
        sums = np.bincount(self.labels, weights=per_column**2, minlength=self.n_groups)
        return np.asarray(sums / np.bincount(self.labels, minlength=self.n_groups))
