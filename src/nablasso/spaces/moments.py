r"""Moments of features and target: all that (P) with the squared loss sees of the rows.

With weights ``p`` adding up to one, ``mean = E phi``, ``C = E phi phi' - mean mean'``,
``c = E phi y - mean E y`` and the variance of ``y``. For ``f = b + w . phi``

.. math::
    \mathrm{E}(y - f)^2 = (\bar y - b - w \cdot mean)^2 + \mathrm{var}\,y - 2 w \cdot c
                          + w^\top C w ,

and ``S = E psi psi'`` of the slopes gives the norms of all derivatives
(:mod:`nablasso.spaces.fourier`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dsyrk

from nablasso.spaces.fourier import FourierFeatures, slope_moments
from nablasso.spaces.nystrom import NystromFeatures
from nablasso.types import Array

FeatureMap = FourierFeatures | NystromFeatures

CHUNK_BYTES = 16 << 20  # features computed at a time


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over rows of total ``weight``; ``C`` and ``c`` with the means removed.

    ``slopes`` says that the features are Fourier features, for which ``C`` holds ``S`` too.
    """

    weight: float
    n_samples: int
    mean: Array  # (m,)
    y_mean: float
    y_variance: float
    C: Array  # (m, m)
    c: Array  # (m,)
    slopes: bool = False

    @cached_property
    def S(self) -> Array | None:
        """``E psi psi'`` (m, m), no mean removed; None for maps without slopes."""
        return slope_moments(self.uncentred()[0]) if self.slopes else None

    def mean_squared_error(self, w: Array, b: float) -> float:
        """Of ``b + w . phi`` on the rows behind the moments."""
        offset = self.y_mean - b - float(w @ self.mean)
        around = self.y_variance - 2 * float(w @ self.c) + float(w @ self.C @ w)
        return offset**2 + max(around, 0.0)

    def uncentred(self) -> tuple[Array, Array, float]:
        """``E phi phi'``, ``E phi y`` and ``E y^2``."""
        second = self.C + np.outer(self.mean, self.mean)
        return second, self.c + self.y_mean * self.mean, self.y_variance + self.y_mean**2


def row_moments(
    features: FeatureMap, Z: Array, y: Array, weights: Array, known: Array | None = None
) -> Moments:
    """Moments of rows in memory, in chunks; ``weights`` are positive.

    ``known`` are the features of all rows, where they were computed before.
    """
    m, total = features.n_components, float(weights.sum())
    y_mean = float(weights @ y) / total
    second = np.zeros((m, m), order="F")
    mean, cross = np.zeros(m), np.zeros(m)
    step = max(1, CHUNK_BYTES // (8 * max(1, m)))
    for start in range(0, len(Z), step):
        rows = slice(start, start + step)
        phi = features.features(Z[rows]) if known is None else known[rows].copy()
        mean += weights[rows] @ phi
        cross += (weights[rows] * (y[rows] - y_mean)) @ phi
        phi *= np.sqrt(weights[rows])[:, None]
        second = dsyrk(1.0, phi.T, beta=1.0, c=second, lower=1, overwrite_c=1)
    second = (np.tril(second) + np.tril(second, -1).T) / total
    mean /= total
    variance = float(weights @ (y - y_mean) ** 2) / total
    slopes = isinstance(features, FourierFeatures)
    C = second - np.outer(mean, mean)
    return Moments(total, len(Z), mean, y_mean, variance, C, cross / total, slopes)
