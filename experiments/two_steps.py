r"""The papers' two steps: select by a penalty on derivatives, then kernel ridge on what is left.

Rosasco et al. (2013) and Gregorova et al. (2018) tune on validation rows: a path of penalties on
the training rows gives supports, every support a kernel ridge regression with the same kernel and
width, and the support and ridge of the smallest validation error are kept. Neither paper has an
intercept, so neither step has one here. Problems are solved by the library's solver, helped by
Newton steps (:mod:`experiments.newton`), to a gap of 1e-7 *of what there is to gain*: the objective
of zero minus that of ridge regression, the same problem without the penalty. (1e-5 of the objective
of zero, which sounds like convergence, is not: under a heavy ridge all there is to gain is a
hundredth of it, and the supports are those of a solver stopped early.
:func:`experiments.nvsd.tolerance` shows the difference.) Rows whose solver is "dual" were made
before the Newton steps, to the same gap.

**Rosasco**: ``alpha = 2 tau, ridge = tau nu``. The ball of the dual variable ``v`` then has radius
``1 / (nu sqrt n)`` whatever tau is, so a solution is a start for the next tau as it is. The grid of
tau is in units of the columns' deviation times that of y, and refined where the number of variables
jumps (the paper does not say its grid). ``nu = 0`` is the limit, as in the library. Where the paper
does not say its nu, validation chooses among four, in units of the kernel's trace (picked on draws
7001 to 7003; with less the function is flat at the rows and free between).

**Gregorova**: ``alpha = tau, ridge = nu``. *The paper's grid* has 50 values of tau from the largest
one down, and one nu, fixed on a few replications (:func:`nvsd`). *Refined* (:func:`nvsd_refined`)
has 15 values and up to 20 more where the number of variables jumps, and validation chooses between
two nu: the leave-one-out choice of kernel ridge regression, and 100 times the kernel's trace.
With a light ridge and rows enough to pin all derivatives down, the path goes from all variables to
none within a step; under a heavy one they leave one by one.

A path ends early where nothing can change any more: the refit depends on the support alone, so a
tau below ``FULL`` values in a row that keep every column is not solved.

Cost: one O(n^3) eigendecomposition per table and support, O(n^2 d) an iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments import newton
from experiments.newton import best_start, carried
from experiments.running import CAPPED, CONVERGED, Row
from nablasso.data.table import prepare
from nablasso.kernels import Kernel, length_scale
from nablasso.paths import Formulation, ProblemFamily, alpha_grid
from nablasso.penalties import Partition, Penalty
from nablasso.problems import DAMPING, Problem, SquaredProblem
from nablasso.regression.ridge import Ridge
from nablasso.solvers import DualSolver, Solution, support_of
from nablasso.types import Array, Mask

MakePenalty = Callable[[NDArray[np.intp]], Penalty]  # of the columns of a table

TAUS = np.logspace(-3, 0.5, 15)  # in units of the deviation of a column times that of y
REFINED = 20  # more of them, where the number of variables jumps
CLOSE = 1e-3  # two tau that are the same
SHARES = (0.02, 0.2, 2.0, 20.0)  # ridge over the kernel's trace at tau = 1; 0.02 is nu = 10 of F4
HEAVY = 100.0  # ridge over the kernel's trace
PAPER_TAUS = 50  # of Gregorova et al., "automatically established by the algorithm"
ALPHAS = 15
EPS = 1e-3  # smallest over largest tau
FULL = 2  # values in a row that keep every column, after which a path ends
RIDGES = np.logspace(-9, 1, 21)  # of the refit, over the trace of its kernel
TOL, MOST_STEPS = 1e-7, 20_000
LOOSE = 1e-5  # of the objective of zero
SMALLEST = 1e-11  # of the objective of zero: a gap below it is rounding
ABOVE_DAMPED = 3.0  # the largest tau over its damped form (see Problem.alpha_max)
RIDGE_SETTINGS: Row = {"RIDGES": RIDGES, "intercept": False}
SETTINGS: Row = {
    **RIDGE_SETTINGS,
    "solver": ("dual", TOL, MOST_STEPS, "of the gain"),
    "path": (FULL, CLOSE),
}
DENOVAS_SETTINGS: Row = {**SETTINGS, "TAUS": TAUS, "REFINED": REFINED, "SHARES": SHARES}
REFINED_SETTINGS: Row = {
    **SETTINGS,
    "grid": (ALPHAS, EPS, REFINED, ABOVE_DAMPED),
    "HEAVY": HEAVY,
}
PAPER_SETTINGS: Row = {**SETTINGS, "grid": (PAPER_TAUS, EPS, ABOVE_DAMPED)}


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

    def centred(self) -> Rows:
        """Outputs without the training rows' mean, as Gregorova et al. do on real tables."""
        mean = self.y.mean()
        y, v, t = self.y - mean, self.y_validation - mean, self.y_test - mean
        return Rows(self.X, y, self.X_validation, v, self.X_test, t)

    def together(self) -> tuple[Array, Array]:
        """Training and validation rows as one table."""
        X = np.vstack([self.X, self.X_validation])
        return X, np.concatenate([self.y, self.y_validation])


@dataclass
class Solves:
    """What the solves behind a row took: their number, steps, worst gap and worst status.

    Gaps are relative to what there is to gain, or with ``of_gain=False`` to the objective of zero.
    """

    solver: str = "dual, newton"
    tol: float = TOL
    of_gain: bool = True
    count: int = 0
    capped: int = 0
    steps: int = 0
    gap: float = 0.0

    def note(self, problem: Problem, solution: Solution) -> None:
        """One more."""
        self.count += 1
        self.steps += solution.n_iter
        gap = solution.gap / self.unit(problem)
        self.gap = max(self.gap, gap)
        self.capped += int(gap > self.tol * (1 + 1e-9))

    def unit(self, problem: Problem) -> float:
        """What gaps are relative to: one product."""
        if not self.of_gain:
            return problem.reference
        plain = replace(problem, alpha=0.0)
        ridge = plain.objective(plain.dual_point(np.zeros(problem.space.points.shape)))
        return max(problem.reference - ridge, SMALLEST / self.tol * problem.reference)

    def record(self) -> Row:
        """For the row."""
        return {
            "solves": self.count,
            "solves_capped": self.capped,
            "solver": self.solver,
            "iterations": self.steps,
            "gap": f"{self.gap:.2g}",
            "status": CAPPED if self.capped else CONVERGED,
        }


class Chosen(NamedTuple):
    """What validation chose: columns, predictions of new rows, and a record of the solves."""

    support: Mask
    predict: Callable[[Array], Array]
    record: Row = {}  # noqa: RUF012 never changed


@dataclass(frozen=True)
class Path:
    """Supports found along paths, what their solves took, and the solutions by their ridges."""

    supports: list[Mask] = field(default_factory=list)
    solves: Solves = field(default_factory=Solves)
    solutions: dict[float, list[tuple[float, Array]]] = field(default_factory=dict)

    def nearest(self, problem: SquaredProblem) -> list[Array]:
        """Guesses from the solution of the nearest radius at the same ridge.

        The elastic nets of one path differ in a quadratic that hardly counts where derivatives are
        small: with the same radius they have nearly the same solution.
        """
        radius, known = _radius(problem), self.solutions.get(problem.ridge, [])
        if not known:
            return []
        ratios = [radius / other for other, _ in known]
        at = int(np.argmin(np.abs(np.log(ratios))))
        return carried(problem, known[at][1], ratios[at])

    def keep(self, problem: Problem, solution: Solution) -> None:
        """Remember a solution."""
        self.solutions.setdefault(problem.ridge, []).append((_radius(problem), solution.point.s))


def _radius(problem: Problem) -> float:
    return float(problem.penalty.radius(problem.alpha)[0])


def family_of(rows: Rows, kernel: Kernel, width: float, penalty: MakePenalty) -> ProblemFamily:
    """All problems on the training rows, y divided by its deviation; columns as they are."""
    y = rows.y / (float(rows.y.std()) or 1.0)
    table = prepare(rows.X, y, np.ones(len(y)), standardize=False, centre_y=False)
    return ProblemFamily(table, Formulation(kernel, width, penalty, fit_intercept=False))


def lasso(columns: NDArray[np.intp]) -> Penalty:
    """The sum of the norms."""
    return Penalty(Partition(np.arange(len(columns))), np.ones(len(columns)))


def group_lasso(labels: NDArray[np.intp]) -> MakePenalty:
    """Norms of groups, weighted by their sizes."""

    def make(columns: NDArray[np.intp]) -> Penalty:
        partition = Partition(labels[columns])
        return Penalty(partition, partition.sizes.astype(float))

    return make


def elastic_net(l1_ratio: float) -> MakePenalty:
    """Norms and their squares."""

    def make(columns: NDArray[np.intp]) -> Penalty:
        return Penalty(Partition(np.arange(len(columns))), np.ones(len(columns)), l1_ratio)

    return make


# -------------------------------------------------------------------------------------- paths


def denovas_path(
    family: ProblemFamily,
    nus: Sequence[float] | None,
    path: Path,
    taus: Array | None = None,
    refined: int | None = None,
) -> None:
    """Supports for every nu and tau; without ``nus`` four of them in units of the trace."""
    taus, refined = TAUS if taus is None else taus, REFINED if refined is None else refined
    unit = float(family.table.X.std(axis=0).mean())
    if nus is None:
        nus = [share * family.trace / unit for share in SHARES]

    def problem(nu: float, tau: float) -> Problem:
        return family.problem(tau * nu, 2 * tau)

    for nu in nus:
        _along(family, partial(problem, nu), unit * taus[::-1], refined, path)


def nvsd_path(family: ProblemFamily, ridge: float, n_alphas: int, refined: int, path: Path) -> None:
    """Supports along tau at one nu."""
    grid = alpha_grid(largest_tau(family.problem(ridge)), n_alphas, EPS)
    _along(family, partial(family.problem, ridge), grid, refined, path)


def largest_tau(problem: Problem) -> float:
    """A tau from which on nothing is selected, up to directions that the data hardly determine."""
    assert isinstance(problem, SquaredProblem)
    return ABOVE_DAMPED * problem.gauge(problem.flat_dual(damping=DAMPING, direct=False))


def _along(
    family: ProblemFamily,
    problem_at: Callable[[float], Problem],
    grid: Iterable[float],
    refined: int,
    path: Path,
) -> None:
    """Supports on a decreasing grid of penalties, and between where their sizes jump."""
    duals: dict[float, Array] = {}
    supports: dict[float, Mask] = {}

    def solve(at: float, *near: float) -> None:
        problem = problem_at(at)
        assert isinstance(problem, SquaredProblem)
        start = None
        if not newton.direct(problem):  # which goes on from its own
            guesses = [guess for tau in near for guess in carried(problem, duals[tau], at / tau)]
            start = best_start(problem, guesses + path.nearest(problem))
        supports[at], solution = solved(problem, start, path.solves)
        duals[at] = solution.point.s
        path.keep(problem, solution)

    full = 0
    for at in map(float, grid):
        solve(at, *list(duals)[-1:])
        full = full + 1 if supports[at].all() else 0
        if full == FULL:
            break
    for _ in range(refined):
        known = sorted(supports)
        sizes = [int(supports[at].sum()) for at in known]
        jumps = np.abs(np.diff(sizes)) * (np.diff(np.log(known)) > CLOSE)
        widest = int(np.argmax(jumps)) if len(jumps) else 0
        if not len(jumps) or jumps[widest] <= 1:
            break
        solve(float(np.sqrt(known[widest] * known[widest + 1])), *known[widest : widest + 2])
    path.supports.extend(spread(family, supports[at]) for at in sorted(supports))


def solved(problem: Problem, warm: Array | None, solves: Solves) -> tuple[Mask, Solution]:
    """Support and solution of one problem to the tolerance of ``solves``, noted there.

    Newton steps help to the small gap; the loose one is that of the library's solver by itself.
    """
    assert isinstance(problem, SquaredProblem)
    tol = solves.tol * solves.unit(problem) / problem.reference
    if solves.of_gain:
        solution = newton.solve(problem, warm, tol, MOST_STEPS)
    else:
        solution = DualSolver(tol, MOST_STEPS).solve(problem, warm)
    solves.note(problem, solution)
    return support_of(problem, solution), solution


def spread(family: ProblemFamily, support: Mask) -> Mask:
    """A support in terms of the columns as they were given."""
    table = family.table
    out = np.zeros(len(table.scaler.scale), dtype=bool)
    out[table.columns] = support
    return out


# ------------------------------------------------------------------------------------- refits


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
    """Kernel ridge on some columns, its ridge by validation: the error and the predictor.

    Without columns both kernels are constant: the mean of y.
    """
    if not support.any():
        chosen = _constant(rows)
        return float(np.mean((rows.y_validation - rows.y.mean()) ** 2)), chosen.predict
    n = len(rows.y)
    centres = rows.X[:, support] / width

    def gram(new: Array) -> Array:
        return kernel.between(new[:, support] / width, centres).gram()

    inverse = Ridge(gram(rows.X), np.full(n, 1 / n), fit_intercept=False)
    ridges = (inverse.trace or 1.0) * RIDGES
    U = np.column_stack([inverse.coefficients(rows.y, ridge) for ridge in ridges])
    values = gram(rows.X_validation) @ U
    errors = np.mean((rows.y_validation[:, None] - values) ** 2, axis=0)
    at = int(np.argmin(errors))
    u = U[:, at]
    return float(errors[at]), lambda new: np.asarray(gram(new) @ u)


def width_of(rows: Rows, kernel: Kernel, rule: str | float) -> float:
    """The number that a rule stands for on the training rows."""
    n = len(rows.X)
    return length_scale(kernel, rows.X, np.full(n, 1 / n), rule)


def _constant(rows: Rows) -> Chosen:
    mean = float(rows.y.mean())
    return Chosen(np.zeros(rows.X.shape[1], dtype=bool), lambda new: np.full(len(new), mean))


# ------------------------------------------------------------------------------------ methods


def plain_ridge(rows: Rows, kernel: Kernel, width: float) -> Chosen:
    """Regularised least squares on all columns ("RLS", "KRLS")."""
    support = np.ones(rows.X.shape[1], dtype=bool)
    return Chosen(support, refit(rows, kernel, width, support)[1], {"solver": "closed form"})


def denovas(
    rows: Rows, kernel: Kernel, width: float = 1.0, nus: Sequence[float] | None = None
) -> Chosen:
    """Rosasco's two steps; ``nus`` belong to y of unit deviation."""
    path = Path()
    denovas_path(family_of(rows, kernel, width, lasso), nus, path)
    return _chosen(rows, kernel, width, path)


def nvsd(
    rows: Rows,
    kernel: Kernel,
    width: float,
    penalties: Iterable[MakePenalty],
    share: float,
    *,
    of_gain: bool = True,
) -> Chosen:
    """Gregorova's two steps by the paper's grid: 50 tau, one nu in units of the kernel's trace."""
    path = Path(solves=Solves(of_gain=of_gain, tol=TOL if of_gain else LOOSE))
    for penalty in penalties:
        family = family_of(rows, kernel, width, penalty)
        nvsd_path(family, share * family.trace, PAPER_TAUS, 0, path)
    return _chosen(rows, kernel, width, path)


def nvsd_refined(
    rows: Rows, kernel: Kernel, width: float, penalties: Iterable[MakePenalty]
) -> Chosen:
    """Gregorova's two steps with a refined grid and two nu."""
    path = Path()
    for penalty in penalties:
        family = family_of(rows, kernel, width, penalty)
        for ridge in (family.best_ridge(), HEAVY * family.trace):
            nvsd_path(family, ridge, ALPHAS, REFINED, path)
    return _chosen(rows, kernel, width, path)


def _chosen(rows: Rows, kernel: Kernel, width: float, path: Path) -> Chosen:
    best = validated(rows, kernel, width, path.supports)
    return best._replace(record=path.solves.record())
