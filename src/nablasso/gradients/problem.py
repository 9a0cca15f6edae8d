r"""Sparse gradient learning as a problem: primal, dual, gap, ``alpha_max``.

Gradients are ``f^a(x) = phi(x) . B_a`` with ``||f^a||_K = |B_a|``
(:class:`~nablasso.gradients.KernelFactor`). The prediction of a pair is linear in ``B`` (p, r)
and, for classes, in ``c`` (r,), the function ``f0 = phi . c``:

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
products (it pays besides for the ridge, whose norm does not see rotations: see ``rotated``).

**Dual.** For every ``theta`` and ``B'``, ``c'``, with ``g_a = (X'M)_a + 2 Q B'_a`` and all scaled
by a t that makes ``|g_a| <= alpha w_a`` for every one of the p variables,

.. math::
    D = -\sum_{ij} m_{ij}\, l^*(t_{ij}, s_{ij}) - \mathrm{tr}(B' Q B'^\top)
    - |\Phi^\top \theta 1|^2 / 4 \lambda - (\text{penalty})^*(g)

bounds the minimum from below. ``theta``, ``B'`` are those of the current iterate: at the optimum
the gap is zero.

``alpha_max``: with B = 0 (and the best f0), the largest ``|g_a| / w_a``; for regression this
is (55).

**Penalties** on the rows of ``B``: one row per variable, ``|B_a|`` the norm of its derivative.
With norms ``N_g`` of groups of rows and weights ``w_g`` (the size of the group):

* ``"lasso"``:    ``alpha sum_g w_g N_g``
* ``"squared"``:  ``alpha (sum_g w_g N_g)^2``   (10)
* ``"ridge"``:    ``alpha sum_g N_g^2``         (17)

Groups that are always kept (weight 0) have ``ridge N_g^2`` instead: without any penalty their
derivatives could follow every row.

**Conjugates**, of the gradient's norms ``D_g``: lasso, zero where all ``D_g <= alpha w_g``, else
infinite; squared, ``max_g (D_g / w_g)^2 / 4 alpha``; ridge, ``sum_g D_g^2 / 4 alpha``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from nablasso.gradients.pairs import RowPairs
from nablasso.kernels.base import row_blocks
from nablasso.losses import Loss, Squared
from nablasso.problems import top_eigenvalue
from nablasso.types import Array, Index, Mask

FORMS = ("lasso", "squared", "ridge")
POWER_STEPS = 10
TINY = 1e-300


@dataclass(frozen=True)
class RowPenalty:
    """A penalty on groups of rows.

    ``labels`` (p,) are group numbers 0, 1, ..., ``weights`` (n_groups,) are zero for groups that
    are always kept.
    """

    form: str
    labels: Index
    weights: Array
    alpha: float
    ridge: float

    @property
    def kept(self) -> Mask:
        """Groups with a ridge instead of a norm."""
        everything = self.form == "ridge"
        return np.asarray((self.weights == 0) | everything)

    @property
    def ridges(self) -> Array:
        """Weight of the squared norm of each kept group."""
        return np.full(len(self.weights), self.alpha if self.form == "ridge" else self.ridge)

    def restricted(self, columns: Index) -> Self:
        """The penalty of some rows, whole groups; groups are renumbered."""
        groups, labels = np.unique(self.labels[columns], return_inverse=True)
        return replace(self, labels=labels, weights=self.weights[groups])

    def group_norms(self, squares: Array) -> Array:
        """Norms of the groups from squared norms of the rows."""
        if len(self.weights) == len(squares):
            out = np.empty(len(squares))
            out[self.labels] = squares
            return np.sqrt(out)
        return np.sqrt(np.bincount(self.labels, weights=squares, minlength=len(self.weights)))

    def norms(self, B: Array) -> Array:
        """Norms of the groups of rows of ``B``."""
        return self.group_norms(np.einsum("ar,ar->a", B, B))

    def value(self, B: Array) -> float:
        """The penalty at ``B``."""
        norms, kept = self.norms(B), self.kept
        ridge = float(np.sum((self.ridges * norms**2)[kept]))
        total = float(self.weights @ norms) if self.form != "ridge" else 0.0
        return ridge + self.alpha * (total**2 if self.form == "squared" else total)

    def prox(self, B: Array, step: float) -> Array:
        """``argmin_A step penalty(A) + |A - B|^2 / 2``."""
        norms, kept = self.norms(B), self.kept
        threshold = step * self.alpha
        if self.form == "squared":
            threshold = self._squared_threshold(norms, step)
        safe = np.where(norms > 0, norms, 1.0)
        factors = np.maximum(1.0 - threshold * self.weights / safe, 0.0)
        factors = np.where(kept, 1.0 / (1.0 + 2.0 * step * self.ridges), factors)
        return np.asarray(B * factors[self.labels, None])

    def _squared_threshold(self, norms: Array, step: float) -> float:
        """``kappa = 2 step alpha sum_g w_g N_g`` of the shrunk norms ``N_g = n_g - kappa w_g``.

        The largest root over the sets of groups in order of ``n_g / w_g``.
        """
        free = ~self.kept
        w, n = self.weights[free], norms[free]
        order = np.argsort(-n / w, kind="stable")
        w, n = w[order], n[order]
        scale = 2 * step * self.alpha
        roots = scale * np.cumsum(w * n) / (1 + scale * np.cumsum(w**2))
        return float(roots.max(initial=0.0))

    def gauge(self, norms: Array) -> float:
        """``max_g D_g / w_g`` over the groups that are not kept."""
        free = ~self.kept
        return float(np.max(norms[free] / self.weights[free], initial=0.0))

    def dual_scale(self, norms: Array) -> float:
        """Largest t in [0, 1] for which ``t`` times gradients of these norms is feasible."""
        top = self.gauge(norms) if self.form == "lasso" else 0.0
        return min(1.0, self.alpha / top) if top > 0 else 1.0

    def conjugate(self, norms: Array) -> float:
        """Conjugate at feasible gradients of these norms."""
        kept = self.kept
        safe = np.where(self.ridges > 0, self.ridges, 1.0)
        value = float(np.sum((norms**2 / (4 * safe))[kept]))
        if self.form == "squared":
            value += self.gauge(norms) ** 2 / (4 * self.alpha)
        return value

    def level(self, B: Array) -> float:
        """``D_g / w_g`` above which a group that is zero at ``B`` should not be."""
        if self.form == "squared":
            return 2 * self.alpha * float(self.weights @ self.norms(B))
        return self.alpha


@dataclass(frozen=True)
class GradientPoint:
    """Rows ``B`` (s, r) of the variables ``columns`` (s,), all others zero; ``c`` (r,)."""

    columns: Index
    B: Array
    c: Array


@dataclass(frozen=True)
class GradientCertificate:
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
    pairs: RowPairs
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

    def largest_curvature(self, XA: Array) -> float:
        """Largest eigenvalue of the Hessian's bound in ``B`` for the columns ``XA``; 1 where zero.

        By power iteration.
        """
        rank = self.phi.shape[1]
        start, c = np.random.RandomState(0).standard_normal((XA.shape[1], rank)), np.zeros(rank)

        def product(B: Array) -> Array:
            z = self.predictions(XA, B, c)
            return self.gradient(self.curvature * self.pairs.weights * z, XA, B)[0]

        return top_eigenvalue(product, start, POWER_STEPS) or 1.0

    def with_alpha(self, alpha: float) -> Self:
        """The same problem at another alpha."""
        return replace(self, penalty=replace(self.penalty, alpha=float(alpha)))

    def zero(self) -> GradientPoint:
        """No gradients but those of the groups always kept."""
        columns = self.kept_columns
        rank = self.phi.shape[1]
        return GradientPoint(columns, np.zeros((len(columns), rank)), np.zeros(rank))

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

    def certificate(self, point: GradientPoint) -> GradientCertificate:
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
        return GradientCertificate(primal, self.dual_value(z, B, gc, norms, self.penalty), norms)

    def _all_rows(self, point: GradientPoint) -> Array:
        """Norms of all rows as a (p, 1) array: what the penalty needs of them."""
        norms = np.zeros((self.X.shape[1], 1))
        norms[point.columns, 0] = np.linalg.norm(point.B, axis=1)
        return norms

    def rotated(self) -> tuple[Self, Array] | None:
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
