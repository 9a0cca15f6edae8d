r"""Products of Gaussian bumps and their integrals, one variable at a time.

A bump is :math:`g_i(x) = \exp(-\frac12 \sum_a p_{ia} (x_a - z_{ia})^2)` with precisions
:math:`p_{ia} \ge 0`; all zero is the constant 1. The product of two is a bump again, times a
number:

.. math::
    g_i g_j = e^{-\frac12 \sum_a (p_{ia} p_{ja} / t_a) (z_{ia} - z_{ja})^2}
              e^{-\frac12 \sum_a t_a (x_a - c_a)^2}, \qquad
    t = p_i + p_j, \quad c = (p_i z_i + p_j z_j) / t .

So integrals over the space and over boxes are products of one-dimensional ones (error functions
for boxes), moments have closed forms, and every matrix ``W[i, j] = functional(g_i g_j)`` costs
O(m^2 d).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from nablasso.errors import InvalidParameterError
from nablasso.types import Array, Index

LOG_ROOT_TWO_PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Bumps:
    """``m`` Gaussian bumps in ``d`` variables: ``centres`` and ``precisions``, both (m, d)."""

    centres: Array
    precisions: Array

    def __len__(self) -> int:
        return len(self.centres)

    def values(self, X: Array) -> Array:
        """``g_i(x_k)``, shape (k, m)."""
        return np.exp(self.logs(X))

    def logs(self, X: Array) -> Array:
        """Logs of :meth:`values`: one matrix product, no (k, m, d) array."""
        middle = self.centres.mean(axis=0)
        X, Z, P = X - middle, self.centres - middle, self.precisions
        quadratic = (X**2) @ P.T - 2 * X @ (P * Z).T + np.einsum("ia,ia->i", P, Z**2)
        return np.asarray(-0.5 * np.maximum(quadratic, 0.0))

    def shifted(self, X: Array) -> tuple[Array, Array]:
        """Values divided by the largest of each row (k, m), and the log of that one (k,)."""
        logs = self.logs(X)
        top = logs.max(axis=1)
        top = np.where(np.isfinite(top), top, 0.0)
        return np.exp(logs - top[:, None]), top

    def columns(self, chosen: Index) -> Bumps:
        """The factors of some variables."""
        return Bumps(self.centres[:, chosen], self.precisions[:, chosen])

    def composed(self, scale: Array, shift: Array) -> Bumps:
        """Bumps as functions of ``x`` where they were functions of ``x * scale + shift``.

        Where a scale is zero, no bump may depend on that variable but through ``shift = z``.
        """
        safe = np.where(scale != 0, scale, 1.0)
        centres = np.where(scale != 0, (self.centres - shift) / safe, 0.0)
        return Bumps(centres, self.precisions * scale**2)

    def spread(self, columns: Index, n_features: int) -> Bumps:
        """Bumps of more variables, constant in the new ones."""
        centres = np.zeros((len(self), n_features))
        precisions = np.zeros_like(centres)
        centres[:, columns], precisions[:, columns] = self.centres, self.precisions
        return Bumps(centres, precisions)

    def times(self, other: Bumps) -> tuple[Bumps, Array]:
        """All products ``g_i h_j`` (i slow, j fast) as bumps and the logs of their factors."""
        m, q = len(self), len(other)
        left, right = np.repeat(np.arange(m), q), np.tile(np.arange(q), m)
        p, s = self.precisions[left], other.precisions[right]
        z, y = self.centres[left], other.centres[right]
        total = p + s
        centre = np.where(total > 0, (p * z + s * y) / np.where(total > 0, total, 1.0), 0.0)
        gap = np.where(total > 0, p * s / np.where(total > 0, total, 1.0), 0.0) * (z - y) ** 2
        return Bumps(centre, total), np.asarray(-0.5 * gap.sum(axis=1))


def pair_integrals(bumps: Bumps, box: Array | None = None) -> Array:
    """``W[i, j]``, the integral of ``g_i g_j`` over the space or a box of shape (d, 2)."""
    return np.exp(sum_of_logs(bumps, range(bumps.centres.shape[1]), box))


def sum_of_logs(bumps: Bumps, variables: Iterable[int], box: Array | None = None) -> Array:
    """Logs of the integrals over some of the variables, shape (m, m)."""
    logs = np.zeros((len(bumps), len(bumps)))
    for a in variables:
        interval = None if box is None else (float(box[a, 0]), float(box[a, 1]))
        logs += _log_integral(bumps.centres[:, a], bumps.precisions[:, a], interval)
    return logs


def pair_moments(bumps: Bumps, powers: Array) -> Array:
    """Integrals of ``x_1^{k_1} ... x_d^{k_d} g_i g_j`` over the space; powers are 0, 1 or 2."""
    if not np.isin(powers, (0, 1, 2)).all():
        raise InvalidParameterError(f"Powers of a moment are 0, 1 or 2; got {powers!r}.")
    W = pair_integrals(bumps)
    for a in np.flatnonzero(powers):
        centre, total = _pairs(bumps.centres[:, a], bumps.precisions[:, a])[:2]
        W = W * (centre if powers[a] == 1 else centre**2 + 1 / total)
    return W


def _pairs(z: Array, p: Array) -> tuple[Array, Array, Array]:
    """Centre, precision and log factor of all products of two bumps of one variable."""
    total = p[:, None] + p
    safe = np.where(total > 0, total, 1.0)
    centre = (p * z)[:, None] + p * z
    return centre / safe, total, -0.5 * (p[:, None] * p / safe) * (z[:, None] - z) ** 2


def _log_integral(z: Array, p: Array, interval: tuple[float, float] | None) -> Array:
    centre, total, log_factor = _pairs(z, p)
    if (total <= 0).any() and (interval is None or not np.isfinite(interval).all()):
        raise InvalidParameterError(
            "A function with a constant part has no integral over an unbounded region. Give a "
            "bounded box, or a base measure."
        )
    root = np.sqrt(np.where(total > 0, total, 1.0))
    logs = log_factor + LOG_ROOT_TWO_PI - np.log(root)
    if interval is None:
        return np.asarray(logs)
    low, high = interval
    flat = np.log(high - low) if high > low else -np.inf
    shares = _interval_shares((low - centre) * root, (high - centre) * root)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(total > 0, logs + np.log(shares), flat))


def _interval_shares(low: Array, high: Array) -> Array:
    """Normal probability between two numbers, with digits left in either tail."""
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    return np.maximum(np.asarray(ndtr(high) - ndtr(low)), 0.0)
