r"""The dual of a task with PSD models, its gradient, and the certificate.

.. math::
    \sup_{a, c} -\sum_i p_i\, l_i^*(a_i) + \sum_i p_i\, a_i \cdot o - \sum_c c\, r_c
    - \sum_b \Omega_b^*\Big(-\Phi_b^\top \mathrm{Diag}(p\, a M_b) \Phi_b - \sum_c c\, W_c\Big)

which for one PSD block is (10) of Marteau-Ferey, Bach and Rudi with equality constraints
``Tr(A W_c) = r_c`` added as free variables ``c``. Solved in coordinates ``t`` of ``a`` that
make conjugates linear or quadratic (:mod:`nablasso.nonnegative.losses`) by Newton's method
(:mod:`nablasso.nonnegative.newton`) or, where slopes are bounded, by an interior point method
(:mod:`nablasso.nonnegative.interior`); in ``a`` itself by the paper's own algorithm
(:mod:`nablasso.nonnegative.fista`). The gradient is the misfit of the functions ``A(a)``
of (11) at the rows.

Each step costs one eigendecomposition per PSD block, O(n r^2 + r^3), and gives ``A(a)`` for
free: moved onto the constraints it is a primal point, and ``primal - dual`` bounds its error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nablasso.nonnegative.blocks import Block
from nablasso.nonnegative.losses import RowLoss
from nablasso.progress import Watch
from nablasso.solvers import Status
from nablasso.types import Array


@dataclass(frozen=True)
class DualPoint:
    """Coordinates ``t`` (n, c) of the slopes and ``multipliers`` of the constraints, by block."""

    t: Array
    multipliers: tuple[Array, ...]


@dataclass(frozen=True)
class Problem:
    """Blocks, how outputs are made of them, a loss and weights."""

    loss: RowLoss
    weights: Array
    blocks: tuple[Block, ...]
    mixing: Array
    offset: Array

    def outputs(self, parameters: list[Array]) -> Array:
        """Outputs (n, p) of the functions with these parameters."""
        F = [block.values(theta) for block, theta in zip(self.blocks, parameters, strict=True)]
        return np.asarray(self.offset + np.column_stack(F) @ self.mixing.T)

    def primal(self, parameters: list[Array], Z: Array) -> float:
        """Objective, given the outputs too."""
        penalty = sum(b.penalty(p) for b, p in zip(self.blocks, parameters, strict=True))
        return float(self.weights @ self.loss.value(Z)) + penalty

    def attained(self, slopes: Array, multipliers: tuple[Array, ...]) -> list[Any]:
        """For each block the conjugate of its penalty, where it is attained, and the spectrum."""
        by_block = (self.weights[:, None] * slopes) @ self.mixing
        return [
            block.conjugate(by_block[:, b], multipliers[b]) for b, block in enumerate(self.blocks)
        ]

    def evaluate(self, point: DualPoint) -> Evaluation:
        """Dual value, its derivatives, and the functions that belong to the point."""
        slopes = self.loss.slopes(point.t)
        found = self.attained(slopes, point.multipliers)
        penalties = sum(value for value, _, _ in found)
        parameters, spectra = [p for _, p, _ in found], [spectrum for _, _, spectrum in found]
        Z = self.outputs(parameters)
        targets = sum(
            float(c @ np.array(block.targets))
            for c, block in zip(point.multipliers, self.blocks, strict=True)
            if len(c)
        )
        linear = float(self.weights @ (slopes @ self.offset)) - targets - penalties
        dual = float(self.weights @ self.loss.conjugate(point.t)) + linear
        ascent = self.weights[:, None] * self.loss.ascent(point.t, Z)
        excess = tuple(b.excess(p) for b, p in zip(self.blocks, parameters, strict=True))
        return Evaluation(point, dual, ascent, excess, parameters, Z, spectra)


@dataclass(frozen=True)
class Evaluation:
    """What one step of the solver computes."""

    point: DualPoint
    dual: float
    ascent: Array  # in t
    excess: tuple[Array, ...]  # in the multipliers
    parameters: list[Array]
    Z: Array
    spectra: list[Any]


@dataclass
class Best:
    """The best primal and dual values so far, and the parameters and dual point they belong to."""

    problem: Problem
    primal: float = np.inf
    dual: float = -np.inf
    parameters: list[Array] = field(default_factory=list)
    point: DualPoint | None = None
    n_evaluations: int = 0
    watch: Watch | None = None

    @property
    def gap(self) -> float:
        """``primal - dual``."""
        return self.primal - self.dual

    def note(self, evaluation: Evaluation) -> None:
        """Take in one evaluation."""
        self.n_evaluations += 1
        if self.watch is not None:
            self.watch(self.n_evaluations, self.gap)
        if evaluation.dual > self.dual:
            self.dual, self.point = evaluation.dual, evaluation.point
        problem = self.problem
        feasible = [
            block.feasible(theta)
            for block, theta in zip(problem.blocks, evaluation.parameters, strict=True)
        ]
        parameters = [theta for theta in feasible if theta is not None]
        if len(parameters) < len(feasible):
            return
        moved = any(len(block.targets) for block in problem.blocks)
        Z = problem.outputs(parameters) if moved else evaluation.Z
        primal = problem.primal(parameters, Z)
        if primal < self.primal:
            self.primal, self.parameters = primal, parameters

    def solution(self, start: DualPoint, n_iter: int, status: Status) -> DualSolution:
        """What a solver returns."""
        point = start if self.point is None else self.point
        parameters = self.parameters or self.problem.evaluate(point).parameters
        return DualSolution(parameters, point, self.primal, self.gap, n_iter, status)


@dataclass(frozen=True)
class DualSolution:
    """The best functions found, and the certificate."""

    parameters: list[Array]
    point: DualPoint
    primal: float
    gap: float
    n_iter: int
    status: Status
