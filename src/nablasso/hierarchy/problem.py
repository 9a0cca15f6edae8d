r"""The problem on a hull of listed nodes: its norm, primal, dual, gap, derivatives and solution.

.. math::
    \min_{f, b}\ \sum_i p_i\, l\big(y_i, b + \textstyle\sum_{w \in W} f_w(x_i)\big)
    + \frac{\lambda}{2}\, \Omega(f)^2 , \qquad \Omega(f) = \sum_v d_v \|f_{D(v)}\| \qquad (19)

    \Omega(f)^2 = \min_{\eta \ge 0,\ \sum_v d_v^2 \eta_v \le 1}\ \sum_w \zeta_w^{-1} \|f_w\|^2,
    \qquad \zeta_w^{-1} = \sum_{v \in A(w)} \eta_v^{-1} .

We work with ``x_v = d_v^2 eta_v``, which add up to one. For fixed ``x`` it is one kernel machine
with the kernel ``K = sum_w zeta_w K_w``; its optimal value ``J(x)`` is convex in ``x``. With the
dual variable ``alpha = -p l'(y, z) / lambda``, ``a_w = alpha' K_w alpha``, ``f_w = zeta_w Phi_w'
alpha``, ``kappa_vw = zeta_w / eta_v`` and ``P`` the operator of the (re)weighted kernel ridge
regression at the solution

.. math::
    x_v \partial_v J = -\tfrac{\lambda}{2}\, t_v, \qquad t = \kappa (\zeta a), \qquad
    x_u x_v \partial_{uv} J = \lambda \big[\mathrm{diag}(t) + \kappa M \kappa^\top \big]_{uv},
    \qquad M = G^\top P G - \mathrm{diag}(\zeta a), \qquad G_w = \zeta_w K_w \alpha .

In feature space, with the (reweighted) moments ``C`` and ``Z = diag(zeta)``, ``M`` is what is left
of it, ``-(lambda / 2) B' (Z^{1/2} C Z^{1/2} + lambda / 2)^{-1} B``, where column w of ``B`` holds
``zeta^{1/2} h`` of the features of w. A node has few ancestors, so ``kappa`` is sparse. The gap of
the weights is ``lambda / 2`` times ``max_v t_v / x_v - sum_w zeta_w a_w``.

**Newton's method**, an interior-point method in the weights, with multipliers ``s_v = nu - (lambda
/ 2) t_v / x_v`` of the bounds, ``nu = (lambda / 2) max_v t_v / x_v``: the sum of ``x_v s_v`` *is*
the gap of the weights. Each step solves, in relative coordinates ``delta = dx / x``,

.. math:: (H + \mathrm{diag}(x s))\, \delta + \tau x = \mu - x s, \qquad x^\top \delta = 0,

and takes what a line search on ``J(x) - mu sum log x`` allows: 10 to 20 steps whatever the data.
Where rounding stalls it an **alternating scheme** goes on, ``x_v <- sqrt(x_v t_v)`` over the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve as solve_symmetric
from scipy.linalg.lapack import dposv, dpotrf, dpotri, dpotrs, dtrtrs
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from nablasso.hierarchy.dag import Node
from nablasso.losses import LossSample, Squared
from nablasso.regression.machine import GramRows, Machines, OnFeatures
from nablasso.regression.ridge import WeightedRidge, mirrored, moments_of
from nablasso.types import Array, Mask

TINY = 1e-300
SMALLEST = 1e-30  # weight
NEWTON_STEPS = 100
NEWTON_HALVINGS = 12
CENTRING = 0.1
TO_THE_BORDER = 0.99
FLOOR = 1e-9  # weights of a start are at least this share
LEEWAY = 1e-3  # of the multiplier: the largest ratio keeps a little slack
FALLBACK = 100  # steps of the alternating scheme after a stall
LEAST = 1e-4  # of the gap wanted: steps that gain less, gaps being of first order, lead nowhere


class Weights(NamedTuple):
    """``x_v`` with the ``zeta`` and ``kappa`` that belong to it."""

    x: Array
    zeta: Array
    kappa: Array  # [v, w]


def weights_of(x: Array, ancestors: Mask, d: Array) -> Weights:
    """``zeta`` and ``kappa`` of positive ``x``."""
    inverse = d**2 / np.maximum(x, TINY)  # 1 / eta
    zeta = 1 / (inverse @ ancestors)
    return Weights(x, zeta, ancestors * inverse[:, None] * zeta)


def dual_bound(weights: Weights, sizes: Array) -> tuple[float, float, Array]:
    """Upper bound of the dual norm's square, its value at ``x``, and ``t_v / x_v``."""
    t = weights.kappa @ (weights.zeta * sizes)
    ratios = t / np.maximum(weights.x, TINY)
    return float(ratios.max(initial=0.0)), float(weights.zeta @ sizes), ratios


def descendant_norms(norms2: Array, ancestors: Mask) -> Array:
    """``||f_{D(v)}||`` from the squared norms ``||f_w||^2``."""
    return np.sqrt(np.maximum(ancestors @ norms2, 0.0))


@dataclass(frozen=True)
class HullPoint:
    """The kernel machine at one ``x``."""

    weights: Weights
    dual: Array
    h: Array  # Phi' alpha
    coef: Array  # zeta h; from feature space where large features would cost digits
    intercept: float
    predictions: Array
    sizes: Array  # a_w
    value: float  # J(x)
    solved: Any  # what the Hessian needs


class HullProblem:
    """Problem (19) at one ``alpha`` (the paper's lambda)."""

    def __init__(
        self,
        sample: LossSample,
        alpha: float,
        nodes: list[Node],
        features: list[Array],
        ancestors: Mask,
        d: Array,
    ) -> None:
        self.sample, self.alpha = sample, float(alpha)
        self.nodes, self.ancestors, self.d = nodes, ancestors, d
        self.owner = np.repeat(np.arange(len(features)), [F.shape[1] for F in features])
        self.Phi = np.column_stack([np.empty((len(sample.y), 0)), *features])
        self.in_features = 0 < self.Phi.shape[1] <= len(sample.y)
        self.work = 0.0  # multiplications so far

    @property
    def n_nodes(self) -> int:
        """Size of the hull."""
        return len(self.d)

    def per_node(self, values: Array) -> Array:
        """Sums over the features of each node."""
        sums = np.bincount(self.owner, values, minlength=self.n_nodes)
        return np.asarray(sums, dtype=float)

    def evaluate(self, x: Array, start: Array | None = None) -> HullPoint:
        """Solve the kernel machine at ``x``; ``start`` is a dual variable to start from."""
        self.work += cost_of_a_step(len(self.sample.y), self.Phi.shape[1], self.n_nodes)
        sample, ridge = self.sample, self.alpha / 2
        weights = weights_of(x, self.ancestors, self.d)
        zeta = weights.zeta[self.owner]
        if self.in_features and self._is_squared:
            return self._point(weights, *self._least_squares(zeta))
        if self.in_features:
            root = np.sqrt(zeta)
            rows = OnFeatures(self.Phi * root)
            machine = Machines(sample, rows).at(ridge, start=start)
            return self._point(weights, machine.dual, root * machine.coef, None)
        K = self._kernel(weights.zeta)
        if self._is_squared:
            solved = WeightedRidge(K, sample.weights, ridge, fit_intercept=True)
            return self._point(weights, solved.solve(sample.y), None, solved)
        machine = Machines(sample, GramRows(K)).at(ridge, start=start)
        return self._point(weights, machine.dual, None, K)

    def _kernel(self, zeta: Array) -> Array:
        """``sum_w zeta_w K_w``."""
        if self._kernels is not None:
            return np.asarray(np.tensordot(zeta, self._kernels, 1))
        rooted = self.Phi * np.sqrt(zeta[self.owner])
        return np.asarray(rooted @ rooted.T)

    @cached_property
    def _kernels(self) -> Array | None:
        """The kernels of all nodes, where they are worth their room."""
        n, D = self.Phi.shape
        if not holds_kernels(n, D, self.n_nodes):
            return None
        kernels = np.empty((self.n_nodes, n, n))
        for w, kernel in enumerate(kernels):
            part = self.Phi[:, self.owner == w]
            np.matmul(part, part.T, out=kernel)
        return kernels

    @property
    def _is_squared(self) -> bool:
        return isinstance(self.sample.loss, Squared)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Products of the features with each other and with ``y``: all the squared loss needs."""
        sample = self.sample
        return moments_of(self.Phi, sample.y, sample.weights)

    def _least_squares(self, zeta: Array) -> tuple[Array, Array, Array]:
        """Dual variable, ``c`` of ``(C + lambda / 2 diag(1 / zeta)) c = Phi' y``, and the factor.

        Safe for ``zeta`` near zero.
        """
        C, target = self._moments
        root, L = np.sqrt(zeta), self._factor(zeta, C)
        coef = root * dpotrs(L, root * target, lower=1)[0]
        p, rest = self.sample.weights, self.sample.y - self.Phi @ coef
        return np.asarray(2 * p * (rest - p @ rest) / self.alpha), np.asarray(coef), L

    def _point(self, weights: Weights, dual: Array, coef: Array | None, solved: Any) -> HullPoint:
        """All that belongs to a dual variable; coefficients of large features are given."""
        sample = self.sample
        h = self.Phi.T @ dual
        zeta = weights.zeta[self.owner]
        coef = zeta * h if coef is None else coef
        values = self.Phi @ coef
        b = sample.intercept(values)
        sizes = self.per_node(h**2)
        value = sample.mean_loss(values + b) + self.alpha / 2 * float(coef @ (coef / zeta))
        return HullPoint(weights, dual, h, coef, b, values + b, sizes, value, solved)

    def hessian(self, point: HullPoint) -> tuple[Array, Array]:
        """``t`` and the Hessian of ``J`` in relative coordinates, ``x_u x_v d_uv J``."""
        zeta, sample, solved = point.weights.zeta, self.sample, point.solved
        za, own, kappa = zeta * point.sizes, zeta[self.owner], point.weights.kappa
        t, sparse = kappa @ za, csr_array(kappa)
        if not self._is_squared:  # the regression at the curvature of the loss
            q = sample.expansion(point.predictions).weights
            if self.in_features:
                solved = self._factor(own, moments_of(self.Phi, sample.y, q)[0])
            else:
                solved = WeightedRidge(solved, q, self.alpha / 2, fit_intercept=True)
        if self.in_features:
            M = -self.alpha / 2 * self._within(solved, np.sqrt(own) * point.h)
        else:
            M = solved.quadratic(self.Phi @ self._by_node(own * point.h).T) - np.diag(za)
        matrix = np.asarray(sparse @ (sparse @ M).T)
        matrix[np.diag_indices_from(matrix)] += t
        return t, self.alpha * matrix

    def _by_node(self, values: Array) -> csr_array:
        """Values of the features, those of a node in its row."""
        places = (self.owner, np.arange(len(values)))
        return csr_array((values, places), shape=(self.n_nodes, len(values)))

    def _within(self, L: Array, b: Array) -> Array:
        """``B' (L L')^{-1} B``; where nodes have one feature or two by the inverse itself."""
        B = self._by_node(b)
        if 2 * self.n_nodes < len(b):
            T = dtrtrs(L, B.T.toarray(), lower=1)[0]
            return np.asarray(T.T @ T)
        return np.asarray(B @ (B @ mirrored(dpotri(L, lower=1)[0])).T)

    def _factor(self, zeta: Array, C: Array) -> Array:
        """Lower triangle of ``Z^{1/2} C Z^{1/2} + lambda / 2``; NaN where rounding ends it."""
        root = np.sqrt(zeta)
        A = root[:, None] * C * root
        A[np.diag_indices_from(A)] += self.alpha / 2
        L, failed = dpotrf(A, lower=1, overwrite_a=1)
        return np.full_like(A, np.nan) if failed else np.asarray(L)

    def primal(self, point: HullPoint) -> float:
        """Objective of the point's function, with the norm itself."""
        omega = self.d @ descendant_norms(self.per_node(point.coef**2), self.ancestors)
        return self.sample.mean_loss(point.predictions) + self.alpha / 2 * float(omega) ** 2

    def gap(self, point: HullPoint, outside: float = 0.0) -> float:
        """Primal minus dual at the best multiple of the point's dual variable.

        ``outside`` bounds the dual norm's square of what is not in the hull. With ``c alpha`` the
        last term of the dual grows by ``c^2``: where the bound exceeds the value at the optimum a
        shorter dual variable is the better certificate.
        """
        bound = max(dual_bound(point.weights, point.sizes)[0], outside)

        def value(c: float) -> float:
            quadratic = c**2 * self.alpha / 2 * bound if c else 0.0
            return -self.sample.conjugate(c * self.alpha * point.dual) - quadratic

        best = value(0.0)
        if np.isfinite(bound):
            how: Any = {"bounds": (0, 1), "method": "bounded", "options": {"xatol": 1e-9}}
            best = max(best, value(1.0), -minimize_scalar(lambda c: -value(c), **how).fun)
        return max(self.primal(point) - best, 0.0)


def cost_of_a_step(n: int, D: int, R: int) -> float:
    """Multiplications of a machine and its Hessian: n rows, D features, R nodes."""
    machine = D**3 / 3 + n * D if n >= D else n * n * D + n**3 / 3
    m = min(n, D)
    return machine + 2.0 * R * m * (m + R) + 1.5 * float(R) ** 3


def holds_kernels(n: int, D: int, R: int) -> bool:
    """Whether the kernels of all nodes take no more room than their features, held twice."""
    return 0 < n * R <= 2 * D


def bytes_held(n: int, D: int, R: int) -> float:
    """Features at the rows, twice, and kernels; matrices of the machine and of the weights."""
    m, kernels = min(n, D), n * n * R if holds_kernels(n, D, R) else 0
    return 8.0 * (2 * n * D + kernels + 4 * m * m + 2 * D * R + 6 * R * R)


class HullSolution(NamedTuple):
    """A point, the steps it took, and whether the gap was reached."""

    point: HullPoint
    n_iter: int
    converged: bool
    stalled: bool = False  # no step decreases the objective in the digits there are


def solve(problem: HullProblem, x: Array, tol: float, max_iter: int | None = None) -> HullSolution:
    """Newton's method from weights ``x`` to an absolute gap; what it stalls at goes on slowly."""
    solved = newton(problem, x, tol, NEWTON_STEPS if max_iter is None else max_iter)
    if not solved.stalled:
        return solved
    further = alternating(problem, solved.point.weights.x, tol, FALLBACK, LEAST * tol)
    both = (solved.point, further.point)
    best = min(both, key=lambda point: _weights_gap(problem, point)[0])
    n_iter, converged = solved.n_iter + further.n_iter, further.converged
    return HullSolution(best, n_iter, converged, stalled=not converged)


def _weights_gap(problem: HullProblem, point: HullPoint) -> tuple[float, float, Array]:
    """Gap of the weights, bound of the dual norm's square, and ``t_v / x_v``."""
    bound, value, ratios = dual_bound(point.weights, point.sizes)
    return problem.alpha / 2 * (bound - value), bound, ratios


def _start(x: Array) -> Array:
    """Inside the simplex."""
    x = np.maximum(x, FLOOR)
    return np.asarray(x / x.sum())


def newton(problem: HullProblem, x: Array, tol: float, max_iter: int) -> HullSolution:
    """The interior-point method, to a gap of ``tol``."""
    point = problem.evaluate(_start(x))
    if problem.n_nodes == 1:
        return HullSolution(point, 0, True)
    half, mu = problem.alpha / 2, np.inf
    for step in range(max_iter):
        gap, bound, ratios = _weights_gap(problem, point)
        if gap <= tol:
            return HullSolution(point, step, True)
        mu = min(mu, CENTRING * gap / problem.n_nodes)  # the gap may rise on the way, mu may not
        slack = half * (bound * (1 + min(LEEWAY, gap / (half * bound))) - ratios)
        delta = _direction(problem, point, slack, mu)
        moved = _line_search(problem, point, delta, mu)
        if moved is None:
            return HullSolution(point, step, False, stalled=True)
        point = moved
    return HullSolution(point, max_iter, False)


def _direction(problem: HullProblem, point: HullPoint, slack: Array, mu: float) -> Array:
    x = point.weights.x
    _, H = problem.hessian(point)
    xs = x * slack
    A = H + np.diag(xs)
    A[np.diag_indices_from(A)] += 1e-14 * float(np.trace(A)) / len(x)
    right = np.column_stack([mu - xs, x])
    both, failed = dposv(A, right)[1:]
    if failed:  # rounding made a weightless node's curvature negative
        A[np.diag_indices_from(A)] += 1e-8 * float(np.trace(A)) / len(x)
        both = solve_symmetric(A, right, assume_a="sym", check_finite=False)
    tau = (x @ both[:, 0]) / (x @ both[:, 1])
    return np.asarray(both[:, 0] - tau * both[:, 1])


def _line_search(
    problem: HullProblem, point: HullPoint, delta: Array, mu: float
) -> HullPoint | None:
    """The longest step that decreases the barrier function; None if there is none."""
    x = point.weights.x
    here = point.value - mu * float(np.log(x).sum())
    down = -float(delta.min())
    t = min(1.0, TO_THE_BORDER / down) if down > 0 else 1.0
    for _ in range(NEWTON_HALVINGS):
        new = np.maximum(x * (1 + t * delta), SMALLEST)
        new /= new.sum()
        moved = problem.evaluate(new, point.dual)
        there = moved.value - mu * float(np.log(new).sum())
        if there <= here + 1e-14 * abs(here):
            return moved
        t /= 2
    return None


def alternating(
    problem: HullProblem, x: Array, tol: float, max_iter: int, least: float = -np.inf
) -> HullSolution:
    """The alternating scheme, to a gap of ``tol`` or until a step gains less than ``least``."""
    point = problem.evaluate(_start(x))
    for step in range(max_iter):
        gap, _, ratios = _weights_gap(problem, point)
        if gap <= tol:
            return HullSolution(point, step, True)
        x = np.maximum(point.weights.x * np.sqrt(ratios), SMALLEST)
        before, point = point.value, problem.evaluate(x / x.sum(), point.dual)
        if before - point.value < least:
            return HullSolution(point, step + 1, False, stalled=True)
    return HullSolution(point, max_iter, False)
