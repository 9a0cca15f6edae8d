r"""The other models of non-negative functions of Marteau-Ferey, Bach and Rudi's appendix D.

Each is an object that fits a :class:`~nablasso.nonnegative.Task` in the place of the model of an
estimator (:func:`by_model`); ``K = V'V``, anchors ``a_j``.

* Partially non-negative (PNM), (37) and (38): ``f = sum_j alpha_j k(., a_j)`` with
  ``f(x_i) >= 0`` at the rows, ``(l2/2) |w|^2`` with ``w = V alpha``. Linear and rich, negative
  wherever no row forbids it.
* Non-negative coefficients (NCM), (35) and (36): ``alpha >= 0``, ``(l2/2) alpha' K alpha``. Never
  negative, but a cone of bumps no narrower than the kernel: it does not approximate everything. A
  cone depends on its anchors, not on their span alone, so it takes all rows (or ``rank`` of them,
  drawn) where the others need as many as span the space.
* Exponential (GLM): ``f = exp(b + g)``, ``(l2/2) |g|^2``. Away from densities the problem (33) is
  not convex: L-BFGS from several starts, the best is kept; a pinball loss is smoothed, first
  strongly, then less. A density (34) is convex,

  .. math:: \min_g -\sum_i w_i g(x_i) + \log \int e^{g} d\nu + \tfrac{l2}{2} |g|^2,

  its integral a mean over draws of the probability measure ``nu``. It is ``l2``-strongly convex, so
  ``|gradient|^2 / (2 l2)`` bounds the gap of the problem with these draws. Cost per step:
  ``O((n + draws) r)``.

Outputs without a sign are the same linear model in all. A density of the first two has
``u' alpha = 1`` with ``u`` the integrals of the kernels, which are closed forms.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, ndtr

from experiments.psd_barrier import (
    MOST_PROJECTIONS,
    Block,
    Objective,
    barriers,
    minimise,
    project,
)
from nablasso.errors import InvalidParameterError
from nablasso.nonnegative import Base, Bumps, FittedTask, LinearModel, Task
from nablasso.nonnegative.fitting import Factor, PSDFitter
from nablasso.nonnegative.model import check_box
from nablasso.solvers import Status
from nablasso.types import Array, Index

SOLVERS = {"pnm": ("auto",), "glm": ("auto",), "ncm": ("auto", "projected_gradient")}
MAX_ITER = 1000
LEVELS = 10.0 ** np.arange(-6, 7)  # constants tried for the start of the convex models
WIDER = 2.0  # variance of the base measure of an exponential density, over that of the data
POOL = 20  # draws of the base measure per draw of an exponential model
DRAWS = 10_000  # of the base measure, for the integral of an exponential model
FEW = 100  # draws that carry the integral: fewer call for a warning
STARTS = 3
SMOOTHING = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # of the pinball loss, in its units
EXPONENTS = np.arange(-14.0, 15.0)  # tried for the start
LARGEST = 50.0  # exponent; larger ones are cut


@dataclass(frozen=True)
class OtherModel:
    """A model by name; ``solver="projected_gradient"`` is appendix D's own, of ``"ncm"``."""

    name: str
    solver: str = "auto"

    def fit(self, task: Task, *, tol: float, max_iter: int | None = None) -> FittedTask:
        """Functions of the task's blocks, in the units of ``task.X``.

        ``l1`` is not used: the penalty of a linear model is ``(l2/2) |w|^2``. ``tol`` is a gap, or
        a gradient norm where there is no gap; ``max_iter`` counts Newton or quasi-Newton steps.
        """
        if self.solver not in SOLVERS.get(self.name, ()):
            known = ", ".join(f"{name} by {' or '.join(by)}" for name, by in SOLVERS.items())
            raise InvalidParameterError(f"The other models are {known}; got {self!r}.")
        if max_iter is None:
            max_iter = MOST_PROJECTIONS if self.solver == "projected_gradient" else MAX_ITER
        rng, factors = np.random.default_rng(task.random_state), PSDFitter(task).factors
        if self.name != "glm":
            return fit_convex(task, factors, self, tol=tol, max_iter=max_iter, rng=rng)
        if task.normalise:
            return fit_density(task, factors[0], tol=tol, max_iter=max_iter, rng=rng)
        return fit_regression(task, factors, tol=tol, max_iter=max_iter, rng=rng)


def by_model(estimator: Any, name: str, solver: str = "auto") -> Any:
    """The estimator with functions of another model; ``"psd"`` is its own."""
    if name == "psd":
        return estimator
    kind, model = type(estimator), OtherModel(name, solver)

    class WithModel(kind):  # type: ignore[valid-type, misc]
        def _path(
            self, tasks: list[Task], *, tol: float, max_iter: int | None, **_: Any
        ) -> Iterable[FittedTask]:
            return (model.fit(task, tol=tol, max_iter=max_iter) for task in tasks)

    WithModel.__name__ = kind.__name__
    return WithModel(**estimator.get_params())


# ----------------------------------------------------------------------------- the functions


@dataclass(frozen=True)
class BumpMixture(LinearModel):
    """``sum_j c_j b_j(x)``, a density if its integral is one."""

    def logs(self, X: Array) -> Array:
        """Logarithms of the values at the rows of X, -inf where they are not positive."""
        values, shift = self.bumps.shifted(X)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(values @ self.coefficients, 0.0)) + shift)

    def times_gaussian(self, mean: Array, variance: Array) -> BumpMixture:
        """``f`` times the density of a Gaussian with independent coordinates."""
        bumps, logs = self.bumps.times(Bumps(mean[None, :], 1 / variance[None, :]))
        logs = logs - 0.5 * float(np.sum(np.log(2 * np.pi * variance)))
        return BumpMixture(bumps, np.exp(logs) * self.coefficients)

    def normalised(self, log_height: float, scale: Array, shift: Array, columns: Index) -> Self:
        """``e^log_height f(x * scale + shift)``, ``x`` the variables numbered ``columns``."""
        model = replace(self, coefficients=self.coefficients * np.exp(log_height))
        return model.composed(scale, shift, columns)

    def integral(self, box: Array | None = None) -> float:
        """Over the space or a box of shape (d, 2)."""
        mass = masses(self.bumps)
        if box is not None:
            low, high = check_box(box, self.n_features).T
            root, Z = np.sqrt(self.bumps.precisions), self.bumps.centres
            mass = mass * (ndtr((high - Z) * root) - ndtr((low - Z) * root)).prod(axis=1)
        return float(mass @ self.coefficients)

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Exact draws, with coefficients that are not negative: a mixture of Gaussians."""
        if (self.coefficients < 0).any():
            raise InvalidParameterError(
                "A partially non-negative model may be negative somewhere, so it is no density to "
                "draw from; use the models psd or ncm."
            )
        mass = masses(self.bumps) * self.coefficients
        chosen = rng.choice(len(mass), n_samples, p=mass / mass.sum())
        noise = rng.standard_normal((n_samples, self.n_features))
        deviations = 1 / np.sqrt(self.bumps.precisions[chosen])
        return np.asarray(self.bumps.centres[chosen] + deviations * noise)


def masses(bumps: Bumps) -> Array:
    """Integrals of the bumps over the space."""
    if (bumps.precisions <= 0).any():
        raise InvalidParameterError("A function with a constant part has no integral.")
    return np.asarray(np.exp(0.5 * np.log(2 * np.pi / bumps.precisions).sum(axis=1)))


def measured(task: Task, bumps: Bumps) -> Array:
    """Integrals of the bumps with respect to the measure of the task's density."""
    if task.base is None:
        return float(np.prod(task.scales)) * masses(bumps)
    product = BumpMixture(bumps, np.ones(len(bumps))).times_gaussian(
        task.base.mean, task.base.variance
    )
    return product.coefficients * masses(product.bumps)


@dataclass(frozen=True)
class Exponential:
    """``exp(intercept + g(x))`` times ``tilt``, a Gaussian bump, where one is given."""

    linear: LinearModel
    intercept: float = 0.0
    tilt: Bumps | None = None

    def values(self, X: Array) -> Array:
        """Values at the rows of X."""
        return np.exp(self.logs(X))

    def logs(self, X: Array) -> Array:
        """Logarithms of the values."""
        logs = self.linear.values(X) + self.intercept
        return logs if self.tilt is None else logs + self.tilt.logs(X)[:, 0]

    def gradients(self, X: Array) -> Array:
        """Partial derivatives at the rows of X, (n, d)."""
        slopes = self.linear.gradients(X)
        if self.tilt is not None:
            slopes = slopes + (self.tilt.centres - X) * self.tilt.precisions
        return np.asarray(self.values(X)[:, None] * slopes)

    def times_gaussian(self, mean: Array, variance: Array) -> Exponential:
        """``f`` times the density of a Gaussian with independent coordinates."""
        tilt = Bumps(mean[None, :], 1 / variance[None, :])
        height = -0.5 * float(np.sum(np.log(2 * np.pi * variance)))
        return replace(self, intercept=self.intercept + height, tilt=tilt)

    def normalised(
        self, log_height: float, scale: Array, shift: Array, columns: Index
    ) -> Exponential:
        """``e^log_height f(x * scale + shift)``, ``x`` the variables numbered ``columns``."""
        units = scale, shift, columns
        return Exponential(
            self.linear.composed(*units),
            self.intercept + log_height,
            None if self.tilt is None else self.tilt.composed(*units),
        )

    def integral(self, box: Array | None = None) -> float:  # noqa: ARG002
        """Refused: there is no closed form."""
        raise InvalidParameterError(
            "An exponential model has no closed-form integral; use psd, pnm or ncm, or count draws "
            "of sample()."
        )

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Approximate draws: draws of the Gaussian, resampled by their weights."""
        if self.tilt is None:
            raise InvalidParameterError("Draws of an exponential model need a base measure.")
        base = Base(self.tilt.centres[0], 1 / self.tilt.precisions[0])
        pool = draws_of(base, POOL * n_samples, rng)
        g = self.linear.values(pool)
        p = np.exp(g - g.max())
        return np.asarray(pool[rng.choice(len(pool), n_samples, p=p / p.sum())])


def draws_of(base: Base, n_samples: int, rng: np.random.Generator) -> Array:
    """Independent draws of a base measure."""
    noise = rng.standard_normal((n_samples, len(base.mean)))
    return np.asarray(base.mean + np.sqrt(base.variance) * noise)


# ------------------------------------------------------------------------ the convex models


class Coordinates:
    """How the parameters ``theta`` of a block make a function: ``f = features theta``.

    ``coefficients(theta)`` are those of ``bumps``; ``ones`` is a function that is positive at all
    rows, ``gram`` the matrix of the squared norm.
    """

    def __init__(self, factor: Factor, X: Array, scales: Array) -> None:
        self.factor = factor
        self.bumps = factor.bumps.composed(scales)
        self.features = factor.features(X * scales)
        self.gram = np.eye(self.features.shape[1])
        self.kept = "values"
        self.ones = np.append(factor.L.sum(axis=0), [1.0] * (factor.rank - len(factor.Z)))

    def coefficients(self, theta: Array) -> Array:
        """Of the bumps."""
        return self.factor.linear_model(theta).coefficients

    def normal(self, integrals: Array) -> Array:
        """``c`` with ``c'theta`` the integral, given those of the bumps."""
        eye = np.eye(self.features.shape[1])
        return np.asarray(self.coefficients(eye).T @ integrals)


class Cone(Coordinates):
    """Coefficients of kernels on anchors of their own, and of the constant; none negative."""

    def __init__(self, factor: Factor, X: Array, scales: Array, anchors: Array) -> None:
        X, anchors = X * scales, anchors * scales
        self.heights = np.full(len(anchors), factor.height)
        rows = np.exp(-0.5 * cdist(X, anchors, "sqeuclidean"))
        gram = np.exp(-0.5 * cdist(anchors, anchors, "sqeuclidean"))
        precisions = np.ones_like(anchors)
        if factor.constant:
            self.heights = np.append(self.heights, factor.height * np.sqrt(factor.constant))
            rows = np.column_stack([rows, np.ones(len(X))])
            gram = np.pad(gram, (0, 1))
            gram[-1, -1] = 1.0
            anchors = np.vstack([anchors, np.zeros_like(X[:1])])
            precisions = np.vstack([precisions, np.zeros_like(X[:1])])
        self.bumps = Bumps(anchors, precisions).composed(scales)
        self.features, self.gram, self.kept = rows * self.heights, gram, "coefficients"
        self.ones = np.ones(len(anchors))

    def coefficients(self, theta: Array) -> Array:
        """Of the bumps."""
        return np.asarray((self.heights * theta.T).T)


def fit_convex(
    task: Task,
    factors: Sequence[Factor],
    model: OtherModel,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> FittedTask:
    """Follow the central path, or descend, from a constant multiple of the sum of all kernels."""
    anchors = cone_anchors(task, rng) if model.name == "ncm" else None
    coordinates = [
        Coordinates(factor, task.X, task.scales)
        if anchors is None or not sign
        else Cone(factor, task.X, task.scales, anchors)
        for factor, sign in zip(factors, task.nonnegative, strict=True)
    ]
    objective = Objective(task.loss, task.weights, task.mixing, task.offset)
    blocks = [
        _block(task, c, sign, float(l2))
        for c, sign, l2 in zip(coordinates, task.nonnegative, task.l2, strict=True)
    ]
    start = _start(task, coordinates, objective, blocks)
    if model.solver == "projected_gradient":
        if len(blocks) > 1:
            raise InvalidParameterError(
                f'solver="projected_gradient" is for one function; this task has {len(blocks)}.'
            )
        result = project(objective, blocks[0], start[0], tol=tol, max_iter=max_iter)
    else:
        result = minimise(objective, blocks, start, tol=tol, max_iter=max_iter)
    functions = [
        BumpMixture(c.bumps, c.coefficients(theta))
        for c, theta in zip(coordinates, result.theta, strict=True)
    ]
    status = Status.CONVERGED if result.converged else Status.MAX_ITER
    return FittedTask(functions, result.objective, result.gap, result.n_iter, status)


def cone_anchors(task: Task, rng: np.random.Generator) -> Array:
    """All different rows, or ``rank`` of them drawn by weight."""
    n = len(task.X)
    if task.rank is None or task.rank >= n:
        return np.unique(task.X, axis=0)
    chosen = rng.choice(n, task.rank, replace=False, p=task.weights / task.weights.sum())
    return np.unique(task.X[chosen], axis=0)


def _block(task: Task, c: Coordinates, sign: bool, l2: float) -> Block:
    if not task.normalise:
        return Block(c.features, l2 * c.gram, c.kept if sign else None)
    # the logarithm in a density's loss keeps its values positive
    kept = c.kept if c.kept == "coefficients" else None
    return Block(c.features, l2 * c.gram, kept, c.normal(measured(task, c.bumps)))


def _start(
    task: Task, coordinates: list[Coordinates], objective: Objective, blocks: list[Block]
) -> list[Array]:
    """Signed outputs a multiple of the sum of all kernels, positive everywhere; others zero."""
    starts, profile = [], np.zeros((len(task.X), len(blocks)))
    for k, (c, block, sign) in enumerate(zip(coordinates, blocks, task.nonnegative, strict=True)):
        ones = c.ones * float(sign)
        f = c.features @ ones
        if sign:
            ones = ones / float(task.weights @ f if block.normal is None else block.normal @ ones)
        starts.append(ones)
        profile[:, k] = c.features @ ones
    levels = np.ones(1) if task.normalise else LEVELS
    losses = [float(objective.rows(level * profile, 0.0)[0].sum()) for level in levels]
    if not np.isfinite(losses).any():
        far = int(np.argmin(profile[:, np.array(task.nonnegative)].min(axis=1)))
        raise InvalidParameterError(
            f"Row {far} is too far from every anchor for this width: the model is zero there. Use "
            "a larger length_scale, or rank=None so that every row is an anchor."
        )
    level = float(levels[int(np.nanargmin(losses))])
    return [level * start for start in starts]


# -------------------------------------------------------------------- the exponential model


def fit_density(
    task: Task, factor: Factor, *, tol: float, max_iter: int, rng: np.random.Generator
) -> FittedTask:
    """Convex problem (34) on draws of the base measure, or of one wider than the data."""
    base = task.base or _wider(task)
    scales, l2 = task.scales, float(task.l2[0])
    rows = factor.features(task.X * scales)
    draws = factor.features(draws_of(base, DRAWS, rng) * scales)

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
    gap, primal = float(found.jac @ found.jac) / (2 * l2), float(found.fun)
    exponents = draws @ found.x
    _warn_if_few_count(exponents)
    intercept = float(np.log(DRAWS) - logsumexp(exponents))
    function = Exponential(factor.linear_model(found.x).composed(scales), intercept)
    if task.base is None:  # a density with respect to Lebesgue measure in units of the width
        tilted = function.times_gaussian(base.mean, base.variance)
        unit = float(np.sum(np.log(scales)))
        primal -= float(task.weights @ (tilted.logs(task.X) - function.logs(task.X))) - unit
        function = replace(tilted, intercept=tilted.intercept - unit)
    status = Status.CONVERGED if gap <= tol else Status.MAX_ITER
    return FittedTask([function], primal, gap, int(found.nit), status)


def _wider(task: Task) -> Base:
    """A Gaussian with the mean of the rows and twice their variance."""
    mean = task.weights @ task.X
    spread = task.weights @ (task.X - mean) ** 2
    return Base(mean, np.maximum(WIDER * spread, 1e-12))


def _warn_if_few_count(exponents: Array) -> None:
    """The mean over draws is no integral when a handful of them carry it."""
    p = np.exp(exponents - logsumexp(exponents))
    count = 1 / float(p @ p)
    if count < FEW:
        warnings.warn(
            f"The integral of the exponential model rests on about {count:.0f} of {DRAWS} draws of "
            "the base measure, so its densities are not normalised. Use the PSD model, a base "
            "measure nearer to the data, or a larger weight.",
            UserWarning,
            stacklevel=2,
        )


def fit_regression(
    task: Task, factors: Sequence[Factor], *, tol: float, max_iter: int, rng: np.random.Generator
) -> FittedTask:
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
    return FittedTask(problem.functions(theta), float(best), float("nan"), int(found.nit), status)


class _Exponents:
    """Objective in the coordinates of all blocks; signed ones have an intercept free of charge."""

    def __init__(self, task: Task, factors: Sequence[Factor]) -> None:
        self.task, self.factors = task, factors
        self.objective = Objective(task.loss, task.weights, task.mixing, task.offset)
        self.signed = np.array(task.nonnegative)
        ones = np.ones((len(task.X), 1))
        self.features = [
            np.hstack([factor.features(task.X * task.scales), ones * float(sign)])
            for factor, sign in zip(factors, task.nonnegative, strict=True)
        ]
        self.ends = np.cumsum([features.shape[1] for features in self.features])

    def parts(self, theta: Array) -> list[Array]:
        """Parameters of each block, its intercept last; views."""
        return np.split(theta, self.ends[:-1])

    def functions(self, theta: Array) -> list[LinearModel | Exponential]:
        """What the parameters stand for."""
        found: list[LinearModel | Exponential] = []
        for b, part in enumerate(self.parts(theta)):
            g = self.factors[b].linear_model(part[:-1]).composed(self.task.scales)
            found.append(Exponential(g, float(part[-1])) if self.signed[b] else g)
        return found

    def start(self, rng: np.random.Generator | None) -> Array:
        """The best constant, with a random function added when ``rng`` is given."""
        theta = np.zeros(int(self.ends[-1]))
        last = self.ends[self.signed] - 1
        values = []
        for level in EXPONENTS:
            theta[last] = level
            values.append(self.at(0.0)(theta)[0])
        theta[last] = EXPONENTS[int(np.argmin(values))]
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


def _lbfgs(
    objective: Callable[[Array], tuple[float, Array]], start: Array, gtol: float, max_iter: int
) -> Any:
    options: Any = {"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": gtol, "ftol": 1e-13}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
