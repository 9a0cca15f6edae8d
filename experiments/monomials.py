r"""Newton's method for the derivative penalties of polynomial kernels, in their monomials.

The kernel ``(offset + z . x)^p`` of d variables has ``q = C(d + p, p)`` monomials, and a derivative
with respect to one variable only those that contain it. With few of them (``q`` of about ``n d``)
a factorisation takes as long as some hundred products of the library's solver, which an
ill-conditioned problem needs thousands of.

With ``f = phi' w``, weighted rows, ``G_g`` the Gram matrix of the derivatives of group g,
``r_g = alpha w_g mu`` and ``c_g = 2 alpha w_g (1 - mu)``, half of the objective is the smallest
value over the sizes ``eta_g > 0`` of

.. math:: \tfrac12 w'Hw - b'w + \tfrac14 \sum_g \Big[ \Big( \frac{r_g}{\eta_g} + c_g \Big)
          w'G_g w + r_g \eta_g \Big], \qquad H = \Phi'\Phi + \lambda I,\; b = \Phi'y ,

where ``eta_g`` is the norm ``m_g = sqrt(w'G_g w)`` of the derivative. For given sizes ``w`` is one
Cholesky factorisation. It is left to solve ``eta_g = m_g(eta)`` for d numbers, those of variables
without a part at a floor that costs at most a quarter of the tolerance. As for trust regions
(More and Sorensen 1983) Newton's method is applied to ``eta_g / m_g - 1``, which is nearly linear;
a step that does not lower the smallest value, which is convex in the sizes, is shortened, and at
last is ``eta = m``, which always lowers it. The dual variable is ``s_g = -(r_g / m_g + c_g) g_g``,
its certificate the library's.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from nablasso.kernels import Polynomial
from nablasso.problems import SquaredProblem
from nablasso.spaces import RepresenterSpace
from nablasso.types import Array

MOST = 1600  # monomials
BUSY = 1.2  # monomials over n d, above which a factorisation is not worth it
PATIENCE = 600  # products that are tried before the first factorisation
FLOOR = 1.0  # of the tolerance: four times what the floor of all sizes may cost
STEPS, SHORTER = 20, 3  # Newton steps, and how often one is shortened
SETTLED, ROUNDS = 1e-2, 6  # sizes nearly found; rounds of refinement
ROUNDING = 0.1  # of the tolerance: by so much values may differ


class Found(NamedTuple):
    """A dual variable, how many factorisations it took, and whether its gap is small enough."""

    s: Array
    steps: int
    converged: bool


def applies(problem: SquaredProblem) -> bool:
    """Whether the kernel has few monomials, and the penalty is one of these."""
    kernel, penalty, (n, d) = problem.space.kernel, problem.penalty, problem.space.points.shape
    if not isinstance(kernel, Polynomial) or problem.fit_intercept:
        return False
    if not (penalty.weights > 0).all():
        return False
    q = comb(d + kernel.degree, d)
    return problem.penalty_weights is None and q <= min(MOST, BUSY * n * d)


def wanted(problem: SquaredProblem) -> bool:
    """Whether products did not get to the solution of a problem of this space in short time."""
    return _features(problem.space).wanted


def want(problem: SquaredProblem) -> None:
    """Say so."""
    _features(problem.space).wanted = True


def solve(problem: SquaredProblem, tol: float) -> Found:
    """Minimise to a gap of ``tol`` of the primal at zero, from sizes found before."""
    return _features(problem.space).solve(problem, tol * problem.reference)


class _Features:
    """Monomials of the rows of a space, their derivatives, and sizes found before."""

    def __init__(self, space: RepresenterSpace) -> None:
        kernel = space.kernel
        assert isinstance(kernel, Polynomial)
        n, d = space.points.shape
        Z = np.hstack([np.full((n, 1), np.sqrt(kernel.offset)), space.points * space.scales])
        every = combinations_with_replacement(range(d + 1), kernel.degree)
        terms = np.array(list(every), dtype=np.intp)  # 0 stands for the offset
        counts = np.apply_along_axis(np.bincount, 1, terms, minlength=d + 1)
        repeats = np.array([factorial(k) for k in range(kernel.degree + 1)], dtype=float)[counts]
        weights = np.sqrt(factorial(kernel.degree) / repeats.prod(axis=1))
        self.q = len(terms)
        self.values = weights * _products(Z, terms)
        self.columns, self.slopes = [], []
        for a in range(1, d + 1):
            mine = np.flatnonzero(counts[:, a])
            at = np.argmax(terms[mine] == a, axis=1)
            rest = terms[mine][np.arange(kernel.degree) != at[:, None]].reshape(len(mine), -1)
            self.columns.append(mine)
            factor = weights[mine] * counts[mine, a] * space.scales[a - 1]
            self.slopes.append(factor * _products(Z, rest))
        self.gram: Any = None
        self.wanted = False
        self.known: list[tuple[float, float, float, Array]] = []

    def prepare(self, problem: SquaredProblem) -> None:
        """Gram matrices of weighted rows, which all problems of a space share."""
        if self.gram is not None:
            return
        root = problem.root
        self.rows = root * self.values
        self.gram = self.rows.T @ self.rows
        self.blocks = []
        for a, slopes in enumerate(self.slopes):
            self.slopes[a] = root * slopes
            mine = self.columns[a]
            block = self.slopes[a].T @ self.slopes[a]
            self.blocks.append((np.add.outer(mine * self.q, mine).ravel(), block.ravel()))

    def solve(self, problem: SquaredProblem, target: float) -> Found:
        """Newton's method on the sizes."""
        self.prepare(problem)
        model = _Model(self, problem, target)
        here = model.at(self._start(problem, model))
        for step in range(1, STEPS):
            s, gap = model.refined(problem, here, target)
            if gap <= target:
                self._keep(problem, here.eta)
                return Found(s, step, converged=True)
            there = model.newton(here)
            for _ in range(SHORTER):
                trial = model.at(there)
                if trial.value <= here.value + ROUNDING * target:
                    break
                there = np.sqrt(there * here.eta)
            else:
                trial = model.at(np.maximum(here.norms, model.floor))
            here = trial
        return Found(model.dual(here), STEPS, converged=False)

    def _start(self, problem: SquaredProblem, model: _Model) -> Array:
        """Sizes of the nearest problem solved, in units of those of ridge regression."""
        unit = _plain(problem)
        if not self.known or len(self.known[0][3]) != len(model.radius):
            self.known.clear()
            return np.full(len(model.radius), max(unit, 10 * model.floor))
        at = np.array([[known[0], 0.1 * known[1]] for known in self.known])
        here = (np.log(model.radius[0]), 0.1 * np.log(problem.ridge))
        _, _, before, eta = self.known[int(np.argmin(np.abs(at - here).sum(axis=1)))]
        return np.maximum(eta * (unit / before), model.floor)

    def _keep(self, problem: SquaredProblem, eta: Array) -> None:
        radius = float(problem.penalty.radius(problem.alpha)[0])
        sizes = np.where(eta > 0, eta, 0.0)
        self.known.append((np.log(radius), np.log(problem.ridge), _plain(problem), sizes))


class _Point(NamedTuple):
    """Sizes, what they lead to, and the factorisation."""

    eta: Array
    factor: Array
    w: Array
    norms: Array
    value: float


class _Model:
    """One problem in its monomials."""

    def __init__(self, features: _Features, problem: SquaredProblem, target: float) -> None:
        penalty = problem.penalty
        self.features, self.ridge, self.partition = features, problem.ridge, penalty.partition
        self.radius = penalty.radius(problem.alpha)
        self.square = 2 * problem.alpha * penalty.weights * (1 - penalty.l1_ratio)
        self.floor = FLOOR * target / float(self.radius.sum())
        self.b = features.rows.T @ (problem.root.ravel() * problem.y)

    def at(self, eta: Array) -> _Point:
        """The best function for given sizes."""
        features, spread = self.features, self.partition.spread
        A = features.gram.copy()
        A.flat[:: features.q + 1] += self.ridge
        flat = A.reshape(-1)
        for theta, (places, block) in zip(
            spread((self.radius / eta + self.square) / 2), features.blocks, strict=True
        ):
            flat[places] += theta * block
        factor, fault = dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        w = np.full(features.q, np.nan) if fault else dpotrs(factor, self.b, lower=1)[0]
        norms = self.partition.norms(self.gradient(w))
        value = float(self.radius @ eta) / 4 - float(self.b @ w) / 2
        return _Point(eta, factor, w, norms, value if np.isfinite(value) else np.inf)

    def gradient(self, w: Array) -> Array:
        """Weighted derivatives at the rows."""
        parts = zip(self.features.slopes, self.features.columns, strict=True)
        return np.column_stack([slopes @ w[columns] for slopes, columns in parts])

    def dual(self, here: _Point) -> Array:
        """The dual variable, of groups above the floor outside their balls or on the sphere."""
        free = here.eta > self.floor
        size = np.where(free, np.maximum(here.norms, 1e-300), here.eta)
        factor = self.radius / size + self.square
        return np.asarray(-self.gradient(here.w) * self.partition.spread(factor))

    def refined(self, problem: SquaredProblem, here: _Point, target: float) -> tuple[Array, float]:
        """The dual variable and its gap; near the solution rounding is taken out of it.

        ``s`` solves ``(M + t) s = -g(0)`` with ``t_g = eta_g / (r_g + c_g eta_g)``, where ``M``,
        the Hessian of the dual, is ``Z H^-1 Z' / 2``: what is left of it, by the library's
        products, is solved for with the same factorisation (Woodbury).
        """
        s = self.dual(here)
        point = problem.feasible_point(s)
        primal, dual = problem.primal_dual(point)
        gap, free = primal - dual, here.eta > self.floor
        ratio = here.norms / here.eta
        if (
            gap <= target
            or (np.abs(ratio - 1)[free] > SETTLED).any()
            or (ratio > 1 + SETTLED).any()
        ):
            return s, gap
        stiff = self.partition.spread(self.radius / here.eta + self.square)
        held = free & (self.square == 0)
        for _ in range(ROUNDS):
            left = point.g + s / stiff
            w = dpotrs(here.factor, self.pulled(left * stiff / 2), lower=1)[0]
            s = s - stiff * (left - self.gradient(w))
            norms = self.partition.norms(s)
            s = self.partition.rescale(s, norms, np.where(held, self.radius, norms))
            point = problem.feasible_point(s)
            primal, dual = problem.primal_dual(point)
            before, gap = gap, primal - dual
            if gap <= target or gap > before / 2:
                break
        return s, gap

    def pulled(self, g: Array) -> Array:
        """The transpose of :meth:`gradient`."""
        out = np.zeros(self.features.q)
        for a, columns in enumerate(self.features.columns):
            out[columns] += self.features.slopes[a].T @ g[:, a]
        return out

    def newton(self, here: _Point) -> Array:
        """The sizes after a Newton step."""
        eta, norms = here.eta, np.maximum(here.norms, 1e-300)
        free = (eta > self.floor) | (norms > eta)
        pulled = np.zeros((self.features.q, len(eta)), order="F")
        g = self.gradient(here.w)
        for a, group in enumerate(self.partition.labels):
            if free[group]:
                pulled[self.features.columns[a], group] += self.features.slopes[a].T @ g[:, a]
        pulled = pulled[:, free]
        T = pulled.T @ dpotrs(here.factor, pulled, lower=1)[0]
        e, m = eta[free], norms[free]
        J = np.diag(1 / m) - (e / (2 * m**3))[:, None] * T * (self.radius[free] / e**2)
        # columns in units of the sizes: they differ by many orders
        step = np.linalg.solve(J * e, 1 - e / m) * e
        there = np.full_like(eta, self.floor)
        there[free] = np.maximum(e + step, self.floor)
        return there


def _products(Z: Array, terms: NDArray[np.intp]) -> Array:
    out = np.ones((len(Z), len(terms)))
    for at in range(terms.shape[1]):
        out *= Z[:, terms[:, at]]
    return out


def _plain(problem: SquaredProblem) -> float:
    """The size of the derivatives of ridge regression."""
    zero = problem.dual_point(np.zeros(problem.space.points.shape))
    return float(np.linalg.norm(zero.g))


@lru_cache(maxsize=1)
def _features(space: RepresenterSpace) -> _Features:
    return _Features(space)
