"""The certificate of an automatic selection: (P) in the metric that was learned.

The metric has dropped the other variables, so (P) is about the selected ones. ``alpha`` is a tenth
of the largest of a short grid at which (P) still selects all of them: it agrees with the decision
made out of sample, with room to spare, and shrinks little. It is looked for on at most
``PATH_ROWS`` rows; its value carries over, since every term of (P) is a mean over rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nablasso.data.table import Table
from nablasso.estimators.fitting import Fit
from nablasso.paths import Formulation, ProblemFamily, support_of, walk_path
from nablasso.problems import Problem
from nablasso.solvers import as_solver
from nablasso.types import Array

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
