"""A fitted function of the standardised inputs: values and gradients at new points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.spaces.fourier import FourierFeatures
from nablasso.spaces.nystrom import NystromFeatures
from nablasso.spaces.representer import RepresenterSpace
from nablasso.types import Array, Index


@dataclass(frozen=True)
class Function:
    """``intercept + f(x[columns])`` with ``f`` in some space; a constant without one.

    In a representer space ``v`` is None when the function has no derivative terms, as after kernel
    ridge regression. In a feature space ``u`` are the weights of the features, and there is no
    ``v``.
    """

    intercept: float
    columns: Index
    space: RepresenterSpace | FourierFeatures | NystromFeatures | None = None
    u: Array | None = None
    v: Array | None = None

    def values(self, Z: Array) -> Array:
        """Values at standardised points ``Z`` (m, d)."""
        if self.space is None or self.u is None:
            return np.full(len(Z), self.intercept)
        Z = Z[:, self.columns]
        if isinstance(self.space, RepresenterSpace):
            return self.intercept + self.space.evaluate(Z, self.u, self.v)
        return self.intercept + self.space.evaluate(Z, self.u)

    def gradients(self, Z: Array) -> Array:
        """Gradients in standardised units at ``Z``, shape (m, d); zero outside ``columns``."""
        if self.space is None or self.u is None:
            return np.zeros(Z.shape)
        if np.array_equal(self.columns, np.arange(Z.shape[1])):
            return self._own_gradients(Z)
        out = np.zeros(Z.shape)
        out[:, self.columns] = self._own_gradients(Z[:, self.columns])
        return out

    def _own_gradients(self, Z: Array) -> Array:
        """Gradients with respect to ``columns`` at points ``Z`` of these columns alone."""
        assert self.space is not None
        assert self.u is not None
        if isinstance(self.space, RepresenterSpace):
            return self.space.evaluate_gradients(Z, self.u, self.v)
        return self.space.evaluate_gradients(Z, self.u)
