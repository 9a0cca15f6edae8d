r"""A number for each row that depends on its content alone, not on where it stands.

With the bits ``b_j`` of the values as whole numbers and random odd keys ``k_j``

.. math:: h = \mathrm{mix}\Big(\sum_j \big(b_j \oplus \lfloor b_j / 2^{32} \rfloor\big)\, k_j
          \bmod 2^{64}\Big) ,

with the finaliser of splitmix64 as ``mix``. Values are taken as float64, so the same numbers have
the same hash in both precisions, and -0.0 is 0.0. Equal rows share a fold, so weight k is k copies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.table import Hash
from nablasso.types import Index

HALF = np.uint64(32)
CACHED_ROWS = 1 << 10  # hashed at a time: their bits stay in the cache


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
