"""A fitted function of the standardised inputs: values and gradients at new points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nablasso.spaces.representer import RepresenterSpace

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Function:
    """``intercept + f(x[columns])`` with ``f`` in a representer space; a constant without one.

    ``v`` is None when the function has no derivative terms, as after kernel ridge regression.
    """

    intercept: float
    columns: NDArray[np.intp]
    space: RepresenterSpace | None = None
    u: Array | None = None
    v: Array | None = None

    def values(self, Z: Array) -> Array:
        """Values at standardised points ``Z`` (m, d)."""
        if self.space is None or self.u is None:
            return np.full(len(Z), self.intercept)
        return self.intercept + self.space.evaluate(Z[:, self.columns], self.u, self.v)

    def gradients(self, Z: Array) -> Array:
        """Gradients in standardised units at ``Z``, shape (m, d); zero outside ``columns``."""
        out = np.zeros(Z.shape)
        if self.space is not None and self.u is not None:
            inner = self.space.evaluate_gradients(Z[:, self.columns], self.u, self.v)
            out[:, self.columns] = inner
        return out
