r"""Held-out scores of very many small models, in blocks of columns.

A small model is ridge regression of a target on ``r`` features of one column, or on the product of
two columns. With features ``A`` (n, r), centred and multiplied by the root of the weights ``p``,
and ``A'A = V diag(w) V'``, the leave-one-out residuals of every ridge are

.. math:: e_i = \frac{y_i - \hat y_i}{1 - p_i - \sum_k U_{ik}^2 / (w_k + \lambda)},
          \qquad U = A V,

and the score is the share of the target's variance that the best of ``RIDGES`` predicts on left-out
rows. It is about zero, or less, for a column that tells nothing.

**Features of a column**: polynomials up to degree ``DEGREE`` of the standardised column, clipped at
``REACH`` deviations, in Chebyshev's form. High degrees are shrunk, so that the ridge penalises what
is rough: the additive model of one variable, O(n r^2) a column.

Memory: a few arrays of ``BLOCK`` entries, whatever the number of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from nablasso.progress import track
from nablasso.types import Array, Index

BLOCK = 1 << 20  # features times rows that are looked at at once
DEGREE = 5
REACH = 3.0  # deviations of a column
RIDGES = (0.003, 0.03, 0.3)  # in units of the trace of A'A
LEAST = 1e-12


def column_scores(X: Array, Y: Array, weights: Array, columns: Index, *, verbose: int = 0) -> Array:
    """Score of each of the given columns of ``X`` (n, d) for targets ``Y`` (n, q)."""
    chosen = [columns[part] for part in _parts(len(columns), DEGREE * len(X))]

    def features(block: Index) -> Array:
        return curves(X[:, block], weights)

    return _scores(features, chosen, Y, weights, "Scoring columns", verbose)


def product_scores(X: Array, Y: Array, weights: Array, pairs: Index) -> Array:
    """Score of the product of each pair (k, 2) of columns."""
    chosen = [pairs[part] for part in _parts(len(pairs), len(X))]

    def features(block: Index) -> Array:
        a, b = (clipped(X[:, side], weights) for side in block.T)
        a *= b
        return np.ascontiguousarray(a.T)[:, :, None]

    return _scores(features, chosen, Y, weights, "Scoring pairs", 0)


def clipped(X: Array, weights: Array) -> Array:
    """Columns in deviations from their mean, at most ``REACH`` of them; zero where constant."""
    Z = X - weights @ X
    size = np.sqrt(weights @ Z**2)
    Z /= np.where(size > 0, size, np.inf)
    return np.asarray(np.clip(Z, -REACH, REACH, out=Z))


def curves(X: Array, weights: Array) -> Array:
    """Shrunken polynomials of each column, (columns, n, DEGREE)."""
    x = clipped(X, weights).T / REACH
    out = np.empty((*x.shape, DEGREE))
    before, here = np.ones_like(x), x
    for k in range(DEGREE):
        out[:, :, k] = here / (k + 1)
        before, here = here, 2 * x * here - before
    return out


def held_out(features: Array, Y: Array, weights: Array) -> Array:
    """Score of each model, ``features`` (models, n, r), for targets ``Y`` (n, q)."""
    root = np.sqrt(weights)
    mean = np.einsum("i,min->mn", weights, features)
    A = (features - mean[:, None, :]) * root[:, None]
    C = np.matmul(A.transpose(0, 2, 1), A)
    values, V = np.linalg.eigh(C)
    trace = np.trace(C, axis1=1, axis2=2)
    U = np.matmul(A, V)
    squares = U**2
    centred = (Y - weights @ Y) * root[:, None]
    c = np.einsum("mik,iq->mkq", U, centred)
    total = float(np.sum((centred / (1 - weights[:, None])) ** 2))
    errors = np.full(len(features), np.inf)
    for ridge in RIDGES:
        g = 1 / (np.maximum(values, 0.0) + ridge * np.maximum(trace, LEAST)[:, None])
        left = 1 - weights - np.matmul(squares, g[:, :, None])[:, :, 0]
        residuals = centred - np.matmul(U, g[:, :, None] * c)
        residuals /= np.maximum(left, LEAST)[:, :, None]
        np.minimum(errors, np.einsum("miq,miq->m", residuals, residuals), out=errors)
    errors[trace <= LEAST] = total
    return np.asarray(1 - errors / total) if total > 0 else np.zeros(len(features))


def _scores(
    features: Callable[[Index], Array],
    blocks: list[Index],
    Y: Array,
    weights: Array,
    what: str,
    verbose: int,
) -> Array:
    done = (held_out(features(block), Y, weights) for block in blocks)
    return np.concatenate([np.empty(0), *track(done, len(blocks), what, verbose=verbose)])


def _parts(n: int, size: int) -> Iterator[slice]:
    """Slices of ``n`` models of ``size`` numbers each that stay within ``BLOCK``."""
    step = max(1, BLOCK // max(1, size))
    for start in range(0, n, step):
        yield slice(start, start + step)
