"""Sums over rows, fold by fold: they add up in any grouping."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.spaces.blocks import Products, Slab
from nablasso.spaces.features import Moments
from nablasso.spaces.frozen import FrozenSpace
from nablasso.types import Array


@dataclass(eq=False)
class Sums:
    """Weighted sums in float64; the first axis is the fold, but for ``columns``.

    ``count`` rows of ``weight`` in all, of ``y`` and ``y_square``, ``first`` (K, 2, m) of phi and
    phi y, ``second`` (K, m, m) of phi phi', and ``columns`` (2, d) of the standardised columns and
    their squares around the usual mean. The space's centres are taken off y and phi.
    """

    count: NDArray[np.int64]
    weight: Array
    y: Array
    y_square: Array
    first: Array
    second: Array
    columns: Array

    @classmethod
    def zeros(cls, n_folds: int, n_components: int, n_columns: int) -> Sums:
        """Sums over no rows."""
        K, m = n_folds, n_components
        return cls(
            count=np.zeros(K, dtype=np.int64),
            weight=np.zeros(K),
            y=np.zeros(K),
            y_square=np.zeros(K),
            first=np.zeros((K, 2, m)),
            second=np.zeros((K, m, m)),
            columns=np.zeros((2, n_columns)),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All sums by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __iadd__(self, other: Sums) -> Sums:
        for name, array in self.arrays().items():
            array += getattr(other, name)
        return self

    def add_scalars(self, slab: Slab, usual_mean: Array | None) -> None:
        """Counts, weights, targets and columns of a slab."""
        w = np.ones(len(slab.y)) if slab.weights is None else slab.weights
        for k, (start, end) in enumerate(pairwise(slab.ends)):
            rows = slice(start, end)
            self.count[k] += end - start
            self.weight[k] += w[rows].sum()
            self.y[k] += w[rows] @ slab.y[rows]
            self.y_square[k] += w[rows] @ slab.y[rows] ** 2
        Z = slab.Z if usual_mean is None else slab.Z - usual_mean.astype(slab.Z.dtype)
        weights = w.astype(Z.dtype)
        self.columns[0] += weights @ Z
        self.columns[1] += weights @ Z**2

    def add_products(self, fold: int, products: Products) -> None:
        """The products of a block."""
        self.first[fold] += products.first
        self.second[fold] += products.second

    def moments(self, folds: list[int], space: FrozenSpace, *, slopes: bool) -> Moments:
        """Means over the rows of some folds."""
        weight = float(self.weight[folds].sum())
        mean, cross = self.first[folds].sum(axis=0) / weight
        y_mean = float(self.y[folds].sum()) / weight
        variance = max(float(self.y_square[folds].sum()) / weight - y_mean**2, 0.0)
        second = self.second[folds].sum(axis=0)
        second /= weight
        return Moments(
            weight=weight,
            n_samples=int(self.count[folds].sum()),
            mean=mean if space.feature_centre is None else mean + space.feature_centre,
            y_mean=y_mean + space.y_centre,
            y_variance=variance,
            C=second - np.outer(mean, mean),
            c=cross - y_mean * mean,
            slopes=slopes,
        )
