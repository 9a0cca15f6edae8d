r"""One solved problem, read per column of the input; several are put together into one answer.

A regressor solves one problem, a classifier of K > 2 classes K of them ("one against the rest").
The answer is about all of them at once: a variable is in when it is in for one of them, its norm is
the largest of its norms, and the gaps add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.table import Table
from nablasso.paths import ProblemFamily
from nablasso.problems import Problem
from nablasso.reading import discrete_columns, importances
from nablasso.regression.machine import Refit
from nablasso.regression.ridge import saving
from nablasso.solvers import Solution, support_of
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
        if discrete.any():
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
