r"""Columns as codes of one byte, and the functions of a column as a table by code.

**Codes.** A column becomes bins, three quarters of them at quantiles and one quarter even in x, so
that tails keep their shape; few distinct values are codes as they are.

**Functions.** With the shares ``p`` of the codes and their standardised means ``t`` the functions
of a column are those of Demmler and Reinsch: ``1`` and ``t``, then the eigenvectors of the natural
cubic spline's kernel :math:`|t - s|^3 / 12` orthogonal to both, smooth ones first. They are
orthonormal over the rows. The eigenvalue is the prior variance of its function: one variance for
the column is then enough, and no degree is chosen. Categories and missing cells are columns of 0
and 1 before they come here (:mod:`nablasso.data.encoding`).

Cost: an eigendecomposition of (bins x bins) per column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import ndtri

from nablasso.types import Array, Index

Codes = NDArray[np.uint8]

BINS = 160  # codes of a column at most; finer ones changed no answer, coarser ones cost error
WIDE = 200  # columns beyond which bins are fewer: their eigendecompositions would take the time
FEWEST_BINS = 24
EVEN = 0.25  # share of the bins that are even in x
CELLS = 4096  # of the even grid that finds codes
LEAST_REACH = 1e-300  # of edges: a grid between closer ones would overflow
CROWDED = 6  # edges of one cell beyond which a search among all edges is faster
LONG_TAILS = 12.0  # fourth moment from which on functions are of normal scores, not of x
NEGLIGIBLE = 1e-12  # eigenvalue over the largest: rounding


@dataclass(frozen=True)
class CodedColumn:
    """How one column is coded, and its functions at the codes.

    ``edges`` separate the codes, ``centres`` stand for them; row ``c`` of ``table`` holds the
    functions at code ``c``.
    """

    edges: Array
    centres: Array
    table: Array
    prior: Array

    def encode(self, x: Array) -> Codes:
        """Codes of values."""
        return np.asarray(_below(self.edges, x), dtype=np.uint8)

    def at(self, x: Array, k: int) -> Array:
        """The first ``k`` functions at any values, linear between the centres."""
        table = self.table[:, :k]
        if len(self.centres) == 1:
            return np.repeat(table, len(x), axis=0)
        left, share, _ = self._cell(x)
        return np.asarray(table[left] + share[:, None] * (table[left + 1] - table[left]))

    def slopes(self, x: Array, k: int) -> Array:
        """Derivatives of the first ``k`` functions; zero beyond the centres."""
        if len(self.centres) == 1:
            return np.zeros((len(x), k))
        left, share, width = self._cell(x)
        inside = (share > 0) & (share < 1)
        table = self.table[:, :k]
        return np.asarray(inside[:, None] * (table[left + 1] - table[left]) / width[:, None])

    def _cell(self, x: Array) -> tuple[Index, Array, Array]:
        """The centre to the left, the share of the way to the next, and how far that is."""
        left = np.clip(np.searchsorted(self.centres, x) - 1, 0, len(self.centres) - 2)
        width = self.centres[left + 1] - self.centres[left]
        return left, np.clip((x - self.centres[left]) / width, 0.0, 1.0), width


def _below(edges: Array, x: Array) -> Index:
    """How many sorted edges lie below each value: what searchsorted says, in less time.

    Cells of an even grid are monotone in x, so edges of cells below lie below; those of a value's
    own cell are compared one by one. Where a cell holds many, searchsorted it is.
    """
    half = edges[-1] / 2 - edges[0] / 2 if len(edges) > 1 else 0.0
    if len(x) < CELLS or not LEAST_REACH < half < np.finfo(float).max / 2:
        return np.searchsorted(edges, x)
    scale, x = CELLS / (edges[-1] - edges[0]), np.ascontiguousarray(x)

    def cell(values: Array) -> Index:
        with np.errstate(over="ignore"):  # far beyond the last edge
            return np.asarray(np.clip((values - edges[0]) * scale, 0, CELLS), dtype=np.intp)

    inside = np.bincount(cell(edges), minlength=CELLS + 1)
    if inside.max() > CROWDED:
        return np.searchsorted(edges, x)
    code = (np.cumsum(inside) - inside)[cell(x)]
    ends = np.append(edges, np.inf)
    for _ in range(inside.max()):
        code += ends[code] < x
    return code


def bins_for(n_columns: int) -> int:
    """Codes of a column at most, fewer where columns are many."""
    return int(np.clip(BINS * WIDE // max(n_columns, 1), FEWEST_BINS, BINS))


def draft(x: Array, weight: Array, bins: int) -> CodedColumn:
    """Codes of a column from sampled rows; its functions need the counts of all rows."""
    values, inverse = np.unique(x, return_inverse=True)
    mass = np.bincount(inverse, weights=weight).astype(float)
    edges = _edges(values, mass, bins)
    bin_of = np.searchsorted(edges, values)
    total = np.bincount(bin_of, weights=mass)
    scale = max(float(np.abs(values).max()), 1e-300)
    centres = np.bincount(bin_of, weights=mass * (values / scale)) / total * scale
    return CodedColumn(edges, centres, np.zeros((len(centres), 0)), np.zeros(0))


def _edges(values: Array, mass: Array, bins: int) -> Array:
    """Edges halfway between neighbouring values; quantiles count rows, not distinct values."""
    halfway = values[:-1] / 2 + values[1:] / 2
    halfway = np.where(halfway < values[1:], halfway, values[:-1])  # no number between the two
    if len(values) <= bins:
        return halfway
    even = round(bins * EVEN)
    share = np.cumsum(mass) / mass.sum()
    at = np.searchsorted(share, np.linspace(0, 1, bins - even + 1)[1:-1])
    low, high = values[np.searchsorted(share, [3 / len(values), 1 - 3 / len(values)])]
    grid = 2 * np.linspace(low / 2, high / 2, even + 1)  # their difference may overflow
    at = np.concatenate([at, np.searchsorted(values, grid) - 1])
    return np.asarray(halfway[np.unique(np.clip(at, 0, len(halfway) - 1))])


def with_functions(column: CodedColumn, counts: Array, most: int) -> CodedColumn:
    """The column with its functions, orthonormal over rows that have these counts per code."""
    seen = counts > 0
    functions, prior = _functions(column.centres[seen], counts[seen], most)
    table = np.zeros((len(counts), len(prior)))
    table[seen] = functions
    return CodedColumn(column.edges, column.centres, table, prior)


def _functions(t: Array, counts: Array, most: int) -> tuple[Array, Array]:
    """The functions at codes of these counts, and their prior variances."""
    p, m = counts / counts.sum(), len(counts)
    if m < 2:
        return np.zeros((m, 0)), np.zeros(0)
    t = _standard(t / max(float(np.abs(t).max()), 1e-300), p)
    if p @ t**4 > LONG_TAILS:
        t = _standard(ndtri(np.cumsum(p) - p / 2), p)
    k = min(most - 1, m - 2)
    if k < 1:
        return t[:, None], np.ones(1)
    root = np.sqrt(p)
    null = np.column_stack([root, root * t])  # what has no curvature
    kernel = np.abs(t[:, None] - t) ** 3 / 12 * root * root[:, None]
    kernel -= null @ (null.T @ kernel)
    kernel -= (kernel @ null) @ null.T
    values, vectors = eigh(kernel, subset_by_index=[m - k, m - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    real = values > NEGLIGIBLE * values[0]
    functions = np.column_stack([t, vectors[:, real] / root[:, None]])
    return functions, np.append(1.0, values[real])


def _standard(t: Array, p: Array) -> Array:
    t = t - p @ t
    return np.asarray(t / np.sqrt(p @ t**2))
