r"""One solved problem, read per column of the input; several are put together into one answer.

A regressor solves one problem, a classifier of K > 2 classes K of them ("one against the rest").
The answer is about all of them at once: a variable is in when it is in for one of them, its norm is
the largest of its norms, and the gaps add up.

**The certificate of an automatic selection** is (P) in the metric that was learned, which has
dropped the other variables: (P) is about the selected ones. ``alpha`` is a tenth
of the largest of a short grid at which (P) still selects all of them: it agrees with the decision
made out of sample, with room to spare, and shrinks little. It is looked for on at most
``PATH_ROWS`` rows; its value carries over, since every term of (P) is a mean over rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.table import Table
from nablasso.paths import Formulation, ProblemFamily, support_of, walk_path
from nablasso.problems import Problem
from nablasso.reading import discrete_columns, importances
from nablasso.regression.machine import Refit
from nablasso.regression.paired import saving
from nablasso.solvers import Solution, as_solver
from nablasso.spaces import Function
from nablasso.types import Array, Mask

NEGLIGIBLE = 0.01  # of the largest derivative norm: below it, being out counts as certified


@dataclass(frozen=True)
class Fit:
    """A problem and its solution; arrays are per column of the table."""

    family: ProblemFamily
    problem: Problem
    solution: Solution

    @cached_property
    def support(self) -> Mask:
        """Which variables are in."""
        return support_of(self.problem, self.solution)

    @cached_property
    def unit(self) -> Array:
        """What turns derivative norms into importances: standard deviations per deviation of y.

        Losses with a link have no deviation of y; their unit is that of the link.
        """
        scale = self.family.y_scale if self.family.loss.translates else 1.0
        return np.asarray(self.family.table.deviations / scale)

    @cached_property
    def importances(self) -> Array:
        """Derivative norms in these units, zero where a variable is out.

        A discrete column has no slope between its levels: its norm is that of the difference
        quotients of the penalised function between neighbouring levels.
        """
        g = self.solution.point.g
        norms = np.sqrt(np.einsum("ia,ia->a", g, g))
        table = self.family.table
        discrete = discrete_columns(table.X) & self.support
        if len(table.X) and discrete.any():  # a family of statistics has no rows to look at
            function = replace(
                self.family.function(self.solution), columns=np.arange(table.X.shape[1])
            )
            levels = importances(function, table.X, table.weights, discrete)
            norms = np.where(discrete, levels, norms)
        return np.where(self.support, norms * self.unit, 0.0)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Certified bounds of the exact minimiser's norms, in these units."""
        lower, upper = self.problem.derivative_bounds(self.solution.point)
        return lower * self.unit, upper * self.unit

    @cached_property
    def certified(self) -> Mask:
        """Where the bounds decide."""
        lower, upper = self.problem.derivative_bounds(self.solution.point)
        return np.where(self.support, lower > 0, upper <= NEGLIGIBLE * lower.max(initial=0.0))

    @cached_property
    def refit(self) -> Refit:
        """The kernel machine on the selected columns."""
        return self.family.refit(self.support)

    def function(self, debias: bool) -> Function:
        """What predicts: the refit, or the penalised function."""
        return self.refit.function if debias else self.family.function(self.solution)

    def left_out_losses(self) -> tuple[Array, Array]:
        """Loss of each row under the null model, and under the refit without the row."""
        loss, table = self.family.loss, self.family.table
        fits = self.family.formulation.fit_intercept or loss.translates
        nothing = np.zeros_like(table.y)
        null = loss.best_intercept(table.y, nothing, table.weights) if fits else 0.0
        left_out = table.y - self.refit.loo_residuals
        return loss.value(table.y, nothing + null), loss.value(table.y, left_out)


def left_out_gain(fits: list[Fit]) -> tuple[float, float]:
    """Share of the null model's loss that the refits save on left-out rows.

    It is R2 for the squared loss; second comes the saving in units of its standard error.
    """
    weights = fits[0].family.table.weights
    null, ours = np.sum([fit.left_out_losses() for fit in fits], axis=0)
    return saving(null, ours, weights)


def all_certified(fits: list[Fit]) -> Mask:
    """In: one problem proves it. Out: every problem does."""
    proven = np.any([fit.support & fit.certified for fit in fits], axis=0)
    outside = np.all([~fit.support & fit.certified for fit in fits], axis=0)
    return np.asarray(proven | outside)


def spread(values: NDArray[Any], table: Table, d: int, fill: Any = 0.0) -> NDArray[Any]:
    """Values per table column as values per input column; constant columns get ``fill``."""
    out = np.full(d, fill, dtype=values.dtype)
    out[table.columns] = values
    return out


FRACTIONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # of the largest alpha worth a look
ROOM = 0.1
SMOOTH_RIDGE = (
    1e-3  # of the trace, at least: separable classes would drive a logistic f to infinity
)
PATH_ROWS = 300
PATH_TOL, TOL = 1e-3, 1e-5
MAX_ITER = 2000
BUDGET = 3e9  # rows squared times columns times iterations of the last solve


def certify_selection(
    table: Table, formulation: Formulation, metric: Array, targets: Sequence[Array]
) -> list[Fit]:
    """Solve (P) for each target on a table of the selected columns."""
    families = _families(table, formulation, metric, targets)
    ridge = max(family.best_ridge() for family in families)
    if not families[0].is_squared:
        ridge = max(ridge, SMOOTH_RIDGE * families[0].trace)
    n, d = table.X.shape
    if n > PATH_ROWS:
        pieces = [target[:PATH_ROWS] for target in targets]
        alpha = _largest_alpha(
            _families(table.first(PATH_ROWS), formulation, metric, pieces), ridge
        )
    else:
        alpha = _largest_alpha(families, ridge)
    iterations = int(np.clip(BUDGET / (n * n * d), 50, MAX_ITER))
    solver = as_solver("dual", TOL, iterations, families[0].loss)
    fits = []
    for family in families:
        problem = family.problem(ridge, ROOM * alpha)
        fits.append(Fit(family, problem, solver.solve(problem)))
    return fits


def _families(
    table: Table, formulation: Formulation, metric: Array, targets: Sequence[Array]
) -> list[ProblemFamily]:
    shared = ProblemFamily(table, formulation, metric=metric)
    return [shared.with_target(target) for target in targets]


def _largest_alpha(families: list[ProblemFamily], ridge: float) -> float:
    """Largest alpha of the grid at which the problems together select every variable."""
    problems = [family.problem(ridge) for family in families]
    scale = max(_worth_a_look(problem) for problem in problems)
    alphas = scale * np.array(FRACTIONS)
    solver = as_solver("dual", PATH_TOL, MAX_ITER, families[0].loss)
    reached = float(alphas[0])
    for alpha, *steps in zip(
        alphas, *(walk_path(problem, alphas, solver) for problem in problems), strict=True
    ):
        if not np.any([support_of(*step) for step in steps], axis=0).all():
            break
        reached = float(alpha)
    return reached


def _worth_a_look(problem: Problem) -> float:
    """The alpha at which the penalty of the ridge fit takes back all that it saves over zero."""
    point = problem.dual_point(np.zeros((len(problem.y), problem.space.n_features)))
    penalty = problem.penalty.value(problem.penalty.partition.norms(point.g))
    return (problem.reference - problem.objective(point)) / penalty if penalty > 0 else 0.0
