"""Families of problems: one table, one kernel, one loss, one penalty; any ridge, any alpha.

A :class:`ProblemFamily` has what all its problems share, made once:

* a **space** that f lives in (:mod:`nablasso.spaces`);
* a **regression** in that space, which chooses the ridge (:mod:`nablasso.regression`): the
  eigendecomposition of a kernel, ridge regression on features, or machines of another loss.

Three kinds, by what :func:`nablasso.spaces.choose_space` says:

* **exact**: the representer space of the rows.
* **Fourier**: with the squared loss each problem is (P) on pseudo-rows made of moments
  (:mod:`nablasso.spaces.features`), O(d m^2) a product; with another the rows stay in memory and
  each Newton step makes a pass over them, O(n m^2). The refit draws features of the selected
  columns alone, with the width measured on them: all m features go where f is.
* **Nystrom**: the rows of a table are in an arbitrary but fixed order, so the first
  ``n_components`` are a fair sample: (P) on them, and the certificate is for it. The refit on the
  selected columns sees all rows by Nystrom features, O(n m^2); for other losses than the squared
  one it stays on the landmark rows.

Where the rows are gone and their sums are left (:class:`StatisticsFamily` of
:class:`~nablasso.streaming.SufficientStatistics`, which keep the moments of each fold) ridges are
chosen by cross-validation over the folds: ridge regression on the moments of all folds but one,
judged by its mean squared error on the moments of that one, exactly. The refit keeps the frozen
features, those that touch selected variables only; where there are none (dense features, a variable
left out) the penalised function stands.

Paths along alpha (:func:`walk_path`) run from small alpha upwards: in the dual a small ball is the
easy problem, and its solution is inside the next ball.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from nablasso.data.table import MIN_ROWS, Table
from nablasso.errors import InvalidParameterError
from nablasso.kernels import Kernel, length_scale
from nablasso.losses import Loss, Squared
from nablasso.penalties import Penalty
from nablasso.problems import Problem, SmoothProblem, SquaredProblem, on_pseudo_rows
from nablasso.regression.machine import GramRows, Machines, OnFeatures, Refit, refit
from nablasso.regression.ridge import (
    SMALLEST_RIDGE,
    FeatureRidge,
    MomentRidge,
    Ridge,
    TargetRidge,
    best_of,
    ridge_grid,
)
from nablasso.solvers import Solution, Solver, Status
from nablasso.spaces import (
    FeatureMap,
    FeatureRows,
    FeatureSpace,
    FourierFeatures,
    Function,
    Moments,
    PenaltyPoints,
    PseudoRows,
    RepresenterSpace,
    Space,
    SpaceChoice,
    draw_fourier,
    draw_nystrom,
    require_memory,
    slope_map,
    slope_moments,
)
from nablasso.streaming import FrozenSpace, SufficientStatistics
from nablasso.types import Array, Index, Mask

RIDGE_FLOOR = 1e-5
# of the kernel's trace: ridge=0 means this. Rounding keeps the solver from a gap of 1e-5 below it
# (y = x1^2 in two columns, 20 rows).
RIDGE_LIMIT = 1e-7
DEFAULT_FRACTION = 0.1  # alpha=None means this fraction of alpha_max

STEEP_ROWS = 2000  # rows at which the steepness of a function of features is measured
PROBED = 300  # rows on which the refit is compared with that of the exact space


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

    ``multiplier`` is that of the length scale, ``points`` are penalty points besides the data, and
    ``metric`` (d,) multiplies each column before the kernel sees it. ``choice`` is the space, the
    exact one by default, with ``n_components`` features or landmarks.
    """

    space: Space
    regression: TargetRidge | FeatureRidge | Machines | FoldRidge

    def __init__(
        self,
        table: Table,
        formulation: Formulation,
        multiplier: float = 1.0,
        points: PenaltyPoints | None = None,
        metric: Array | None = None,
        *,
        choice: SpaceChoice | None = None,
        n_components: int = 512,
        random_state: Any = None,
    ) -> None:
        self.choice, self.n_components, self.random_state = choice, n_components, random_state
        self.kind = "exact" if choice is None else choice.name
        self.whole, self.formulation, self.multiplier = table, formulation, multiplier
        if self.kind == "nystrom":
            n = min(max(n_components, MIN_ROWS), len(table.X))
            table, points = table.first(n), _thinned(points, table, n)
        self.table, self.points = table, points
        self.metric = np.ones(table.X.shape[1]) if metric is None else metric
        self.loss = formulation.loss.fitted(table.y, table.weights)
        self.penalty = formulation.penalty(table.columns)
        self.width = self._width(table.X * self.metric)
        self.scales = self.metric / self.width
        self.features: FourierFeatures | None = None
        if self.kind == "fourier":
            drawn = self._draw(table.X, self.scales, table.weights)
            assert isinstance(drawn, FourierFeatures)
            self.features = drawn
        self._build()

    def _build(self) -> None:
        """Make the space and the regression in it."""
        table, intercept = self.table, self.formulation.fit_intercept
        data = (table.y, table.weights, intercept)
        if self.features is not None:
            rows = FeatureRows(self.features, table.X, keep=not self.is_squared)
            if not self.is_squared:
                self.space = FeatureSpace(rows, slope_map(self.features, self._slopes()))
                self.regression = Machines(self.loss, OnFeatures(rows), *data)
                return
            fit = FeatureRidge(rows, table.y, table.weights, fit_intercept=intercept)
            S = fit.moments.S if self.points is None else self._slopes()
            pseudo = PseudoRows(fit.moments, fit_intercept=intercept)
            self.space, self.regression = FeatureSpace(pseudo, slope_map(self.features, S)), fit
            return
        extra = None if self.points is None else self.points.extra
        require_memory(len(table.X) + (0 if extra is None else len(extra)), table.X.shape[1])
        space = RepresenterSpace(self.formulation.kernel, table.X, self.scales, extra)
        self.space = space
        if self.is_squared:
            inverse = Ridge(space.gram, table.weights, fit_intercept=intercept)
            self.regression = TargetRidge(inverse, table.y)
        else:
            self.regression = Machines(self.loss, GramRows(space.gram), *data)

    def _slopes(self) -> Array:
        """Moments of the slopes at all penalty points."""
        assert self.features is not None
        Z, weights = self.table.X, self.table.weights
        if self.points is not None:
            Z, weights = np.vstack([Z, self.points.extra]), self.points.weights
        moments = FeatureRows(self.features, Z, keep=False).moments(np.zeros(len(Z)), weights)
        return slope_moments(moments.uncentred()[0])

    def with_target(self, y: Array) -> Self:
        """The same family with another target of all rows; what does not depend on it is shared."""
        other = copy(self)
        mine = y[: len(self.table.y)]
        other.whole = replace(self.whole, y=y)
        other.table = replace(self.table, y=mine)
        other.loss = self.formulation.loss.fitted(mine, self.table.weights)
        if isinstance(self.regression, TargetRidge):
            other.regression = TargetRidge(self.regression.inverse, mine)
        elif isinstance(self.regression, Machines):
            other.regression = replace(self.regression, loss=other.loss, y=mine)
        else:
            other._build()  # one more pass over the rows
        return other

    @property
    def y_scale(self) -> float:
        """Standard deviation of the target."""
        return self.table.y_scale

    @property
    def is_squared(self) -> bool:
        """Whether the loss is the squared one, which has closed forms."""
        return isinstance(self.loss, Squared)

    @property
    def trace(self) -> float:
        """The natural unit of ``ridge``."""
        return self.regression.trace

    @property
    def smallest_ridge(self) -> float:
        """Below this, rounding decides the solution."""
        return self.regression.smallest * (self.trace or 1.0)

    def best_ridge(self) -> float:
        """Ridge of smallest leave-one-out loss of a machine on all columns.

        Not less than ``RIDGE_FLOOR`` of the kernel's trace: below it a penalised f can be flat at
        the data and steep between them.
        """
        return self.regression.best_ridge(RIDGE_FLOOR)

    def problem(self, ridge: float, alpha: float = 0.0) -> Problem:
        """The problem at one ridge and alpha."""
        ridge, space = self.usable_ridge(ridge), self.space
        shared: dict[str, Any] = {
            "loss": self.loss,
            "penalty": self.penalty,
            "alpha": alpha,
            "ridge": ridge,
        }
        if isinstance(space, FeatureSpace) and self.is_squared:
            return SquaredProblem(**shared, **on_pseudo_rows(space, ridge))
        points = None if self.points is None else self.points.weights
        shared |= {
            "space": space,
            "y": self.table.y,
            "weights": self.table.weights,
            "fit_intercept": self.formulation.fit_intercept,
            "penalty_weights": points if self.features is None else np.ones(len(space.points)),
        }
        if isinstance(self.regression, TargetRidge):
            return SquaredProblem(**shared, P=self.regression.inverse.matrix(ridge))
        return SmoothProblem(**shared)

    def usable_ridge(self, ridge: float) -> float:
        """The ridge itself; for zero the limit.

        At zero the problem has no unique solution: a function that is flat at the data may do
        anything between them. As ``ridge`` goes to zero its solutions go to the one of smallest
        norm, and ``RIDGE_LIMIT`` of the kernel's trace stands for that.
        """
        smallest = self.smallest_ridge
        if ridge == 0:
            return max(smallest, RIDGE_LIMIT * (self.trace or 1.0))
        if not smallest <= ridge < np.inf:
            raise InvalidParameterError(
                f"ridge must be positive, or zero for the limit: without it f can pass through "
                f"every y with zero derivatives. Got {ridge!r}; the smallest usable value here is "
                f"{smallest:.1e}, and ridge=None chooses {self.best_ridge():.1e} by leave-one-out."
            )
        return ridge

    def refit(self, support: Mask) -> Refit:
        """A machine with the same loss on the supported columns; residuals of the table's rows."""
        table = self.whole if self.is_squared and support.any() else self.table
        X, scales = table.X[:, support], self._scales_of(support)
        features = self._draw(X, scales, table.weights) if support.any() else None
        made = self._refit(table, X, table.columns[support], scales=scales, features=features)
        return made._replace(loo_residuals=made.loo_residuals[: len(self.table.y)])

    def _refit(self, table: Table, X: Array, columns: Index, **more: Any) -> Refit:
        loss, kernel, intercept = self.loss, self.formulation.kernel, self.formulation.fit_intercept
        data = (loss, kernel, X, table.y, table.weights, columns)
        return refit(*data, fit_intercept=intercept, **more)

    def can_refit(self, support: Mask) -> bool:  # noqa: ARG002 of families without rows
        """Whether there is a refit on these columns."""
        return True

    def function(self, solution: Solution) -> Function:
        """The penalised function of a solution."""
        coef, space, columns = solution.coef, self.space, self.table.columns
        if isinstance(space, RepresenterSpace):
            return Function(coef.intercept, columns, space, coef.u, coef.v)
        assert isinstance(space, FeatureSpace)
        w = space.coefficients(coef.u, coef.v)
        rows = space.rows
        b = rows.intercept(w) if isinstance(rows, PseudoRows) else coef.intercept
        return Function(b, columns, self.features, w)

    def steepness(
        self, solution: Solution, Z: Array | None = None, weights: Array | None = None
    ) -> float:
        """Sum of the derivative norms at other points ``Z``, relative to that at the data.

        Far above one, f is flat at the data and steep between them: its penalty measures nothing.
        Without ``Z`` the points are the data moved a quarter of the way to another row. On features
        it is measured at no more than ``STEEP_ROWS``.
        """
        some = slice(None) if self.features is None else slice(STEEP_ROWS)
        if Z is None:
            X = self.table.X[some]
            Z, weights = np.roll(X, 1, axis=0), self.table.weights
            Z -= X
            Z *= 0.25
            Z += X
        if weights is not None:
            Z, weights = Z[some], weights[some]
        function = replace(self.function(solution), columns=np.arange(Z.shape[1]))
        gradients = function.gradients(Z)
        shares = np.full(len(Z), 1 / len(Z)) if weights is None else weights / weights.sum()
        there = float(np.sqrt(np.einsum("ia,ia,i->a", gradients, gradients, shares)).sum())
        g = solution.point.g
        here = float(np.sqrt(np.einsum("ia,ia->a", g, g)).sum())
        return there / here if here > 0 else 1.0

    def approximation_error(self, support: Mask) -> float:
        """How far the refit is from that of the exact space, in deviations of ``y``.

        Root mean squared difference of two functions fitted to the same ``PROBED`` rows, one on
        features and one with the kernel itself, at the rows after them.
        """
        table, n = self.whole, min(len(self.whole.X), PROBED)
        X, scales = table.X[:, support], self._scales_of(support)
        first = table.first(n)
        features = self._draw(X[:n], scales, first.weights) if support.any() else None
        if features is None or np.ptp(first.y) == 0:
            return 0.0
        others = X[n : 2 * n] if len(X) > n else X[:n]
        all_columns = np.arange(X.shape[1])
        ours, exact = (
            self._refit(first, X[:n], all_columns, scales=scales, features=made)
            for made in (features, None)
        )
        apart = ours.function.values(others) - exact.function.values(others)
        return float(np.sqrt(np.mean(apart**2))) / self.y_scale

    def _draw(self, X: Array, scales: Array, weights: Array) -> FeatureMap | None:
        """Features of the kernel of these columns; None where the kernel itself serves."""
        kernel, m, seed = self.formulation.kernel, self.n_components, self.random_state
        if self.kind == "fourier":
            return draw_fourier(kernel, scales, m, seed, X)
        if self.kind == "nystrom" and self.is_squared:
            return draw_nystrom(kernel, scales, X, weights, m, seed)
        return None

    def _scales_of(self, support: Mask) -> Array:
        """Scales of the supported columns, the width measured anew."""
        metric = self.metric[support]
        if not support.any():
            return metric
        return np.asarray(metric / self._width(self.table.X[:, support] * metric))

    def _width(self, X: Array) -> float:
        rule = self.formulation.length_scale
        weights = self.table.weights
        return length_scale(self.formulation.kernel, X, weights, rule, self.multiplier)


def _thinned(points: PenaltyPoints | None, table: Table, n: int) -> PenaltyPoints | None:
    """As many of the further points, evenly taken, for each landmark row as for each row."""
    if points is None or n == len(table.X):
        return points
    extra = points.extra
    count = -(-len(extra) * n // len(table.X))
    kept = np.linspace(0, len(extra) - 1, count).astype(int)
    own, theirs = points.weights[:n], points.weights[len(table.X) :][kept]
    own = own * (points.weights[: len(table.X)].sum() / own.sum())
    theirs = theirs * (points.weights[len(table.X) :].sum() / theirs.sum())
    return PenaltyPoints(extra[kept], np.concatenate([own, theirs]))


class FoldRidge:
    """Ridge regression on moments, its ridge chosen by cross-validation over the folds."""

    smallest = SMALLEST_RIDGE

    def __init__(self, statistics: SufficientStatistics, *, fit_intercept: bool) -> None:
        self.statistics, self.fit_intercept = statistics, fit_intercept
        self._known: dict[bytes, tuple[float, Array]] = {}

    @cached_property
    def _all(self) -> MomentRidge:
        return MomentRidge(self.statistics.total(), fit_intercept=self.fit_intercept)

    @property
    def trace(self) -> float:
        """Trace of the features' covariance: the natural unit of ``ridge``."""
        return self._all.trace

    @cached_property
    def folds(self) -> list[tuple[Moments, Moments]]:
        """(without the fold, the fold) for all folds."""
        statistics = self.statistics
        if statistics.n_folds < 2:
            raise InvalidParameterError(
                "A ridge can only be chosen by folds, and these statistics have one. Give ridge= "
                "and debias=False, or collect statistics with n_folds of at least 2."
            )
        return [(statistics.without(k), statistics.fold(k)) for k in range(statistics.n_folds)]

    def best_ridge(self, floor: float = 0.0) -> float:
        """Ridge of smallest cross-validated error on all features."""
        return self._chosen(np.arange(len(self._all.e)), floor)[0]

    def fold_errors(self, chosen: Index) -> tuple[float, Array]:
        """Ridge regression on some features: the best ridge of a grid.

        With the mean squared error on each fold (n_folds,) of the fit without it.
        """
        key = chosen.tobytes()
        if key not in self._known:
            self._known[key] = self._chosen(chosen)
        return self._known[key]

    def _chosen(self, chosen: Index, floor: float = 0.0) -> tuple[float, Array]:
        ridges = ridge_grid(float(np.diag(self._all.C)[chosen].sum()), floor)
        errors = []
        for train, test in self.folds:
            fit = MomentRidge(train.on(chosen), fit_intercept=self.fit_intercept)
            errors.append(test.on(chosen).mean_squared_error(*fit.coefficients(ridges)))
        shares = np.array([fold.weight for _, fold in self.folds])
        best = best_of(shares @ np.array(errors) / shares.sum())
        return float(ridges[best]), np.array(errors)[:, best]


class StatisticsFamily(ProblemFamily):
    """All problems (P) of one formulation on rows that were added up, by Fourier features."""

    regression: FoldRidge

    def __init__(self, statistics: SufficientStatistics, formulation: Formulation) -> None:
        space = statistics.space
        if not isinstance(space.features, FourierFeatures):
            raise InvalidParameterError(
                "Statistics of Fourier features are needed: others have no derivatives. Got "
                f"{type(space.features).__name__}."
            )
        self.statistics, self.formulation, self.points = statistics, formulation, None
        self.features, self.loss = space.features, formulation.loss
        self.penalty = formulation.penalty(space.columns)
        self.width = 1.0 if space.length_scale is None else float(space.length_scale)
        even = np.full(len(space.columns), 1 / self.width)
        self.scales = even if space.scales is None else space.scales
        self.metric = self.scales * self.width
        self.regression = FoldRidge(statistics, fit_intercept=formulation.fit_intercept)
        self._take(statistics.total())

    def _take(self, moments: Moments) -> None:
        """The problem that these moments pose."""
        assert self.features is not None
        self.moments, frozen = moments, self.statistics.space
        self.table = self.whole = _empty_table(frozen, moments)
        self.rows = PseudoRows(moments, fit_intercept=self.formulation.fit_intercept)
        self.space = FeatureSpace(self.rows, slope_map(self.features, moments.S))

    def without(self, k: int) -> StatisticsFamily:
        """The same without the rows of fold ``k``; ridges of refits stay those of all folds."""
        other = copy(self)
        other._take(self.statistics.without(k))
        return other

    @property
    def y_scale(self) -> float:
        """Standard deviation of the target."""
        return float(np.sqrt(self.moments.y_variance)) or 1.0

    def usable(self, support: Mask) -> Index:
        """The features that depend on supported variables only."""
        assert self.features is not None
        usable = np.ones(self.features.n_components, dtype=bool)
        for a in np.flatnonzero(~support):
            usable[self.features.touching[a]] = False
        omega = np.tile(np.any(self.features.values != 0, axis=1), 2)
        return np.flatnonzero(usable & omega)

    def can_refit(self, support: Mask) -> bool:
        """Whether there are features of the supported variables alone."""
        return len(self.usable(support)) > 0 or not support.any()

    def refit(self, support: Mask) -> Refit:
        """Ridge regression on the features of the supported variables; no residuals."""
        assert self.features is not None
        chosen, w = self.usable(support), np.zeros(self.features.n_components)
        ridge = 0.0
        if len(chosen):
            ridge, intercept = self.regression.fold_errors(chosen)[0], self.rows.fit_intercept
            fit = MomentRidge(self.moments.on(chosen), fit_intercept=intercept)
            w[chosen] = fit.coefficients(np.array([ridge]))[0][:, 0]
        function = Function(self.rows.intercept(w), self.table.columns, self.features, w)
        return Refit(function, ridge, np.empty(0))

    def fold_gain(self, support: Mask) -> tuple[float, float]:
        """R2 of the refit over the folds, and its gain in units of its standard error."""
        if self.statistics.n_folds < 2:
            return float("nan"), float("inf")
        chosen = self.usable(support)
        folds = [fold for _, fold in self.regression.folds]
        shares = np.array([fold.weight for fold in folds])
        centre = self.moments.y_mean if self.formulation.fit_intercept else 0.0
        null = np.array([fold.y_variance + (fold.y_mean - centre) ** 2 for fold in folds])
        gain = null - self.regression.fold_errors(chosen)[1] if len(chosen) else 0 * null
        mean = float(np.average(gain, weights=shares))
        error = float(np.std(gain, ddof=1)) / np.sqrt(len(gain))
        size = float(np.average(null, weights=shares))
        return (mean / size if size > 0 else 0.0), (mean / error if error > 0 else 0.0)

    def approximation_error(self, support: Mask) -> float:  # noqa: ARG002 there are no rows
        """Not known without rows."""
        return float("nan")

    def steepness(
        self,
        solution: Solution,  # noqa: ARG002 there are no rows between which to look
        Z: Array | None = None,  # noqa: ARG002
        weights: Array | None = None,  # noqa: ARG002
    ) -> float:
        """Not known without rows."""
        return 1.0


def _empty_table(space: FrozenSpace, moments: Moments) -> Table:
    """The columns of a table without its rows; targets are raw, so their mean is not taken off."""
    columns, deviations, none = space.columns, space.usual_deviation, np.empty(0)
    return Table(
        X=np.empty((0, len(columns))),
        y=none,
        weights=none,
        columns=columns,
        rows=none.astype(np.intp),
        scaler=space.scaler,
        deviations=np.ones(len(columns)) if deviations is None else deviations,
        y_mean=0.0,
        total=moments.weight,
    )


# --- paths ---


def alpha_grid(alpha_max: float, n_alphas: int, eps: float) -> Array:
    """``n_alphas`` values from ``alpha_max`` down to ``eps * alpha_max``, equal ratios."""
    return alpha_max * np.logspace(0, np.log10(eps), n_alphas)


def walk_path(
    problem: Problem, alphas: Array, solver: Solver[Any], flat: Array | None = None
) -> Iterator[tuple[Problem, Solution]]:
    """Solutions at increasing ``alphas``, each warm-started from those before.

    ``flat`` is ``problem.flat_dual()``, the solution from ``alpha_max`` on, where known: towards
    the top of the path starts are interpolated to it. An interrupted solve ends the walk: half a
    path is for the caller to judge.
    """
    done: list[tuple[float, Array]] = []
    for alpha in alphas:
        here = replace(problem, alpha=float(alpha))
        solution = solver.solve(here, _warm_start(here, done, flat))
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        yield here, solution
        done = [*done[-1:], (here.alpha, solution.point.s)]


def _warm_start(
    problem: Problem, done: list[tuple[float, Array]], flat: Array | None
) -> Array | None:
    """Of the starts at hand, the one with the best dual value.

    The last solution carried on along the line through the one before it, and the last solution
    moved towards ``flat``. Both are affine in alpha, as the path itself nearly is.
    """
    if not done:
        return None
    last, s = done[-1]
    starts = [s]
    if len(done) > 1 and last > done[0][0]:
        before, s_before = done[0]
        starts = [s + (s - s_before) * ((problem.alpha - last) / (last - before))]
    top = 0.0 if flat is None else problem.gauge(flat)
    if flat is not None and top > last:
        t = min(1.0, (problem.alpha - last) / (top - last))
        starts.append(s + t * (flat - s))
    if len(starts) == 1:
        return starts[0]
    return max(starts, key=lambda s: problem.primal_dual(problem.feasible_point(s))[1])
