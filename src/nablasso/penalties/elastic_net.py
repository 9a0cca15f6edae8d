r"""Elastic net ``sum_g w_g (mu ||d_g f||_n + (1 - mu) ||d_g f||_n^2)``.

The conjugate is no longer the indicator of a ball but a quadratic outside it: for ``F = alpha
Omega`` and a dual norm ``s_g``

.. math:: F^*(s) = \sum_g \frac{(s_g - \alpha w_g \mu)_+^2}{4 \alpha w_g (1 - \mu)} .
"""

from __future__ import annotations

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.penalties.base import Penalty
from nablasso.penalties.partition import Partition
from nablasso.types import Array


class ElasticNet(Penalty):
    """``Omega = sum_g w_g (mu t_g + (1 - mu) t_g^2)`` with ``mu = l1_ratio`` in (0, 1)."""

    def __init__(self, partition: Partition, weights: Array, l1_ratio: float) -> None:
        super().__init__(partition, weights)
        if not 0 < l1_ratio < 1:
            raise InvalidParameterError(
                f"l1_ratio must lie strictly between 0 and 1; got {l1_ratio!r}. "
                "For 1 use the lasso; with 0 nothing is ever selected out."
            )
        self.l1_ratio = float(l1_ratio)

    def value(self, norms: Array) -> float:
        """``sum_g w_g (mu t_g + (1 - mu) t_g^2)``."""
        return float(self.weights @ (self.l1_ratio * norms + (1 - self.l1_ratio) * norms**2))

    def shrink(self, norms: Array, step: float) -> Array:
        """``max(0, t_g - step w_g mu) / (1 + 2 step w_g (1 - mu))``."""
        scaled = step * self.weights
        kept = np.maximum(norms - scaled * self.l1_ratio, 0.0)
        return np.asarray(kept / (1 + 2 * scaled * (1 - self.l1_ratio)))

    def conjugate(self, norms: Array, alpha: float) -> float:
        """A quadratic outside the balls; infinite only where a group has no penalty."""
        free = alpha * self.weights == 0
        if np.any(norms[free] > 0):
            return float("inf")
        excess = np.maximum(norms - self.radius(alpha), 0.0)[~free]
        return float(np.sum(excess**2 / (4 * alpha * self.weights[~free] * (1 - self.l1_ratio))))

    def radius(self, alpha: float) -> Array:
        """``alpha w_g mu``."""
        return alpha * self.l1_ratio * self.weights

    def project_dual(self, norms: Array, alpha: float) -> Array:
        """Every norm is allowed but those of groups without penalty."""
        return np.where(alpha * self.weights > 0, norms, 0.0)
