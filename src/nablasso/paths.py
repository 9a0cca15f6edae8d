"""Families of problems: one table, one kernel, one loss, one penalty; any ridge, any alpha.

A :class:`ProblemFamily` has what all its problems share, made once: the representer space of the
rows (:mod:`nablasso.spaces`), and a **regression** in it that chooses the ridge
(:mod:`nablasso.regression`): the eigendecomposition of a kernel, or machines of another loss.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.kernels import Kernel, length_scale
from nablasso.losses import Loss, LossSample, Squared
from nablasso.penalties import Penalty
from nablasso.problems import Problem, SmoothProblem, SquaredProblem
from nablasso.regression.machine import GramRows, Machines, Refit, refit
from nablasso.regression.ridge import Ridge
from nablasso.solvers import Solution
from nablasso.spaces import Function, PenaltyPoints, RepresenterSpace, require_memory
from nablasso.types import Array, Index, Mask

RIDGE_FLOOR = 1e-5
# of the kernel's trace: ridge=0 means this. Rounding keeps the solver from a gap of 1e-5 below it
# (y = x1^2 in two columns, 20 rows).
RIDGE_LIMIT = 1e-7
DEFAULT_FRACTION = 0.1  # alpha=None means this fraction of alpha_max


@dataclass(frozen=True)
class Formulation:
    """What the user asked for, apart from ``alpha`` and ``ridge``."""

    kernel: Kernel
    length_scale: str | float
    penalty: Callable[[Index], Penalty]  # of a table's columns
    fit_intercept: bool
    loss: Loss = field(default_factory=Squared)  # in units of a robust deviation of the table's y


class ProblemFamily:
    """All problems (P) of one formulation on one table.

    ``multiplier`` is that of the length scale, ``points`` are penalty points besides the data.
    """

    regression: Ridge | Machines

    def __init__(
        self,
        table: Table,
        formulation: Formulation,
        multiplier: float = 1.0,
        points: PenaltyPoints | None = None,
    ) -> None:
        self.table, self.formulation = table, formulation
        self.multiplier, self.points = multiplier, points
        self.refits: dict[bytes, Refit] = {}  # by support
        self.loss = formulation.loss.fitted(table.y, table.weights)
        self.penalty = formulation.penalty(table.columns)
        self.width = self._width(table.X)
        extra = None if points is None else points.extra
        require_memory(len(table.X) + (0 if extra is None else len(extra)), table.X.shape[1])
        scales = np.full(table.X.shape[1], 1 / self.width)
        self.space = RepresenterSpace(formulation.kernel, table.X, scales, extra)
        gram = self.space.gram
        if isinstance(self.loss, Squared):
            self.regression = Ridge(gram, table.weights, fit_intercept=formulation.fit_intercept)
        else:
            self.regression = Machines(self.sample, GramRows(gram))

    @property
    def sample(self) -> LossSample:
        """What the problems begin with."""
        intercept = self.formulation.fit_intercept
        return LossSample(self.table.y, self.table.weights, self.loss, intercept)

    def with_target(self, y: Array) -> Self:
        """The same family with another target; what does not depend on it is shared."""
        other = copy(self)
        other.table, other.refits = replace(self.table, y=y), {}
        other.loss = self.formulation.loss.fitted(y, self.table.weights)
        if isinstance(self.regression, Machines):
            other.regression = replace(self.regression, sample=other.sample)
        return other

    @property
    def trace(self) -> float:
        """The natural unit of ``ridge``."""
        return self.regression.trace

    def best_ridge(self) -> float:
        """Ridge of smallest leave-one-out loss of a machine on all columns.

        Not less than ``RIDGE_FLOOR`` of the kernel's trace: below it a penalised f can be flat at
        the data and steep between them.
        """
        if isinstance(self.regression, Ridge):
            return self.regression.best_ridge(self.table.y, RIDGE_FLOOR)
        return self.regression.best(RIDGE_FLOOR).ridge

    def problem(self, ridge: float, alpha: float = 0.0) -> Problem:
        """The problem at one ridge and alpha."""
        ridge = self.usable_ridge(ridge)
        shared: dict[str, Any] = {**vars(self.sample), "penalty": self.penalty, "space": self.space}
        shared |= {"alpha": alpha, "ridge": ridge}
        shared["penalty_weights"] = None if self.points is None else self.points.weights
        if isinstance(self.regression, Ridge):
            return SquaredProblem(**shared, P=self.regression.matrix(ridge))
        return SmoothProblem(**shared)

    def usable_ridge(self, ridge: float) -> float:
        """The ridge itself; for zero, where the solution is not unique, ``RIDGE_LIMIT``."""
        unit = self.trace or 1.0
        smallest = self.regression.smallest * unit  # below, rounding decides the solution
        if ridge == 0:
            return max(smallest, RIDGE_LIMIT * unit)
        if not smallest <= ridge < np.inf:
            raise InvalidParameterError(
                f"ridge must be positive, or zero for the limit: without it f can pass through "
                f"every y with zero derivatives. Got {ridge!r}; the smallest usable value here is "
                f"{smallest:.1e}, and ridge=None chooses {self.best_ridge():.1e} by leave-one-out."
            )
        return ridge

    def refit(self, support: Mask) -> Refit:
        """A machine with the same loss on the supported columns, the width measured anew."""
        table, kernel, key = self.table, self.formulation.kernel, support.tobytes()
        if key not in self.refits:
            X = table.X[:, support]
            scales = np.full(X.shape[1], 1 / self._width(X) if support.any() else 1.0)
            self.refits[key] = refit(self.sample, kernel, X, table.columns[support], scales)
        return self.refits[key]

    def function(self, solution: Solution) -> Function:
        """The penalised function of a solution."""
        coef = solution.coef
        return Function(coef.intercept, self.table.columns, self.space, coef.u, coef.v)

    def steepness(
        self, solution: Solution, Z: Array | None = None, weights: Array | None = None
    ) -> float:
        """Sum of the derivative norms at other points ``Z``, relative to that at the data.

        Far above one, f is flat at the data and steep between them: its penalty measures nothing.
        Without ``Z`` the points are the data moved a quarter of the way to another row.
        """
        if Z is None:
            X = self.table.X
            Z, weights = np.roll(X, 1, axis=0), self.table.weights
            Z -= X
            Z *= 0.25
            Z += X
        function = replace(self.function(solution), columns=np.arange(Z.shape[1]))
        gradients = function.gradients(Z)
        shares = np.full(len(Z), 1 / len(Z)) if weights is None else weights / weights.sum()
        there = float(np.sqrt(np.einsum("ia,ia,i->a", gradients, gradients, shares)).sum())
        g = solution.point.g
        here = float(np.sqrt(np.einsum("ia,ia->a", g, g)).sum())
        return there / here if here > 0 else 1.0

    def _width(self, X: Array) -> float:
        kernel, rule = self.formulation.kernel, self.formulation.length_scale
        return self.multiplier * length_scale(kernel, X, self.table.weights, rule)


# --- paths ---


def alpha_grid(alpha_max: float, n_alphas: int, eps: float) -> Array:
    """``n_alphas`` values from ``alpha_max`` down to ``eps * alpha_max``, equal ratios."""
    return np.asarray(alpha_max * np.logspace(0, np.log10(eps), n_alphas))
