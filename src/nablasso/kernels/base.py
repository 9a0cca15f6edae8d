r"""What a kernel is: three scalar functions, and the products they make possible.

A :class:`KernelOperator` binds a kernel to evaluation points ``Z`` (rows) and centres ``X``
(columns) of a function of the representer space (:mod:`nablasso.spaces`) and computes

* values     ``K u + D' v``      at ``Z``, shape (m,)
* gradients  ``D u + L v``       at ``Z``, shape (m, d)

in O(m n d) time and O(m n) memory. The matrix ``L`` (m d x n d) is never formed.

In the dual solver ``u`` is a function of ``D' v``. So ``push(v)`` gives ``D' v`` and a carry that
``pull(u, v, carry)`` reuses: three matrix products in all, not four. The carry is the smaller of
what both need: an (m, d) array, or with more columns than rows an (m, n) one. Every product is
linear in the kernel: **sums and positive multiples** of kernels add them up.

**Length scales** from the data, by name:

* ``"median"``: weighted median of the distances between pairs of points.
* ``"half_median"``: half of it (Ye and Xie 2012); of the positive distances where it is zero.
* ``"neighbour20"``: mean distance to the 20th nearest neighbour (Rosasco et al. 2013).
* ``"median20"``: median distance to the 20 nearest neighbours (Gregorova et al. 2018).

Rows are expected merged and in canonical order (:mod:`nablasso.data.table`): a pair counts with
the product of its weights, a point with its weight. Only the first ``MAX_ROWS`` rows are used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator

from nablasso.data.table import weighted_quantiles
from nablasso.errors import InvalidParameterError
from nablasso.types import Array

BLOCK_ELEMENTS = 1 << 18  # entries of a temporary block: 2 MiB, about a core's cache
WIDTH_RULES = ("median", "half_median", "neighbour20", "median20")
MAX_ROWS = 2000
NEIGHBOURS = 20


def row_blocks(n_rows: int, row_length: int, entries: int | None = None) -> Iterator[slice]:
    """Slices of rows whose temporaries stay within ``entries`` (``BLOCK_ELEMENTS`` by default)."""
    step = max(1, (BLOCK_ELEMENTS if entries is None else entries) // max(1, row_length))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def positive(value: Any, name: str) -> float:
    """``value`` as a float, or an error that names the parameter."""
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise InvalidParameterError(f"{name} must be a positive number; got {value!r}.")
    return float(value)


class KernelOperator(ABC):
    """A kernel between evaluation points ``Z`` (m, d) and centres ``X`` (n, d)."""

    @abstractmethod
    def push(self, v: Array) -> tuple[Array, Any]:
        """``D' v``, and a carry for :meth:`pull`."""

    @abstractmethod
    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        """``D u + L v``, shape (m, d); ``carry`` comes from ``push(v)``."""

    def gradients(self, u: Array, v: Array) -> Array:
        """``D u + L v``."""
        return self.pull(u, v, self.push(v)[1])

    @abstractmethod
    def gram(self) -> Array:
        """``K[i, j] = k(z_i, x_j)``, shape (m, n)."""

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


class ProfileOperator(KernelOperator):
    r"""A kernel of one number: ``phi(|z - x|^2 / 2)`` (radial) or ``phi(z . x)``.

    With ``K1 = phi'``, ``K2 = phi''`` (m x n), ``sigma = -1`` for a radial kernel and 1 for the
    other, and ``T[i,j] = z_i . v_j``, less ``t_j = x_j . v_j`` for a radial kernel,

    * ``D' v = sigma rowsum(K1 * T) = sigma (rows(Z . (K1 v)) - K1 t)``
    * ``D u + L v = sigma K1 v + B X`` with ``B = K2 * T + sigma K1 diag(u)``, and for a radial
      kernel less ``diag(B 1) Z``

    which are three matrix products: ``K1 v``, ``Z v'`` and ``B X``. :meth:`push` makes the first
    and hands it on, or with more columns than rows the second, ``T``.
    """

    def __init__(self, kernel: ScalarKernel, numbers: Array, Z: Array, X: Array) -> None:
        self.kernel, self.numbers, self.Z, self.X = kernel, numbers, Z, X
        self.K0, self.K1 = kernel.first_two(numbers)
        self.radial = kernel.radial
        self.sigma = -1.0 if self.radial else 1.0
        self.wide = X.shape[1] > len(X)

    @cached_property
    def K2(self) -> Array:
        """``phi''``, which values and slopes do not need."""
        K2 = self.kernel.profile(self.numbers)[2]
        del self.numbers  # as large as the others
        return K2

    def gram(self) -> Array:
        """``K0``."""
        return self.K0

    def slopes(self, u: Array) -> Array:
        """``B X`` with ``B = sigma K1 diag(u)``."""
        return self._gradients(self.K1 * (self.sigma * u))

    def push(self, v: Array) -> tuple[Array, Array]:
        """``D' v``, and ``K1 v`` or ``T``."""
        t = np.einsum("ja,ja->j", self.X, v) if self.radial else None
        if self.wide:
            T = self.Z @ v.T
            if t is not None:
                T -= t
            return self.sigma * np.einsum("ij,ij->i", self.K1, T), T
        K1v = self.K1 @ v
        Dv = np.einsum("ia,ia->i", self.Z, K1v)
        if t is not None:
            Dv -= self.K1 @ t
        return self.sigma * Dv, K1v

    def pull(self, u: Array, v: Array, carry: Array) -> Array:
        """``sigma K1 v + B X``, with the rest of a radial kernel."""
        signed = self.sigma * u
        if self.wide:
            return self._gradients(carry * self.K2 + self.K1 * signed, v)
        t = np.einsum("ja,ja->j", self.X, v) if self.radial else None
        G = self.sigma * carry
        for rows in row_blocks(*self.K1.shape):
            B = self.Z[rows] @ v.T
            if t is not None:
                B -= t
            B *= self.K2[rows]
            B += self.K1[rows] * signed
            if self.radial:
                G[rows] -= B.sum(axis=1)[:, None] * self.Z[rows]
            G[rows] += B @ self.X
        return G

    def _gradients(self, B: Array, v: Array | None = None) -> Array:
        """The same from ``B``, in blocks of columns."""
        sums = B.sum(axis=1)[:, None] if self.radial else None
        G = np.empty(self.Z.shape)
        for columns in row_blocks(*self.Z.T.shape):
            block = B @ self.X[:, columns]
            if sums is not None:
                block -= sums * self.Z[:, columns]
            if v is not None:
                block += self.sigma * (self.K1 @ v[:, columns])
            G[:, columns] = block
        return G

    def dense(self) -> tuple[Array, Array]:
        """``D`` and ``L``, entry by entry."""
        here, there = self.Z[:, None, :], self.X[None, :, :]
        along, against = (here - there, there - here) if self.radial else (there, here)
        shape = (*self.K1.shape, self.X.shape[1])
        along, against = np.broadcast_to(along, shape), np.broadcast_to(against, shape)
        L = np.einsum("ij,ija,ijb->iajb", self.K2, along, against)
        for a in range(shape[2]):
            L[:, a, :, a] += self.sigma * self.K1
        return np.einsum("ij,ija->iaj", self.K1, along), L


class Kernel(BaseEstimator, ABC):
    """A positive semidefinite, twice differentiable function of two points."""

    has_width: ClassVar[bool] = True  # whether a rule for the length scale means anything

    @abstractmethod
    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind the kernel to evaluation points ``Z`` (m, d) and centres ``X`` (n, d)."""

    @abstractmethod
    def derivative_diagonal(self, X: Array) -> Array:
        """``L^{aa}[i, i]``: squared norm of the functional "derivative a at x_i", (n, d)."""

    def width(self, X: Array, weights: Array, rule: str) -> float:
        """Length scale that the named ``rule`` gives for the points ``X``; 1 without distances."""
        return width_by_rule(X, weights, rule) if self.has_width else 1.0

    def __call__(self, Z: Array, X: Array) -> Array:
        """Gram matrix between ``Z`` and ``X``, shape (m, n)."""
        return self.between(np.asarray(Z, dtype=float), np.asarray(X, dtype=float)).gram()

    def against(self, X: Array) -> Callable[[Array], Array]:
        """``Z`` to the Gram matrix with centres ``X``, whose own part is computed once."""
        return lambda Z: self.between(Z, X).gram()

    def __add__(self, other: Kernel) -> Kernel:
        """Sum of two kernels."""
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self, other)

    def __mul__(self, factor: float) -> Kernel:
        """Kernel times a positive number."""
        return Scaled(self, factor)

    __rmul__ = __mul__


class ScalarKernel(Kernel):
    """A kernel of one number, given by :meth:`profile` alone."""

    radial: ClassVar[bool]

    @abstractmethod
    def profile(self, r: Array) -> tuple[Array, Array, Array]:
        """``phi(r), phi'(r), phi''(r)`` for ``r = |z - x|^2 / 2``, or ``r = z . x``."""

    def first_two(self, r: Array) -> tuple[Array, Array]:
        """``phi(r), phi'(r)``: all that tuning needs, where they are cheaper than all three."""
        return self.profile(r)[:2]


class _Combined(Kernel):
    """``sum_i c_i k_i`` with positive ``c``."""

    @abstractmethod
    def terms(self) -> list[tuple[float, Kernel]]:
        """Factors and kernels."""

    def between(self, Z: Array, X: Array) -> KernelOperator:
        """Bind all terms to evaluation points and centres."""
        return _CombinedOperator([(c, kernel.between(Z, X)) for c, kernel in self.terms()])

    def against(self, X: Array) -> Callable[[Array], Array]:
        """Of all terms."""
        terms = [(c, kernel.against(X)) for c, kernel in self.terms()]
        return lambda Z: np.asarray(sum(c * gram(Z) for c, gram in terms))

    def derivative_diagonal(self, X: Array) -> Array:
        """Sum of the derivative diagonals."""
        return np.asarray(sum(c * kernel.derivative_diagonal(X) for c, kernel in self.terms()))

    def width(self, X: Array, weights: Array, rule: str) -> float:
        """Width of the first term that has one; the terms share one scaling of the inputs."""
        kernels = [kernel for _, kernel in self.terms()]
        term = next((kernel for kernel in kernels if kernel.has_width), kernels[0])
        return term.width(X, weights, rule)


class Sum(_Combined):
    """``first + second``."""

    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.first = first
        self.second = second

    def terms(self) -> list[tuple[float, Kernel]]:
        """Both."""
        return [(1.0, self.first), (1.0, self.second)]


class Scaled(_Combined):
    """``factor * kernel`` with a positive factor."""

    def __init__(self, kernel: Kernel, factor: float = 1.0) -> None:
        self.kernel = kernel
        self.factor = factor

    def terms(self) -> list[tuple[float, Kernel]]:
        """The one kernel."""
        return [(positive(self.factor, "the factor of a kernel"), self.kernel)]


class _CombinedOperator(KernelOperator):
    def __init__(self, terms: list[tuple[float, KernelOperator]]) -> None:
        self.terms = terms
        self._gram = self._sum([one.gram() for _, one in terms])

    def gram(self) -> Array:
        return self._gram

    def push(self, v: Array) -> tuple[Array, Any]:
        Dv, carries = zip(*(one.push(v) for _, one in self.terms), strict=True)
        return self._sum(Dv), carries

    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        pairs = zip(self.terms, carry, strict=True)
        return self._sum([one.pull(u, v, own) for (_, one), own in pairs])

    def slopes(self, u: Array) -> Array:
        return self._sum([one.slopes(u) for _, one in self.terms])

    def dense(self) -> tuple[Array, Array]:
        D, L = zip(*(one.dense() for _, one in self.terms), strict=True)
        return self._sum(D), self._sum(L)

    def _sum(self, parts: Sequence[Array]) -> Array:
        """``sum_i c_i parts_i``."""
        return np.asarray(sum(c * part for (c, _), part in zip(self.terms, parts, strict=True)))


def length_scale(kernel: Kernel, X: Array, weights: Array, rule: str | float) -> float:
    """Number that a rule or a number stands for on these points."""
    return kernel.width(X, weights, rule) if isinstance(rule, str) else float(rule)


def width_by_rule(X: Array, weights: Array, rule: str, max_rows: int = MAX_ROWS) -> float:
    """Length scale for points ``X`` (n, d) with ``weights`` (n,); 1.0 when all points coincide."""
    if rule not in WIDTH_RULES:
        raise InvalidParameterError(
            f"length_scale must be a positive number or one of {', '.join(WIDTH_RULES)}; "
            f"got {rule!r}."
        )
    X, weights = X[:max_rows], weights[:max_rows]
    if len(X) < 2:
        return 1.0
    distances = pdist(X)
    if rule in ("median", "half_median"):
        i, j = np.triu_indices(len(weights), k=1)
        pairs = weights[i] * weights[j]
        width = weighted_median(distances, pairs)
        if rule == "half_median":
            if width == 0 and distances.any():
                width = weighted_median(distances[distances > 0], pairs[distances > 0])
            width /= 2
    else:
        k = min(NEIGHBOURS, len(X) - 1)
        nearest = np.sort(squareform(distances), axis=1)[:, 1 : k + 1]
        if rule == "neighbour20":
            width = float(np.average(nearest[:, -1], weights=weights))
        else:
            width = weighted_median(nearest.ravel(), np.repeat(weights, k))
    return width if width > 0 else 1.0


def weighted_median(values: Array, weights: Array) -> float:
    """Middle of the smallest and largest value that halve the weight: the median when equal."""
    if (weights == weights[0]).all():  # the usual case: a partition instead of a sort
        return float(np.median(values))
    low, high = (weighted_quantiles(side * values, weights, [0.5])[0] for side in (1, -1))
    return float((low - high) / 2)
