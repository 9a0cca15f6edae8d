r"""Sparse gradient learning as a problem: primal, dual, gap, ``alpha_max``.

Gradients are ``f^a(x) = phi(x) . B_a`` with ``||f^a||_K = |B_a|``
(:class:`~nablasso.gradients.learner.KernelFactor`). The prediction of a pair is linear in ``B``
(p, r) and, for classes, in ``c`` (r,), the function ``f0 = phi . c``:

.. math:: z_{ij} = (x_j - x_i)^\top B \phi_i \;[+\; \phi_i^\top c]

.. math::
    \min_{B, c} \sum_{ij} m_{ij}\, l(t_{ij}, z_{ij}) + \lambda |c|^2 + \alpha \sum_a |B_a|

Regression (42): ``l(t, z) = (t - z)^2``, ``t_ij = y_j - y_i``, no ``c``. Classes (62): ``l(t, z) =
log(1 + exp(-t z))``, ``t_ij = y_j``.

**Gradient and dual.** With ``s = l'(t, z)``, ``theta = m * s`` and ``M = theta' Phi - diag(theta 1)
Phi`` (n, r), ``nabla_B = X'M`` and ``nabla_c = Phi' theta 1``: n p r flops for all p variables.
Scaled by a t that makes ``|nabla_a| <= alpha w_a`` for every one of them, ``D = - sum_ij m_ij
l*(t_ij, s_ij) - |nabla_c|^2 / 4 lambda - (penalty)*(nabla_B)`` bounds the minimum from below.

**Penalties** on the rows of ``B``, with norms ``N_g`` of groups and weights ``w_g`` (the size of
the group), and their conjugates in the gradient's norms ``D_g``:

============= =================================== ==========================================
``"lasso"``   ``alpha sum_g w_g N_g``             0 where all ``D_g <= alpha w_g``
``"ridge"``   ``alpha sum_g N_g^2`` (17)          ``sum_g D_g^2 / 4 alpha``
============= =================================== ==========================================

Groups that are always kept (weight 0) have ``ridge N_g^2`` instead.

**Pairs of rows.** With ``P_ij = left_i . right_j`` the prediction of a pair is ``P_ij - P_ii``;
``left, right`` are ``Phi B', X`` or ``Phi, X B``, whichever is narrower (k columns). Weights are
``m_ij = p_i p_j w_ij`` with the weights ``p`` of the rows and

* (5), dense: ``w = exp(-|x_i - x_j|^2 / 2 s^2)``; n^2 memory, n^2 k flops a product;
* (58): ``exp(-2 |x_i - x_j|^2 / s^2)`` for the k' rows next to ``x_i``; n k' memory, n k' k flops.
  A row counts as its own neighbour besides the k': in regression this pair is zero, in
  classification it is where the label of the row itself speaks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import row_blocks
from nablasso.losses import Loss, Squared
from nablasso.problems import top_eigenvalue
from nablasso.solvers.base import Certified, Status
from nablasso.types import Array, Index, Mask

POWER_STEPS = 10
TINY = 1e-300
NEGLIGIBLE = 1e-12  # of the largest sum of weights: a row below it has no neighbours


class RowPairs:
    """All pairs of n rows; arrays over pairs, as ``weights``, have one row for each first row."""

    def __init__(self, weights: Array) -> None:
        self.weights = weights

    def of_second(self, values: Array) -> Array:
        """``values[j]`` for every pair (i, j)."""
        return np.broadcast_to(values, self.weights.shape)

    def slopes(self, left: Array, right: Array) -> Array:
        """``left_i . (right_j - right_i)`` for every pair: one matrix product."""
        P = left @ right.T
        P -= np.diagonal(P).copy()[:, None]
        return np.asarray(P)

    def matrix(self, theta: Array) -> Any:
        """``theta`` as a matrix (n, n), dense or sparse, for the next product."""
        return theta

    def gather(self, theta: Array, right: Array) -> Array:
        """``sum_j theta_ij (right_j - right_i)``, shape (n, k): adjoint of slopes in ``left``."""
        return np.asarray(self.matrix(theta) @ right - theta.sum(axis=1)[:, None] * right)

    def scatter(self, theta: Array, left: Array) -> Array:
        """``sum_i theta_ij left_i - left_j sum_i theta_ji``, (n, k): adjoint in ``right``."""
        return np.asarray(self.matrix(theta).T @ left - theta.sum(axis=1)[:, None] * left)

    def isolated(self) -> Index:
        """Rows without weight on any other row."""
        sums = self.weights.sum(axis=1) - self.matrix(self.weights).diagonal()
        return np.flatnonzero(sums <= NEGLIGIBLE * sums.max(initial=0.0))


class SparsePairs(RowPairs):
    """Pairs of each row with those numbered ``second`` (n, k); arrays over pairs are (n, k)."""

    def __init__(self, weights: Array, second: Index) -> None:
        super().__init__(weights)
        self.second, (n, k) = second, second.shape
        starts = np.arange(n + 1) * k
        self._pattern = csr_array((weights.ravel(), second.ravel(), starts), shape=(n, n))

    def of_second(self, values: Array) -> Array:
        """Taken by number."""
        return np.asarray(values[self.second])

    def slopes(self, left: Array, right: Array) -> Array:
        """Dot products pair by pair, in blocks."""
        out = np.repeat(-np.einsum("ik,ik->i", left, right)[:, None], self.second.shape[1], axis=1)
        for rows in row_blocks(len(out), self.second.shape[1] * left.shape[1]):
            out[rows] += np.einsum("ik,ijk->ij", left[rows], right[self.second[rows]])
        return out

    def matrix(self, theta: Array) -> Any:
        """One pattern, other values: making it anew is slow."""
        self._pattern.data = theta.ravel()
        return self._pattern


def make_pairs(X: Array, row_weights: Array, bandwidth: float, n_neighbors: int | None) -> RowPairs:
    """All pairs with the weights (5), or each row with itself and its neighbours with (58)."""
    n = len(X)
    points = X if X.shape[1] else np.zeros((n, 1))
    if n_neighbors is None:
        w = np.exp(cdist(points, points, "sqeuclidean") / (-2 * bandwidth**2))
        w *= row_weights
        w *= row_weights[:, None]
        return RowPairs(w)
    if n_neighbors >= n:
        raise InvalidParameterError(
            f"n_neighbors must be smaller than the number of distinct rows, {n}; got "
            f"{n_neighbors}. Lower it, or leave it out for weights between all pairs."
        )
    from sklearn.neighbors import NearestNeighbors  # takes a while

    distances, others = NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors()
    distances = np.column_stack([distances, np.zeros(n)])
    second = np.column_stack([others, np.arange(n)])
    w = np.exp(-2 * distances**2 / bandwidth**2) * row_weights[:, None] * row_weights[second]
    return SparsePairs(w, second)


@dataclass(frozen=True)
class RowPenalty:
    """``sum_g a_g N_g + b_g N_g^2`` over groups 0, 1, ... of rows.

    ``weights`` are zero for groups that are always kept: they have ``ridge`` for ``b``.
    """

    form: str
    labels: Index
    weights: Array
    alpha: float
    ridge: float

    @property
    def kept(self) -> Mask:
        """Groups with a square instead of a norm."""
        return np.asarray((self.weights == 0) | (self.form == "ridge"))

    @cached_property
    def slopes(self) -> Array:
        """``a``."""
        return np.where(self.kept, 0.0, self.alpha * self.weights)

    @cached_property
    def bends(self) -> Array:
        """``b``."""
        return np.where(self.kept, self.alpha if self.form == "ridge" else self.ridge, 0.0)

    def restricted(self, columns: Index) -> Self:
        """The penalty of some rows, whole groups; groups are renumbered."""
        groups, labels = np.unique(self.labels[columns], return_inverse=True)
        return replace(self, labels=labels, weights=self.weights[groups])

    def group_norms(self, squares: Array) -> Array:
        """Norms of the groups from squared norms of the rows."""
        return np.sqrt(np.bincount(self.labels, weights=squares, minlength=len(self.weights)))

    def norms(self, B: Array) -> Array:
        """Norms of the groups of rows of ``B``."""
        return self.group_norms(np.einsum("ar,ar->a", B, B))

    def value(self, B: Array) -> float:
        """The penalty at ``B``."""
        norms = self.norms(B)
        return float(self.slopes @ norms + self.bends @ norms**2)

    def prox(self, B: Array, step: float) -> Array:
        """``argmin_A step penalty(A) + |A - B|^2 / 2``."""
        norms = self.norms(B)
        left = np.maximum(1 - step * self.slopes / np.where(norms > 0, norms, 1.0), 0.0)
        return np.asarray(B * (left / (1 + 2 * step * self.bends))[self.labels, None])

    def gauge(self, norms: Array) -> float:
        """``max_g D_g / w_g`` over the groups that are not kept."""
        free = ~self.kept
        return float(np.max(norms[free] / self.weights[free], initial=0.0))

    def dual_scale(self, norms: Array) -> float:
        """Largest t in [0, 1] for which ``t`` times gradients of these norms is feasible."""
        top = self.gauge(norms)
        return min(1.0, self.alpha / top) if top > 0 else 1.0

    def conjugate(self, norms: Array) -> float:
        """Conjugate at feasible gradients of these norms."""
        bent = self.bends > 0
        return float(np.sum(norms[bent] ** 2 / (4 * self.bends[bent])))


@dataclass(frozen=True)
class GradientPoint:
    """Rows ``B`` (s, r) of the variables ``columns`` (s,), all others zero; ``c`` (r,)."""

    columns: Index
    B: Array
    c: Array

    def on(self, columns: Index) -> GradientPoint:
        """The rows of other variables."""
        B = np.zeros((len(columns), self.B.shape[1]))
        _, ours, theirs = np.intersect1d(columns, self.columns, return_indices=True)
        B[ours] = self.B[theirs]
        return GradientPoint(columns, B, self.c)


@dataclass(frozen=True)
class GradientSolution(Certified):
    """Gradients, certified over all variables, and the gradient norms of all groups at them."""

    point: GradientPoint
    norms: Array


@dataclass(frozen=True)
class GradientProblem:
    """One target; ``offset_ridge`` is the weight of ``||f0||^2``, None without ``f0``."""

    X: Array  # (n, p)
    phi: Array  # (n, r)
    pairs: RowPairs
    targets: Array  # of the pairs
    loss: Loss
    penalty: RowPenalty
    offset_ridge: float | None = None

    @property
    def has_offset(self) -> bool:
        """Whether there is an f0."""
        return self.offset_ridge is not None

    @property
    def curvature(self) -> float:
        """Largest second derivative of the loss."""
        return 2.0 if isinstance(self.loss, Squared) else 0.25

    @cached_property
    def offset_hessian(self) -> Array:
        """A bound of the loss's Hessian in ``c``."""
        bends = self.curvature * self.pairs.weights.sum(axis=1)
        return np.asarray(self.phi.T @ (bends[:, None] * self.phi))

    @cached_property
    def reference(self) -> float:
        """What gaps are relative to: the objective at zero, 1 where that is zero."""
        zero = np.zeros(self.pairs.weights.shape)
        return float(np.sum(self.pairs.weights * self.loss.value(self.targets, zero))) or 1.0

    def largest_curvature(self, XA: Array) -> float:
        """Largest eigenvalue of the Hessian's bound in ``B`` for columns ``XA``; 1 where zero."""
        rank = self.phi.shape[1]
        start, c = np.random.RandomState(0).standard_normal((XA.shape[1], rank)), np.zeros(rank)

        def product(B: Array) -> Array:
            z = self.predictions(XA, B, c)
            return self.gradient(self.curvature * self.pairs.weights * z, XA)[0]

        return top_eigenvalue(product, start, POWER_STEPS) or 1.0

    def with_alpha(self, alpha: float) -> Self:
        """The same problem at another alpha."""
        return replace(self, penalty=replace(self.penalty, alpha=float(alpha)))

    def zero(self) -> GradientPoint:
        """No gradients but those of the groups always kept."""
        shape = len(self.kept_columns), self.phi.shape[1]
        return GradientPoint(self.kept_columns, np.zeros(shape), np.zeros(shape[1]))

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
            z = z + (self.phi @ c)[:, None]
        return z

    def slopes(self, z: Array) -> Array:
        """``theta``: weighted derivatives of the loss."""
        return self.pairs.weights * self.loss.gradient(self.targets, z)

    def gradient(self, theta: Array, XA: Array) -> tuple[Array, Array]:
        """``nabla_B`` for the columns ``XA`` and ``nabla_c``, without the ridge of ``c``."""
        if XA.shape[1] < self.phi.shape[1]:
            gB = self.pairs.gather(theta, XA).T @ self.phi
        else:
            gB = XA.T @ self.pairs.scatter(theta, self.phi)
        return gB, self.offset_gradient(theta)

    def offset_gradient(self, theta: Array) -> Array:
        """``nabla_c``; zero without f0."""
        if not self.has_offset:
            return np.zeros(self.phi.shape[1])
        return np.asarray(self.phi.T @ theta.sum(axis=1))

    def smooth_value(self, z: Array, c: Array) -> float:
        """Everything but the penalty."""
        value = float(np.sum(self.pairs.weights * self.loss.value(self.targets, z)))
        return value + (self.offset_ridge or 0.0) * float(c @ c)

    def dual_value(self, z: Array, gc: Array, norms: Array, penalty: RowPenalty) -> float:
        """Dual at what ``z`` gives, scaled to be feasible for gradient ``norms``."""
        t = penalty.dual_scale(norms)
        s = t * self.loss.gradient(self.targets, z)
        value = -float(np.sum(self.pairs.weights * self.loss.conjugate(self.targets, s)))
        if self.offset_ridge:
            value -= t**2 * float(gc @ gc) / (4 * self.offset_ridge)
        return value - penalty.conjugate(t * norms)

    def certificate(self, point: GradientPoint, n_iter: int = 0) -> GradientSolution:
        """Primal and dual over all p variables, after ``n_iter`` steps: one full pass."""
        XA, B = self.X[:, point.columns], point.B
        z = self.predictions(XA, B, point.c)
        theta = self.slopes(z)
        M = self.pairs.scatter(theta, self.phi)
        squares = np.empty(self.X.shape[1])
        for some in row_blocks(len(squares), max(*self.phi.shape, 1)):
            g = self.X[:, some].T @ M
            squares[some] = np.einsum("ar,ar->a", g, g)
        gc = self.offset_gradient(theta)
        norms = self.penalty.group_norms(squares)
        rows = np.zeros((self.X.shape[1], 1))  # the norms of all rows: what the penalty needs
        rows[point.columns, 0] = np.linalg.norm(B, axis=1)
        primal = self.smooth_value(z, point.c) + self.penalty.value(rows)
        dual = self.dual_value(z, gc, norms, self.penalty)
        return GradientSolution(primal, dual, n_iter, Status.CONVERGED, point, norms)

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
