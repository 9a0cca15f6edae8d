"""Sums and positive multiples of kernels: every product is linear in the kernel."""

from __future__ import annotations

from typing import Any

from nablasso.kernels.base import Kernel, KernelOperator, positive
from nablasso.types import Array


class Sum(Kernel):
    """``first + second``."""

    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.first = first
        self.second = second

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind both terms to evaluation points and centres."""
        return _SumOperator(self.first.between(Z, X), self.second.between(Z, X))

    def diagonal(self, X: Array) -> Array:
        """Sum of the diagonals."""
        return self.first.diagonal(X) + self.second.diagonal(X)

    def derivative_diagonal(self, X: Array) -> Array:
        """Sum of the derivative diagonals."""
        return self.first.derivative_diagonal(X) + self.second.derivative_diagonal(X)

    def width(self, X: Array, weights: Array, rule: str) -> float:
        """Width of the first term that has one; the terms share one scaling of the inputs."""
        term = self.first if self.first.has_width else self.second
        return term.width(X, weights, rule)


class Scaled(Kernel):
    """``factor * kernel`` with a positive factor."""

    def __init__(self, kernel: Kernel, factor: float = 1.0) -> None:
        self.kernel = kernel
        self.factor = factor

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind to evaluation points and centres."""
        return _ScaledOperator(self.kernel.between(Z, X), self._checked_factor())

    def diagonal(self, X: Array) -> Array:
        """Scaled diagonal."""
        return self._checked_factor() * self.kernel.diagonal(X)

    def derivative_diagonal(self, X: Array) -> Array:
        """Scaled derivative diagonal."""
        return self._checked_factor() * self.kernel.derivative_diagonal(X)

    def width(self, X: Array, weights: Array, rule: str) -> float:
        """Width of the kernel that is scaled."""
        return self.kernel.width(X, weights, rule)

    def _checked_factor(self) -> float:
        return positive(self.factor, "the factor of a kernel")


class _SumOperator(KernelOperator):
    def __init__(self, first: KernelOperator, second: KernelOperator) -> None:
        self.first, self.second = first, second
        self._gram = first.gram() + second.gram()

    def gram(self) -> Array:
        return self._gram

    def push(self, v: Array) -> tuple[Array, Any]:
        (Dv1, carry1), (Dv2, carry2) = self.first.push(v), self.second.push(v)
        return Dv1 + Dv2, (carry1, carry2)

    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        return self.first.pull(u, v, carry[0]) + self.second.pull(u, v, carry[1])

    def slopes(self, u: Array) -> Array:
        return self.first.slopes(u) + self.second.slopes(u)

    def dense(self) -> tuple[Array, Array]:
        (D1, L1), (D2, L2) = self.first.dense(), self.second.dense()
        return D1 + D2, L1 + L2


class _ScaledOperator(KernelOperator):
    def __init__(self, operator: KernelOperator, factor: float) -> None:
        self.operator, self.factor = operator, factor
        self._gram = factor * operator.gram()

    def gram(self) -> Array:
        return self._gram

    def push(self, v: Array) -> tuple[Array, Any]:
        Dv, carry = self.operator.push(v)
        return self.factor * Dv, carry

    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        return self.factor * self.operator.pull(u, v, carry)

    def slopes(self, u: Array) -> Array:
        return self.factor * self.operator.slopes(u)

    def dense(self) -> tuple[Array, Array]:
        D, L = self.operator.dense()
        return self.factor * D, self.factor * L
