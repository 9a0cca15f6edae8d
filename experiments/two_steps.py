r"""The papers' two steps: select by a penalty on derivatives, then kernel ridge on what is left.

Rosasco et al. (2013) and Gregorova et al. (2018) tune on validation rows: a path of penalties on
the training rows gives supports, every support a kernel ridge regression with the same kernel and
width, and the support and ridge of the smallest validation error are kept. The problems are solved
by the library's solver.

Rosasco's problem is ``alpha = 2 tau, ridge = tau nu``. The ball of the dual variable ``v`` then has
radius ``1 / (nu sqrt n)`` whatever tau is, so a solution is a start for the next tau as it is. Its
grid of tau is in units of the columns' deviation times that of y. Where the paper does not say its
nu, validation chooses among four, in units of the kernel's trace (picked on draws 7001 to 7003;
with less the function is flat at the rows and free between them). Gregorova's is ``alpha = tau,
ridge = nu``; her nu was fixed on a few replications. Here validation chooses between two: the
leave-one-out choice of kernel ridge regression on all columns, and 100 times the kernel's trace
(picked on draws 7001 to 7003). With a light ridge and rows enough to pin all derivatives down, the
path goes from all variables to none within a step; under a heavy one they leave one by one.

Cost: one O(n^3) eigendecomposition per table and support, O(n^2 d) an iteration; a path of 35 tau
takes 0.1 to 0.5 s at n = 100, d = 40.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.kernels import Kernel
from nablasso.paths import Family, Formulation, alpha_grid, support_of
from nablasso.penalties import ElasticNet, GroupLasso, Partition, Penalty
from nablasso.preparation import prepare
from nablasso.problems import ABOVE, Problem
from nablasso.solvers import DualSolver, Solver
from nablasso.spaces import RidgeInverse, length_scale

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
MakePenalty = Callable[[NDArray[np.intp]], Penalty]  # of the columns of a table

TAUS = np.logspace(-3, 0.5, 15)  # in units of the deviation of a column times that of y
REFINED = 20  # more of them, where the number of variables jumps
CLOSE = 1e-3  # two tau that are the same
SHARES = (0.02, 0.2, 2.0, 20.0)  # ridge over the kernel's trace at tau = 1; 0.02 is nu = 10 of F4
HEAVY = 100.0  # ridge over the kernel's trace
ALPHAS = 15
EPS = 1e-3
RIDGES = np.logspace(-9, 1, 21)  # of the refit, over the trace of its kernel
SOLVER: Solver[Any] = DualSolver(tol=1e-5, max_iter=200)


@dataclass(frozen=True, eq=False)
class Rows:
    """Training, validation and test rows."""

    X: Array
    y: Array
    X_validation: Array
    y_validation: Array
    X_test: Array
    y_test: Array

    def scaled(self) -> Rows:
        """Columns with the training rows' means and deviations."""
        centre, scale = self.X.mean(axis=0), self.X.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        X, V, T = ((Z - centre) / scale for Z in (self.X, self.X_validation, self.X_test))
        return Rows(X, self.y, V, self.y_validation, T, self.y_test)

    def together(self) -> tuple[Array, Array]:
        """Training and validation rows as one table."""
        X = np.vstack([self.X, self.X_validation])
        return X, np.concatenate([self.y, self.y_validation])


class Chosen(NamedTuple):
    """What validation chose: columns, and predictions of new rows."""

    support: Mask
    predict: Callable[[Array], Array]


def family_of(rows: Rows, kernel: Kernel, width: float, penalty: MakePenalty) -> Family:
    """All problems on the training rows, y divided by its deviation; columns as they are."""
    y = rows.y / (float(rows.y.std()) or 1.0)
    table = prepare(rows.X, y, np.ones(len(y)), standardize=False, centre_y=True)
    return Family(table, Formulation(kernel, width, penalty, fit_intercept=True))


def lasso(columns: NDArray[np.intp]) -> Penalty:
    """The sum of the norms."""
    return GroupLasso(Partition.singletons(len(columns)), np.ones(len(columns)))


def group_lasso(labels: NDArray[np.intp]) -> MakePenalty:
    """Norms of groups, weighted by their sizes."""

    def make(columns: NDArray[np.intp]) -> Penalty:
        partition = Partition(labels[columns])
        return GroupLasso(partition, partition.sizes.astype(float))

    return make


def elastic_net(l1_ratio: float) -> MakePenalty:
    """Norms and their squares."""

    def make(columns: NDArray[np.intp]) -> Penalty:
        return ElasticNet(Partition.singletons(len(columns)), np.ones(len(columns)), l1_ratio)

    return make


def denovas_supports(family: Family, nus: Sequence[float] | None = None) -> list[Mask]:
    """Supports for every nu and tau; without ``nus`` four of them in units of the trace."""
    unit = float(family.table.X.std(axis=0).mean())
    if nus is None:
        nus = [share * family.trace / unit for share in SHARES]

    def problem(nu: float, tau: float) -> Problem:
        return family.problem(max(tau * nu, family.smallest_ridge), 2 * tau)

    return [s for nu in nus for s in _refined(family, partial(problem, nu), unit * TAUS)]


def nvsd_supports(family: Family) -> list[Mask]:
    """Supports along alpha for a light and a heavy ridge."""
    found = []
    for ridge in (family.best_ridge(), HEAVY * family.trace):
        top = ABOVE * family.problem(ridge).alpha_max_and_scale()[1]
        found += _refined(
            family, partial(family.problem, ridge), alpha_grid(top, ALPHAS, EPS)[::-1]
        )
    return found


def _refined(
    family: Family, problem_at: Callable[[float], Problem], grid: Iterable[float]
) -> list[Mask]:
    """Supports on an increasing grid of penalties, and between where their sizes jump."""
    duals: dict[float, Array] = {}
    supports: dict[float, Mask] = {}

    def solve(at: float, start: float | None) -> None:
        problem = problem_at(at)
        warm = None if start is None else duals[start] * (at / start)
        solution = SOLVER.solve(problem, warm)
        duals[at], supports[at] = solution.point.s, support_of(problem, solution)

    last = None
    for at in map(float, grid):
        solve(at, last)
        last = at
    for _ in range(REFINED):
        known = sorted(supports)
        sizes = [int(supports[at].sum()) for at in known]
        jumps = np.abs(np.diff(sizes)) * (np.diff(np.log(known)) > CLOSE)
        widest = int(np.argmax(jumps))
        if jumps[widest] <= 1:
            break
        solve(float(np.sqrt(known[widest] * known[widest + 1])), known[widest])
    return [_spread(family, supports[at]) for at in sorted(supports)]


def validated(rows: Rows, kernel: Kernel, width: float, supports: Iterable[Mask]) -> Chosen:
    """The support and the ridge whose refit has the smallest validation error; first among ties."""
    best, chosen = np.inf, _constant(rows)
    seen = {support.tobytes(): support for support in supports}
    for support in seen.values():
        error, predict = refit(rows, kernel, width, support)
        if error < best:
            best, chosen = error, Chosen(support, predict)
    return chosen


def refit(
    rows: Rows, kernel: Kernel, width: float, support: Mask
) -> tuple[float, Callable[[Array], Array]]:
    """Kernel ridge on some columns, its ridge by validation: the error and the predictor."""
    if not support.any():
        chosen = _constant(rows)
        return float(np.mean((rows.y_validation - rows.y.mean()) ** 2)), chosen.predict
    n, mean = len(rows.y), float(rows.y.mean())
    centres, y = rows.X[:, support] / width, rows.y - mean

    def gram(new: Array) -> Array:
        return kernel.between(new[:, support] / width, centres).gram()

    inverse = RidgeInverse(gram(rows.X), np.full(n, 1 / n))
    U = np.column_stack([inverse.coefficients(y, r) for r in (inverse.trace or 1.0) * RIDGES])
    offsets = (y[:, None] - gram(rows.X) @ U).mean(axis=0) + mean
    values = gram(rows.X_validation) @ U + offsets
    errors = np.mean((rows.y_validation[:, None] - values) ** 2, axis=0)
    at = int(np.argmin(errors))
    u, b = U[:, at], float(offsets[at])
    return float(errors[at]), lambda new: np.asarray(gram(new) @ u + b)


def plain_ridge(rows: Rows, kernel: Kernel, width: float) -> Chosen:
    """Regularised least squares on all columns ("RLS", "KRLS")."""
    support = np.ones(rows.X.shape[1], dtype=bool)
    return Chosen(support, refit(rows, kernel, width, support)[1])


def width_of(rows: Rows, kernel: Kernel, rule: str | float) -> float:
    """The number that a rule stands for on the training rows."""
    n = len(rows.X)
    return length_scale(kernel, rows.X, np.full(n, 1 / n), rule)


def _constant(rows: Rows) -> Chosen:
    mean = float(rows.y.mean())
    return Chosen(np.zeros(rows.X.shape[1], dtype=bool), lambda new: np.full(len(new), mean))


def _spread(family: Family, support: Mask) -> Mask:
    table = family.table
    out = np.zeros(len(table.scaler.scale), dtype=bool)
    out[table.columns] = support
    return out


def denovas(
    rows: Rows, kernel: Kernel, width: float = 1.0, nus: Sequence[float] | None = None
) -> Chosen:
    """Rosasco's two steps; ``nus`` belong to y of unit deviation."""
    supports = denovas_supports(family_of(rows, kernel, width, lasso), nus)
    return validated(rows, kernel, width, supports)


def nvsd(rows: Rows, kernel: Kernel, width: float, penalties: Iterable[MakePenalty]) -> Chosen:
    """Gregorova's two steps, with the best of some penalties."""
    supports = [
        support
        for penalty in penalties
        for support in nvsd_supports(family_of(rows, kernel, width, penalty))
    ]
    return validated(rows, kernel, width, supports)
