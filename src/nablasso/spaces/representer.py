r"""The representer space: where the exact minimiser lives.

.. math:: f = \sum_j u_j\, k(x_j, \cdot) + \sum_{j,a} v_{j,a}\, \partial_a k(t_j, \cdot)

The penalty points ``t`` (m, d), where derivatives are measured, are the data ``x`` (n, d) followed
by ``extra`` points, none by default. Products treat both sums as one over all m points, with ``u``
zero at the extra ones: O(m^2 d) time, O(m^2) memory.

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

from nablasso.kernels.base import Kernel, KernelOperator
from nablasso.types import Array

CHUNK_BYTES = 64 << 20  # memory that evaluation at new points may take for one matrix


class RepresenterSpace:
    """Functions spanned by the kernel at the rows of ``X`` and its derivatives at all points.

    Parameters
    ----------
    kernel : Kernel
    X : array, shape (n, d)
        The data.
    scales : array, shape (d,), optional
        Multipliers of the inputs; ones by default.
    extra : array, shape (m - n, d), optional
        Further points of the penalty.
    """

    def __init__(
        self, kernel: Kernel, X: Array, scales: Array | None = None, extra: Array | None = None
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.points = X if extra is None or not len(extra) else np.vstack([X, extra])
        self.scales = np.ones(X.shape[1]) if scales is None else np.asarray(scales, dtype=float)
        self._centres = self.points * self.scales

    @property
    def n_samples(self) -> int:
        """Number of data points."""
        return int(self.X.shape[0])

    @property
    def n_points(self) -> int:
        """Number of penalty points."""
        return int(self.points.shape[0])

    @property
    def n_features(self) -> int:
        """Number of variables."""
        return int(self.X.shape[1])

    @cached_property
    def operator(self) -> KernelOperator:
        """The kernel bound to the points on both sides."""
        return self.kernel.between(self._centres, self._centres)

    @cached_property
    def gram(self) -> Array:
        """``K`` of the data, shape (n, n)."""
        gram = self.operator.gram()
        n = self.n_samples
        return gram if n == self.n_points else np.ascontiguousarray(gram[:n, :n])

    def push(self, v: Array) -> tuple[Array, Any]:
        """``D' v`` at the data, shape (n,), and a carry for :meth:`pull`."""
        Dv, carry = self.operator.push(v * self.scales)
        return Dv[: self.n_samples], carry

    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        """``D u + L v`` at the points, shape (m, d)."""
        gradients = self.operator.pull(self._padded(u), v * self.scales, carry)
        gradients *= self.scales
        return gradients

    def products(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Values ``K u + D' v`` at the data and gradients ``D u + L v`` at the points."""
        Dv, carry = self.push(v)
        return self.gram @ u + Dv, self.pull(u, v, carry)

    def values(self, u: Array, v: Array) -> Array:
        """``K u + D' v`` at the data."""
        return self.gram @ u + self.push(v)[0]

    def gradients(self, u: Array, v: Array) -> Array:
        """``D u + L v`` at the points."""
        return self.pull(u, v, self.push(v)[1])

    def slopes(self, u: Array) -> Array:
        """``D u`` at the points: gradients of a function without derivative terms."""
        slopes = self.operator.slopes(self._padded(u))
        slopes *= self.scales
        return slopes

    def derivative_diagonal(self) -> Array:
        """``L^{aa}[i, i]`` in the units of ``X``, shape (m, d)."""
        return self.kernel.derivative_diagonal(self._centres) * self.scales**2

    def dense(self) -> tuple[Array, Array]:
        """``D`` (m d x n) and ``L`` (m d x m d); rows ordered as ``v.ravel()``."""
        D, L = self.operator.dense()
        m, d = self.points.shape
        D = (D * self.scales[:, None])[:, :, : self.n_samples]
        L = L * self.scales[:, None, None] * self.scales
        return D.reshape(m * d, -1), L.reshape(m * d, m * d)

    def evaluate(self, Z: Array, u: Array, v: Array | None = None) -> Array:
        """Values at new points ``Z`` (k, d), in chunks of bounded memory."""
        out = np.empty(len(Z))
        for rows, operator in self._chunks(Z):
            out[rows] = operator.gram() @ self._padded(u)
            if v is not None:
                out[rows] += operator.push(v * self.scales)[0]
        return out

    def evaluate_gradients(self, Z: Array, u: Array, v: Array | None = None) -> Array:
        """Gradients at new points ``Z`` (k, d), in chunks of bounded memory."""
        out = np.empty(Z.shape)
        scaled = np.zeros(self.points.shape) if v is None else v * self.scales
        for rows, operator in self._chunks(Z):
            out[rows] = operator.gradients(self._padded(u), scaled) * self.scales
        return out

    def _padded(self, u: Array) -> Array:
        """``u`` with zeros at the extra points."""
        missing = self.n_points - len(u)
        return np.concatenate([u, np.zeros(missing)]) if missing else u

    def _chunks(self, Z: Array) -> Iterator[tuple[slice, KernelOperator]]:
        step = max(1, CHUNK_BYTES // (8 * max(1, *self.points.shape)))
        for start in range(0, len(Z), step):
            rows = slice(start, start + step)
            yield rows, self.kernel.between(Z[rows] * self.scales, self._centres)
