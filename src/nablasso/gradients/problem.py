r"""Sparse gradient learning as a problem: primal, dual, gap, ``alpha_max``.

Gradients are ``f^a(x) = phi(x) . B_a`` with ``||f^a||_K = |B_a|``
(:mod:`nablasso.gradients.factor`).
The prediction of a pair is linear in ``B`` (p, r) and, for classes, in ``c`` (r,), the function
``f0 = phi . c``:

.. math:: z_{ij} = (x_j - x_i)^\top B \phi_i \;[+\; \phi_i^\top c]

.. math::
    \min_{B, c} \sum_{ij} m_{ij}\, l(t_{ij}, z_{ij}) + \mathrm{tr}(B Q B^\top)
    + \lambda |c|^2 + \alpha \sum_a |B_a|

Regression: ``l(t, z) = (t - z)^2``, ``t_ij = y_j - y_i``, no ``c``: this is (42). Classes:
``l(t, z) = log(1 + exp(-t z))``, ``t_ij = y_j``: this is (62). ``Q`` is the smoothness term of
section 7, ``Q = mu Phi' (Laplacian) Phi`` over labelled and unlabelled points; zero by default.

**Gradient.** With ``s = l'(t, z)``, ``theta = m * s`` and ``M = theta' Phi - diag(theta 1) Phi``
(n, r)

.. math:: \nabla_B = X^\top M + 2 B Q, \qquad \nabla_c = \Phi^\top \theta 1

so all p variables cost one product of X' with an n x r matrix, n p r flops, whatever the number of
pairs: the rotation of section 4.4, which brings x_j - x_i to n dimensions, is in the order of the
products (it pays besides for the ridge, whose norm does not see rotations: see ``reduced``).

**Dual.** For every ``theta`` and ``B'``, ``c'``, with ``g_a = (X'M)_a + 2 Q B'_a`` and all scaled
by a t that makes ``|g_a| <= alpha w_a`` for every one of the p variables,

.. math::
    D = -\sum_{ij} m_{ij}\, l^*(t_{ij}, s_{ij}) - \mathrm{tr}(B' Q B'^\top)
    - |\Phi^\top \theta 1|^2 / 4 \lambda - (\text{penalty})^*(g)

bounds the minimum from below. ``theta``, ``B'`` are those of the current iterate: at the optimum
the gap is zero.

``alpha_max``: with B = 0 (and the best f0), the largest ``|g_a| / w_a``; for regression this
is (55).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from nablasso.gradients.pairs import Pairs
from nablasso.gradients.penalty import RowPenalty
from nablasso.kernels.base import row_blocks
from nablasso.losses import Logistic, Loss, Squared
from nablasso.types import Array, Index


@dataclass(frozen=True)
class Point:
    """Rows ``B`` (s, r) of the variables ``columns`` (s,), all others zero; ``c`` (r,)."""

    columns: Index
    B: Array
    c: Array


@dataclass(frozen=True)
class Certificate:
    """Primal, dual and what the dual was made feasible with: gradient norms of all groups."""

    primal: float
    dual: float
    norms: Array

    @property
    def gap(self) -> float:
        """Bound on ``primal - optimum``."""
        return self.primal - self.dual


@dataclass(frozen=True)
class GradientProblem:
    """One target; ``offset_ridge`` is the weight of ``||f0||^2``, None without ``f0``."""

    X: Array  # (n, p)
    phi: Array  # (n, r)
    pairs: Pairs
    targets: Array  # of the pairs
    loss: Loss
    penalty: RowPenalty
    smooth: Array | None = None  # Q (r, r)
    offset_ridge: float | None = None

    @property
    def has_offset(self) -> bool:
        """Whether there is an f0."""
        return self.offset_ridge is not None

    @property
    def is_quadratic(self) -> bool:
        """Whether the loss bends the same everywhere."""
        return isinstance(self.loss, Squared)

    @property
    def curvature(self) -> float:
        """Largest second derivative of the loss."""
        return 2.0 if self.is_quadratic else 0.25

    @cached_property
    def offset_curvature(self) -> float:
        """Largest eigenvalue of the Hessian's bound in ``c``."""
        bends = self.curvature * self.pairs.first_sums(self.pairs.weights)
        hessian = self.phi.T @ (bends[:, None] * self.phi)
        return float(np.linalg.norm(hessian, 2)) or 1.0

    @cached_property
    def at_zero(self) -> float:
        """Objective at zero."""
        zero = np.zeros(self.pairs.weights.shape)
        return float(np.sum(self.pairs.weights * self.loss.value(self.targets, zero)))

    @property
    def reference(self) -> float:
        """What gaps are relative to: the objective at zero, 1 where that is zero."""
        return self.at_zero or 1.0

    def with_alpha(self, alpha: float) -> Self:
        """The same problem at another alpha."""
        return replace(self, penalty=replace(self.penalty, alpha=float(alpha)))

    def zero(self) -> Point:
        """No gradients but those of the groups always kept."""
        columns = self.kept_columns
        rank = self.phi.shape[1]
        return Point(columns, np.zeros((len(columns), rank)), np.zeros(rank))

    @cached_property
    def kept_columns(self) -> Index:
        """Variables that no threshold removes."""
        return np.flatnonzero(self.penalty.kept[self.penalty.labels])

    def predictions(self, XA: Array, B: Array, c: Array) -> Array:
        """``z`` on the pairs, for the columns ``XA`` (n, s)."""
        if len(B) < B.shape[1]:
            z = self.pairs.slopes(self.phi @ B.T, XA)
        else:
            z = self.pairs.slopes(self.phi, XA @ B)
        if self.has_offset:
            z = z + self.pairs.of_first(self.phi @ c)
        return z

    def slopes(self, z: Array) -> Array:
        """``theta``: weighted derivatives of the loss."""
        return self.pairs.weights * self.loss.gradient(self.targets, z)

    def gradient(self, theta: Array, XA: Array, B: Array) -> tuple[Array, Array]:
        """``nabla_B`` for the columns ``XA`` and ``nabla_c``, without the ridge of ``c``."""
        if len(B) < B.shape[1]:
            gB = self.pairs.gather(theta, XA).T @ self.phi
        else:
            gB = XA.T @ self.pairs.scatter(theta, self.phi)
        if self.smooth is not None:
            gB = gB + 2 * (B @ self.smooth)
        return gB, self.offset_gradient(theta)

    def offset_gradient(self, theta: Array) -> Array:
        """``Phi' theta 1``; zero without f0."""
        if not self.has_offset:
            return np.zeros(self.phi.shape[1])
        return np.asarray(self.phi.T @ self.pairs.first_sums(theta))

    def smooth_value(self, z: Array, B: Array, c: Array) -> float:
        """Everything but the penalty."""
        value = float(np.sum(self.pairs.weights * self.loss.value(self.targets, z)))
        return value + self.roughness(B) + (self.offset_ridge or 0.0) * float(c @ c)

    def roughness(self, B: Array) -> float:
        """``tr(B Q B')``."""
        return 0.0 if self.smooth is None else float(np.sum((B @ self.smooth) * B))

    def dual_value(self, z: Array, B: Array, gc: Array, norms: Array, penalty: RowPenalty) -> float:
        """Dual at what ``z``, ``B`` give, scaled to be feasible for gradient ``norms``."""
        t = penalty.dual_scale(norms)
        s = t * self.loss.gradient(self.targets, z)
        value = -float(np.sum(self.pairs.weights * self.loss.conjugate(self.targets, s)))
        value -= t**2 * self.roughness(B)
        if self.offset_ridge:
            value -= t**2 * float(gc @ gc) / (4 * self.offset_ridge)
        return value - penalty.conjugate(t * norms)

    def certificate(self, point: Point) -> Certificate:
        """Primal and dual over all p variables: one full pass."""
        XA, B = self.X[:, point.columns], point.B
        z = self.predictions(XA, B, point.c)
        theta = self.slopes(z)
        M = self.pairs.scatter(theta, self.phi)
        squares = np.empty(self.X.shape[1])
        for some in row_blocks(len(squares), max(*self.phi.shape, 1)):
            g = self.X[:, some].T @ M
            squares[some] = np.einsum("ar,ar->a", g, g)
        gB, gc = self.gradient(theta, XA, B)
        squares[point.columns] = np.einsum("ar,ar->a", gB, gB)
        norms = self.penalty.group_norms(squares)
        primal = self.smooth_value(z, B, point.c) + self.penalty.value(self._all_rows(point))
        return Certificate(primal, self.dual_value(z, B, gc, norms, self.penalty), norms)

    def _all_rows(self, point: Point) -> Array:
        """Norms of all rows as a (p, 1) array: what the penalty needs of them."""
        norms = np.zeros((self.X.shape[1], 1))
        norms[point.columns, 0] = np.linalg.norm(point.B, axis=1)
        return norms

    def reduced(self) -> tuple[Self, Array] | None:
        """For the ridge and p > n: the same problem in rotated variables, and the rotation (p, t).

        ``x_j - x_i = U (beta_j - beta_i)`` (56) and ``|U B| = |B|``: exact, with at most n - 1
        variables. The other penalties see single variables, which a rotation mixes.
        """
        n, p = self.X.shape
        if self.penalty.form != "ridge" or p <= n:
            return None
        left, sizes, right = np.linalg.svd(self.X - self.X.mean(axis=0), full_matrices=False)
        kept = sizes > n * np.finfo(float).eps * sizes[0]
        labels = np.arange(int(kept.sum()))
        penalty = replace(self.penalty, labels=labels, weights=np.ones(len(labels)))
        return replace(self, X=(left * sizes)[:, kept], penalty=penalty), right[kept].T


def regression_targets(pairs: Pairs, y: Array) -> Array:
    """``y_j - y_i``."""
    return np.asarray(pairs.of_second(y) - pairs.of_first(y))


def class_targets(pairs: Pairs, y: Array) -> Array:
    """``y_j`` of -1 and 1."""
    return np.asarray(pairs.of_second(y))


SQUARED, LOGISTIC = Squared(), Logistic()
