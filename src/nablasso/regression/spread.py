r"""How sure a fitted function is: the spread of the functions that the rows allow.

A posterior mean ``f = b + k(.)' u`` of ``y = b + f + e``, ``f + e ~ N(0, c A)``, ``A = K + r N``
(:mod:`nablasso.regression.evidence`), with the mean ``b`` integrated out has the covariance

.. math:: c \Big[k(x, x') - k(x)^\top A^{-1} k(x')
          + \frac{(1 - 1^\top A^{-1} k(x))(1 - 1^\top A^{-1} k(x'))}{1^\top A^{-1} 1}\Big].

**What the family cannot bend to.** A kernel of smooth functions is too sure of where a kink is. A
rough function of every column is therefore allowed besides,

.. math:: K \leftarrow K + r\, t \sum_a \exp(-|x_a - x'_a|),

of the size ``t`` that the rows give it: the mean over ``SIZES``, all deviations up to 1.5 of the
noise's being as likely beforehand, weighted by the evidence (unit profiled, all else as it is).
Draws are from the posterior of this sum; they are still told as differences from the mean without
it, so where the two disagree the spread is wide.

**Draws.** The difference ``d`` between a draw and the mean is drawn at ``m`` centres, the rows and
some points between them, and interpolated there by the kernel: ``d = b + k(., C) w`` with
``K_CC w = d_C - b``. Values of all draws at new points are then one product of a kernel matrix with
the matrix of the ``w``, and a line between two centres for the rough function of each column. What
is left out is the spread at points far from all centres.

**Degrees of freedom.** The fitted values are ``(I - r N P) y``; the trace less one (the mean),
``tr(P K)``, is the effective number of parameters; what it loses when a column is held constant is
the column's.

Cost: O(m^3), then O(m) a point and a draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from nablasso.regression.evidence import restricted_inverse, shaped, with_noise
from nablasso.spaces import Function, RepresenterSpace
from nablasso.types import Array, Index

CENTRE_FLOOR = 1e-8  # of the diagonal at the centres: draws there need not be exact
SIZES = (0.0, 0.0625, 0.25, 0.5625, 1.0, 1.5625, 2.25)  # t: squares of even steps


@dataclass(frozen=True)
class Spread:
    """Noise ``r`` over the kernel's variance, its shape ``N`` and the unit."""

    noise: float
    shape: Array
    unit: float

    def draws(self, function: Function, centres: Array, count: int, seed: int) -> Draws:
        """Differences from a function with these rows, at ``centres`` (k, d) besides."""
        space, columns = function.space, function.columns
        if space is None:
            return Draws(None, columns, np.zeros((0, count)), np.zeros(count))
        X = np.vstack([space.X, centres[:, columns]])
        n, m = len(space.X), len(X)
        K = space.kernel(X * space.scales, X * space.scales)
        D = sum((_rough(x, x) for x in X.T), np.zeros((m, m)))
        own = function.intercept + K[:, :n] @ function.u
        y = own[:n] + self.noise * shaped(self.shape, function.u[:, None])[:, 0]
        size, unit = self._rough_size(K[:n, :n], D[:n, :n], y)
        K += size * D
        L = np.linalg.cholesky(with_noise(K[:n, :n].copy(), self.noise, self.shape)[0])
        B = solve_triangular(L, np.column_stack([K[:n], y, np.ones(n)]), lower=True)
        B, z, one = B[:, :-2], B[:, -2], B[:, -1]
        level = float(one @ z) / float(one @ one)
        outside = 1 - one @ B
        C = K - B.T @ B + np.outer(outside, outside / float(one @ one))
        e, V = np.linalg.eigh((C + C.T) / 2)
        root = V * np.sqrt(np.maximum(e, 0.0) * unit)
        drawn = root @ np.random.default_rng(seed).standard_normal((m, count))
        drawn += (level + B.T @ (z - level * one) - own)[:, None]
        mean = drawn.mean(axis=0)
        K.flat[:: m + 1] += CENTRE_FLOOR * float(np.trace(K)) / m
        w = cho_solve(cho_factor(K, lower=True), drawn - mean)
        knots = [np.unique(x) for x in X.T] if size else []
        tables = [size * _rough(at, x) @ w for at, x in zip(knots, X.T, strict=False)]
        space = RepresenterSpace(space.kernel, X, space.scales)
        return Draws(space, columns, w, mean, tuple(zip(knots, tables, strict=True)))

    def _rough_size(self, K: Array, D: Array, y: Array) -> tuple[float, float]:
        """Variance of the rough functions, and the unit with them."""
        values, squares = np.zeros((2, len(SIZES)))
        for i, t in enumerate(SIZES):
            A, _ = with_noise(K + t * self.noise * D, self.noise, self.shape)
            L = np.linalg.cholesky(A)
            z, one = solve_triangular(L, np.column_stack([y, np.ones(len(y))]), lower=True).T
            squares[i] = max(float(z @ z - (one @ z) ** 2 / (one @ one)), 0.0)
            values[i] = np.log(np.diag(L)).sum() + np.log(one @ one) / 2
        if not squares.all():
            return 0.0, self.unit
        values += (len(y) - 1) / 2 * np.log(squares)
        odds = np.exp(values.min() - values)
        t = float(odds @ SIZES / odds.sum())
        return t * self.noise, self.unit * float(np.interp(t, SIZES, squares)) / float(squares[0])

    def degrees(self, function: Function, without: Index | tuple[int, ...] = ()) -> float:
        """Effective degrees of freedom besides the mean, with some columns held constant."""
        space = function.space
        if space is None:
            return 0.0
        X = np.where(np.isin(function.columns, without), 0.0, space.X) * space.scales
        K = space.kernel(X, X)
        factored = restricted_inverse(with_noise(K.copy(), self.noise, self.shape)[0])
        if factored is None:
            raise np.linalg.LinAlgError("A model that was fitted has no factor.")
        return float(np.sum(factored[0] * K))


@dataclass(frozen=True)
class Draws:
    """Functions that differ from a fitted one as the rows allow."""

    space: RepresenterSpace | None
    columns: Index
    w: Array
    level: Array
    rough: tuple[tuple[Array, Array], ...] = ()  # of each column: knots, values (knots, draws)

    def __call__(self, Z: Array) -> Array:
        """Differences (m, draws) at standardised points."""
        out = np.tile(self.level, (len(Z), 1))
        if self.space is None:
            return out
        out += self.space.evaluate(Z[:, self.columns], self.w)
        for (knots, table), x in zip(self.rough, Z[:, self.columns].T, strict=False):
            place = np.interp(x, knots, np.arange(len(knots)))
            left = np.minimum(place.astype(np.intp), max(len(knots) - 2, 0))
            part = (place - left)[:, None]
            out += table[left] * (1 - part) + table[np.minimum(left + 1, len(knots) - 1)] * part
        return out


def _rough(x: Array, z: Array) -> Array:
    """The kernel of rough functions of one column."""
    return np.asarray(np.exp(-np.abs(x[:, None] - z)))
