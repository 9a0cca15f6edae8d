r"""Blocks of rows and their products, on several threads, added up in a fixed order.

A *slab* of rows is hashed, put in the order of the folds and standardised; each fold's rows are cut
into *blocks*. A block gives ``Phi' Phi`` (a symmetric product, half the work of a general one),
``Phi' 1`` and ``Phi' y`` in the precision of the input, with a fixed centre taken off and rows
multiplied by the square roots of their weights. Blocks are computed by threads with one thread of
linear algebra each, so cosines run in parallel too; results come in the order of the blocks,
whatever the number of threads.

Memory: a slab, and per thread a block of features and a product, O(BLOCK_ROWS m + m^2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from nablasso.spaces.frozen import Floats, FrozenSpace
from nablasso.spaces.row_hash import fold_numbers, row_hashes
from nablasso.types import Array

SLAB_ROWS = 1 << 15
BLOCK_ROWS = 1 << 12  # enough rows that adding m x m numbers costs little; fewer are slower

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


def in_order(
    job: Callable[[Item], Result], items: Iterable[Item], n_threads: int | None = None
) -> Iterator[Result]:
    """``job`` of each item, by threads, results in the order of the items, few held at a time.

    ``n_threads`` is the number that the linear algebra would use, unless given.
    """
    threads = n_threads or linear_algebra_threads()
    with _controller().limit(limits=1, user_api="blas"):
        if threads == 1:
            yield from map(job, items)
            return
        waiting: deque[Future[Result]] = deque()
        with ThreadPoolExecutor(threads) as pool:
            for item in items:
                waiting.append(pool.submit(job, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


def linear_algebra_threads() -> int:
    """As many as its products would use now."""
    found = [info["num_threads"] for info in _controller().info() if info["user_api"] == "blas"]
    return max(found, default=1)


@cache
def _controller() -> ThreadpoolController:
    """Made once per process: to look for the libraries takes longer than a small chunk."""
    return ThreadpoolController()
