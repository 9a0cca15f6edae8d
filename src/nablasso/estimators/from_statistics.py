r"""Derivative regressors from sums over rows: more rows than memory, or rows on other machines.

Three steps: ``freeze`` on a sample fixes scaling, metric and features;
:class:`~nablasso.streaming.SufficientStatistics` of that space are collected from all rows,
anywhere and in any order; ``fit_statistics`` solves. The folds of the statistics choose what
``fit`` chooses by leave-one-out or cross-validation, so that no row is read twice.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.estimators.answer import CLEAR_GAIN, feature_kinds
from nablasso.estimators.cross_validation import COUNTED, Cell
from nablasso.estimators.fitting import Fit
from nablasso.estimators.target import Data
from nablasso.losses import Squared
from nablasso.paths import ProblemFamily, StatisticsFamily, walk_path
from nablasso.solvers import Solver, support_of
from nablasso.spaces import SpaceChoice
from nablasso.streaming import FrozenSpace, SufficientStatistics
from nablasso.types import Array, Mask


def freeze(model: Any, data: Data, n_rows: int) -> FrozenSpace:
    """Scaling, metric and Fourier features of at most ``n_rows`` of the rows."""
    table = model._table(data).first(n_rows)
    _check(model)
    family = ProblemFamily(
        table,
        model._formulation(),
        metric=model._metric(table, table.y[:, None]),
        choice=SpaceChoice("fourier", "asked for"),
        n_components=model.n_components,
        random_state=model.random_state,
    )
    assert family.features is not None
    names = getattr(model, "feature_names_in_", None)
    return FrozenSpace.from_table(
        table,
        family.features,
        feature_names=None if names is None else tuple(str(name) for name in names),
        kernel=family.formulation.kernel,
        length_scale=family.width,
        scales=family.scales,
        kinds=tuple(str(kind) for kind in feature_kinds(data.X[table.rows >= 0])),
    )


def family_of(model: Any, statistics: SufficientStatistics) -> StatisticsFamily:
    """What is asked for, in the frozen space; sets what scikit-learn wants to know."""
    _check(model)
    statistics.warn_of_drift()
    space = statistics.space
    model.n_features_in_ = space.n_columns
    if space.feature_names is not None:
        model.feature_names_in_ = np.array(space.feature_names, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    formulation = model._formulation()
    if space.kernel is not None:
        formulation = replace(formulation, kernel=space.kernel)
    return StatisticsFamily(statistics, formulation)


def unpack(model: Any, family: StatisticsFamily, fit: Fit) -> None:
    """What the solution says, into the attributes of the model."""
    space = family.statistics.space
    model._unpack_problems([fit], space.n_columns)
    model.approximation_error_ = float("nan")
    model.space_, model.space_reason_ = "fourier", "the space of the statistics"
    kinds = ("unknown",) * space.n_columns if space.kinds is None else space.kinds
    model.feature_kinds_ = np.array(kinds)
    usable = len(family.usable(fit.support)) > 0 or not fit.support.any()
    model.loo_r2_, model._loo_gain = _fold_gain(family, fit) if usable else (np.nan, np.inf)
    model._keep([fit.function(model.debias and usable)], family.table)
    few = model._loo_gain < CLEAR_GAIN
    model.selection_status_ = (
        "none found" if not fit.support.any() else "too few rows" if few else "clear"
    )
    model.twins_ = []  # correlations of columns are not kept


def _check(model: Any) -> None:
    """Refuse what sums over rows cannot give."""
    if not isinstance(model._loss(), Squared):
        raise InvalidParameterError(
            f"Statistics serve the squared loss alone; got loss={model.loss!r}. Other losses "
            "need all rows at every step: use fit."
        )
    if model.n_jitter:
        raise InvalidParameterError(
            f"Statistics hold slopes at the rows; got n_jitter={model.n_jitter!r}. Set it to 0."
        )


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
    whole: StatisticsFamily, cells: list[Cell], solver: Solver[Any], *, debias: bool
) -> list[list[dict[str, float]]]:
    """Every candidate on every fold of the statistics."""
    statistics, formulation = whole.statistics, whole.formulation
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
        family, test = StatisticsFamily(statistics, formulation, k), statistics.fold(k)
        outcomes: list[dict[str, float]] = []
        for cell in cells:
            found = []
            alphas = cell.alphas[1:] if cell.null_first else cell.alphas
            start = perf_counter()
            for problem, solution in walk_path(
                family.problem(cell.fixed["ridge"]), alphas[::-1], solver
            ):
                support = support_of(problem, solution)
                function = family.function(solution)
                assert function.u is not None
                error = (
                    errors(support)[k]
                    if debias and (len(whole.usable(support)) or not support.any())
                    else test.mean_squared_error(function.u, function.intercept)
                )
                now = perf_counter()
                found.append(_outcome(-float(error), support, now - start))
                start = now
            if cell.null_first:
                always = problem.penalty.partition.spread(problem.penalty.weights) == 0
                error = float(errors(np.asarray(always))[k])
                found.append(_outcome(-error, always, 0.0))
            outcomes += found[::-1]
        results.append(outcomes)
    return results


def _outcome(score: float, support: Mask, seconds: float) -> dict[str, float]:
    known = score, float(np.sum(support)), seconds, 0.0
    return {**dict(zip(COUNTED, known, strict=True)), "steepness": 1.0}


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
