r"""From a table to problems: bandwidth, weights of pairs, features of the kernel, smoothness.

A :class:`Recipe` is what the user asked for; a :class:`Setting` is a recipe on a table and holds
what its problems share, whatever the target and alpha.

**Ridges.** ``ridge=None`` means: for ``||f0||^2`` the leave-one-out choice of kernel logistic
regression with the same kernel, times the total weight of the pairs; for variables that are always
kept, and for the ridge form without alpha, ``RIDGE_FRACTION`` of half the largest curvature of the
loss, so that directions of a hundredth of the largest curvature are halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nablasso.data.table import Table
from nablasso.gradients.active_set import largest_curvature
from nablasso.gradients.factor import KernelFactor
from nablasso.gradients.pairs import Pairs, make_pairs
from nablasso.gradients.penalty import RowPenalty
from nablasso.gradients.problem import (
    LOGISTIC,
    SQUARED,
    GradientProblem,
    class_targets,
    regression_targets,
)
from nablasso.kernels import Kernel, length_scale
from nablasso.kernels.width import width_by_rule
from nablasso.penalties import Partition
from nablasso.regression.machine import GramRows, Machines
from nablasso.spaces import PenaltyPoints
from nablasso.types import Array, Index, Mask

RIDGE_FRACTION = 0.01


@dataclass(frozen=True)
class Recipe:
    """Parameters but alpha. ``groups`` gives labels and weights of columns of the input."""

    kernel: Kernel
    length_scale: str | float
    bandwidth: str | float
    n_neighbors: int | None
    form: str
    ridge: float | None
    smoothness: float
    classes: bool
    groups: Callable[[Index], tuple[Index, Array]]


class Setting:
    """A recipe on a table.

    Parameters
    ----------
    recipe : Recipe
    table : Table
    points : PenaltyPoints, optional
        Unlabelled points of the smoothness term.
    """

    def __init__(self, recipe: Recipe, table: Table, points: PenaltyPoints | None = None) -> None:
        self.recipe, self.table, self.points = recipe, table, points
        X, rule = table.X, recipe.bandwidth
        self.bandwidth = width_by_rule(X, table.weights, rule) if isinstance(rule, str) else rule
        self.pairs: Pairs = make_pairs(X, table.weights, self.bandwidth, recipe.n_neighbors)
        self.total = float(self.pairs.weights.sum())

    @cached_property
    def width(self) -> float:
        """Length scale of the kernel."""
        recipe, table = self.recipe, self.table
        if not table.X.shape[1]:
            return 1.0
        return length_scale(recipe.kernel, table.X, table.weights, recipe.length_scale)

    @cached_property
    def factor(self) -> KernelFactor:
        """Features of the kernel at the rows, then at the unlabelled points."""
        X = self.table.X
        if not X.shape[1]:  # no column varies: there is nothing to learn a gradient of
            return KernelFactor(self.recipe.kernel, np.zeros((len(X), 1)), 1.0)
        stacked = X if self.points is None else np.vstack([X, self.points.extra])
        return KernelFactor(self.recipe.kernel, stacked, self.width)

    @property
    def phi(self) -> Array:
        """Features of the rows."""
        return self.factor.phi[: len(self.table.X)]

    @cached_property
    def smooth(self) -> Array | None:
        """``Q`` of the smoothness term."""
        recipe, table = self.recipe, self.table
        if not recipe.smoothness:
            return None
        X, weights = table.X, table.weights
        if self.points is not None:
            X, weights = np.vstack([X, self.points.extra]), self.points.weights
        graph = make_pairs(X, weights, self.bandwidth, recipe.n_neighbors)
        return recipe.smoothness * graph.laplacian(self.factor.phi)

    def problem(self, y: Array, alpha: float, offset_ridge: float | None = None) -> GradientProblem:
        """The problem of one target; y is -1 and 1 for classes."""
        recipe = self.recipe
        make_targets = class_targets if recipe.classes else regression_targets
        labels, weights = recipe.groups(self.table.columns)
        problem = GradientProblem(
            X=self.table.X,
            phi=self.phi,
            pairs=self.pairs,
            targets=make_targets(self.pairs, y),
            loss=LOGISTIC if recipe.classes else SQUARED,
            penalty=RowPenalty(recipe.form, labels, weights, float(alpha), 0.0),
            smooth=self.smooth,
            offset_ridge=offset_ridge,
        )
        if np.any(weights == 0):
            kept = problem.X[:, weights[labels] == 0]
            ridge = default_ridge(problem, kept) if recipe.ridge is None else recipe.ridge
            problem = replace(problem, penalty=replace(problem.penalty, ridge=ridge))
        return problem

    def offset_ridge(self, y: Array) -> float:
        """Weight of ``||f0||^2`` for one target of -1 and 1."""
        if self.recipe.ridge is not None:
            return self.recipe.ridge
        rows = GramRows(self.phi @ self.phi.T)
        machines = Machines(LOGISTIC, rows, y, self.table.weights, fit_intercept=False)
        return self.total * (machines.best_ridge() if machines.trace > 0 else 1.0)

    def on_columns(self, columns: Mask, form: str) -> Setting:
        """The same recipe in another form on some of the table's columns."""
        table = replace(
            self.table,
            X=np.ascontiguousarray(self.table.X[:, columns]),
            columns=self.table.columns[columns],
            deviations=self.table.deviations[columns],
        )
        points = self.points
        if points is not None:
            points = points._replace(extra=np.ascontiguousarray(points.extra[:, columns]))
        return Setting(replace(self.recipe, form=form), table, points)


def default_ridge(problem: GradientProblem, XA: Array) -> float:
    """``RIDGE_FRACTION`` of half the largest curvature of the loss in the columns ``XA``."""
    return RIDGE_FRACTION * largest_curvature(problem, XA) / 2


def column_groups(labels: Index, weights: Array) -> Callable[[Index], tuple[Index, Array]]:
    """Groups of a table's columns from labels and weights (0: always kept) of the input's."""

    def groups(columns: Index) -> tuple[Index, Array]:
        partition = Partition(labels[columns])
        return partition.labels, weights[columns][partition.first]

    return groups
