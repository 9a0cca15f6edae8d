r"""Newton steps for the dual of the derivative penalties, between steps of the library's solver.

The dual is ``min_s Phi(s) + h(s)``, ``Phi`` a quadratic with Hessian ``M`` and gradient ``g``, and
``h = (alpha Omega)*`` a function of the norms of groups: zero in a ball of radius ``r``, outside
infinite (lasso) or ``(||s_g|| - r)^2 / 2c`` with ``c = 2 alpha w (1 - mu)`` (elastic net). The
library's solver takes first-order steps. They find the groups on their spheres soon and then creep,
since ``M`` is ill-conditioned: thousands of products to a gap of 1e-7 of the gain.

**A step.** Groups that a short gradient step takes out of their balls are *active*; the others stay
inside. In polar coordinates of the active groups the model of the dual is the quadratic
with Hessian ``M + T``, where ``T`` of an active group is ``t`` on directions tangential to its
sphere and ``1 / c`` along ``s_g``; for the elastic net ``t = (1 - r / ||s_g||) / c``, for the lasso
``t = ||g_g|| / r`` (the multiplier of the sphere), and the step has no part along ``s_g``.
Conjugate gradients minimise it, to a tenth of the residual.
Norms of active groups move by the part along ``s_g``, groups that leave their ball are put on its
sphere, and the length of the step is the best of a few; one that does not increase the dual is not
taken. Where steps are short the active groups are not found yet: twice as many first-order steps
follow, and after a few such rounds the library's solver goes on alone.

**Preconditioner.** ``I_d x B + t``, with ``B`` (n x n) the mean of the d diagonal blocks of ``M``,
inverted in the eigenbasis of ``B``: two products with an n x n matrix. Where ``B`` is singular, as
with a quadratic kernel and more rows than columns, ``M`` is flat in so many directions that groups
turn on their spheres by more than a step can follow: the library's solver is faster by itself.
Polynomial kernels of few monomials have a better way, :mod:`experiments.monomials`: it takes over
for a whole path once products have been tried in vain.

**Start.** Of solutions at other tau, several guesses; the one of the largest dual is taken. At rest
a group's ``s_g`` does not change with tau under a heavy ridge, and an active one is proportional
to it.

The certificate is the library's: a solution is returned where :class:`~nablasso.solvers.DualSolver`
finds its gap small enough, after as many of its own steps as that takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from experiments import monomials
from nablasso.problems import DualPoint, SquaredProblem
from nablasso.solvers import DualSolver, Solution
from nablasso.solvers.base import Status
from nablasso.spaces import RepresenterSpace
from nablasso.types import Array

FIRST_ORDER = 10  # steps of the library's solver between two Newton steps
MOST_FIRST_ORDER = 160  # twice as many after every short step, until the rest is left to it
RESIDUAL = 0.1  # of conjugate gradients
MOST_PRODUCTS = 1000  # of a Newton step
LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
ON_SPHERE = 1e-8
TINY = 1e-300
SMALLEST = 1e-10  # eigenvalue of the preconditioner over its largest


def best_start(problem: SquaredProblem, guesses: Iterable[Array]) -> Array | None:
    """The guess of the largest dual value: a product each."""
    points = [problem.feasible_point(guess) for guess in guesses]
    return max(points, key=lambda point: problem.primal_dual(point)[1]).s if points else None


def carried(problem: SquaredProblem, s: Array, ratio: float) -> list[Array]:
    """Guesses from the solution at ``alpha / ratio``: all scaled with alpha, or active groups."""
    if _singular(problem):
        return [s * ratio]
    penalty = problem.penalty
    radius = penalty.radius(problem.alpha) / ratio
    active = penalty.partition.spread(penalty.partition.norms(s) >= radius * (1 - ON_SPHERE))
    return [s * ratio, np.where(active, s * ratio, s)]


def direct(problem: SquaredProblem) -> bool:
    """Whether factorisations come first."""
    return monomials.applies(problem) and monomials.wanted(problem)


def solve(problem: SquaredProblem, start: Array | None, tol: float, max_iter: int) -> Solution:
    """Minimise to a gap of ``tol`` of the primal at zero; ``n_iter`` counts all products.

    Up to ``max_iter`` products with Newton steps, and as many again without. Where the kernel has
    few monomials, factorisations come first (:mod:`experiments.monomials`), counted as products.
    """
    total, s = 0, start
    if direct(problem):
        s, total, converged = monomials.solve(problem, tol)
        if converged:
            found = DualSolver(tol, max_iter).solve(problem, s)
            return replace(found, n_iter=total + found.n_iter)
    elif monomials.applies(problem):
        found = _by_products(problem, s, tol, monomials.PATIENCE)
        if found.status is Status.CONVERGED:
            return found
        monomials.want(problem)
        after = solve(problem, found.point.s, tol, max_iter)
        return replace(after, n_iter=found.n_iter + after.n_iter)
    found = _by_products(problem, s, tol, max_iter)
    return replace(found, n_iter=total + found.n_iter)


def _by_products(
    problem: SquaredProblem, start: Array | None, tol: float, max_iter: int
) -> Solution:
    """Conjugate gradients in Newton steps, then the library's solver alone."""
    total, s = 0, start
    steps = MOST_FIRST_ORDER + 1 if _singular(problem) else FIRST_ORDER
    while steps <= MOST_FIRST_ORDER and total < max_iter:
        found = DualSolver(tol, steps, steps).solve(problem, s)
        total += found.n_iter + 2
        if found.status is Status.CONVERGED:
            return replace(found, n_iter=total)
        s, products, length = _step(problem, found.point)
        steps = FIRST_ORDER if length == 1 else 2 * steps
        total += products
    found = DualSolver(tol, max_iter).solve(problem, s)
    return replace(found, n_iter=total + found.n_iter)


def _singular(problem: SquaredProblem) -> bool:
    """Whether the mean block of ``M`` has a null space."""
    values = _blocks(problem.space).mean_block(problem)[0]
    return bool(values[0] <= SMALLEST * values[-1])


def _step(problem: SquaredProblem, here: DualPoint) -> tuple[Array, int, float]:
    """One Newton step: where it leads, its products and its length."""
    model = _Model(problem, here)
    direction, products = model.minimum()
    value, there, taken = problem.primal_dual(here)[1], here.s, 0.0
    for length in LENGTHS:
        s, inside = model.moved(direction, length)
        dual = problem.primal_dual(problem.dual_point(s))[1]
        products += 1
        if dual > value:
            value, there, taken = dual, s, length
        elif taken:
            break
        if length == taken and inside:
            break
    return there, products, taken


class _Model:
    """The quadratic model of the dual at a point."""

    def __init__(self, problem: SquaredProblem, here: DualPoint) -> None:
        penalty = problem.penalty
        self.problem, self.here, self.partition = problem, here, penalty.partition
        spread = self.partition.spread
        self.radius, self.norms = penalty.radius(problem.alpha), self.partition.norms(here.s)
        self.eigenvalues, self.basis = _blocks(problem.space).mean_block(problem)
        ahead = here.s - here.g / self.eigenvalues[-1]
        self.active = self.partition.norms(ahead) > self.radius
        self.hard = penalty.l1_ratio == 1  # no way beyond the spheres
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.hard:
                tangential = self.partition.norms(here.g) / self.radius
                along = np.zeros_like(tangential)
            else:
                along = 1 / (2 * problem.alpha * penalty.weights * (1 - penalty.l1_ratio))
                tangential = np.maximum(1 - self.radius / self.norms, 0.0) * along
        self.along = spread(np.where(self.active, along, 0.0))
        self.tangential = spread(np.where(self.active, tangential, 0.0))
        self.unit = here.s * spread(np.where(self.active, 1 / np.maximum(self.norms, TINY), 0.0))

    def minimum(self) -> tuple[Array, int]:
        """Conjugate gradients: the direction and the products; residuals by the preconditioner."""
        left = -self._gradient()
        x, z = np.zeros_like(left), self._preconditioned(left)
        rho, p, products = float(np.vdot(left, z)), z.copy(), 0
        target = RESIDUAL**2 * rho
        while rho > target and products < MOST_PRODUCTS:
            q = self._product(p)
            products += 1
            bend = float(np.vdot(p, q))
            if bend <= 0:
                break
            x += (rho / bend) * p
            left -= (rho / bend) * q
            z = self._preconditioned(left)
            rho, before = float(np.vdot(left, z)), rho
            p *= rho / before
            p += z
        return x, products

    def moved(self, direction: Array, length: float) -> tuple[Array, bool]:
        """The point a step leads to, and whether no group had to be held in its ball."""
        s = self.here.s + length * direction
        norms, along = self.partition.norms(s), self._sums(self.unit * direction)
        beyond = np.maximum(self.norms + length * along, 0.0)
        target = np.where(self.active, self.radius if self.hard else beyond, norms)
        held = ~self.active & (norms > self.radius)
        target[held] = self.radius[held]
        return self.partition.rescale(s, norms, target), not held.any()

    def _gradient(self) -> Array:
        g, s = self.here.g, self.here.s
        return self._allowed(g) if self.hard else g + self.tangential * s

    def _product(self, x: Array) -> Array:
        problem, space = self.problem, self.problem.space
        v = problem.coefficient(x)
        Dv, carry = space.push(v)
        out = space.pull(-(problem.P @ Dv), v, carry)
        out *= problem.root
        out += self.tangential * x
        if not self.hard:
            out += self._radial(x, self.along - self.tangential)
        return self._allowed(out)

    def _preconditioned(self, x: Array) -> Array:
        if not self.hard:
            parallel = self._radial(x, 1 / (self.along + self.eigenvalues.mean()))
            x = x - self._radial(x)
        y: Array = self.basis @ ((self.basis.T @ x) / (self.eigenvalues[:, None] + self.tangential))
        y -= self._radial(y)
        return y if self.hard else y + parallel

    def _allowed(self, x: Array) -> Array:
        """Without the part along active groups, where there is no way beyond the spheres."""
        return x - self._radial(x) if self.hard else x

    def _radial(self, x: Array, factor: Array | float = 1.0) -> Array:
        """The part along active groups, times a factor."""
        part: Array = self.unit * (factor * self.partition.spread(self._sums(self.unit * x)))
        return part

    def _sums(self, products: Array) -> Array:
        """Sums over groups."""
        partition = self.partition
        sums = products.sum(axis=0)
        return np.bincount(partition.labels, sums, partition.n_groups).astype(np.float64)


class _Blocks:
    """Diagonal blocks of ``M`` on average, for any ridge."""

    def __init__(self, space: RepresenterSpace) -> None:
        D, L = space.operator.dense()
        self.D = np.ascontiguousarray((D * space.scales[:, None]).transpose(1, 0, 2))
        self.L = np.einsum("iaja,a->ij", L, space.scales**2)
        self.known: dict[float, tuple[Array, Array]] = {}

    def mean_block(self, problem: SquaredProblem) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of ``mean_a S (L_aa - D_a P D_a') S / 2 ridge``."""
        if problem.ridge not in self.known:
            n, d = problem.space.points.shape
            stacked = self.D.transpose(1, 0, 2).reshape(n, -1)  # D_1, ..., D_d side by side
            explained = (self.D @ problem.P).transpose(1, 0, 2).reshape(n, -1) @ stacked.T
            root = problem.root / np.sqrt(2 * problem.ridge * d)
            block = (self.L - explained) * root * root.T
            values, vectors = np.linalg.eigh((block + block.T) / 2)
            self.known[problem.ridge] = (np.maximum(values, SMALLEST * values[-1]), vectors)
        return self.known[problem.ridge]


@lru_cache(maxsize=1)
def _blocks(space: RepresenterSpace) -> _Blocks:
    return _Blocks(space)
