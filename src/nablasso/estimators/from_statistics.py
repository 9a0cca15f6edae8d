r"""Derivative regressors from sums over rows: more rows than memory, or rows on other machines.

Three steps: ``freeze`` on a sample fixes scaling, metric and features;
:class:`~nablasso.streaming.SufficientStatistics` of that space are collected from all rows,
anywhere and in any order; ``fit_statistics`` solves. The folds of the statistics choose what
``fit`` chooses by leave-one-out or cross-validation, so that no row is read twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.estimators.fitting import Fit
from nablasso.estimators.outcome import CLEAR_GAIN, feature_kinds
from nablasso.estimators.target import Data
from nablasso.losses import Squared
from nablasso.paths import ProblemFamily, StatisticsFamily
from nablasso.spaces import SpaceChoice
from nablasso.streaming import FrozenSpace, SufficientStatistics


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
    usable = family.can_refit(fit.support)
    model.loo_r2_, model._loo_gain = family.fold_gain(fit.support) if usable else (np.nan, np.inf)
    model._keep([fit.function(model.debias and usable)], family.table)
    few = model._loo_gain < CLEAR_GAIN
    model.selection_status_ = (
        "none found" if not fit.support.any() else "too few rows" if few else "clear"
    )
    model.twins_ = []  # correlations of columns are not kept
    model._n_rows = family.moments.n_samples


def _check(model: Any) -> None:
    """Refuse what sums over rows cannot give."""
    if not isinstance(model._loss(), Squared):
        raise InvalidParameterError(
            f"Statistics serve the squared loss alone; got loss={model.loss!r}. Other losses "
            "need all rows at every step: use fit."
        )
