"""Learned gradients as a function of standardised inputs, and ``f0`` where there is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.gradients.factor import KernelFactor
from nablasso.types import Array, Index


@dataclass(frozen=True)
class GradientFunction:
    """``f^a(x) = phi(x) . B_a`` for the input columns ``active``, zero for all others.

    The kernel sees the input columns ``columns``. ``c`` is the function ``f0``.
    """

    factor: KernelFactor
    columns: Index
    active: Index
    B: Array
    c: Array

    def values(self, Z: Array) -> Array:
        """``f0`` at standardised points ``Z`` (m, d)."""
        return self._evaluate(Z, self.c[None, :])[:, 0]

    def gradients(self, Z: Array) -> Array:
        """Gradients at standardised points, shape (m, d), in standardised units."""
        out = np.zeros(Z.shape)
        if len(self.active):
            out[:, self.active] = self._evaluate(Z, self.B)
        return out

    def at_rows(self, n_rows: int) -> Array:
        """Gradients of the active columns at the rows of the table, shape (n_rows, s)."""
        return np.asarray(self.factor.phi[:n_rows] @ self.B.T)

    def _evaluate(self, Z: Array, B: Array) -> Array:
        inner = Z[:, self.columns] if len(self.columns) else np.zeros((len(Z), 1))
        return self.factor.evaluate(np.ascontiguousarray(inner), B)
