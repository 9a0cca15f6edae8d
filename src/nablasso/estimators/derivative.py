"""The derivative lasso for numbers and for classes, its weights given or cross-validated.

Scores are those of what ``predict`` returns: debiased inside each training fold. The grid, the
folds and the canonical order are fixed before any fold is fitted. A candidate is what ``predict``
would use at one width, ridge and alpha: the refits on its supports, or the penalised functions; one
per problem that the estimator solves. Candidates of one support share their refit.

**From sums over rows**, for more rows than memory or rows on other machines, in three steps:
``freeze`` on a sample fixes scaling, metric and features;
:class:`~nablasso.streaming.SufficientStatistics` of that space are collected from all rows,
anywhere and in any order; ``fit_statistics`` solves. The folds of the statistics choose what
``fit`` chooses by leave-one-out or cross-validation, so that no row is read twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.estimators.alpha_path import Path, descending
from nablasso.estimators.cross_validation import (
    Candidate,
    Cell,
    CrossValidated,
    as_fitted,
    by_key,
    check_rule,
    choose,
    grid_points,
    outcomes_of,
    positive_list,
)
from nablasso.estimators.derivative_base import DerivativeEstimator, Weights
from nablasso.estimators.fitting import Fit, spread
from nablasso.estimators.outcome import CLEAR_GAIN, feature_kinds
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.target import (
    Data,
    PredictsClasses,
    PredictsNumbers,
    Target,
)
from nablasso.estimators.validation import check_new_data, feature_names
from nablasso.losses import Logistic, Loss, Squared, as_loss
from nablasso.paths import ProblemFamily, StatisticsFamily, alpha_grid, walk_path
from nablasso.problems import ABOVE
from nablasso.progress import track
from nablasso.solvers import Solver, as_solver, support_of
from nablasso.spaces import Function, PenaltyPoints, SpaceChoice, penalty_points
from nablasso.streaming import FrozenSpace, SufficientStatistics
from nablasso.types import Array, Mask

DEFAULT_RIDGES = (1.0, 10.0, 100.0)  # times the leave-one-out choice
RIDGE_FRACTION = 1e-4  # of the kernel's trace, at least
SMALLEST_FRACTION = 1e-3  # of alpha_max
STEEPNESS_LIMIT = 2.0  # mean over the folds; steeper candidates are not chosen
HOPELESS = 5.0  # steepness from which larger alphas are not tried
FOLD_TOL = 1e-5  # a fold's fit need not be more exact than its score

Refits = dict[bytes, Function]  # by support


@estimator
class DerivativeNumbers(PredictsNumbers, DerivativeEstimator):
    """Shared by the regressors; they also fit from sums over rows."""

    _: KW_ONLY
    loss: Any = parameter(
        "squared",
        "str or Loss",
        '``"squared"``, ``"huber"``, ``"epsilon_insensitive_squared"``, ``"poisson"`` (counts; '
        "predictions are ``exp(f)``), or an object of :mod:`nablasso.losses`, whose thresholds are "
        "in units of a robust deviation of ``y``.",
    )

    def freeze(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_rows: int = 2000
    ) -> FrozenSpace:
        """Fix scaling, metric and Fourier features on a sample of the rows.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            A fair sample: a few thousand rows.
        sample_weight : array-like, shape (n_samples,), optional
        n_rows : int, default=2000
            At most so many of the rows are used.

        Returns
        -------
        FrozenSpace
            What :class:`~nablasso.streaming.SufficientStatistics` are collected for.
        """
        self._require_squares()
        data = self._read(X, y, sample_weight)
        table = self._table(data).first(n_rows)
        family = ProblemFamily(
            table,
            self._formulation(),
            metric=self._metric(table, table.y[:, None]),
            choice=SpaceChoice("fourier", "asked for"),
            n_components=self.n_components,
            random_state=self.random_state,
        )
        assert family.features is not None
        names = getattr(self, "feature_names_in_", None)
        return FrozenSpace.from_table(
            table,
            family.features,
            feature_names=None if names is None else tuple(map(str, names)),
            kernel=family.formulation.kernel,
            length_scale=family.width,
            scales=family.scales,
            kinds=tuple(map(str, feature_kinds(data.X[table.rows >= 0]))),
        )

    def fit_statistics(self, statistics: SufficientStatistics) -> Self:
        """Select variables and fit the function from sums over rows.

        Parameters
        ----------
        statistics : SufficientStatistics
            Of a space that :meth:`freeze` made. What is not given is chosen by their folds, by mean
            squared errors; the width is that of the space.
        """
        family, d = self._statistics_family(statistics), statistics.space.n_columns
        self._target = Target(self._loss(), centred=self.fit_intercept)
        alpha, ridge, _ = self._statistics_weights(family)
        (fit,) = self._solved([family], alpha, ridge)
        self._unpack_problems([fit], d)
        self.approximation_error_ = float("nan")
        self.space_, self.space_reason_ = "fourier", "the space of the statistics"
        self.feature_kinds_ = np.array(statistics.space.kinds or ("unknown",) * d)
        usable = family.can_refit(fit.support)
        self.loo_r2_, self._loo_gain = family.fold_gain(fit.support) if usable else (np.nan, np.inf)
        self._keep([fit.function(self.debias and usable)], family.table)
        few = self._loo_gain < CLEAR_GAIN
        self.selection_status_ = (
            "none found" if not fit.support.any() else "too few rows" if few else "clear"
        )
        self.twins_ = []  # correlations of columns are not kept
        self._n_rows = family.moments.n_samples
        return self

    def _statistics_family(self, statistics: SufficientStatistics) -> StatisticsFamily:
        """What is asked for, in the frozen space; sets what scikit-learn wants to know."""
        self._require_squares()
        statistics.warn_of_drift()
        space = statistics.space
        self.n_features_in_ = space.n_columns
        if space.feature_names is not None:
            self.feature_names_in_ = np.array(space.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        formulation = self._formulation()
        if space.kernel is not None:
            formulation = replace(formulation, kernel=space.kernel)
        return StatisticsFamily(statistics, formulation)

    def _require_squares(self) -> None:
        if not isinstance(self._loss(), Squared):
            raise InvalidParameterError(
                f"Statistics serve the squared loss alone; got loss={self.loss!r}. Other losses "
                "need all rows at every step: use fit."
            )

    def _loss(self) -> Loss:
        return as_loss(self.loss)


@estimator
class DerivativeClasses(PredictsClasses, DerivativeEstimator):
    """Shared by the classifiers.

    Attributes
    ----------
    class_importances_ : array, shape (n_classes, n_features)
        ``feature_importances_`` of each class against the rest; one row, that of the second class,
        where there are two.
    """

    def _loss(self) -> Loss:
        return Logistic()


@estimator
class GivenWeights(DerivativeEstimator):
    """Fit at one ``alpha`` and ``ridge``."""

    alpha: float | None = parameter(
        None,
        "float",
        "Sparsity weight; by default a tenth of ``alpha_max``, the smallest value that selects "
        "nothing (of ``Problem.alpha_scale`` where that is blown up).",
    )
    ridge: float | None = parameter(
        None,
        "float",
        "Weight of ``||f||^2``; by default chosen by leave-one-out (closed form for the squared "
        "loss, to second order for others). Zero means the limit, 1e-7 of the kernel's trace: "
        "without any, f may be flat at the data and free between them.",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_unlabeled: Any = None) -> Self:
        """Select variables and fit the function."""
        return self._fit(X, y, sample_weight, X_unlabeled)

    def _weights(
        self, data: Data, table: Table, points: PenaltyPoints | None, groups: Any
    ) -> Weights:
        return Weights(self.alpha, self.ridge)

    def _statistics_weights(self, family: StatisticsFamily) -> Weights:
        return Weights(self.alpha, self.ridge)

    def _path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        X_unlabeled: Any = None,
        n_alphas: int = 50,
        eps: float = 1e-3,
        alphas: Any = None,
    ) -> Path:
        data = self._read(X, y, sample_weight)
        if X_unlabeled is not None:
            data = data._replace(unlabelled=check_new_data(self, X_unlabeled))
        table = self._table(data)
        family, *others = self._families(table, 1.0, penalty_points(table, data.unlabelled))
        if others:
            raise InvalidParameterError(
                f"A path belongs to one function; {self!r} fits {1 + len(others)} on these "
                "classes. Give the labels of one class against the rest."
            )
        ridge = family.best_ridge() if self.ridge is None else float(self.ridge)
        problem = family.problem(ridge)
        flat = problem.flat_dual()
        top = ABOVE * problem.gauge(flat)
        grid = alpha_grid(top, n_alphas, eps) if alphas is None else descending(alphas)
        solver = as_solver(self.solver, self.tol, self.max_iter, family.loss)
        steps = walk_path(problem, grid[::-1], solver, flat)
        tracked = track(steps, len(grid), "path", verbose=self.verbose)
        fits = [Fit(family, *solved) for solved in tracked][::-1]
        d = data.X.shape[1]
        return Path(
            grid,
            np.array([spread(fit.support, table, d, fill=False) for fit in fits]),
            np.array([spread(fit.importances, table, d) for fit in fits]),
            feature_names(self),
            top,
            ridge=ridge,
            dual_gaps=np.array([fit.solution.gap for fit in fits]),
            n_iter=np.array([fit.solution.n_iter for fit in fits], dtype=np.intp),
        )


@estimator
class ChosenWeights(CrossValidated, DerivativeEstimator):
    """Choose ``alpha``, ``ridge`` and width by cross-validation, then fit on all rows.

    Attributes
    ----------
    best_params_ : dict
        ``alpha``, ``ridge`` and ``width`` of the refit.
    """

    _: KW_ONLY
    alphas: Any = parameter(
        30,
        "int or array-like",
        "Sparsity weights to try; a number asks for that many from ``Problem.alpha_scale`` of each "
        "ridge and width down to a thousandth of it.",
    )
    ridges: Any = parameter(
        None,
        "array-like",
        "Weights of ``||f||^2`` to try; by default the leave-one-out choice of each width (at "
        "least 1e-4 of the kernel's trace) times 1, 10 and 100.",
    )
    widths: Any = parameter(
        None, "array-like", "Multipliers of the length scale to try; by default 1."
    )

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        X_unlabeled: Any = None,
    ) -> Self:
        """Choose the parameters, select variables and fit the function.

        Parameters
        ----------
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row; scores are weighted too.
        """
        check_rule(self.selection_rule)
        return self._fit(X, y, sample_weight, X_unlabeled, groups)

    def _weights(
        self, data: Data, table: Table, points: PenaltyPoints | None, groups: Any
    ) -> Weights:
        cells: list[Cell] = []
        for width in positive_list((1.0,) if self.widths is None else self.widths, "widths"):
            families = self._families(table, width, points)
            cells += self._cells(families, float(width))
        judge = copy(self)
        judge.space = self._choose_space(table, points).name  # folds have fewer rows
        judge._target = self._target.fitted(families[0].loss)
        return self._best(cells, judge._judged(data, table, groups, cells))

    def _statistics_weights(self, family: StatisticsFamily) -> Weights:
        check_rule(self.selection_rule)
        if self.widths is not None or self.scoring is not None:
            raise InvalidParameterError(
                "Statistics have one width and one score, the mean squared error; got "
                f"widths={self.widths!r}, scoring={self.scoring!r}. Leave both at None."
            )
        cells, statistics = self._cells([family], 1.0), family.statistics

        def candidates(k: int) -> Iterator[Candidate]:
            families = [(family.without(k), Refits())]
            test = statistics.fold(k)
            for cell in cells:
                for (step,) in self._steps(cell, families):
                    assert step.function.u is not None
                    fitted = step.function
                    error = float(test.mean_squared_error(fitted.u, fitted.intercept))
                    yield _candidate([step], score=-error)

        judged = [outcomes_of(candidates(k)) for k in range(statistics.n_folds)]
        return self._best(cells, by_key(judged))

    def _best(self, cells: list[Cell], outcomes: dict[str, Array]) -> Weights:
        """The weights of the candidate that the rule takes."""
        params = grid_points(cells)
        chosen = self._keep_choice(
            choose(
                params,
                outcomes,
                rule=self.selection_rule,
                scoring=self.scoring,
                allowed=outcomes["steepness"].mean(axis=0) <= STEEPNESS_LIMIT,
                ties=np.array([p["alpha"] for p in params]),  # the least shrunk among equals
            )
        )
        return Weights(**chosen)

    def _cells(
        self, families: list[ProblemFamily] | list[StatisticsFamily], width: float
    ) -> list[Cell]:
        """The cells of one width."""
        ridges = positive_list(DEFAULT_RIDGES if self.ridges is None else self.ridges, "ridges")
        unit = 1.0 if self.ridges is not None else max(map(_smallest_ridge, families))
        null_first = self.debias and isinstance(self.alphas, int | np.integer)
        return [
            Cell(
                self._alphas(families, unit * ridge),
                {"ridge": float(unit * ridge), "width": width},
                null_first,
            )
            for ridge in ridges
        ]

    def _alphas(self, families: Iterable[ProblemFamily], ridge: float) -> Array:
        if not isinstance(self.alphas, int | np.integer):
            return np.sort(positive_list(self.alphas, "alphas"))[::-1]
        if self.alphas < 1:
            raise InvalidParameterError(
                f"alphas must be a positive number or a list; got {self.alphas!r}."
            )
        tops = [family.problem(ridge).alpha_max_and_scale() for family in families]
        grid = alpha_grid(max(scale for _, scale in tops), int(self.alphas), SMALLEST_FRACTION)
        grid[0] = max(top for top, _ in tops)  # the null model, in the folds as on all rows
        return grid

    def _candidates(self, train: Data, held_out: Data, grid: list[Cell]) -> Iterator[Candidate]:
        table = self._table(train)
        points = penalty_points(table, train.unlabelled)
        rows = table.scaler.transform(held_out.X)[:, table.columns], held_out.weights
        families: dict[float, list[tuple[ProblemFamily, Refits]]] = {}
        for cell in grid:
            width = cell.fixed["width"]
            if width not in families:
                families[width] = [(made, {}) for made in self._families(table, width, points)]
            for parts in self._steps(cell, families[width], *rows):
                model = as_fitted(self, [part.function for part in parts], table)
                yield _candidate(parts, model)

    def _steps(
        self, cell: Cell, families: Sequence[tuple[ProblemFamily, Refits]], *held_out: Array
    ) -> Iterator[tuple[Step, ...]]:
        """What each family's problem gives at each alpha of a cell."""
        solver = as_solver(self.solver, max(self.tol, FOLD_TOL), self.max_iter, self._loss())
        walks = [_path_steps(self.debias, *family, solver, cell, held_out) for family in families]
        return zip(*walks, strict=True)


def _smallest_ridge(family: ProblemFamily) -> float:
    """Leave-one-out choice, but large enough for the folds' problems to be well-posed."""
    return max(family.best_ridge(), RIDGE_FRACTION * family.trace)


class Step(NamedTuple):
    """A fitted function, its support, its steepness at held-out rows, its time."""

    function: Function
    support: Mask
    steepness: float
    seconds: float


def _candidate(parts: Sequence[Step], model: Any = None, score: float = np.nan) -> Candidate:
    return Candidate(
        model,
        size=float(np.any([part.support for part in parts], axis=0).sum()),
        seconds=sum(part.seconds for part in parts),
        more={"steepness": max(part.steepness for part in parts)},
        score=score,
    )


def _path_steps(
    debias: bool,
    family: ProblemFamily,
    refits: Refits,
    solver: Solver[Any],
    cell: Cell,
    held_out: tuple[Array, ...],
) -> list[Step]:
    """The function that ``predict`` would use at each alpha of a cell, the largest first.

    The walk goes from the smallest alpha up, until nothing new can come: larger alphas select
    nothing, or nothing that means anything.
    """
    free = family.problem(cell.fixed["ridge"])
    always = np.asarray(free.penalty.partition.spread(free.penalty.weights)) == 0
    alphas = cell.alphas[1:] if cell.null_first else cell.alphas
    found: list[Step] = []
    start = perf_counter()
    for problem, solution in walk_path(free, alphas[::-1], solver):
        support = support_of(problem, solution)
        key, refit = support.tobytes(), debias and family.can_refit(support)
        if refit and key not in refits:
            refits[key] = family.refit(support).function
        function = refits[key] if refit else family.function(solution)
        steepness = family.steepness(solution, *held_out)
        now = perf_counter()
        found.append(Step(function, support, steepness, now - start))
        start = now
        if not (support & ~always).any() or steepness > HOPELESS:
            break
    if found:
        last = found[-1]._replace(seconds=0.0)
        if (last.support & ~always).any():
            last = last._replace(steepness=np.inf)
        found += [last] * (len(alphas) - len(found))
    if cell.null_first:
        found.append(Step(family.refit(always).function, always, 1.0, 0.0))
    return found[::-1]


@estimator
class DerivativeLasso(DerivativeNumbers, GivenWeights):
    r"""Lasso on partial derivatives: the penalty is :math:`\alpha \sum_a \|\partial_a f\|_n`.

    ``feature_groups`` make it the group lasso, :math:`\sum_g w_g \|\partial_g f\|_n` with
    :math:`\|\partial_g f\|_n^2` the sum over the variables of the group; ``l1_ratio`` below one
    makes it the elastic net, :math:`\mu \sum_a \|\partial_a f\|_n + (1 - \mu) \sum_a
    \|\partial_a f\|_n^2`.

    Examples
    --------
    >>> from nablasso import DerivativeLasso
    >>> from nablasso.datasets import make_product
    >>> data = make_product(80, 5, random_state=0)
    >>> model = DerivativeLasso(kernel="polynomial", alpha=0.1).fit(data.X, data.y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1']
    """


@estimator
class DerivativeLassoClassifier(DerivativeClasses, GivenWeights):
    """Lasso on the partial derivatives of the log-odds; group lasso and elastic net too.

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import DerivativeLassoClassifier
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = DerivativeLassoClassifier(kernel="polynomial", alpha=0.1).fit(X, y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1']
    """


@estimator
class DerivativeLassoCV(DerivativeNumbers, ChosenWeights):
    """:class:`DerivativeLasso` with ``alpha``, ``ridge`` and width by cross-validation."""


@estimator
class DerivativeLassoClassifierCV(DerivativeClasses, ChosenWeights):
    """:class:`DerivativeLassoClassifier` with its parameters by cross-validation."""
