r"""From a task to functions: features once, then a path of ever smaller penalties.

A small penalty is hard from a cold start: most slopes give ``A = 0`` or an enormous one. So a fit
begins with a heavy weight, where a few steps suffice, and goes down by factors of ``STEP``, each
solution starting the next. Densities start from a sum of squared kernels at the data, other tasks
from constant outputs. Losses whose slopes are bounded need no such way: an interior point method
starts from slopes zero, whatever the weight. ``solver="fista"`` is the paper's own algorithm, from
the same start, without the way down. Features do not depend on the weights, so all candidates of a
grid share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.base import Fit
from nablasso.nonnegative.blocks import Block, LinearBlock, PSDBlock
from nablasso.nonnegative.dual import DualPoint, DualSolution, Problem
from nablasso.nonnegative.factor import Factor, make_factors
from nablasso.nonnegative.fista import MAX_ITER as FISTA_ITER
from nablasso.nonnegative.fista import solve as solve_fista
from nablasso.nonnegative.interior import solve as solve_inside
from nablasso.nonnegative.newton import solve
from nablasso.nonnegative.task import Task
from nablasso.progress import Watch
from nablasso.solvers import Status
from nablasso.types import Array

STEP = 10.0
HEAVY = 1.0  # the weight l2 to start from
LOOSE = 1e-2  # gap of the steps on the way
MAX_ITER = 1000
SOLVERS = {  # of each model; "auto" is the default
    "psd": ("auto", "fista"),
    "pnm": ("auto",),
    "glm": ("auto",),
    "ncm": ("auto", "projected_gradient"),
}


def fit(
    task: Task,
    model: str = "psd",
    *,
    tol: float,
    max_iter: int | None = None,
    start: DualPoint | None = None,
    solver: str = "auto",
    verbose: int = 0,
) -> Fit:
    """Functions that minimise the objective of a task, by the named model and solver."""
    check_solver(model, solver)
    if model == "psd":
        return PSDFitter(task, verbose, solver).fit(tol=tol, max_iter=max_iter, start=start)
    from nablasso.nonnegative import baselines

    return baselines.fit(
        task, model, tol=tol, max_iter=max_iter, random_state=task.random_state, solver=solver
    )


def check_solver(model: str, solver: str) -> None:
    """Refuse a solver that the model does not have."""
    allowed = SOLVERS.get(model, ("auto",))
    if solver not in allowed:
        raise InvalidParameterError(
            f"solver must be {' or '.join(map(repr, allowed))} with model={model!r}; got "
            f"{solver!r}."
        )


@dataclass(frozen=True)
class PSDFitter:
    """A task with its features; every weight of the penalties uses the same ones."""

    task: Task
    verbose: int = 0
    solver: str = "auto"

    @cached_property
    def _watch(self) -> Watch:
        return Watch(self.verbose)

    @cached_property
    def _factors(self) -> tuple[Factor, ...]:
        return make_factors(self.task)

    @cached_property
    def _features(self) -> tuple[Array, ...]:
        made: dict[int, Array] = {}
        for factor, scales in zip(self._factors, self.task.scales, strict=True):
            if id(factor) not in made:
                made[id(factor)] = factor.features(self.task.X * scales)
        return tuple(made[id(factor)] for factor in self._factors)

    @cached_property
    def _functionals(self) -> tuple[tuple[tuple[Array, float], ...], ...]:
        """For each block matrices in its features, and targets."""
        found: list[list[tuple[Array, float]]] = [[] for _ in self._factors]
        for functional in self.task.all_functionals():
            b = functional.block
            factor, scales = self._factors[b], self.task.scales[b]
            bumps = factor.bumps.composed(scales, np.zeros_like(scales))
            W, value = factor.in_features(functional.matrix(bumps)), float(functional.value)
            if self.task.normalise and found[b]:  # E[w(x) - value] = 0, in units of its own
                W, value = W - value * found[b][0][0], 0.0
                W = W / (float(np.linalg.norm(W)) or 1.0)
            found[b].append((W, value))
        return tuple(tuple(pairs) for pairs in found)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Number of features of each block."""
        return tuple(factor.rank for factor in self._factors)

    def fit(
        self, *, tol: float, max_iter: int | None = None, start: DualPoint | None = None
    ) -> Fit:
        """Solve at the task's own weights."""
        (fitted,) = self.path(
            [(self.task.l1, self.task.l2)], tol=tol, max_iter=max_iter, start=start
        )
        return fitted

    def path(
        self,
        weights: Iterable[tuple[Array, Array]],
        *,
        tol: float,
        max_iter: int | None = None,
        start: DualPoint | None = None,
    ) -> Iterator[Fit]:
        """Fits at several ``(l1, l2)``, from heavy to light, each started by the one before."""
        default = FISTA_ITER if self.solver == "fista" else MAX_ITER
        limit = default if max_iter is None else max_iter
        point, reached = start, 0.0
        for l1, l2 in weights:
            if point is None:
                point, reached = self._first(l1, l2)
            solution, n_iter, point = self._descend(l1, l2, point, reached, tol, limit)
            reached = float(np.max(l2))
            yield self._unpack(solution, n_iter)

    def _descend(
        self, l1: Array, l2: Array, point: DualPoint, reached: float, tol: float, limit: int
    ) -> tuple[DualSolution, int, DualPoint]:
        """Solve at ``(l1, l2)`` by way of heavier weights, from a point solved for ``reached``.

        Returns the solution, its steps, and where the next weight may start.
        """
        if self.solver == "fista":
            problem = self._problem(l1, l2)
            solution = solve_fista(problem, point, tol=tol, max_iter=limit, watch=self._watch)
            return solution, solution.n_iter, solution.point
        if self.task.loss.bounded:
            problem = self._problem(l1, l2)
            solution = solve_inside(problem, point, tol=tol, max_iter=limit, watch=self._watch)
            return solution, solution.n_iter, point
        size, before = float(np.max(l2)), 0
        while (reached := reached / STEP) > size * STEP**0.5:
            problem = self._problem(l1 * (reached / size), l2 * (reached / size))
            step = solve(problem, point, tol=max(LOOSE, tol), max_iter=limit, watch=self._watch)
            _check_feasible(step)
            point, before = step.point, before + step.n_iter
            if step.status is Status.INTERRUPTED:
                return self._interrupted(l1, l2, point, tol), before, point
        problem = self._problem(l1, l2)
        solution = solve(problem, point, tol=tol, max_iter=limit, watch=self._watch)
        _check_feasible(solution)
        return solution, before + solution.n_iter, solution.point

    def _interrupted(self, l1: Array, l2: Array, point: DualPoint, tol: float) -> DualSolution:
        """What the point reached at a heavier weight is worth at this one."""
        here = solve(self._problem(l1, l2), point, tol=tol, max_iter=0)
        return replace(here, status=Status.INTERRUPTED)

    def _problem(self, l1: Array, l2: Array) -> Problem:
        blocks: list[Block] = []
        for b, nonnegative in enumerate(self.task.nonnegative):
            kind = PSDBlock if nonnegative else LinearBlock
            block = kind(
                self._features[b],
                self._factors[b],
                float(l1[b]),
                float(l2[b]),
                tuple(W for W, _ in self._functionals[b]),
                tuple(value for _, value in self._functionals[b]),
            )
            blocks.append(block)
        task = self.task
        return Problem(task.loss, task.weights, tuple(blocks), task.mixing, task.offset)

    def _first(self, l1: Array, l2: Array) -> tuple[DualPoint, float]:
        """Where the first fit starts, and for which weight that is good enough."""
        task = self.task
        size = float(np.max(l2))
        if task.normalise:
            return self._from_bumps(l1, l2), max(HEAVY, size) * STEP
        null = np.broadcast_to(task.null, (len(task.X), len(task.null)))
        multipliers = tuple(np.zeros(len(pairs)) for pairs in self._functionals)
        return DualPoint(task.loss.start(null), multipliers), HEAVY

    def _from_bumps(self, l1: Array, l2: Array) -> DualPoint:
        """The density of squared kernels at the data, ``A = sum_i p_i phi_i phi_i'``."""
        Phi, task = self._features[0], self.task
        A = (Phi * task.weights[:, None]).T @ Phi
        A /= float(np.sum(A * self._functionals[0][0][0]))
        heights = np.einsum("ij,ij->i", Phi @ A, Phi)
        ratio = max(HEAVY / float(l2[0]), 1.0)
        multipliers = np.zeros(len(self._functionals[0]))
        multipliers[0] = 1 - ratio * float(l1[0] * np.trace(A) + l2[0] * np.sum(A**2))
        return DualPoint(task.loss.coordinates(heights[:, None]), (multipliers,))

    def _unpack(self, solution: DualSolution, n_iter: int) -> Fit:
        problem = self._problem(self.task.l1, self.task.l2)
        functions = [
            block.function(theta).composed(scales, np.zeros_like(scales))
            for block, theta, scales in zip(
                problem.blocks, solution.parameters, self.task.scales, strict=True
            )
        ]
        return Fit(
            functions=functions,
            primal=solution.primal,
            gap=solution.gap,
            n_iter=n_iter,
            status=solution.status,
            point=solution.point,
        )


class InfeasibleError(InvalidParameterError):
    """No function of the model was found that meets the constraints."""


def _check_feasible(solution: DualSolution) -> None:
    """Refuse constraints that no function was found to meet."""
    if solution.status is Status.STALLED and not np.isfinite(solution.primal):
        raise InfeasibleError(
            "No density of this model was found that meets the constraints. Check that some "
            "density can (probabilities between 0 and 1, moments that fit each other, within reach "
            "of the data), or use a larger width."
        )
