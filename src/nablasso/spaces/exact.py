r"""The exact space: what a space is, where the exact minimiser lives, and what a fit leaves.

**Space.** ``u`` (n,) are the coefficients of the values, ``v`` (k, d) those of the derivatives;
``K``, ``D`` and ``L`` are the inner products between them. :class:`RepresenterSpace` has the rows
of a table behind them, :class:`~nablasso.spaces.FeatureSpace` features of rows or of pseudo-rows.

**The representer space.**

.. math:: f = \sum_j u_j\, k(x_j, \cdot) + \sum_{j,a} v_{j,a}\, \partial_a k(t_j, \cdot)

The penalty points ``t`` (m, d), where derivatives are measured, are the data ``x`` (n, d) followed
by ``extra`` points, none by default. Products treat both sums as one over all m points, with ``u``
zero at the extra ones: O(m^2 d) time, O(m^2) memory.

Inputs are multiplied by ``scales`` (d,) before the kernel sees them. Derivatives are in the units
of ``X`` all the same, so ``v`` and gradients are multiplied by ``scales`` on the way in and out. A
length scale is ``scales = 1 / length_scale``; a scale of zero removes a variable from the kernel.

**Which space**, by name, or by what memory and time allow:

* ``"exact"``: the representer space. O(n^2) memory, O(n^3) once, O(n^2 d) a product.
* ``"fourier"``: m cosines and sines, one pass over the rows, O(d m^2) a product. It selects where
  frequencies are sparse, that is with ANOVA kernels. Other losses than the squared one make a pass
  at every Newton step.
* ``"nystrom"``: (P) exactly on m landmark rows, the refit on all rows. For the others.

``"auto"`` takes the exact space while its matrices fit into half of the memory at hand and its
floating-point operations stay under ``OPERATIONS`` (a minute or two on one core), and beyond that
the one of the other two that can select with the kernel at hand.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nablasso.data.table import Table
from nablasso.errors import DataTooLargeError, InvalidParameterError
from nablasso.kernels.base import Kernel, KernelOperator, Operator, row_blocks
from nablasso.kernels.radial import Anova
from nablasso.spaces.frequencies import has_frequencies
from nablasso.types import Array, Index

CHUNK_BYTES = 64 << 20  # memory that evaluation at new points may take for one matrix
SPACES = ("exact", "fourier", "nystrom")
OPERATIONS = 2e12
PRODUCTS = 300  # products with the kernel's derivatives that a fit is reckoned at
SQUARE_MATRICES = 9  # K and its two derivatives, P, eigenvectors and what their making needs
EXPONENTIALS = 10  # an ANOVA product evaluates the kernel of every column anew, or reads it


class Space(Operator):
    """Values, gradients and their inner products."""

    points: Array  # where derivatives are penalised, shape (k, d)

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """``n``."""

    @property
    def n_features(self) -> int:
        """``d``."""
        return int(self.points.shape[1])

    @property
    @abstractmethod
    def gram(self) -> Array:
        """``K``, shape (n, n)."""

    @abstractmethod
    def derivative_diagonal(self) -> Array:
        """Diagonal of ``L``, shape (k, d)."""

    @abstractmethod
    def dense(self) -> tuple[Array, Array]:
        """``D`` (k d x n) and ``L`` (k d x k d), rows ordered as ``v.ravel()``."""

    def kernel_product(self, u: Array) -> Array:
        """``K u``."""
        return np.asarray(self.gram @ u)

    def products(self, u: Array, v: Array) -> tuple[Array, Array]:
        """``K u + D' v`` and ``D u + L v``."""
        Dv, carry = self.push(v)
        return self.kernel_product(u) + Dv, self.pull(u, v, carry)

    def values(self, u: Array, v: Array) -> Array:
        """``K u + D' v``."""
        return self.kernel_product(u) + self.push(v)[0]


class RepresenterSpace(Space):
    """Functions spanned by the kernel at the rows of ``X`` and its derivatives at all points.

    ``scales`` (d,) multiply the inputs, ``extra`` (m - n, d) are further points of the penalty.
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

    @cached_property
    def operator(self) -> KernelOperator:
        """The kernel bound to the points on both sides."""
        return self.kernel.between(self._centres, self._centres)

    @cached_property
    def gram(self) -> Array:
        """``K`` of the data, shape (n, n)."""
        gram = self.operator.gram()
        n = self.n_samples
        return gram if n == len(self.points) else np.ascontiguousarray(gram[:n, :n])

    def push(self, v: Array) -> tuple[Array, Any]:
        """``D' v`` at the data, shape (n,), and a carry for :meth:`pull`."""
        Dv, carry = self.operator.push(v * self.scales)
        return Dv[: self.n_samples], carry

    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        """``D u + L v`` at the points, shape (m, d)."""
        gradients = self.operator.pull(self._padded(u), v * self.scales, carry)
        gradients *= self.scales
        return gradients

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
        missing = len(self.points) - len(u)
        return np.concatenate([u, np.zeros(missing)]) if missing else u

    def _chunks(self, Z: Array) -> Iterator[tuple[slice, KernelOperator]]:
        for rows in row_blocks(len(Z), max(self.points.shape), CHUNK_BYTES // 8):
            yield rows, self.kernel.between(Z[rows] * self.scales, self._centres)


@dataclass(frozen=True)
class Function:
    """``intercept + f(x[columns])`` with ``f`` in some space; a constant without one.

    In a representer space ``v`` is None when the function has no derivative terms, as after kernel
    ridge regression. In a space of features ``u`` are their weights, and there is no ``v``.
    """

    intercept: float
    columns: Index
    space: Any = None  # evaluates values and gradients at new points, given coefficients
    u: Array | None = None
    v: Array | None = None

    @property
    def _coef(self) -> tuple[Array, ...]:
        return tuple(part for part in (self.u, self.v) if part is not None)

    def values(self, Z: Array) -> Array:
        """Values at standardised points ``Z`` (m, d)."""
        if self.space is None:
            return np.full(len(Z), self.intercept)
        return np.asarray(self.intercept + self.space.evaluate(Z[:, self.columns], *self._coef))

    def gradients(self, Z: Array) -> Array:
        """Gradients in standardised units at ``Z``, shape (m, d); zero outside ``columns``."""
        if self.space is None:
            return np.zeros(Z.shape)
        if np.array_equal(self.columns, np.arange(Z.shape[1])):
            return np.asarray(self.space.evaluate_gradients(Z, *self._coef))
        out = np.zeros(Z.shape)
        out[:, self.columns] = self.space.evaluate_gradients(Z[:, self.columns], *self._coef)
        return out


class PenaltyPoints(NamedTuple):
    """Points added to the data, and the weights of the data and of them, adding up to one."""

    extra: Array  # (m - n, d)
    weights: Array  # (m,)


def penalty_points(table: Table, unlabelled: Array | None) -> PenaltyPoints | None:
    """Rows ``unlabelled`` (k, n_features), in the units of the input, beside those of a table."""
    if unlabelled is None or not len(unlabelled):
        return None
    Z = table.scaler.transform(unlabelled)[:, table.columns]
    extra, counts = np.unique(Z, axis=0, return_counts=True)
    weights = np.concatenate([table.weights, counts / table.total])
    return PenaltyPoints(extra, weights / weights.sum())


# --- which space ---


class SpaceChoice(NamedTuple):
    """The name of a space, and why it was taken."""

    name: str
    reason: str


def check_number(n_components: Any) -> None:
    """Refuse anything but a number of features or landmarks."""
    if not isinstance(n_components, int | np.integer) or n_components < 1:
        raise InvalidParameterError(
            f"n_components must be a whole number of at least 1; got {n_components!r}."
        )


def choose_space(
    space: Any, kernel: Kernel, n_rows: int, n_columns: int, n_components: Any
) -> SpaceChoice:
    """What ``space`` means for a table of this size; further penalty points count as rows."""
    check_number(n_components)
    if isinstance(space, str) and space == "auto":
        return _automatic(kernel, n_rows, n_columns, int(n_components))
    if isinstance(space, str) and space in SPACES:
        return SpaceChoice(space, "asked for")
    raise InvalidParameterError(f"space must be one of auto, {', '.join(SPACES)}; got {space!r}.")


def _automatic(kernel: Kernel, n: int, d: int, n_components: int) -> SpaceChoice:
    needed, available = needed_bytes(n, d), available_bytes()
    slow = EXPONENTIALS if isinstance(kernel, Anova) else 1
    operations = 10.0 * n**3 + PRODUCTS * 6.0 * slow * n**2 * d
    if n <= n_components:
        return SpaceChoice("exact", f"{n} rows are few")
    if available is not None and 2 * needed > available:
        why = (
            f"the exact space needs {needed / 2**30:.1f} GiB for {n} rows, more than half of the "
            f"{available / 2**30:.1f} GiB available"
        )
    elif operations > OPERATIONS:
        why = f"the exact space would take about {operations:.0e} operations for {n} rows"
    else:
        return SpaceChoice("exact", f"{n} rows fit into memory and time of the exact space")
    if isinstance(kernel, Anova) and has_frequencies(kernel):
        return SpaceChoice("fourier", f"{why}; features of this kernel touch few variables each")
    return SpaceChoice("nystrom", f"{why}; no Fourier features select with this kernel")


def available_bytes() -> int | None:
    """Memory that can be had now, or None where the system does not tell."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def needed_bytes(n_samples: int, n_features: int) -> int:
    """Memory that a fit in the exact space takes."""
    return 8 * (SQUARE_MATRICES * n_samples**2 + 8 * n_samples * n_features)


def require_memory(n_samples: int, n_features: int) -> None:
    """Refuse sizes whose n x n matrices would not fit."""
    needed = needed_bytes(n_samples, n_features)
    available = available_bytes()
    if available is None or needed <= available:
        return
    fitting = int((available / (8 * SQUARE_MATRICES)) ** 0.5 * 0.9)
    raise DataTooLargeError(
        f"The exact space needs n x n matrices: {needed / 2**30:.1f} GiB for {n_samples} rows, and "
        f"{available / 2**30:.1f} GiB are available. Fit on a random sample of at most {fitting} "
        "rows, for example sklearn.utils.resample(X, y, replace=False, n_samples=...), or on a "
        'derivative estimator use space="auto".'
    )
