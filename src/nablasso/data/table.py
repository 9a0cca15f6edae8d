"""From a table to a problem's data: weights, merging, canonical order, scaling.

``prepare`` drops rows of weight zero, merges identical rows (their weights add up), puts rows and
columns into a canonical order and standardises. So weight ``k`` equals ``k`` copies, and permuting
rows or columns of the input permutes the result and changes nothing else, to the last bit.

**Canonical order.** Colours, refined in turn as in graph isomorphism: the colour of a column is an
order-free hash of its (rank, colour of the row) pairs, that of a row one of its (rank, colour of
the column) pairs; rows start from the ranks of ``y`` and of the weights, and the rounds
end when no colour splits any more. Ranks are within a column,
so shifting and rescaling inputs does not change the order. Rows or columns of equal colour are
exchangeable. The order is arbitrary but fixed, so taking its first rows is a fair random sample.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from nablasso.errors import InvalidDataError
from nablasso.types import Array, Index, Mask

Hash = NDArray[np.uint64]

MIN_ROWS = 5
DISCRETE_LEVELS = 10
CORRELATED = 1024  # columns whose correlations with as many others are looked at at once
ROUNDING = 16 * float(np.finfo(float).eps)  # relative variation that is rounding, not data


@dataclass(frozen=True)
class Scaler:
    """``(X - centre) / scale`` per column; constant columns have scale 1."""

    centre: Array
    scale: Array

    def transform(self, X: Array) -> Array:
        """Standardised copy of ``X``."""
        return np.asarray((X - self.centre) / self.scale)

    def back(self, Z: Array, columns: Any) -> Array:
        """Standardised values of some columns in the units of the input."""
        return np.asarray(Z * self.scale[columns] + self.centre[columns])


@dataclass(frozen=True)
class Table:
    """Data as the problems see them: merged, canonical, scaled.

    ``X`` (n, d), ``y`` (n,), ``weights`` (n,) adding up to one; ``total`` is what they added up
    to as given. Column ``a`` of ``X`` is column ``columns[a]`` of the input; row ``i`` of the input
    went to row ``rows[i]``, or was dropped where that is -1. Constant columns are left out.
    """

    X: Array
    y: Array
    weights: Array
    columns: Index
    rows: Index
    scaler: Scaler
    deviations: Array  # of the columns of X; ones when standardised
    y_mean: float
    total: float

    @property
    def y_scale(self) -> float:
        """Weighted standard deviation of ``y``, 1 when constant."""
        centred = self.y - self.weights @ self.y
        deviation = float(np.sqrt(self.weights @ centred**2))
        return deviation if deviation > 0 else 1.0

    def first(self, n: int) -> Table:
        """Its first rows as a table: a fair sample, because the order is arbitrary."""
        if n >= len(self.X):
            return self
        weights = self.weights[:n]
        share = float(weights.sum())
        return replace(
            self,
            X=self.X[:n],
            y=self.y[:n],
            weights=weights / share,
            rows=np.where(self.rows < n, self.rows, -1),
            total=self.total * share,
        )

    def on_columns(self, columns: Index | Mask) -> Table:
        """Some of its columns as a table."""
        return replace(
            self,
            X=np.ascontiguousarray(self.X[:, columns]),
            columns=self.columns[columns],
            deviations=self.deviations[columns],
        )


def is_frame(X: Any) -> bool:
    """Whether X is a data frame in memory, of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and not hasattr(X, "dask")


def is_dask(X: Any) -> bool:
    """Whether X is a collection of Dask."""
    return type(X).__module__.startswith("dask") and hasattr(X, "__dask_graph__")


def is_in_blocks(X: Any) -> bool:
    """Whether X is a table that is read in blocks: a source, files, or a Dask collection."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(x, str | os.PathLike) for x in X)
    return isinstance(X, str | os.PathLike) or getattr(X, "in_blocks", False) or is_dask(X)


def check_weights(sample_weight: object, n_samples: int) -> Array:
    """Weights as an array; refuses negative, infinite or misshapen ones."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = np.asarray(sample_weight, dtype=float)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise InvalidDataError(
            f"sample_weight must have one number per row, shape ({n_samples},); "
            f"got shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InvalidDataError(
            "sample_weight must be finite and not negative; give rows to be left out weight 0."
        )
    return weights


def used_rows(weights: Array) -> Index:
    """Places of the rows of positive weight; refuses too few of them."""
    used = np.flatnonzero(weights > 0)
    if len(used) < MIN_ROWS:
        raise InvalidDataError(
            f"At least {MIN_ROWS} rows of non-zero sample weight are needed; "
            f"got n_samples={len(used)}."
        )
    return used


def prepare(
    X: Array,
    y: Array,
    sample_weight: Array,
    *,
    standardize: bool,
    centre_y: bool,
    centre_x: bool = False,
) -> Table:
    """Make the :class:`Table` of validated arrays.

    Columns that are not standardised are left as they are, or only centred with ``centre_x``.
    """
    kept = used_rows(sample_weight)
    merged, inverse = _distinct(np.column_stack([X[kept], y[kept]]))
    weights = _sums(sample_weight[kept], inverse)
    X_merged, y_merged = merged[:, :-1], merged[:, -1]
    row_order, column_order = canonical_order(X_merged, y_merged, weights)
    X_merged, y_merged = X_merged[row_order][:, column_order], y_merged[row_order]
    weights = weights[row_order] / weights[row_order].sum()

    centre, scale, varies = moments(X_merged, weights)
    deviations = np.ones_like(scale) if standardize else scale
    if not standardize:
        centre, scale = centre if centre_x else np.zeros_like(centre), np.ones_like(scale)
    y_mean = float(weights @ y_merged) if centre_y else 0.0
    y_varies = np.ptp(y_merged) > ROUNDING * np.abs(y_merged).max()  # else centring leaves rounding
    rows = np.full(len(X), -1, dtype=np.intp)
    rows[kept] = np.argsort(row_order)[inverse]
    back = np.argsort(column_order)
    return Table(
        X=np.ascontiguousarray(((X_merged - centre) / scale)[:, varies]),
        y=y_merged - y_mean if y_varies else np.zeros_like(y_merged),
        weights=weights,
        columns=column_order[varies],
        rows=rows,
        scaler=Scaler(centre[back], scale[back]),
        deviations=deviations[varies],
        y_mean=y_mean,
        total=float(sample_weight.sum()),
    )


def discrete_columns(X: Array) -> Mask:
    """Mask of the columns with at most 10 distinct values."""
    ordered = np.sort(X, axis=0)
    return np.asarray(1 + np.sum(np.diff(ordered, axis=0) > 0, axis=0) <= DISCRETE_LEVELS)


def correlated_columns(
    X: Array, weights: Array, chosen: Index, least: float
) -> Iterator[tuple[int, Index]]:
    """Chosen columns with columns whose correlation with them has at least this size.

    Block by block: a matrix of all chosen by all columns may not fit into memory.
    """
    starts = [range(0, count, CORRELATED) for count in (len(chosen), X.shape[1])]
    for mine, theirs in product(*starts):
        own = chosen[mine : mine + CORRELATED]
        others = np.arange(theirs, min(theirs + CORRELATED, X.shape[1]))
        for a, sizes in zip(own, absolute_correlations(X, weights, own, others), strict=True):
            yield int(a), others[sizes >= least]


def absolute_correlations(
    X: Array, weights: Array, chosen: Index, others: Index | None = None
) -> Array:
    """Sizes of the correlations of chosen columns with all (or other) ones; constant: none."""

    def unit(V: Array) -> Array:
        Z = V - weights @ V
        size = np.sqrt(weights @ Z**2)
        return np.asarray(Z / np.where(size > 0, size, 1.0))

    own = unit(X[:, chosen]) * weights[:, None]
    return np.asarray(np.abs(own.T @ unit(X if others is None else X[:, others])))


def canonical_order(X: Array, y: Array, weights: Array) -> tuple[Index, Index]:
    """Orders of the rows and of the columns that do not depend on how they came."""
    ranks = _ranks(X)
    rows = _mix(_ranks(y[:, None])[:, 0], _ranks(weights[:, None])[:, 0])
    columns = np.zeros(X.shape[1], dtype=np.uint64)
    n_colours = 0
    while (found := len(np.unique(rows)) + len(np.unique(columns))) > n_colours:
        n_colours = found
        columns = _mix(columns, _mix(ranks, rows[:, None]).sum(axis=0, dtype=np.uint64))
        rows = _mix(rows, _mix(ranks, columns[None, :]).sum(axis=1, dtype=np.uint64))
    row_order = np.argsort(rows, kind="stable")
    return row_order, np.lexsort((_skewness(X[row_order]), columns))


def moments(X: Array, weights: Array) -> tuple[Array, Array, Mask]:
    """Weighted mean and standard deviation, and which columns vary."""
    centre = weights @ X
    deviation = np.sqrt(weights @ (X - centre) ** 2)
    varies = (np.ptp(X, axis=0) > 0) & (deviation > ROUNDING * np.abs(X).max(axis=0))
    return centre, np.where(varies, deviation, 1.0), varies


def _skewness(X: Array) -> Array:
    """Third moment of each standardised column: tells monotone functions of one another apart."""
    centred = X - X.mean(axis=0)
    size = np.sqrt(np.mean(centred**2, axis=0))
    return np.asarray(np.mean((centred / np.where(size > 0, size, 1.0)) ** 3, axis=0))


def _distinct(rows: Array) -> tuple[Array, Index]:
    """Distinct rows, and which of them each row is; rows are compared as bytes, so wide is fast."""
    rows = np.ascontiguousarray(rows + 0.0)  # -0.0 becomes 0.0
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    return rows[first], inverse


def _sums(values: Array, labels: Index) -> Array:
    """Sum of the values of each label, added up in an order that does not depend on theirs."""
    order = np.lexsort((values, labels))
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[order], starts))


def _ranks(values: Array) -> Hash:
    """Dense ranks within each column."""
    return np.asarray(rankdata(values, "dense", axis=0) - 1, dtype=np.uint64)


def _bits(values: Array) -> Hash:
    """The bits of numbers as whole numbers; -0.0 is 0.0."""
    return (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def _mix(a: Hash, b: Hash) -> Hash:
    """Hash of pairs: the finaliser of splitmix64 on a linear combination."""
    z = a * np.uint64(0x9E3779B97F4A7C15) + b * np.uint64(0xC2B2AE3D27D4EB4F)
    z = z + np.uint64(0x165667B19E3779F9)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def mean_one(weights: Array) -> Array:
    """Weights of mean one."""
    return np.asarray(weights / weights.mean())


def counted(weights: Array, X: Array) -> Array:
    """Whole numbers as copies, in units of their greatest common divisor; others of mean one.

    Chance repeats rows of discrete columns, and copies that agree tell that there is little noise;
    a row of continuous columns that comes twice is one measurement, and tells nothing of the kind.
    """
    whole = np.rint(weights)
    exact = (whole > 0).all() and np.allclose(weights, whole, rtol=1e-9, atol=0)
    if not exact or not discrete_columns(X).all():
        return mean_one(weights)
    return np.asarray(whole / np.gcd.reduce(whole.astype(np.int64)))


def weighted_quantiles(y: Array, weights: Array, levels: Array | Sequence[float]) -> Array:
    """Smallest values with at least the level's share of the weight up to them."""
    order = np.argsort(y, kind="stable")
    share = np.cumsum(weights[order])
    index = np.searchsorted(share, np.asarray(levels) * share[-1] * (1 - 1e-12))
    return np.asarray(y[order][np.minimum(index, len(y) - 1)])
