r"""Learning from a setting: solve, adapt the weights, refit.

Walks run from large alpha to small: the solution before is a start with few variables.

* *Adaptive weights* (section 7 of the paper): distances between rows see the selected variables
  only. The problem is solved again on these alone, weights, bandwidth and kernel anew, alpha the
  same fraction of its scale, until all are selected. Variables only ever leave, so it ends. To
  adapt the weights and not the kernel, or to let variables come back, cycles without end.
* *Two steps* (17): on the selected variables alone, kernel and weights measured in them, the ridge
  in place of the norm. The first step selects; gradients, directions and f0 come from the second.

Several targets (classes against the rest) are solved one by one in one setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nablasso.gradients.active_set import ActiveSet, GradientSolution
from nablasso.gradients.forward_backward import ForwardBackward
from nablasso.gradients.function import GradientFunction
from nablasso.gradients.path import alpha_scale, null_point
from nablasso.gradients.problem import GradientProblem, Point
from nablasso.gradients.setting import Setting, default_ridge
from nablasso.solvers import Status
from nablasso.types import Array, Mask

GradientSolver = ActiveSet | ForwardBackward
SOLVERS: dict[str, type[GradientSolver]] = {
    "active_set": ActiveSet,
    "forward_backward": ForwardBackward,
}
NEGLIGIBLE = float(np.sqrt(np.finfo(float).eps))  # of the largest norm: rounding, not a gradient


@dataclass(frozen=True)
class GradientFit:
    """One target's problem and solution; arrays are per column of the setting's table."""

    setting: Setting
    problem: GradientProblem
    solution: GradientSolution

    @cached_property
    def norms(self) -> Array:
        """RKHS norms of the partial derivatives."""
        norms = np.zeros(self.problem.X.shape[1])
        norms[self.solution.point.columns] = np.linalg.norm(self.solution.point.B, axis=1)
        return norms

    @cached_property
    def support(self) -> Mask:
        """Which variables are in: whole groups with a norm that is not rounding, and kept ones."""
        penalty = self.problem.penalty
        groups = penalty.group_norms(self.norms**2)
        inside = groups > NEGLIGIBLE * groups.max(initial=0.0)
        return np.asarray((inside | penalty.kept)[penalty.labels])

    @property
    def function(self) -> GradientFunction:
        """The gradients as a function of standardised inputs."""
        point, columns = self.solution.point, self.setting.table.columns
        inside = self.support[point.columns]
        active, B = columns[point.columns[inside]], point.B[inside]
        return GradientFunction(self.setting.factor, columns, active, B, point.c)


class Learner:
    """All targets in one setting: problems, ``alpha_max`` and solutions along alpha.

    Parameters
    ----------
    setting : Setting
    targets : array, shape (n, q)
        y, or plus and minus one for each function of a classifier.
    solver : ActiveSet or ForwardBackward
    """

    def __init__(self, setting: Setting, targets: Array, solver: GradientSolver) -> None:
        self.setting, self.targets, self.solver = setting, targets, solver
        ridges: list[float | None] = [None] * targets.shape[1]
        if setting.recipe.classes:
            ridges = [max(map(setting.offset_ridge, targets.T))] * targets.shape[1]
        pairs = zip(targets.T, ridges, strict=True)
        self.problems = [setting.problem(y, 1.0, ridge) for y, ridge in pairs]
        found = [null_point(problem) for problem in self.problems]
        self.nulls: list[Point] = [point for point, _ in found]
        self.alpha_max = max(top for _, top in found)
        scales = (
            alpha_scale(*pair) for pair in zip(self.problems, (t for _, t in found), strict=True)
        )
        self.alpha_scale = max(scales)

    def walk(self, alphas: Array) -> Iterator[list[GradientFit]]:
        """Fits of all targets at decreasing ``alphas``, each from the one before."""
        starts = self.nulls
        for alpha in alphas:
            fits = self.fits(float(alpha), starts)
            yield fits
            if interrupted(fits):
                return
            starts = [fit.solution.point for fit in fits]

    def fits(self, alpha: float, starts: list[Point] | None = None) -> list[GradientFit]:
        """Fits of all targets at one alpha."""
        found = []
        solver = self.solver
        for problem, start in zip(self.problems, starts or self.nulls, strict=True):
            here = problem.with_alpha(alpha)
            found.append(GradientFit(self.setting, here, solver.solve(here, start)))
            if interrupted(found):  # the others get what starting costs
                solver = replace(self.solver, max_iter=0)
        return found

    def adapted(self, fits: list[GradientFit]) -> list[GradientFit]:
        """Fits on ever fewer variables, until all that are there are selected."""
        fraction = fits[0].problem.penalty.alpha / (self.alpha_scale or 1.0)
        setting, chosen = self.setting, union_of(fits)
        while chosen.any() and not chosen.all() and not interrupted(fits):
            setting = setting.on_columns(chosen, setting.recipe.form)
            learner = Learner(setting, self.targets, self.solver)
            fits = learner.fits(fraction * learner.alpha_scale)
            chosen = union_of(fits)
        return fits

    def refitted(self, fits: list[GradientFit]) -> list[GradientFit]:
        """The second step: ridge on the selected variables of each fit."""
        if interrupted(fits):
            return fits
        return [self._refit(fit, y) for fit, y in zip(fits, self.targets.T, strict=True)]

    def _refit(self, fit: GradientFit, y: Array) -> GradientFit:
        if not fit.support.any():
            return fit
        setting = fit.setting.on_columns(fit.support, "ridge")
        offset = setting.offset_ridge(y) if setting.recipe.classes else None
        problem = setting.problem(y, 1.0, offset)
        ridge = setting.recipe.ridge
        problem = problem.with_alpha(default_ridge(problem, problem.X) if ridge is None else ridge)
        return GradientFit(setting, problem, self.solver.solve(problem))


def interrupted(fits: list[GradientFit]) -> bool:
    """Whether a fit was broken off by the user."""
    return any(fit.solution.status is Status.INTERRUPTED for fit in fits)


def union_of(fits: list[GradientFit]) -> Mask:
    """Variables of their table that are in for one of the targets."""
    return np.asarray(np.any([fit.support for fit in fits], axis=0))
