r"""What a kernel is: three scalar functions, and the products they make possible.

A function of the representer space is

.. math:: f = \sum_j u_j\, k(x_j, \cdot) + \sum_{j,a} v_{j,a}\, \partial_a k(x_j, \cdot)

with ``u`` of shape (n,) and ``v`` of shape (n, d). A :class:`KernelOperator` binds a kernel to
evaluation points ``Z`` (rows) and centres ``X`` (columns) and computes

* values     ``K u + D' v``      at ``Z``, shape (m,)
* gradients  ``D u + L v``       at ``Z``, shape (m, d)

in O(m n d) time and O(m n) memory. The matrix ``L`` (m d x n d) is never formed.

Why two half-steps. In the dual solver ``u`` is a function of ``D' v``. So ``push(v)`` gives
``D' v`` and a carry that ``pull(u, v, carry)`` reuses: three matrix products in all, not four.
The carry is the smaller of what both need: an (m, d) array, or with more columns than rows an
(m, n) one, and then no temporary is as large as the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from nablasso.errors import InvalidParameterError
from nablasso.types import Array

BLOCK_ELEMENTS = 1 << 18  # entries of a temporary block: 2 MiB, about a core's cache


def row_blocks(n_rows: int, row_length: int) -> Iterator[slice]:
    """Slices of rows whose temporaries stay within ``BLOCK_ELEMENTS`` entries."""
    step = max(1, BLOCK_ELEMENTS // max(1, row_length))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def column_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of columns of an (n_rows, n_columns) array, each of about ``BLOCK_ELEMENTS``."""
    yield from row_blocks(n_columns, n_rows)


def positive(value: Any, name: str) -> float:
    """``value`` as a float, or an error that names the parameter."""
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise InvalidParameterError(f"{name} must be a positive number; got {value!r}.")
    return float(value)


class KernelOperator(ABC):
    """A kernel between evaluation points ``Z`` (m, d) and centres ``X`` (n, d)."""

    @abstractmethod
    def gram(self) -> Array:
        """``K[i, j] = k(z_i, x_j)``, shape (m, n)."""

    @abstractmethod
    def push(self, v: Array) -> tuple[Array, Any]:
        """``D' v`` at ``Z``, shape (m,), and a carry for :meth:`pull`."""

    @abstractmethod
    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        """``D u + L v`` at ``Z``, shape (m, d); ``carry`` comes from ``push(v)``."""

    @abstractmethod
    def slopes(self, u: Array) -> Array:
        """``D u`` at ``Z``, shape (m, d): gradients of a function without derivative terms.

        ``u`` (n,), or (m, n) when every point of ``Z`` has coefficients of its own: row i of the
        result is then ``sum_j u_ij dk(z_i, x_j)``.
        """

    @abstractmethod
    def dense(self) -> tuple[Array, Array]:
        """``D`` of shape (m, d, n) and ``L`` of shape (m, d, n, d), O(m n d^2) memory.

        Only the reference solvers on small problems need these.
        """

    def values(self, u: Array, v: Array) -> Array:
        """``K u + D' v`` at ``Z``."""
        return self.gram() @ u + self.push(v)[0]

    def gradients(self, u: Array, v: Array) -> Array:
        """``D u + L v`` at ``Z``."""
        return self.pull(u, v, self.push(v)[1])


class Kernel(BaseEstimator, ABC):
    """A positive semidefinite, twice differentiable function of two points."""

    has_width: ClassVar[bool] = True  # whether a rule for the length scale means anything

    @abstractmethod
    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind the kernel to evaluation points ``Z`` (m, d) and centres ``X`` (n, d)."""

    @abstractmethod
    def diagonal(self, X: Array) -> Array:
        """``k(x_i, x_i)``, shape (n,)."""

    @abstractmethod
    def derivative_diagonal(self, X: Array) -> Array:
        """``L^{aa}[i, i]``: squared norm of the functional "derivative a at x_i", (n, d)."""

    @abstractmethod
    def width(self, X: Array, weights: Array, rule: str) -> float:
        """Length scale that the named ``rule`` gives for the points ``X``."""

    def __call__(self, Z: Array, X: Array) -> Array:
        """Gram matrix between ``Z`` and ``X``, shape (m, n)."""
        return self.between(np.asarray(Z, dtype=float), np.asarray(X, dtype=float)).gram()

    def __add__(self, other: Kernel) -> Kernel:
        """Sum of two kernels."""
        from nablasso.kernels.composite import Sum

        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self, other)

    def __mul__(self, factor: float) -> Kernel:
        """Kernel times a positive number."""
        from nablasso.kernels.composite import Scaled

        return Scaled(self, factor)

    __rmul__ = __mul__


def length_scale(
    kernel: Kernel, X: Array, weights: Array, rule: str | float, multiplier: float = 1.0
) -> float:
    """Number that a rule or a number stands for on these points."""
    width = kernel.width(X, weights, rule) if isinstance(rule, str) else float(rule)
    return multiplier * width
