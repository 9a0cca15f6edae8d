r"""The exponential baseline (GLM): ``f = exp(b + g)``, ``(l2/2) |g|^2``.

Away from densities the problem (33) is not convex: L-BFGS from several starts, the best is kept. A
pinball loss is smoothed, first strongly, then less. A density (34) is convex,

.. math:: \min_g -\sum_i w_i g(x_i) + \log \int e^{g} d\nu + \tfrac{l2}{2} |g|^2,

its integral a mean over draws of the probability measure ``nu``. It is ``l2``-strongly convex, so
``|gradient|^2 / (2 l2)`` bounds the gap of the problem with these draws. Cost per step:
``O((n + draws) r)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from nablasso.nonnegative.base import Fit
from nablasso.nonnegative.baselines.barrier import Objective
from nablasso.nonnegative.baselines.curvature import barriers
from nablasso.nonnegative.baselines.functions import Exponential, Measure
from nablasso.nonnegative.factor import Factor
from nablasso.nonnegative.model import LinearModel
from nablasso.nonnegative.task import Task
from nablasso.solvers import Status
from nablasso.types import Array

DRAWS = 10_000  # of the base measure, for the integral
FEW = 100  # draws that carry the integral: fewer call for a warning
STARTS = 3
SMOOTHING = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # of the pinball loss, in its units
LEVELS = np.arange(-14.0, 15.0)  # logarithms of constants tried for the start
LARGEST = 50.0  # exponent; larger ones are cut


def fit_density(
    task: Task,
    factor: Factor,
    base: Measure,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> Fit:
    """Convex problem (34) on draws of the base measure."""
    scales = task.scales[0]
    rows = factor.features(task.X * scales)
    draws = factor.features(base.draws(DRAWS, rng) * scales)
    l2 = float(task.l2[0])

    def objective(w: Array) -> tuple[float, Array]:
        at_draws = draws @ w
        total = float(logsumexp(at_draws))
        p = np.exp(at_draws - total)
        fitted = float(task.weights @ (rows @ w))
        value = total - np.log(DRAWS) - fitted + 0.5 * l2 * float(w @ w)
        return value, draws.T @ p - rows.T @ task.weights + l2 * w

    found = _lbfgs(
        objective, np.zeros(rows.shape[1]), np.sqrt(2 * l2 * tol / rows.shape[1]), max_iter
    )
    gap = float(found.jac @ found.jac) / (2 * l2)
    exponents = draws @ found.x
    intercept = float(np.log(DRAWS) - logsumexp(exponents))
    _warn_if_few_count(exponents)
    tilt = base if task.base is None else None
    function = Exponential(linear(factor, found.x, scales), intercept, base, tilt)
    primal = float(found.fun)
    if tilt is not None:
        primal -= float(task.weights @ tilt.log_density(task.X))
    status = Status.CONVERGED if gap <= tol else Status.MAX_ITER
    return Fit([function], primal, gap, int(found.nit), status)


def _warn_if_few_count(exponents: Array) -> None:
    """The mean over draws is no integral when a handful of them carry it."""
    p = np.exp(exponents - logsumexp(exponents))
    count = 1 / float(p @ p)
    if count < FEW:
        warnings.warn(
            f"The integral of the exponential model rests on about {count:.0f} of {DRAWS} draws of "
            "the base measure, so its densities are not normalised. Use model='psd', a base "
            "measure nearer to the data, or a larger weight.",
            UserWarning,
            stacklevel=2,
        )


def fit_regression(
    task: Task, factors: Sequence[Factor], *, tol: float, max_iter: int, rng: np.random.Generator
) -> Fit:
    """Problem (33), not convex: the best of several starts; there is no gap."""
    problem = _Exponents(task, factors)
    ladder = SMOOTHING if barriers(task.loss) else (0.0,)
    results = []
    for number in range(STARTS):
        theta = problem.start(rng if number else None)
        for t in ladder:
            found = _lbfgs(problem.at(t), theta, tol, max_iter)
            theta = found.x
        results.append((problem.at(0.0)(theta)[0], theta, found))
    best, theta, found = min(results, key=lambda entry: entry[0])
    status = Status.CONVERGED if found.success else Status.MAX_ITER
    return Fit(problem.functions(theta), float(best), float("nan"), int(found.nit), status)


class _Exponents:
    """Objective in the coordinates of all blocks; signed ones have an intercept free of charge."""

    def __init__(self, task: Task, factors: Sequence[Factor]) -> None:
        self.task, self.factors = task, factors
        self.objective = Objective(task.loss, task.weights, task.mixing, task.offset)
        self.signed = np.array(task.nonnegative)
        ones = np.ones((len(task.X), 1))
        self.features = [
            np.hstack([factor.features(task.X * scales), ones * float(sign)])
            for factor, scales, sign in zip(factors, task.scales, task.nonnegative, strict=True)
        ]
        self.ends = np.cumsum([features.shape[1] for features in self.features])

    def parts(self, theta: Array) -> list[Array]:
        """Parameters of each block, its intercept last; views."""
        return np.split(theta, self.ends[:-1])

    def functions(self, theta: Array) -> list[LinearModel | Exponential]:
        """What the parameters stand for."""
        found: list[LinearModel | Exponential] = []
        for b, part in enumerate(self.parts(theta)):
            g = linear(self.factors[b], part[:-1], self.task.scales[b])
            found.append(Exponential(g, float(part[-1])) if self.signed[b] else g)
        return found

    def start(self, rng: np.random.Generator | None) -> Array:
        """The best constant, with a random function added when ``rng`` is given."""
        theta = np.zeros(int(self.ends[-1]))
        last = self.ends[self.signed] - 1
        values = []
        for level in LEVELS:
            theta[last] = level
            values.append(self.at(0.0)(theta)[0])
        theta[last] = LEVELS[int(np.argmin(values))]
        if rng is not None:
            for part in self.parts(theta):
                part[:-1] += rng.standard_normal(len(part) - 1) / np.sqrt(len(part))
        return theta

    def at(self, t: float) -> Callable[[Array], tuple[float, Array]]:
        """Objective with smoothing ``t`` and gradient; huge and flat outside the domain."""

        def objective(theta: Array) -> tuple[float, Array]:
            parts = self.parts(theta)
            G = np.column_stack([Phi @ w for Phi, w in zip(self.features, parts, strict=True)])
            F = np.where(self.signed, np.exp(np.minimum(G, LARGEST)), G)
            losses, slopes, _ = self.objective.rows(F, t)
            slopes = np.where(self.signed, slopes * F, slopes)
            total, gradient = float(losses.sum()), np.empty_like(theta)
            for b, (w, g) in enumerate(zip(parts, self.parts(gradient), strict=True)):
                ridge = np.append(self.task.l2[b] * w[:-1], 0.0)
                g[:] = self.features[b].T @ slopes[:, b] + ridge
                total += 0.5 * float(ridge @ w)
            if not (np.isfinite(total) and np.isfinite(gradient).all()):
                return 1e300, np.zeros_like(theta)
            return total, gradient

        return objective


def linear(factor: Factor, w: Array, scales: Array) -> LinearModel:
    """``w . Phi`` in the units of X."""
    return factor.linear_model(w).composed(scales, np.zeros_like(scales))


def _lbfgs(
    objective: Callable[[Array], tuple[float, Array]], start: Array, gtol: float, max_iter: int
) -> Any:
    options: Any = {"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": gtol, "ftol": 1e-13}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
