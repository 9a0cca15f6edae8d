r"""Effective dimension reduction: eigenvectors of the sparse gradient covariance ``Xi = B B'``.

``Xi_ab = <f^a, f^b>_K`` (21) is zero outside the selected variables, so its eigenvectors, from a
singular value decomposition of the s rows that are not zero, are zero there too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from nablasso.types import Array, Index

EXPLAINED = 0.95
ROUNDING = 1e-12  # of the largest eigenvalue


class Directions(NamedTuple):
    """Eigenvectors (q, d) of the covariance, all its positive eigenvalues, and itself (d, d)."""

    components: Array
    spectrum: Array
    covariance: csr_array


def find_directions(
    blocks: list[tuple[Index, Array]], n_features: int, n_components: int | None
) -> Directions:
    """Directions of gradients given as (columns, B); several add up their covariances."""
    columns = np.unique(np.concatenate([active for active, _ in blocks]))
    stacked = np.zeros((len(columns), sum(B.shape[1] for _, B in blocks)))
    start = 0
    for active, B in blocks:
        stacked[np.searchsorted(columns, active), start : start + B.shape[1]] = B
        start += B.shape[1]
    if not stacked.size or not stacked.any():
        empty = csr_array((n_features, n_features))
        return Directions(np.zeros((1, n_features)), np.zeros(0), empty)
    vectors, sizes, _ = np.linalg.svd(stacked, full_matrices=False)
    spectrum = sizes**2
    rank = int(np.sum(spectrum > ROUNDING * spectrum[0]))
    if n_components is None:
        share = np.cumsum(spectrum) / spectrum.sum()
        n_components = int(np.searchsorted(share, EXPLAINED * (1 - ROUNDING)) + 1)
    kept = min(n_components, rank)
    components = np.zeros((kept, n_features))
    components[:, columns] = _signed(vectors[:, :kept].T)
    inner = stacked @ stacked.T
    s = len(columns)
    rows, cols = np.repeat(columns, s), np.tile(columns, s)
    covariance = csr_array((inner.ravel(), (rows, cols)), shape=(n_features, n_features))
    return Directions(components, spectrum[:rank], covariance)


def _signed(vectors: Array) -> Array:
    """Each row with its largest entry positive."""
    largest = np.argmax(np.abs(vectors), axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), largest])
    return np.asarray(vectors * signs[:, None])
