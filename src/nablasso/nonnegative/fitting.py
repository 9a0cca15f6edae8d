"""From a task to functions: features once, then a path of ever smaller penalties.

**Features.** With anchors ``Z`` (r points) and ``k(Z, Z) = L L'`` the features of a point are
``Phi(x) = L^{-1} k(Z, x)``, with ``k = height^2 (exp(-|x - z|^2 / 2) + constant)``; a model ``Phi'
A Phi`` is ``v' B v`` with ``B = L^{-T} A L^{-1}``. Anchors are chosen by randomly pivoted Cholesky,
each with probability proportional to weight times what is not yet spanned, O(n r^2).

**Path.** A small penalty is hard from a cold start, so a fit begins with a heavy weight and goes
down by factors of ``STEP``; losses with bounded slopes, and ``solver="fista"``, need no such way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial.distance import cdist

from nablasso.kernels.base import row_blocks
from nablasso.nonnegative.dual import Block, DualProblem, LinearBlock, PSDBlock, SlopePoint
from nablasso.nonnegative.model import Bumps, LinearModel, PSDModel
from nablasso.nonnegative.solvers import Climb, fista, interior, newton, solve
from nablasso.nonnegative.task import Task
from nablasso.solvers import Status
from nablasso.types import Array, Index

FREE = 2  # times as many anchors as a PSD model has: a product, not an eigendecomposition
SPANNED = 1e-10  # share of k(x, x) left over that counts as none; integrals still see 1e-8
STEP = 10.0
HEAVY = 1.0  # the weight l2 to start from
LOOSE = 1e-2  # gap of the steps on the way
SOLVERS = {"auto": 1000, "fista": 20_000}  # and their steps, at most, by default


@dataclass(frozen=True)
class FittedTask:
    """Block functions in the units of the task, and how good they are.

    ``functions`` has one entry per block. ``primal`` is the objective of these functions, ``gap``
    bounds its distance from the optimum (nan where a model has no such bound).
    """

    functions: list[Any]
    primal: float
    gap: float
    n_iter: int
    status: Status


@dataclass(frozen=True)
class PSDFitter:
    """A task with its features; every weight of the penalties uses the same ones."""

    task: Task
    solver: str = "auto"

    def path(
        self, weights: Iterable[tuple[Array, Array]], *, tol: float, max_iter: int | None = None
    ) -> Iterator[FittedTask]:
        """Fits at several ``(l1, l2)``, from heavy to light, each started by the one before."""
        limit = SOLVERS[self.solver] if max_iter is None else max_iter
        point, reached = None, 0.0
        for l1, l2 in weights:
            if point is None:
                point, reached = self.start(l1, l2)
            solution, point = self._descend(l1, l2, point, reached, tol=tol, max_iter=limit)
            reached = float(np.max(l2))
            yield self._unpack(solution)

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The factor of each block; blocks of the same rank share one."""
        task, n, made = self.task, len(self.task.X), dict[int, Factor]()
        ranks = [min(n, (task.rank or n) * (1 if sign else FREE)) for sign in task.nonnegative]
        for rank in set(ranks):
            given = task.X * task.scales, task.weights, rank
            rng = np.random.default_rng(task.random_state)
            made[rank] = make_factor(*given, rng, task.height, task.constant)
        return tuple(made[rank] for rank in ranks)

    @cached_property
    def features(self) -> tuple[Array, ...]:
        """Features of the rows for each block, shared as the factors are."""
        X = self.task.X * self.task.scales
        made = {factor: factor.features(X) for factor in set(self.factors)}
        return tuple(made[factor] for factor in self.factors)

    @cached_property
    def mass(self) -> Array | None:
        """``W`` of a density's integral, in its features; None of other tasks."""
        if not self.task.normalise:
            return None
        bumps = self.factors[0].bumps.composed(self.task.scales)
        return self.factors[0].in_features(self.task.integral_matrix(bumps))

    def problem(self, l1: Array, l2: Array) -> DualProblem:
        """The dual at these weights."""
        task = self.task
        blocks: tuple[Block, ...] = tuple(
            PSDBlock(Phi, float(a), float(b), self.mass) if sign else LinearBlock(Phi, float(b))
            for sign, Phi, a, b in zip(task.nonnegative, self.features, l1, l2, strict=True)
        )
        return DualProblem(task.loss, task.weights, blocks, task.mixing, task.offset)

    def _descend(
        self, l1: Array, l2: Array, point: SlopePoint, reached: float, *, tol: float, **limits: Any
    ) -> tuple[Climb, SlopePoint]:
        """Solve at ``(l1, l2)`` by way of heavier weights, from a point solved for ``reached``.

        Returns the solution, and where the next weight may start.
        """
        problem = self.problem(l1, l2)
        if self.solver == "fista":
            solution = solve(fista, problem, point, tol=tol, **limits)
            return solution, solution.point
        if self.task.loss.bounded:
            return solve(interior, problem, point, tol=tol, **limits), point
        size, before = float(np.max(l2)), 0
        while (reached := reached / STEP) > size * STEP**0.5:
            heavier = self.problem(l1 * (reached / size), l2 * (reached / size))
            step = solve(newton, heavier, point, tol=max(LOOSE, tol), **limits)
            point, before = step.point, before + step.n_iter
            if step.status is Status.INTERRUPTED:  # what is the point worth at this weight?
                here = solve(newton, problem, point, tol=tol, max_iter=0)
                return replace(here, status=Status.INTERRUPTED, n_iter=before), point
        solution = solve(newton, problem, point, tol=tol, **limits)
        return replace(solution, n_iter=before + solution.n_iter), solution.point

    def start(self, l1: Array, l2: Array) -> tuple[SlopePoint, float]:
        """Where the first fit starts, and for which weight that is good enough."""
        task = self.task
        if task.normalise:
            return self._from_bumps(l1, l2), max(HEAVY, float(np.max(l2))) * STEP
        null = np.broadcast_to(task.null, (len(task.X), len(task.null)))
        return SlopePoint(task.loss.start(null), np.zeros(0)), HEAVY

    def _from_bumps(self, l1: Array, l2: Array) -> SlopePoint:
        """The density of squared kernels at the data, ``A = sum_i p_i phi_i phi_i'``."""
        Phi, task, mass = self.features[0], self.task, self.mass
        assert mass is not None
        A = (Phi * task.weights[:, None]).T @ Phi
        A /= float(np.sum(A * mass))
        heights = np.einsum("ij,ij->i", Phi @ A, Phi)
        ratio = max(HEAVY / float(l2[0]), 1.0)
        c = np.array([1 - ratio * float(l1[0] * np.trace(A) + l2[0] * np.sum(A**2))])
        return SlopePoint(task.loss.coordinates(heights[:, None]), c)

    def _unpack(self, solution: Climb) -> FittedTask:
        task, s = self.task, solution
        blocks = zip(self.factors, task.nonnegative, s.parameters, strict=True)
        functions = [
            (factor.psd_model if nonnegative else factor.linear_model)(theta).composed(task.scales)
            for factor, nonnegative, theta in blocks
        ]
        return FittedTask(functions, s.primal, s.gap, s.n_iter, s.status)


@dataclass(frozen=True, eq=False)
class Factor:
    """Features ``Phi`` of the anchors ``Z`` (r, d) with Cholesky factor ``L``."""

    Z: Array
    L: Array
    height: float = 1.0
    constant: float = 0.0

    @property
    def rank(self) -> int:
        """Number of features."""
        return len(self.Z) + (self.constant > 0)

    @property
    def bumps(self) -> Bumps:
        """Kernel functions of the anchors and, last, the constant."""
        precisions = np.ones_like(self.Z)
        if not self.constant:
            return Bumps(self.Z, precisions)
        row = np.zeros((1, self.Z.shape[1]))
        return Bumps(np.vstack([self.Z, row]), np.vstack([precisions, row]))

    def features(self, X: Array) -> Array:
        """``Phi`` at the rows of ``X``, shape (k, rank)."""
        V = np.empty((len(X), self.rank))
        r = len(self.Z)
        for rows in row_blocks(len(X), r):
            K = np.exp(-0.5 * cdist(self.Z, X[rows], "sqeuclidean"))
            V[rows, :r] = solve_triangular(self.L, K, lower=True, check_finite=False).T
        V[:, :r] *= self.height
        if self.constant:
            V[:, r] = self.height * np.sqrt(self.constant)
        return V

    def in_features(self, W: Array) -> Array:
        """A functional's matrix on the bumps, in the coordinates of the features."""
        T = self._push(self._push(W, "N").T, "N")
        return np.asarray(0.5 * (T + T.T))

    def psd_model(self, F: Array) -> PSDModel:
        """``Phi' F F' Phi`` as a model in the units of ``Z``."""
        return PSDModel(self.bumps, self._push(F))

    def linear_model(self, w: Array) -> LinearModel:
        """``w . Phi`` as a model in the units of ``Z``."""
        return LinearModel(self.bumps, self._push(w))

    def _push(self, F: Array, trans: Literal["N", "T"] = "T") -> Array:
        """Coefficients of the bumps, ``height L^{-T} F``; without ``trans`` ``height L^{-1} F``."""
        r = len(self.Z)
        top = solve_triangular(self.L, F[:r], lower=True, trans=trans, check_finite=False)
        return self.height * np.concatenate([top, np.sqrt(self.constant) * F[r:]])


def make_factor(
    X: Array,
    weights: Array,
    rank: int,
    rng: np.random.Generator,
    height: float = 1.0,
    constant: float = 0.0,
) -> Factor:
    """Factor with at most ``rank`` anchors among the rows of ``X``."""
    Z = X[choose_anchors(X, weights, rank, rng)]
    K = np.exp(-0.5 * cdist(Z, Z, "sqeuclidean"))
    return Factor(Z, cholesky(K, lower=True), height, constant)


def choose_anchors(X: Array, weights: Array, rank: int, rng: np.random.Generator) -> Index:
    """Rows chosen by randomly pivoted Cholesky."""
    n = len(X)
    left = np.ones(n)
    F = np.empty((rank, n))
    chosen: list[int] = []
    for k in range(rank):
        mass = np.cumsum(np.where(left > SPANNED, weights * left, 0.0))
        if mass[-1] <= 0:
            break
        pivot = int(np.searchsorted(mass, rng.random() * mass[-1], side="right"))
        column = np.exp(-0.5 * np.sum((X - X[pivot]) ** 2, axis=1))
        column -= F[:k, pivot] @ F[:k]
        F[k] = column / np.sqrt(left[pivot])
        left = np.maximum(left - F[k] ** 2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)
