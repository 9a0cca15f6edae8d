r"""Many tests at once: the procedure of Benjamini and Hochberg (1995).

With m p-values in increasing order, reject the k smallest, where k is the largest number with

.. math:: p_{(k)} \le q k / m.

The expected proportion of false rejections is then at most q, for independent p-values and for
positively dependent ones. The adjusted p-value of a test is the smallest q that rejects it,

.. math:: \tilde p_{(i)} = \min_{k \ge i} \; \min(1, m p_{(k)} / k).
"""

from __future__ import annotations

import numpy as np

from nablasso.types import Array, Mask


def adjusted_p_values(p_values: Array) -> Array:
    """Benjamini-Hochberg adjusted p-values, in the order of the input."""
    m = len(p_values)
    order = np.argsort(p_values, kind="stable")[::-1]
    scaled = np.asarray(p_values)[order] * m / np.arange(m, 0, -1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum.accumulate(np.minimum(scaled, 1.0))
    return adjusted


def benjamini_hochberg(p_values: Array, fdr: float) -> Mask:
    """Which tests are rejected at false discovery rate ``fdr``."""
    # q k / m and m p / k round differently: a tie is a rejection
    return np.asarray(adjusted_p_values(p_values) <= fdr * (1 + 1e-12))
