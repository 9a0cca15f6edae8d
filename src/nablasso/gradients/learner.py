r"""From a table to learned gradients: what problems share, solve, adapt the weights, refit.

:class:`GradientData` are what the user asked for on a table, and hold what its problems share,
whatever the target and alpha. Several targets (classes against the rest) are solved one by one on
the same data. Walks run from large alpha to small.

* *Adaptive weights* (section 7 of the paper): see :meth:`Learner.adapted`.
* *Ridges.* ``ridge=None`` means: for ``||f0||^2`` the leave-one-out choice of kernel logistic
  regression with the same kernel, times the total weight of the pairs; for variables that are
  always kept ``RIDGE_FRACTION`` of half the largest curvature of the loss.
* *Directions*: eigenvectors of ``Xi = B B'`` (21), zero outside the selected variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from nablasso.data.table import Table
from nablasso.gradients.problem import (
    GradientPoint,
    GradientProblem,
    GradientSolution,
    RowPairs,
    RowPenalty,
    make_pairs,
)
from nablasso.gradients.solvers import (
    ActiveSet,
    ForwardBackward,
    GradientSolver,
    alpha_scale,
    null_point,
)
from nablasso.kernels import Kernel, length_scale
from nablasso.kernels.base import row_blocks, width_by_rule
from nablasso.losses import Logistic, LossSample, Squared
from nablasso.penalties import Partition
from nablasso.regression.machine import GramRows, Machines
from nablasso.solvers import Status
from nablasso.spaces import low_rank
from nablasso.types import Array, Index, Mask

SOLVERS: dict[str, type[GradientSolver]] = {
    "active_set": ActiveSet,
    "forward_backward": ForwardBackward,
}
NEGLIGIBLE = float(np.sqrt(np.finfo(float).eps))  # of the largest norm: rounding, not a gradient
RIDGE_FRACTION = 0.01
RANK_TOL = 1e-12  # of the mean of k(x, x): what is left out of K
EXPLAINED = 0.95
ROUNDING = 1e-12  # of the largest eigenvalue


class KernelFactor:
    """Features of a kernel on ``points`` (N, p) divided by ``length_scale``."""

    def __init__(self, kernel: Kernel, points: Array, length_scale: float) -> None:
        self.kernel, self.length_scale = kernel, length_scale
        scaled = points / length_scale
        self.phi, pivots, self.triangle = low_rank(kernel(scaled, scaled), tol=RANK_TOL)
        self._centres = scaled[pivots]

    def evaluate(self, Z: Array, B: Array) -> Array:
        """Values (m, s) of functions ``B`` (s, r) at new points ``Z`` (m, p)."""
        out = np.zeros((len(Z), len(B)))
        if not B.size:
            return out
        C = solve_triangular(self.triangle, B.T, trans="T", lower=True)
        for rows in row_blocks(len(Z), max(B.shape[1], Z.shape[1])):
            out[rows] = self.kernel(Z[rows] / self.length_scale, self._centres) @ C
        return out


@dataclass(frozen=True)
class GradientFunction:
    """``f^a(x) = phi(x) . B_a`` for the input columns ``active``, zero for all others.

    The kernel sees the input columns ``columns``. ``c`` is the function ``f0``.
    """

    factor: KernelFactor
    columns: Index
    active: Index
    B: Array
    c: Array

    def values(self, Z: Array) -> Array:
        """``f0`` at standardised points ``Z`` (m, d)."""
        return self._evaluate(Z, self.c[None, :])[:, 0]

    def gradients(self, Z: Array) -> Array:
        """Gradients at standardised points, shape (m, d), in standardised units."""
        out = np.zeros(Z.shape)
        if len(self.active):
            out[:, self.active] = self._evaluate(Z, self.B)
        return out

    def _evaluate(self, Z: Array, B: Array) -> Array:
        inner = Z[:, self.columns] if len(self.columns) else np.zeros((len(Z), 1))
        return self.factor.evaluate(np.ascontiguousarray(inner), B)


def find_directions(
    blocks: list[tuple[Index, Array]], n_features: int, n_components: int | None
) -> tuple[Array, Array, csr_array]:
    """Eigenvectors (q, d) of the covariance, its positive eigenvalues, and itself (d, d).

    Of gradients given as (columns, B); several add up their covariances.
    """
    columns = np.unique(np.concatenate([active for active, _ in blocks]))
    stacked = np.zeros((len(columns), sum(B.shape[1] for _, B in blocks)))
    start = 0
    for active, B in blocks:
        stacked[np.searchsorted(columns, active), start : start + B.shape[1]] = B
        start += B.shape[1]
    if not stacked.size or not stacked.any():
        empty = csr_array((n_features, n_features))
        return np.zeros((1, n_features)), np.zeros(0), empty
    vectors, sizes, _ = np.linalg.svd(stacked, full_matrices=False)
    spectrum = sizes**2
    rank = int(np.sum(spectrum > ROUNDING * spectrum[0]))
    if n_components is None:
        share = np.cumsum(spectrum) / spectrum.sum()
        n_components = int(np.searchsorted(share, EXPLAINED * (1 - ROUNDING)) + 1)
    kept = min(n_components, rank)
    components = np.zeros((kept, n_features))
    components[:, columns] = vectors[:, :kept].T
    largest = np.argmax(np.abs(components), axis=1)
    components *= np.sign(components[np.arange(kept), largest])[:, None]  # largest entry positive
    places = (np.repeat(columns, len(columns)), np.tile(columns, len(columns)))
    inner = (stacked @ stacked.T).ravel()
    covariance = csr_array((inner, places), shape=(n_features, n_features))
    return components, spectrum[:rank], covariance


@dataclass(frozen=True, eq=False)
class GradientData:
    """A table and all parameters but alpha.

    ``labels`` and ``group_weights`` are those of the input's columns; weight 0 is always kept.
    """

    table: Table
    kernel: Kernel
    length_scale: str | float
    bandwidth: str | float
    n_neighbors: int | None
    form: str
    ridge: float | None
    classes: bool
    labels: Index
    group_weights: Array

    @cached_property
    def reach(self) -> float:
        """The ``s`` of the pairs' weights."""
        if not isinstance(self.bandwidth, str):
            return self.bandwidth
        return width_by_rule(self.table.X, self.table.weights, self.bandwidth)

    @cached_property
    def width(self) -> float:
        """Length scale of the kernel."""
        X = self.table.X
        if not X.shape[1]:
            return 1.0
        return length_scale(self.kernel, X, self.table.weights, self.length_scale)

    @cached_property
    def pairs(self) -> RowPairs:
        """Pairs of rows and their weights."""
        return make_pairs(self.table.X, self.table.weights, self.reach, self.n_neighbors)

    @cached_property
    def factor(self) -> KernelFactor:
        """Features of the kernel at the rows."""
        X = self.table.X  # where no column varies there is nothing to learn a gradient of
        return KernelFactor(self.kernel, X if X.shape[1] else np.zeros((len(X), 1)), self.width)

    def problem(self, y: Array, alpha: float, offset_ridge: float | None = None) -> GradientProblem:
        """The problem of one target; y is -1 and 1 for classes."""
        pairs, columns = self.pairs, self.table.columns
        partition = Partition(self.labels[columns])
        labels, weights = partition.labels, self.group_weights[columns][partition.first]
        problem = GradientProblem(
            X=self.table.X,
            phi=self.factor.phi,
            pairs=pairs,
            targets=pairs.of_second(y) - (0.0 if self.classes else y[:, None]),
            loss=Logistic() if self.classes else Squared(),
            penalty=RowPenalty(self.form, labels, weights, float(alpha), 0.0),
            offset_ridge=offset_ridge,
        )
        if not np.any(weights == 0):
            return problem
        ridge = self.ridge
        if ridge is None:
            curvature = problem.largest_curvature(problem.X[:, weights[labels] == 0])
            ridge = RIDGE_FRACTION * curvature / 2
        return replace(problem, penalty=replace(problem.penalty, ridge=ridge))

    def offset_ridge(self, y: Array) -> float:
        """Weight of ``||f0||^2`` for one target of -1 and 1."""
        if self.ridge is not None:
            return self.ridge
        rows = GramRows(self.factor.phi @ self.factor.phi.T)
        sample = LossSample(y, self.table.weights, Logistic(), fit_intercept=False)
        machines = Machines(sample, rows)
        best = machines.best().ridge if machines.trace > 0 else 1.0
        return float(self.pairs.weights.sum()) * best


@dataclass(frozen=True)
class GradientFit:
    """One target's problem and solution; arrays are per column of the data's table."""

    data: GradientData
    problem: GradientProblem
    solution: GradientSolution

    @cached_property
    def norms(self) -> Array:
        """RKHS norms of the partial derivatives."""
        norms = np.zeros(self.problem.X.shape[1])
        norms[self.solution.point.columns] = np.linalg.norm(self.solution.point.B, axis=1)
        return norms

    @cached_property
    def support(self) -> Mask:
        """Which variables are in: whole groups with a norm that is not rounding, and kept ones."""
        penalty = self.problem.penalty
        groups = penalty.group_norms(self.norms**2)
        inside = groups > NEGLIGIBLE * groups.max(initial=0.0)
        return np.asarray((inside | penalty.kept)[penalty.labels])

    @property
    def function(self) -> GradientFunction:
        """The gradients as a function of standardised inputs."""
        point, columns = self.solution.point, self.data.table.columns
        inside = self.support[point.columns]
        active, B = columns[point.columns[inside]], point.B[inside]
        return GradientFunction(self.data.factor, columns, active, B, point.c)


class Learner:
    """All targets in one data: problems, ``alpha_max`` and solutions along alpha.

    ``targets`` (n, q) are y, or plus and minus one for each function of a classifier.
    """

    def __init__(self, data: GradientData, targets: Array, solver: GradientSolver) -> None:
        self.data, self.targets, self.solver = data, targets, solver
        ridge = max(map(data.offset_ridge, targets.T)) if data.classes else None
        self.problems = [data.problem(y, 1.0, ridge) for y in targets.T]
        self.nulls, tops = zip(*map(null_point, self.problems), strict=True)
        self.alpha_max: float = max(tops)
        self.alpha_scale = max(map(alpha_scale, self.problems, tops))

    def walk(self, alphas: Array) -> Iterator[list[GradientFit]]:
        """Fits of all targets at decreasing ``alphas``, each from the one before."""
        starts: Sequence[GradientPoint] = self.nulls
        for alpha in alphas:
            fits = self.fits(float(alpha), starts)
            yield fits
            if interrupted(fits):
                return
            starts = [fit.solution.point for fit in fits]

    def fits(
        self, alpha: float, starts: Sequence[GradientPoint] | None = None
    ) -> list[GradientFit]:
        """Fits of all targets at one alpha."""
        found = []
        solver = self.solver
        for problem, start in zip(self.problems, starts or self.nulls, strict=True):
            here = problem.with_alpha(alpha)
            found.append(GradientFit(self.data, here, solver.solve(here, start)))
            if interrupted(found):  # the others get what starting costs
                solver = replace(self.solver, max_iter=0)
        return found

    def adapted(self, fits: list[GradientFit]) -> list[GradientFit]:
        """Fits on the selected variables alone, pairs and kernel anew, until all are selected."""
        fraction = fits[0].problem.penalty.alpha / (self.alpha_scale or 1.0)
        data, chosen = self.data, union_of(fits)
        while chosen.any() and not chosen.all() and not interrupted(fits):
            data = replace(data, table=data.table.on_columns(chosen))
            learner = Learner(data, self.targets, self.solver)
            fits = learner.fits(fraction * learner.alpha_scale)
            chosen = union_of(fits)
        return fits


def interrupted(fits: list[GradientFit]) -> bool:
    """Whether a fit was broken off by the user."""
    return any(fit.solution.status is Status.INTERRUPTED for fit in fits)


def union_of(fits: list[GradientFit]) -> Mask:
    """Variables of their table that are in for one of the targets."""
    return np.asarray(np.any([fit.support for fit in fits], axis=0))
