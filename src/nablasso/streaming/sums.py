r"""Sums over rows of a frozen space, fold by fold: they add up in any grouping.

A *slab* of rows is hashed, put in the order of the folds and standardised; each fold's rows are cut
into *blocks*. A block gives ``Phi' Phi`` (a symmetric product, half the work of a general one),
``Phi' 1`` and ``Phi' y`` in the precision of the input, with a fixed centre taken off and rows
multiplied by the square roots of their weights. Blocks are computed by threads with one thread of
linear algebra each, so cosines run in parallel too; results come in the order of the blocks,
whatever the number of threads.

The fold of a row is a hash of its content. With the bits ``b_j`` of the values as whole numbers and
random odd keys ``k_j``

.. math:: h = \mathrm{mix}\Big(\sum_j \big(b_j \oplus \lfloor b_j / 2^{32} \rfloor\big)\, k_j
          \bmod 2^{64}\Big) ,

with the finaliser of splitmix64 as ``mix``. Values are taken as float64, so the same numbers have
the same hash in both precisions, and -0.0 is 0.0. Equal rows share a fold, so weight k is k copies.

Memory: a slab, and per thread a block of features and a product, O(BLOCK_ROWS m + m^2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from nablasso.data.table import Hash
from nablasso.spaces.features import Moments
from nablasso.streaming.frozen import Floats, FrozenSpace
from nablasso.streaming.sources import in_order
from nablasso.types import Array, Index

SLAB_ROWS = 1 << 15
BLOCK_ROWS = 1 << 12  # enough rows that adding m x m numbers costs little; fewer are slower
HALF = np.uint64(32)
CACHED_ROWS = 1 << 10  # hashed at a time: their bits stay in the cache

Item = TypeVar("Item")
Result = TypeVar("Result")


class Slab(NamedTuple):
    """Rows in the order of their folds; rows of fold k are ``ends[k]`` to ``ends[k + 1]``."""

    Z: Floats
    y: Array  # y_centre taken off
    weights: Array | None  # None where all are one
    ends: list[int]


class Products(NamedTuple):
    """Sums over one block: ``phi phi'`` (m, m); ``phi`` and ``phi y`` (2, m)."""

    second: Floats
    first: Floats


def slabs(
    space: FrozenSpace, X: Floats, y: Array, weights: Array | None, n_folds: int
) -> Iterator[Slab]:
    """Cut rows into slabs; rows of weight zero are left out."""
    for start in range(0, len(X), SLAB_ROWS):
        rows = slice(start, start + SLAB_ROWS)
        kept, y_kept = np.take(X[rows], space.columns, axis=1), y[rows]
        w_kept = None if weights is None else weights[rows]
        if kept.dtype != np.float32:
            kept = kept.astype(np.float64, copy=False)
        if w_kept is not None and not w_kept.all():
            there = w_kept > 0
            kept, y_kept, w_kept = kept[there], y_kept[there], w_kept[there]
        folds = fold_numbers(row_hashes(kept, y_kept, space.seed), n_folds)
        order = np.argsort(folds, kind="stable")
        ends = np.searchsorted(folds[order], np.arange(n_folds + 1)).tolist()
        Z = space.standardised(kept[order])
        w_sorted = None if w_kept is None else w_kept[order]
        yield Slab(Z, y_kept[order] - space.y_centre, w_sorted, ends)


def block_slices(start: int, end: int) -> Iterator[slice]:
    """Equal pieces of at most ``BLOCK_ROWS`` rows."""
    n_blocks = -(-(end - start) // BLOCK_ROWS)
    cuts = [start + (end - start) * place // max(1, n_blocks) for place in range(n_blocks + 1)]
    for first, last in pairwise(cuts):
        yield slice(first, last)


def block_products(space: FrozenSpace, Z: Floats, y: Array, weights: Array | None) -> Products:
    """Sums over the rows of a block, the centre of the features taken off."""
    phi = space.features.features(Z)
    if space.feature_centre is not None:
        phi -= space.feature_centre.astype(phi.dtype)
    root = np.ones(len(Z)) if weights is None else np.sqrt(weights)
    if weights is not None:
        phi *= root.astype(phi.dtype)[:, None]
    sides = np.stack([root, root * y]).astype(phi.dtype)
    return Products(phi.T @ phi, sides @ phi)  # numpy sees the transpose and takes syrk


def in_one_thread_each(
    job: Callable[[Item], Result], items: Iterable[Item], n_threads: int | None = None
) -> Iterator[Result]:
    """``job`` of each item in order, by threads with one thread of linear algebra each.

    ``n_threads`` is the number that the linear algebra would use, unless given.
    """
    threads = n_threads or linear_algebra_threads()
    with _controller().limit(limits=1, user_api="blas"):
        yield from in_order(job, items, threads)


def linear_algebra_threads() -> int:
    """As many as its products would use now."""
    found = [info["num_threads"] for info in _controller().info() if info["user_api"] == "blas"]
    return max(found, default=1)


@cache
def _controller() -> ThreadpoolController:
    """Made once per process: to look for the libraries takes longer than a small chunk."""
    return ThreadpoolController()


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


# --- folds ---


def row_hashes(values: NDArray[Any], y: NDArray[Any], seed: int) -> Hash:
    """Hash of each row ``(values[i], y[i])``."""
    state = np.random.SeedSequence(seed).generate_state(values.shape[1] + 1, np.uint64)
    keys = state | np.uint64(1)
    h = np.empty(len(values), dtype=np.uint64)
    for start in range(0, len(values), CACHED_ROWS):
        rows = slice(start, start + CACHED_ROWS)
        h[rows] = _bits(values[rows]) @ keys[1:] + _bits(y[rows]) * keys[0]
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(h ^ (h >> np.uint64(31)))


def fold_numbers(hashes: Hash, n_folds: int) -> Index:
    """Fold 0 to ``n_folds - 1`` of each row."""
    return np.asarray(((hashes >> HALF) * np.uint64(n_folds)) >> HALF, dtype=np.intp)


def _bits(values: NDArray[Any]) -> Hash:
    floats = np.array(values, dtype=np.float64, order="C")
    floats += 0.0
    bits = floats.view(np.uint64)
    bits ^= bits >> HALF  # the low halves of round numbers are empty
    return bits
