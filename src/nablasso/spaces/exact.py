r"""The exact space: what a space is, where the exact minimiser lives, and what a fit leaves.

**Space.** ``u`` (n,) are the coefficients of the values, ``v`` (k, d) those of the derivatives;
``K``, ``D`` and ``L`` are the inner products between them. :class:`RepresenterSpace` has the rows
of a table behind them, :class:`~nablasso.spaces.FeatureSpace` features of rows or of pseudo-rows.

**The representer space.**

.. math:: f = \sum_j u_j\, k(x_j, \cdot) + \sum_{j,a} v_{j,a}\, \partial_a k(t_j, \cdot)

The penalty points ``t`` (m, d), where derivatives are measured, are the data ``x`` (n, d) followed
by ``extra`` points, none by default. Products treat both sums as one over all m points, with ``u``
zero at the extra ones: O(m^2 d) time, O(m^2) memory.

Inputs are multiplied by ``scales`` (d,) before the kernel sees them: ``k(x, s)`` stands for
``kernel(x * scales, s * scales)``. Derivatives are in the units of ``X`` all the same, so ``v`` and
gradients are multiplied by ``scales`` on the way in and out. A length scale is
``scales = 1 / length_scale``; a scale of zero removes a variable from the kernel.

**Penalty points.** A narrow kernel with a small ridge can be flat at the data and steep between
them; derivatives at more points make the empirical norms honest. Two kinds of points are added to
the data:

* *unlabelled* rows: inputs without a target. Each counts as a row of weight one.
* *jittered* copies of the data: row ``i`` moved a random part, at most half, of the way to another
  row drawn at random, with the weight of row ``i``. They stay inside the cloud of the data.

Draws are made row by row of a table, whose order is canonical, so that permuting the input permutes
the result; unlabelled rows are merged and sorted for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils import check_random_state

from nablasso.data.table import Table
from nablasso.kernels.base import Kernel, KernelOperator, row_blocks
from nablasso.types import Array, Index

CHUNK_BYTES = 64 << 20  # memory that evaluation at new points may take for one matrix
FURTHEST = 0.5  # of the way to another row


class Space(Protocol):
    """Values, gradients and their inner products."""

    @property
    def n_samples(self) -> int:
        """``n``."""

    @property
    def n_features(self) -> int:
        """``d``."""

    @property
    def gram(self) -> Array:
        """``K``, shape (n, n)."""

    points: Array  # where derivatives are penalised, shape (k, d)

    def kernel_product(self, u: Array) -> Array:
        """``K u``."""

    def push(self, v: Array) -> tuple[Array, Any]:
        """``D' v``, shape (n,), and a carry for :meth:`pull`."""

    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        """``D u + L v``, shape (k, d)."""

    def products(self, u: Array, v: Array) -> tuple[Array, Array]:
        """``K u + D' v`` and ``D u + L v``."""

    def values(self, u: Array, v: Array) -> Array:
        """``K u + D' v``."""

    def gradients(self, u: Array, v: Array) -> Array:
        """``D u + L v``."""

    def derivative_diagonal(self) -> Array:
        """Diagonal of ``L``, shape (k, d)."""

    def dense(self) -> tuple[Array, Array]:
        """``D`` (k d x n) and ``L`` (k d x k d)."""


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

    def kernel_product(self, u: Array) -> Array:
        """``K u``."""
        return np.asarray(self.gram @ u)

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
        for rows in row_blocks(len(Z), max(self.points.shape), CHUNK_BYTES // 8):
            yield rows, self.kernel.between(Z[rows] * self.scales, self._centres)


class Evaluated(Protocol):
    """What can be evaluated at new points ``Z`` (k, d), given coefficients."""

    @property
    def evaluate(self) -> Callable[..., Array]:
        """Values, shape (k,)."""

    @property
    def evaluate_gradients(self) -> Callable[..., Array]:
        """Gradients, shape (k, d)."""


@dataclass(frozen=True)
class Function:
    """``intercept + f(x[columns])`` with ``f`` in some space; a constant without one.

    In a representer space ``v`` is None when the function has no derivative terms, as after kernel
    ridge regression. In a space of features ``u`` are their weights, and there is no ``v``.
    """

    intercept: float
    columns: Index
    space: Evaluated | None = None
    u: Array | None = None
    v: Array | None = None

    @property
    def _coef(self) -> tuple[Array, ...]:
        return tuple(part for part in (self.u, self.v) if part is not None)

    def values(self, Z: Array) -> Array:
        """Values at standardised points ``Z`` (m, d)."""
        if self.space is None:
            return np.full(len(Z), self.intercept)
        return self.intercept + self.space.evaluate(Z[:, self.columns], *self._coef)

    def gradients(self, Z: Array) -> Array:
        """Gradients in standardised units at ``Z``, shape (m, d); zero outside ``columns``."""
        if self.space is None:
            return np.zeros(Z.shape)
        if np.array_equal(self.columns, np.arange(Z.shape[1])):
            return self.space.evaluate_gradients(Z, *self._coef)
        out = np.zeros(Z.shape)
        out[:, self.columns] = self.space.evaluate_gradients(Z[:, self.columns], *self._coef)
        return out


class PenaltyPoints(NamedTuple):
    """Points added to the data, and the weights of the data and of them, adding up to one."""

    extra: Array  # (m - n, d)
    weights: Array  # (m,)


def penalty_points(
    table: Table, total: float, unlabelled: Array | None, n_jitter: int, random_state: Any
) -> PenaltyPoints | None:
    """The points that ``X_unlabeled`` and ``n_jitter`` ask for; None where both ask for nothing.

    Parameters
    ----------
    table : Table
    total : float
        Sum of the sample weights behind the table's, which add up to one.
    unlabelled : array, shape (k, n_features), optional
        In the units of the input.
    n_jitter : int
        Copies of each row.
    random_state : int, RandomState or None
        None stands for 0: fits are reproducible by default.
    """
    extra = [np.empty((0, table.X.shape[1]))]
    weights = [table.weights]
    if n_jitter:
        extra += _jittered(table.X, n_jitter, random_state)
        weights += [table.weights] * n_jitter
    if unlabelled is not None and len(unlabelled):
        Z = table.scaler.transform(unlabelled)[:, table.columns]
        Z, counts = np.unique(Z, axis=0, return_counts=True)
        extra.append(Z)
        weights.append(counts / total)
    if len(weights) == 1:
        return None
    joined = np.concatenate(weights)
    return PenaltyPoints(np.vstack(extra), joined / joined.sum())


def _jittered(X: Array, n_jitter: int, random_state: Any) -> list[Array]:
    """Each row moved part of the way to another one, once per copy."""
    rng = check_random_state(0 if random_state is None else random_state)
    n = len(X)
    copies = []
    for _ in range(n_jitter):
        other = (np.arange(n) + rng.randint(1, n, size=n)) % n
        part = rng.uniform(0, FURTHEST, size=(n, 1))
        copies.append(X + part * (X[other] - X))
    return copies
