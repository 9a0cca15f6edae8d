"""The mathematics of (P) written down naively: slow, dense and independent of the library.

A kernel is a plain function ``k(s, r)`` of two points (arrays of shape (..., d)) that also takes
complex points. Its derivatives come from the complex step and from finite differences, never from
a formula. Only :func:`library_problem` at the end touches the library: it says the same problem in
the library's words.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from scipy.linalg import sqrtm

# -------------------------------------------------------------------------- kernels


def gaussian(length_scale=1.0):
    return lambda s, r: np.exp(-np.sum((s - r) ** 2, axis=-1) / (2 * length_scale**2))


def matern52(length_scale=1.0):
    def k(s, r):
        q = np.sqrt(5.0) * np.sqrt(np.sum((s - r) ** 2, axis=-1)) / length_scale
        return (1 + q + q**2 / 3) * np.exp(-q)

    return k


def rational_quadratic(length_scale=1.0, mixture=1.0):
    def k(s, r):
        return (1 + np.sum((s - r) ** 2, axis=-1) / (2 * mixture * length_scale**2)) ** -mixture

    return k


def linear():
    return lambda s, r: np.sum(s * r, axis=-1)


def polynomial(degree=2, offset=1.0):
    return lambda s, r: (np.sum(s * r, axis=-1) + offset) ** degree


def anova(order=2, base=None):
    """All products of at most ``order`` one-dimensional kernels, listed one by one."""
    one = gaussian() if base is None else base

    def k(s, r):
        total = 0.0
        for size in range(1, order + 1):
            for subset in combinations(range(s.shape[-1]), size):
                product = 1.0
                for a in subset:
                    product = product * one(s[..., [a]], r[..., [a]])
                total = total + product
        return total

    return k


def rough(length_scale=1.0, tip=0.1):
    """``exp(tip - sqrt(tip^2 + |s - r|^2 / length_scale^2))``."""
    return lambda s, r: np.exp(
        tip - np.sqrt(tip**2 + np.sum((s - r) ** 2, axis=-1) / length_scale**2)
    )


def additive_power(order=2, offset=1.0, rank=10, centre=None, scale=None):
    """``(offset + sum_a c_a^2 (b(s_a) - m_a)' G^{-1} (b(r_a) - m_a))^order``, ``b`` Gaussian bumps.

    ``m_a`` is ``b(0)``, or ``G^{1/2}`` times the centre: the kernel centres its features
    ``G^{-1/2} b``. ``c`` is the scale.
    """
    knots = np.linspace(-3.0, 3.0, rank)

    def bumps(x):
        return np.exp(-((x[..., None] - knots) ** 2) / (2 * 0.8**2))

    G = bumps(knots)
    inverse = np.linalg.inv(G)
    middle = bumps(np.zeros(1)) if centre is None else centre @ sqrtm(G).real
    factor = 1.0 if scale is None else np.asarray(scale)[:, None] ** 2

    def k(s, r):
        left, right = (bumps(x) - middle for x in (s, r))
        return (offset + np.sum(factor * (left @ inverse) * right, axis=(-2, -1))) ** order

    return k


def stated(base, states):
    """The base kernel of two points further apart, by ``states^2`` where numbers differ."""

    def k(s, r):
        apart = np.abs(np.real(s - r)) > 2e-3  # a step of the differences below is no other state
        further = np.sqrt(2) * np.asarray(states) * apart  # along axes of their own
        return base(np.concatenate([s - r, further], axis=-1), np.zeros(2 * s.shape[-1]))

    return k


def plain(kernel):
    """The plain function of a library kernel, told by its class name and parameters alone."""
    parameters = kernel.get_params(deep=False)
    name = type(kernel).__name__
    if name == "Sum":
        first, second = plain(parameters["first"]), plain(parameters["second"])
        return lambda s, r: first(s, r) + second(s, r)
    if name == "Scaled":
        scaled, factor = plain(parameters["kernel"]), parameters["factor"]
        return lambda s, r: factor * scaled(s, r)
    if name == "Anova":
        base = parameters["base"]
        return anova(parameters["order"], None if base is None else plain(base))
    if name == "Stated":
        return stated(plain(parameters.pop("base")), **parameters)
    makers = {
        "Gaussian": gaussian,
        "Matern52": matern52,
        "RationalQuadratic": rational_quadratic,
        "Rough": rough,
        "Linear": linear,
        "Polynomial": polynomial,
        "AdditivePower": additive_power,
    }
    return makers[name](**parameters)


# -------------------------------------------------------------------------- derivatives


def derivative_left(k, s, r, a):
    """``dk/ds^a`` by the complex step: exact to rounding."""
    shift = np.zeros(s.shape[-1], dtype=complex)
    shift[a] = 1e-30j
    return k(s + shift, r).imag / 1e-30


def derivative_right(k, s, r, b):
    """``dk/dr^b`` by the complex step."""
    return derivative_left(lambda right, left: k(left, right), r, s, b)


def derivative_mixed(k, s, r, a, b, h=3e-4):
    """``d^2 k/ds^a dr^b``: central difference of fourth order of the complex step."""
    e = np.zeros(r.shape[-1])
    e[b] = h

    def first(t):
        return derivative_left(k, s, r + t * e, a)

    return (8 * (first(1) - first(-1)) - (first(2) - first(-2))) / (12 * h)


class Dense(NamedTuple):
    K: Any  # (m, n)        k(z_i, x_j)
    D: Any  # (m, d, n)     dk/dz^a
    C: Any  # (m, n, d)     dk/dx^b; with Z = X it is the transpose of D
    L: Any  # (m, d, n, d)  d^2k/dz^a dx^b


def dense(k, Z, X) -> Dense:
    d = X.shape[1]
    s, r = Z[:, None, :], X[None, :, :]
    D = np.stack([derivative_left(k, s, r, a) for a in range(d)], axis=1)
    C = np.stack([derivative_right(k, s, r, b) for b in range(d)], axis=2)
    L = np.empty((len(Z), d, len(X), d))
    for a in range(d):
        for b in range(d):
            L[:, a, :, b] = derivative_mixed(k, s, r, a, b)
    return Dense(k(s, r), D, C, L)


# -------------------------------------------------------------------------- losses


class PlainLoss(NamedTuple):
    value: Any  # l(y, z) of arrays
    weighted_sum: Any  # sum_i p_i l(y_i, z_i) of a cvxpy expression z


THRESHOLD = 0.3  # of Huber's loss and of the insensitive one


def _huber(y, z):
    r = np.abs(y - z)
    return np.where(r <= THRESHOLD, r**2, 2 * THRESHOLD * r - THRESHOLD**2)


def _half_deviance(y, z):
    return np.exp(z) - y * z + np.where(y > 0, y * np.log(np.maximum(y, 1e-300)) - y, 0.0)


LOSSES = {
    "squared": PlainLoss(
        lambda y, z: (y - z) ** 2,
        lambda p, y, z: cp.sum_squares(cp.multiply(np.sqrt(p), y - z)),
    ),
    "logistic": PlainLoss(
        lambda y, z: np.log1p(np.exp(-y * z)),
        lambda p, y, z: p @ cp.logistic(cp.multiply(-y, z)),
    ),
    "huber": PlainLoss(_huber, lambda p, y, z: p @ cp.huber(y - z, THRESHOLD)),
    "epsilon": PlainLoss(
        lambda y, z: np.maximum(np.abs(y - z) - THRESHOLD, 0.0) ** 2,
        lambda p, y, z: p @ cp.square(cp.pos(cp.abs(y - z) - THRESHOLD)),
    ),
    "poisson": PlainLoss(
        _half_deviance,
        lambda p, y, z: p @ (cp.exp(z) - cp.multiply(y, z)) + p @ _half_deviance(y, 0 * y) - 1,
    ),
}


# -------------------------------------------------------------------------- the problem (P)


@dataclass(frozen=True, eq=False)
class DenseProblem:
    """(P) with everything written out.

    ``weights`` add up to one; ``groups`` partition the variables; ``group_weights`` of zero keep a
    group unpenalised; ``l1_ratio`` below one is the elastic net. ``loss`` is a name of
    :data:`LOSSES`. The penalty points are the data and the rows of ``extra``, with weights
    ``penalty_weights`` (those of the data by default).
    """

    kernel: Any  # a library kernel, of which only name and parameters are read
    X: Any
    y: Any
    weights: Any
    alpha: float
    ridge: float
    groups: tuple
    group_weights: Any
    l1_ratio: float = 1.0
    fit_intercept: bool = True
    loss: str = "squared"
    extra: Any = None
    penalty_weights: Any = None

    @property
    def points(self):
        return self.X if self.extra is None else np.vstack([self.X, self.extra])

    @property
    def point_weights(self):
        return self.weights if self.penalty_weights is None else self.penalty_weights

    @cached_property
    def matrices(self) -> Dense:
        n = len(self.X)
        K, D, C, L = dense(plain(self.kernel), self.points, self.points)
        return Dense(K[:n, :n], D[:, :, :n], C[:n], L)

    @cached_property
    def factor(self):
        """``B`` with ``B B' = [[K, D'], [D, L]]``: values and gradients are linear in ``B'c``."""
        n, m = len(self.X), self.points.size
        K, D, _, L = self.matrices
        D, L = D.reshape(m, n), L.reshape(m, m)
        A = np.block([[K, D.T], [D, L]])
        eigenvalues, V = np.linalg.eigh((A + A.T) / 2)
        keep = eigenvalues > 1e-11 * eigenvalues[-1]
        return V[:, keep] * np.sqrt(eigenvalues[keep])

    def group_norms(self, gradients):
        """``||d_g f||_n`` for each group, from the gradients (n, d) at the data."""
        return np.array(
            [
                np.sqrt(sum(self.point_weights @ gradients[:, a] ** 2 for a in group))
                for group in self.groups
            ]
        )

    def derivative_norms(self, gradients):
        """``||d_a f||_n`` for each variable."""
        return np.sqrt(self.point_weights @ gradients**2)

    def penalty(self, norms):
        mu = self.l1_ratio
        return float(self.group_weights @ (mu * norms + (1 - mu) * norms**2))

    def objective(self, values, gradients, squared_norm) -> float:
        """(P) at a function of these values (intercept included), gradients and norm."""
        fit = self.weights @ LOSSES[self.loss].value(self.y, values)
        penalty = self.penalty(self.group_norms(gradients))
        return float(fit + self.alpha * penalty + self.ridge * squared_norm)

    def primal(self, u, v, intercept) -> float:
        """(P) at the coefficients of a representer."""
        K, D, _, L = self.matrices
        values = K @ u + np.einsum("iaj,ia->j", D, v)
        gradients = np.einsum("iaj,j->ia", D, u) + np.einsum("iajb,jb->ia", L, v)
        norm2 = u @ K @ u + 2 * np.einsum("j,iaj,ia->", u, D, v)
        norm2 += np.einsum("ia,iajb,jb->", v, L, v)
        return self.objective(values + intercept, gradients, norm2)

    def smooth_dual(self, s) -> float:
        """``min over f, b`` of squared loss + ridge ||f||^2 - <s, g>: one system in ``B'c``."""
        n = len(self.y)
        B = self.factor
        root = np.sqrt(self.weights)
        A = B[:n] * root[:, None]
        target = self.y * root
        if self.fit_intercept:
            A, target = A - np.outer(root, root @ A), target - root * (root @ target)
        pull = (s * root[:, None]).ravel() @ B[n:]
        H = A.T @ A + self.ridge * np.eye(B.shape[1])
        c = np.linalg.solve(H, A.T @ target + pull / 2)
        return float(np.sum((target - A @ c) ** 2) + self.ridge * c @ c - pull @ c)


class Optimum(NamedTuple):
    objective: float
    values: Any  # (n,) with the intercept
    gradients: Any  # (n, d)
    squared_norm: float
    intercept: float


def cvxpy_optimum(problem: DenseProblem) -> Optimum:
    """The minimum of (P) by an interior-point method that knows nothing of our dual."""
    n, (m, d) = len(problem.X), problem.points.shape
    B = problem.factor
    c = cp.Variable(B.shape[1])
    b = cp.Variable() if problem.fit_intercept else 0.0
    root = np.sqrt(problem.point_weights)
    fit = LOSSES[problem.loss].weighted_sum
    objective = fit(problem.weights, problem.y, b + B[:n] @ c)
    objective += problem.ridge * cp.sum_squares(c)
    for group, weight in zip(problem.groups, problem.group_weights, strict=True):
        rows = [n + i * d + a for a in group for i in range(m)]
        g = np.tile(root, len(group))[:, None] * B[rows] @ c
        mu, scale = problem.l1_ratio, problem.alpha * weight
        if scale > 0:
            objective += scale * mu * cp.norm(g, 2)
            if mu < 1:
                objective += scale * (1 - mu) * cp.sum_squares(g)
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
    with warnings.catch_warnings():  # it may stop just short of that, which is as good
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL, **tight)
    intercept = float(b.value) if problem.fit_intercept else 0.0
    values, gradients = B[:n] @ c.value + intercept, (B[n:] @ c.value).reshape(m, d)
    norm2 = float(c.value @ c.value)
    reached = problem.objective(values, gradients, norm2)
    return Optimum(reached, values, gradients, norm2, intercept)


# -------------------------------------------------------------------------- cases


def draw(n=10, d=3, seed=0):
    """``X`` and ``y`` with the last variable irrelevant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = 1.0 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    return X, y


def make_problem(kernel, *, weighted=False, groups=None, n=10, d=3, seed=0, **changes):
    """A lasso problem on drawn data; ``changes`` are fields of :class:`DenseProblem`."""
    X, y = draw(n, d, seed)
    rng = np.random.default_rng(seed + 1)
    weights = rng.uniform(0.3, 2.0, size=n) if weighted else np.ones(n)
    groups = tuple((a,) for a in range(d)) if groups is None else groups
    problem = DenseProblem(
        kernel=kernel,
        X=X,
        y=y,
        weights=weights / weights.sum(),
        alpha=0.2,
        ridge=0.02,
        groups=groups,
        group_weights=np.array([float(len(group)) for group in groups]),
    )
    return replace(problem, **changes)


def target(loss, signal, rng):
    """A target that the loss can take, with mean or log-odds given by ``signal``."""
    if loss == "logistic":
        return np.where(
            signal + 0.3 * rng.logistic(size=len(signal)) > np.median(signal), 1.0, -1.0
        )
    if loss == "poisson":
        return rng.poisson(np.exp(signal)).astype(float)
    return signal + 0.3 * rng.standard_t(2, size=len(signal))


def library_loss(name):
    from nablasso.losses import Huber, Logistic, Poisson, Squared, SquaredEpsilonInsensitive

    return {
        "squared": Squared(),
        "logistic": Logistic(),
        "huber": Huber(THRESHOLD),
        "epsilon": SquaredEpsilonInsensitive(THRESHOLD),
        "poisson": Poisson(),
    }[name]


def labels_of(groups):
    """Group of each column."""
    columns = np.concatenate([np.asarray(group) for group in groups])
    return np.repeat(np.arange(len(groups)), [len(group) for group in groups])[np.argsort(columns)]


def library_problem(problem: DenseProblem):
    """The same problem as the library states it."""
    from nablasso.penalties import Partition, Penalty
    from nablasso.problems import SmoothProblem, SquaredProblem
    from nablasso.regression.ridge import Ridge
    from nablasso.spaces import RepresenterSpace

    partition = Partition(labels_of(problem.groups))
    weights = np.empty(partition.n_groups)  # the partition has an order of its own
    for group, weight in zip(problem.groups, problem.group_weights, strict=True):
        weights[partition.labels[group[0]]] = weight
    penalty = Penalty(partition, weights, problem.l1_ratio)
    space = RepresenterSpace(problem.kernel, problem.X, extra=problem.extra)
    shared = {
        "loss": library_loss(problem.loss),
        "penalty": penalty,
        "space": space,
        "y": problem.y,
        "weights": problem.weights,
        "alpha": problem.alpha,
        "ridge": problem.ridge,
        "fit_intercept": problem.fit_intercept,
        "penalty_weights": problem.penalty_weights,
    }
    if problem.loss != "squared":
        return SmoothProblem(**shared)
    inverse = Ridge(space.gram, problem.weights, fit_intercept=problem.fit_intercept)
    return SquaredProblem(**shared, P=inverse.matrix(problem.ridge))


def iterates(solver, problem, start=None):
    """A solver's solution and the functions of all its steps."""
    from nablasso.solvers.base import Solution, follow

    seen = []

    def watched():
        for step in solver.steps(problem, start):
            seen.append(step.coef if isinstance(step, Solution) else step)
            yield step

    return follow(watched(), solver.tol * problem.reference, solver.max_iter), seen
