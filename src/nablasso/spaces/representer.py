r"""The representer space: where the exact minimiser lives.

.. math:: f = \sum_j u_j\, k(x_j, \cdot) + \sum_{j,a} v_{j,a}\, \partial_a k(x_j, \cdot)

Inputs are multiplied by ``scales`` (d,) before the kernel sees them: ``k(x, s)`` stands for
``kernel(x * scales, s * scales)``. Derivatives are in the units of ``X`` all the same, so ``v`` and
gradients are multiplied by ``scales`` on the way in and out. A length scale is
``scales = 1 / length_scale``; a scale of zero removes a variable from the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from nablasso.kernels.base import Array, Kernel, KernelOperator

CHUNK_BYTES = 64 << 20  # memory that evaluation at new points may take for one matrix


class RepresenterSpace:
    """Functions spanned by the kernel and its derivatives at the rows of ``X``.

    Parameters
    ----------
    kernel : Kernel
    X : array, shape (n, d)
        The centres.
    scales : array, shape (d,), optional
        Multipliers of the inputs; ones by default.
    """

    def __init__(self, kernel: Kernel, X: Array, scales: Array | None = None) -> None:
        self.kernel = kernel
        self.X = X
        self.scales = np.ones(X.shape[1]) if scales is None else np.asarray(scales, dtype=float)
        self._centres = X * self.scales

    @property
    def n_samples(self) -> int:
        """Number of centres."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of variables."""
        return int(self.X.shape[1])

    @cached_property
    def operator(self) -> KernelOperator:
        """The kernel bound to the centres on both sides."""
        return self.kernel.between(self._centres, self._centres)

    @cached_property
    def gram(self) -> Array:
        """``K``, shape (n, n)."""
        return self.operator.gram()

    def push(self, v: Array) -> tuple[Array, Any]:
        """``D' v`` at the centres and a carry for :meth:`pull`."""
        return self.operator.push(v * self.scales)

    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        """``D u + L v`` at the centres, shape (n, d)."""
        return self.operator.pull(u, v * self.scales, carry) * self.scales

    def products(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Values ``K u + D' v`` and gradients ``D u + L v`` at the centres."""
        Dv, carry = self.push(v)
        return self.gram @ u + Dv, self.pull(u, v, carry)

    def values(self, u: Array, v: Array) -> Array:
        """``K u + D' v`` at the centres."""
        return self.gram @ u + self.push(v)[0]

    def gradients(self, u: Array, v: Array) -> Array:
        """``D u + L v`` at the centres."""
        return self.pull(u, v, self.push(v)[1])

    def derivative_diagonal(self) -> Array:
        """``L^{aa}[i, i]`` in the units of ``X``, shape (n, d)."""
        return self.kernel.derivative_diagonal(self._centres) * self.scales**2

    def dense(self) -> tuple[Array, Array]:
        """``D`` (n d x n) and ``L`` (n d x n d); rows ordered as ``v.ravel()``."""
        D, L = self.operator.dense()
        n, d = self.X.shape
        D = D * self.scales[:, None]
        L = L * self.scales[:, None, None] * self.scales
        return D.reshape(n * d, n), L.reshape(n * d, n * d)

    def evaluate(self, Z: Array, u: Array, v: Array | None = None) -> Array:
        """Values at new points ``Z`` (m, d), in chunks of bounded memory."""
        out = np.empty(len(Z))
        for rows, operator in self._chunks(Z):
            out[rows] = operator.gram() @ u
            if v is not None:
                out[rows] += operator.push(v * self.scales)[0]
        return out

    def evaluate_gradients(self, Z: Array, u: Array, v: Array | None = None) -> Array:
        """Gradients at new points ``Z`` (m, d), in chunks of bounded memory."""
        out = np.empty(Z.shape)
        scaled = np.zeros(self.X.shape) if v is None else v * self.scales
        for rows, operator in self._chunks(Z):
            out[rows] = operator.gradients(u, scaled) * self.scales
        return out

    def _chunks(self, Z: Array) -> Iterator[tuple[slice, KernelOperator]]:
        step = max(1, CHUNK_BYTES // (8 * max(1, self.n_samples)))
        for start in range(0, len(Z), step):
            rows = slice(start, start + step)
            yield rows, self.kernel.between(Z[rows] * self.scales, self._centres)
