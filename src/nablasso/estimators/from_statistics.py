r"""Derivative regressors from sums over rows: more rows than memory, or rows on other machines.

Three steps: ``freeze`` on a sample fixes scaling, metric and features;
:class:`~nablasso.spaces.SufficientStatistics` of that space are collected from all rows, anywhere
and in any order; ``fit_statistics`` solves. The folds of the statistics choose what ``fit`` chooses
by leave-one-out or cross-validation, so that no row is read twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from nablasso.errors import InvalidParameterError
from nablasso.estimators.base import DerivativeSelector
from nablasso.estimators.fitting import Fit
from nablasso.estimators.fold_scores import Cell, Outcome
from nablasso.estimators.reading import CLEAR_GAIN, feature_kinds
from nablasso.kernels import as_kernel
from nablasso.losses import Squared
from nablasso.paths import Family, Formulation, StatisticsFamily, support_of, walk_path
from nablasso.solvers import Solver
from nablasso.spaces import FrozenSpace, SpaceChoice, SufficientStatistics
from nablasso.types import Array, Mask


@dataclass(eq=False, repr=False)
class StatisticsRegressor(DerivativeSelector):
    """What regressors share that fit from statistics."""

    def freeze(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_rows: int = 2000
    ) -> FrozenSpace:
        """Fix scaling, metric and Fourier features on a sample of the rows.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            A fair sample: a few thousand rows.
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
        n_rows : int, default=2000
            At most so many of the rows are used.

        Returns
        -------
        FrozenSpace
            What :class:`~nablasso.spaces.SufficientStatistics` are collected for.
        """
        X, y, weights = self._validate(X, y, sample_weight)
        table = self._prepare(X, y, weights).first(n_rows)
        self._check_statistics()
        family = Family(
            table,
            self._formulation(),
            metric=self._metric(table, table.y[:, None]),
            choice=SpaceChoice("fourier", "asked for"),
            n_components=self.n_components,
            random_state=self.random_state,
        )
        names = getattr(self, "feature_names_in_", None)
        assert family.features is not None
        return FrozenSpace.from_table(
            table,
            family.features,
            feature_names=None if names is None else tuple(str(name) for name in names),
            kernel=family.formulation.kernel,
            length_scale=family.width,
            scales=family.scales,
            kinds=tuple(str(kind) for kind in feature_kinds(X[table.rows >= 0])),
        )

    def _check_statistics(self) -> None:
        """Refuse what sums over rows cannot give."""
        if not isinstance(self._loss(), Squared):
            raise InvalidParameterError(
                f"Statistics serve the squared loss alone; got loss={self.loss!r}. Other losses "
                "need all rows at every step: use fit."
            )
        if self.n_jitter:
            raise InvalidParameterError(
                f"Statistics hold slopes at the rows; got n_jitter={self.n_jitter!r}. Set it to 0."
            )

    def _from(self, statistics: SufficientStatistics) -> Formulation:
        """What is asked for, in the frozen space; sets what scikit-learn wants to know."""
        self._check_statistics()
        statistics.warn_of_drift()
        space = statistics.space
        self.n_features_in_ = space.n_columns
        if space.feature_names is not None:
            self.feature_names_in_ = np.array(space.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        asked = self._formulation()
        kernel = clone(as_kernel(self.kernel)) if space.kernel is None else space.kernel
        return Formulation(
            kernel=kernel,
            length_scale=asked.length_scale,
            penalty=asked.penalty,
            fit_intercept=asked.fit_intercept,
            loss=asked.loss,
        )

    def _fit_family(
        self, family: StatisticsFamily, alpha: float | None, ridge: float | None
    ) -> Self:
        """Solve (P) and unpack the solution."""
        (fit,) = self._solved([family], alpha, ridge)
        space = family.statistics.space
        self._unpack_problems([fit], space.n_columns)
        self.approximation_error_ = float("nan")
        self.space_, self.space_reason_ = "fourier", "the space of the statistics"
        kinds = ("unknown",) * space.n_columns if space.kinds is None else space.kinds
        self.feature_kinds_ = np.array(kinds)
        usable = len(family.usable(fit.support)) > 0 or not fit.support.any()
        self.loo_r2_, self._loo_gain = _fold_gain(family, fit) if usable else (np.nan, np.inf)
        self._keep([fit.function(self.debias and usable)], family.table)
        few = self._loo_gain < CLEAR_GAIN
        self.selection_status_ = (
            "none found" if not fit.support.any() else "too few rows" if few else "clear"
        )
        self.twins_: list[tuple[int, int]] = []  # correlations of columns are not kept
        return self


def _fold_gain(family: StatisticsFamily, fit: Fit) -> tuple[float, float]:
    """R2 of the refit over the folds, and its gain in units of its standard error."""
    if family.statistics.n_folds < 2:
        return float("nan"), float("inf")
    chosen = family.usable(fit.support)
    folds = [fold for _, fold in family.regression.folds]
    shares = np.array([fold.weight for fold in folds])
    centre = family.moments.y_mean if family.formulation.fit_intercept else 0.0
    null = np.array([fold.y_variance + (fold.y_mean - centre) ** 2 for fold in folds])
    ours = family.fold_errors(chosen).errors if len(chosen) else null
    gain = null - ours
    mean = float(np.average(gain, weights=shares))
    error = float(np.std(gain, ddof=1)) / np.sqrt(len(gain))
    size = float(np.average(null, weights=shares))
    return (mean / size if size > 0 else 0.0), (mean / error if error > 0 else 0.0)


def judge_folds(
    statistics: SufficientStatistics,
    formulation: Formulation,
    cells: list[Cell],
    solver: Solver[Any],
    *,
    debias: bool,
) -> list[list[Outcome]]:
    """Every candidate on every fold of the statistics."""
    whole = StatisticsFamily(statistics, formulation)
    known: dict[bytes, Array] = {}

    def errors(support: Mask) -> Array:
        """Of the refit on a support, for all folds."""
        key = support.tobytes()
        if key not in known:
            chosen = whole.usable(support)
            known[key] = whole.fold_errors(chosen).errors if len(chosen) else _null(whole)
        return known[key]

    results = []
    for k in range(statistics.n_folds):
        family, test, outcomes = (
            StatisticsFamily(statistics, formulation, k),
            statistics.fold(k),
            [],
        )
        for cell in cells:
            found = []
            alphas = cell.alphas[1:] if cell.null_first else cell.alphas
            start = perf_counter()
            for problem, solution in walk_path(family.problem(cell.ridge), alphas[::-1], solver):
                support = support_of(problem, solution)
                function = family.function(solution)
                assert function.u is not None
                error = (
                    errors(support)[k]
                    if debias and (len(whole.usable(support)) or not support.any())
                    else test.mean_squared_error(function.u, function.intercept)
                )
                now = perf_counter()
                found.append(Outcome(-float(error), float(support.sum()), 1.0, now - start, 0.0))
                start = now
            if cell.null_first:
                always = problem.penalty.partition.spread(problem.penalty.weights) == 0
                error = float(errors(np.asarray(always))[k])
                found.append(Outcome(-error, float(np.sum(always)), 1.0, 0.0, 0.0))
            outcomes += found[::-1]
        results.append(outcomes)
    return results


def _null(family: StatisticsFamily) -> Array:
    """Mean squared errors of the mean without the fold, for all folds."""
    intercept = family.formulation.fit_intercept
    centres = [train.y_mean if intercept else 0.0 for train, _ in family.regression.folds]
    tests = [test for _, test in family.regression.folds]
    return np.array(
        [
            test.y_variance + (test.y_mean - centre) ** 2
            for test, centre in zip(tests, centres, strict=True)
        ]
    )
