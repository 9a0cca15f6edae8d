r"""The two convex baselines: ``f = sum_j alpha_j k(., a_j)`` on anchors ``a_j``, ``K = V'V``.

* Non-negative coefficients (NCM), (35) and (36): ``alpha >= 0``, ``(l2/2) alpha' K alpha``. Never
  negative, but a cone of bumps no narrower than the kernel: it does not approximate everything.
* Partially non-negative (PNM), (37) and (38): ``f(x_i) >= 0`` at the rows, ``(l2/2) |w|^2`` with
  ``w = V alpha``. Linear and rich, negative wherever no row forbids it.

Outputs without a sign are the same linear model in both. A density has ``u' alpha = 1`` with ``u``
the integrals of the kernels. A cone depends on its anchors, not on their span alone, so NCM takes
all rows (or ``rank`` of them, drawn) where the others need as many as span the space.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.base import Fit
from nablasso.nonnegative.baselines import projected
from nablasso.nonnegative.baselines.barrier import Block, Objective, minimise
from nablasso.nonnegative.baselines.functions import BumpMixture, Measure
from nablasso.nonnegative.factor import Factor
from nablasso.nonnegative.gaussians import Bumps
from nablasso.nonnegative.task import Task
from nablasso.solvers import Status
from nablasso.types import Array

LEVELS = 10.0 ** np.arange(-6, 7)  # constants tried for the start


class Coordinates:
    """How the parameters ``theta`` of a block make a function: ``f = features theta``.

    ``coefficients(theta)`` are those of ``bumps``; ``ones`` is a function that is positive at all
    rows, ``gram`` the matrix of the squared norm.
    """

    def __init__(self, factor: Factor, X: Array, scales: Array) -> None:
        self.factor = factor
        self.bumps = factor.bumps.composed(scales, np.zeros_like(scales))
        self.features = factor.features(X * scales)
        self.gram = np.eye(self.features.shape[1])
        self.kept = "values"
        self.ones = np.append(factor.L.sum(axis=0), [1.0] * (factor.rank - len(factor.Z)))

    def coefficients(self, theta: Array) -> Array:
        """Of the bumps."""
        return self.factor.linear_model(theta).coefficients

    def normal(self, masses: Array) -> Array:
        """``c`` with ``c'theta`` the integral; ``masses`` are those of the bumps."""
        eye = np.eye(self.features.shape[1])
        return np.asarray(self.coefficients(eye).T @ masses)


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
        self.bumps = Bumps(anchors, precisions).composed(scales, np.zeros_like(scales))
        self.features, self.gram, self.kept = rows * self.heights, gram, "coefficients"
        self.ones = np.ones(len(anchors))

    def coefficients(self, theta: Array) -> Array:
        """Of the bumps."""
        return np.asarray((self.heights * theta.T).T)


def fit_convex(
    task: Task,
    factors: Sequence[Factor],
    model: str,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    solver: str = "auto",
) -> Fit:
    """Follow the central path from a constant multiple of the sum of all kernels.

    ``solver="projected_gradient"`` (NCM) descends from there instead.
    """
    base = Measure.of(task)
    anchors = cone_anchors(task, rng) if model == "ncm" else None
    coordinates = [
        Coordinates(factor, task.X, scales)
        if anchors is None or not sign
        else Cone(factor, task.X, scales, anchors)
        for factor, scales, sign in zip(factors, task.scales, task.nonnegative, strict=True)
    ]
    objective = Objective(task.loss, task.weights, task.mixing, task.offset)
    blocks = [
        _block(c, sign, float(l2), base if task.normalise else None)
        for c, sign, l2 in zip(coordinates, task.nonnegative, task.l2, strict=True)
    ]
    start = _start(task, coordinates, objective, blocks)
    if solver == "projected_gradient":
        if len(blocks) > 1:
            raise InvalidParameterError(
                f'solver="projected_gradient" is for one function; this task has {len(blocks)}.'
            )
        result = projected.minimise(objective, blocks[0], start[0], tol=tol, max_iter=max_iter)
    else:
        result = minimise(objective, blocks, start, tol=tol, max_iter=max_iter)
    functions = [
        BumpMixture(c.bumps, c.coefficients(theta), base)
        for c, theta in zip(coordinates, result.theta, strict=True)
    ]
    status = Status.CONVERGED if result.converged else Status.MAX_ITER
    return Fit(functions, result.objective, result.gap, result.n_iter, status)


def cone_anchors(task: Task, rng: np.random.Generator) -> Array:
    """All different rows, or ``rank`` of them drawn by weight."""
    n = len(task.X)
    if task.rank is None or task.rank >= n:
        return np.unique(task.X, axis=0)
    chosen = rng.choice(n, task.rank, replace=False, p=task.weights / task.weights.sum())
    return np.unique(task.X[chosen], axis=0)


def _block(c: Coordinates, sign: bool, l2: float, base: Measure | None) -> Block:
    if base is None:
        return Block(c.features, l2 * c.gram, c.kept if sign else None)
    # the logarithm in a density's loss keeps its values positive
    kept = c.kept if c.kept == "coefficients" else None
    return Block(c.features, l2 * c.gram, kept, c.normal(base.products(c.bumps)[0]))


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
