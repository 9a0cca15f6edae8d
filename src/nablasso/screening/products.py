"""Products of two columns that go with a target: the largest of all pairs, in blocks.

Columns are standardised and clipped; the target is scaled so that its product with the product of
two columns that have nothing to do with it is about a standard normal number. All products of a
block of columns with another are one matrix product in single precision.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from nablasso.progress import track
from nablasso.screening.scores import clipped, product_scores
from nablasso.types import Array, Index

Single = NDArray[np.float32]

BLOCK = 4096  # columns
MARGIN = 3.0  # products to be expected at first, for each one wanted
JUDGED = 20  # pairs that get a held-out score, for each one wanted


def largest_products(
    X: Array, weights: Array, residuals: Array, first: Index, n_pairs: int, *, verbose: int = 0
) -> Index:
    """About ``n_pairs`` pairs (k, 2) of largest product, one of each among the columns ``first``.

    ``first`` is sorted. Fewer where chance alone would give more.
    """
    d = X.shape[1]
    everywhere = len(first) == d
    Z = _standard(X, weights, np.arange(d))
    starts = [
        (a, b) for a in range(0, len(first), BLOCK) for b in range(a if everywhere else 0, d, BLOCK)
    ]
    searched = len(first) * (d - 1) / (2 if everywhere else 1)
    kept = [_Largest(n_pairs, searched) for _ in residuals.T]
    targets = _unit(weights, residuals)
    for a, b in track(starts, len(starts), "Looking at pairs", verbose=verbose):
        rows, columns = first[a : a + BLOCK], np.arange(b, min(b + BLOCK, d))
        for largest, target in zip(kept, targets.T, strict=True):
            largest.look((Z[rows] * target) @ Z[columns].T, rows, columns)
    found = np.concatenate([largest.pairs() for largest in kept])
    return np.asarray(np.unique(found, axis=0))


def best_pairs(
    X: Array, weights: Array, residuals: Array, pairs: Index, n_pairs: int
) -> tuple[Index, Array]:
    """The pairs of largest held-out score for the residuals, and their scores, best first.

    Looked for among the ``JUDGED`` times as many of largest product.
    """
    used, where = np.unique(pairs, return_inverse=True)
    where = where.reshape(-1, 2)
    Z, targets = _standard(X, weights, used), _unit(weights, residuals)
    sizes = np.zeros(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), BLOCK):
        a, b = where[start : start + BLOCK].T
        sizes[start : start + BLOCK] = np.abs((Z[a] * Z[b]) @ targets).max(axis=1)
    promising = pairs[np.argsort(-sizes, kind="stable")[: JUDGED * n_pairs]]
    scores = product_scores(X, residuals, weights, promising)
    best = np.argsort(-scores, kind="stable")[:n_pairs]
    return promising[best], scores[best]


def _standard(X: Array, weights: Array, columns: Index) -> Single:
    """Clipped columns as rows, in single precision."""
    Z = np.empty((len(columns), len(X)), dtype=np.float32)
    for start in range(0, len(columns), BLOCK):
        part = slice(start, start + BLOCK)
        Z[part] = clipped(X[:, columns[part]], weights).T
    return Z


def _unit(weights: Array, residuals: Array) -> Single:
    """Weighted residuals in units that make a product of noise a standard normal number."""
    weighted = residuals * weights[:, None]
    size = np.linalg.norm(weighted, axis=0)
    return np.asarray(weighted / np.where(size > 0, size, 1.0), dtype=np.float32)


class _Largest:
    """The largest entries, in size, of a matrix that comes in blocks."""

    def __init__(self, wanted: int, searched: float) -> None:
        self.wanted = wanted
        self.least = float(norm.isf(min(1.0, MARGIN * wanted / max(searched, 1.0)) / 2))
        self.sizes, self.found = np.empty(0, dtype=np.float32), np.empty((0, 2), dtype=np.intp)

    def look(self, M: Single, rows: Index, columns: Index) -> None:
        """Take from a block what is large enough; no column is paired with itself."""
        high = np.flatnonzero(np.maximum(M.max(axis=1), -M.min(axis=1)) >= self.least)
        if not high.size:
            return
        sizes = np.abs(M[high])
        i, j = np.nonzero(sizes >= self.least)
        pairs = np.column_stack([rows[high[i]], columns[j]])
        apart = pairs[:, 0] != pairs[:, 1]
        self.sizes = np.concatenate([self.sizes, sizes[i, j][apart]])
        self.found = np.concatenate([self.found, np.sort(pairs[apart], axis=1)])
        if len(self.sizes) > 4 * self.wanted:
            self._trim()

    def pairs(self) -> Index:
        """The pairs, largest first."""
        self._trim()
        return self.found

    def _trim(self) -> None:
        """Each pair once, and no more of them than wanted."""
        self.found, where = np.unique(self.found, axis=0, return_index=True)
        self.sizes = self.sizes[where]
        order = np.argsort(-self.sizes, kind="stable")[: self.wanted]
        self.sizes, self.found = self.sizes[order], self.found[order]
        if len(order) == self.wanted:
            self.least = float(self.sizes[-1])
