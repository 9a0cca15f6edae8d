r"""Stability selection with complementary pairs (Shah and Samworth 2013).

Split the rows at random into two halves of floor(n / 2) rows, B times, and let the selector choose
on each half. The selection probability of a variable is the share of the 2B halves that choose it;
those of probability at least tau are selected. :mod:`nablasso.inference.bounds` bounds the expected
number of false ones. Cost: 2B fits on n / 2 rows.

Weights go with their rows: a half holds half of the distinct rows, whatever they weigh. So copies
of a row stay together and the two halves of a pair share nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nablasso.inference.bounds import false_selection_bound
from nablasso.progress import run_jobs
from nablasso.types import Array, Index, Mask

Select = Callable[[Array, NDArray[np.generic], Array, int], Mask]  # X, y, weights, seed


def complementary_pairs(
    n_samples: int, n_pairs: int, rng: np.random.Generator, labels: Index | None = None
) -> list[Index]:
    """Rows of the 2B halves; halves 2b and 2b + 1 are a pair.

    With ``labels`` the rows of each label are divided evenly. An odd row is left out.
    """
    halves = []
    for _ in range(n_pairs):
        rows = rng.permutation(n_samples)[: 2 * (n_samples // 2)]
        if labels is not None:
            rows = rows[np.argsort(labels[rows], kind="stable")]
        halves += [np.sort(rows[0::2]), np.sort(rows[1::2])]
    return halves


def half_sample_selections(
    select: Select,
    X: Array,
    y: NDArray[np.generic],
    weights: Array,
    halves: list[Index],
    *,
    seed: int,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Mask:
    """What each half selects, shape (2B, d).

    ``select(X, y, weights, seed)`` returns the mask of one half; its seed depends on ``seed`` and
    on the number of the half only.
    """
    seeds = np.random.SeedSequence(seed).generate_state(len(halves))
    arguments = [
        (select, X[rows], y[rows], weights[rows], int(s))
        for rows, s in zip(halves, seeds, strict=True)
    ]
    masks = run_jobs(_call, arguments, label="half-samples", n_jobs=n_jobs, verbose=verbose)
    return np.array(masks, dtype=bool)


def smallest_threshold(
    floor: float,
    largest_bound: float,
    n_selected: float,
    n_features: int,
    n_pairs: int,
    assumption: str,
) -> float:
    """Smallest threshold, at least ``floor``, that meets the bound; infinite if none does."""
    counts = np.arange(np.ceil(2 * n_pairs * floor - 1e-9), 2 * n_pairs + 1) / (2 * n_pairs)
    low, high = 0, len(counts)  # the bounds decrease with the threshold
    while low < high:
        middle = (low + high) // 2
        bound = false_selection_bound(counts[middle], n_selected, n_features, n_pairs, assumption)
        low, high = (low, middle) if bound <= largest_bound else (middle + 1, high)
    return float(counts[low]) if low < len(counts) else np.inf


def _call(select: Select, X: Array, y: NDArray[np.generic], weights: Array, seed: int) -> Mask:
    return select(X, y, weights, seed)
