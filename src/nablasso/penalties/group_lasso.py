r"""Group lasso ``sum_g w_g ||d_g f||_n``; with groups of one variable, the lasso.

``prox``: soft thresholding of the norms. Conjugate of ``alpha Omega``: zero where every dual norm
is at most ``alpha w_g``, infinite elsewhere.
"""

from __future__ import annotations

import numpy as np

from nablasso.penalties.base import Penalty
from nablasso.types import Array

ROUNDING = 1e-9  # a projected norm may exceed its radius by rounding


class GroupLasso(Penalty):
    """``Omega = sum_g w_g t_g``."""

    def value(self, norms: Array) -> float:
        """``sum_g w_g t_g``."""
        return float(self.weights @ norms)

    def shrink(self, norms: Array, step: float) -> Array:
        """``max(0, t_g - step w_g)``."""
        return np.maximum(norms - step * self.weights, 0.0)

    def conjugate(self, norms: Array, alpha: float) -> float:
        """Zero inside the balls, infinite outside."""
        inside = np.all(norms <= self.radius(alpha) * (1 + ROUNDING))
        return 0.0 if inside else float("inf")

    def radius(self, alpha: float) -> Array:
        """``alpha w_g``."""
        return alpha * self.weights
