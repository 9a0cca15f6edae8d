"""Widths and weights of non-negative functions by cross-validation.

Scores are held-out log-likelihoods, or negative losses. In each fold and for each width features
are made once; the weights are a path from heavy to light, each fit starting from the one before.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from threadpoolctl import threadpool_limits

from nablasso.data.table import Table
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.cone import ConeValued
from nablasso.estimators.cross_validation import Fold, choose, draw_folds, on_folds
from nablasso.estimators.docs import document
from nablasso.estimators.heteroscedastic import MeanAndNoise
from nablasso.estimators.psd_base import NonnegativeEstimator
from nablasso.estimators.psd_density import DensityEstimator
from nablasso.estimators.psd_regressor import NonnegativeMean
from nablasso.estimators.quantile import TOL, Quantiles
from nablasso.nonnegative import Fit, InfeasibleError, Task
from nablasso.solvers import Status
from nablasso.types import Array

FOLD_TOL = 1e-3  # nats: a fold's fit need not be more exact than its score
FOLD_ITER = 300
TUNING_ROWS = 5000  # rows that candidates are judged on


class Candidate(NamedTuple):
    """Multiplier of the length scale and weights of the penalties."""

    width: float
    weight: float
    linear_weight: float


class Data(NamedTuple):
    """Validated arrays."""

    X: Array
    y: Array
    weights: Array


@dataclass(eq=False, repr=False)
class CrossValidated(NonnegativeEstimator):
    """Choose by cross-validation, then fit on all rows."""

    _: KW_ONLY
    widths: Any = None
    weights: Any = None
    cv: Any = 5
    n_jobs: int | None = None

    default_widths: ClassVar[tuple[float, ...]] = (0.25, 0.5, 1.0)
    default_weights: ClassVar[tuple[float, ...]] = (1e-1, 1e-2, 1e-3, 1e-4)
    has_linear: ClassVar[bool] = True
    fold_tol: ClassVar[float] = 0.0  # losses may be as small as they like: tol itself

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose width and weights, then fit on all rows.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row; scores are weighted too.
        groups : array-like, shape (n_samples,), optional
            Groups of rows for the splitter.

        Returns
        -------
        self
        """
        self._check_parameters()
        candidates = self._candidates()
        data = Data(*self._validate(X, y, sample_weight))
        table = self._prepare(*data)
        self._look_at(table)
        folds = self._folds(data, table, groups)
        self._store(candidates, on_folds(self, score_fold, folds, self, data, candidates))
        return self._fit_at(table, *candidates[self.best_index_])

    def _candidates(self) -> list[Candidate]:
        """The grid, weights within widths, heaviest first."""
        widths = _positive(self.default_widths if self.widths is None else self.widths, "widths")
        given = self.default_weights if self.weights is None else self.weights
        pairs = _positive(given, "weights", pairs=self.has_linear, share=self.linear_share)
        ordered = sorted({(float(w), float(v)) for w, v in pairs}, reverse=True)
        return [
            Candidate(float(width), *pair)
            for width in sorted(widths[:, 0], reverse=True)
            for pair in ordered
        ]

    def _folds(self, data: Data, table: Table, groups: Any) -> list[Fold]:
        """Folds over the rows, or over as many as candidates are judged on."""
        folds = draw_folds(self.cv, data.X, data.y, groups, table, self.random_state)
        if len(table.X) <= TUNING_ROWS:
            return folds
        judged = (table.rows >= 0) & (table.rows < TUNING_ROWS)  # canonical: as good as random
        kept = [(train[judged[train]], test[judged[test]]) for train, test in folds]
        return [fold for fold in kept if all(map(len, fold))]

    def _store(self, candidates: list[Candidate], done: list[Array]) -> None:
        """Choose by what the folds said: score and seconds of each candidate."""
        scores, seconds = np.array(done).transpose(1, 0, 2)
        if np.isnan(scores).all():
            warnings.warn(
                f"No fold of {type(self).__name__} can be fitted (a column is constant in each), "
                "so nothing was tuned and the widest kernel with the largest weight is used.",
                UserWarning,
                stacklevel=3,
            )
            scores = seconds = np.zeros_like(scores)
        elif len(getattr(self, "constraints", ())) and np.isneginf(scores).any():
            self._warn_of_infeasible(candidates, np.isneginf(scores).any(axis=0))
        elif np.isneginf(scores).any(axis=0).all():
            warnings.warn(
                f"Every candidate of {type(self).__name__} gives some held-out row probability "
                "zero, so nothing can be compared. Use another model, or a base_measure.",
                UserWarning,
                stacklevel=3,
            )
        keys = Candidate._fields if self.has_linear else Candidate._fields[:2]
        params = [{key: getattr(c, key) for key in keys} for c in candidates]
        choice = choose(params, {"score": scores, "fit_time": seconds})
        self.cv_results_, self.best_index_ = choice
        self.best_params_, self.best_score_ = choice.params, choice.score

    def _warn_of_infeasible(self, candidates: list[Candidate], unmet: Any) -> None:
        widths = sorted({c.width for c, bad in zip(candidates, unmet, strict=True) if bad})
        names = ", ".join(f"{width:g}" for width in widths)
        warnings.warn(
            f"In some fold no density of width {names} was found that meets the constraints; "
            "candidates of that width are out.",
            UserWarning,
            stacklevel=4,
        )


def score_fold(probe: Any, data: Data, candidates: list[Candidate], fold: Fold) -> Array:
    """Held-out score and seconds of every candidate, shape (2, candidates)."""
    probe = copy(probe)
    train, test = fold
    out = np.full((2, len(candidates)), np.nan)
    with threadpool_limits(1, user_api="blas"):
        try:
            table = probe._prepare(data.X[train], data.y[train], data.weights[train])
        except InvalidDataError:  # a column constant in this fold: no density to judge
            return out
        for width in dict.fromkeys(c.width for c in candidates):
            chosen = [i for i, c in enumerate(candidates) if c.width == width]
            started = time.perf_counter()
            out[0, chosen] = -np.inf  # until fitted
            with suppress(InfeasibleError):  # at this width no density meets the constraints
                for i, task, fitted in _fits(probe, table, candidates, chosen):
                    if fitted.status is Status.INTERRUPTED:
                        raise KeyboardInterrupt
                    probe._unpack(task, fitted, table)
                    score = probe._held_out(data.X[test], data.y[test], data.weights[test])
                    out[:, i] = score, time.perf_counter() - started
                    started = time.perf_counter()
    return out


def _fits(
    probe: Any, table: Table, candidates: list[Candidate], chosen: list[int]
) -> Iterator[tuple[int, Task, Fit]]:
    """Fits of the candidates of one width, heaviest first."""
    tasks = [probe._task(table, *candidates[i]) for i in chosen]
    solver = getattr(probe.model, "solver", probe.solver)  # another model may have its own
    limit = FOLD_ITER if probe.max_iter is None and solver == "auto" else probe.max_iter
    path = probe._path(tasks, tol=max(probe.tol, probe.fold_tol), max_iter=limit)
    yield from zip(chosen, tasks, path, strict=True)


def _positive(values: Any, name: str, *, pairs: bool = True, share: float = 1.0) -> Array:
    """Positive numbers as (k, 2): pairs as they are, single ones and their share."""
    try:
        rows = [
            np.array([1.0, share]) * float(value)
            if np.ndim(value) == 0
            else np.broadcast_to(np.asarray(value, dtype=float), 2)
            for value in values
        ]
        array = np.array(rows)
    except (TypeError, ValueError):
        array = np.empty((0, 2))
    single = pairs or all(np.ndim(value) == 0 for value in values)
    if not array.size or not (np.isfinite(array) & (array > 0)).all() or not single:
        allowed = "positive numbers or pairs of such" if pairs else "positive numbers"
        raise InvalidParameterError(f"{name} must be a list of {allowed}; got {values!r}.")
    return array


@document
@dataclass(eq=False, repr=False)
class PSDDensityCV(CrossValidated, DensityEstimator):
    """:class:`PSDDensity` with width and weight of largest held-out log-likelihood.

    Parameters
    ----------
    {psd_cv}
    {psd}
    {psd_base}

    Attributes
    ----------
    density_ : PSDModel
        The density in the units of ``X``.
    {psd_cv_attributes}
    {psd_attributes}
    """

    default_widths: ClassVar[tuple[float, ...]] = (0.35, 0.6, 1.0)
    default_weights: ClassVar[tuple[float, ...]] = (30.0, 3.0, 0.3, 0.03, 0.003)
    fold_tol: ClassVar[float] = FOLD_TOL
    has_linear: ClassVar[bool] = False


@document
@dataclass(eq=False, repr=False)
class PSDRegressorCV(CrossValidated, NonnegativeMean):
    """:class:`PSDRegressor` with width and weight of smallest held-out loss.

    Parameters
    ----------
    {psd_cv}
    loss : {"squared", "poisson"}, default="squared"
        As in :class:`PSDRegressor`.
    {psd}
    {psd_intercept}
    {psd_metric}

    Attributes
    ----------
    {psd_cv_attributes}
    {psd_support}
    {psd_attributes}
    """

    has_linear: ClassVar[bool] = False


@document
@dataclass(eq=False, repr=False)
class HeteroscedasticRegressorCV(CrossValidated, MeanAndNoise):
    """:class:`HeteroscedasticRegressor` with parameters of largest held-out log-likelihood.

    Parameters
    ----------
    {psd_cv}
    precision_floor : float, default=0.01
        As in :class:`HeteroscedasticRegressor`.
    {psd}
    {psd_intercept}
    {psd_metric}

    Attributes
    ----------
    support_mean_, support_noise_ : arrays of bool, shape (n_features,)
        Columns that the mean and that the noise level depend on.
    {psd_cv_attributes}
    {psd_support}
    {psd_attributes}
    """

    fold_tol: ClassVar[float] = FOLD_TOL


@document
@dataclass(eq=False, repr=False)
class MultiQuantileRegressorCV(CrossValidated, Quantiles):
    """:class:`MultiQuantileRegressor` with parameters of smallest held-out pinball loss.

    Parameters
    ----------
    levels : float or sequence of floats, default=(0.1, 0.5, 0.9)
        As in :class:`MultiQuantileRegressor`.
    {psd_cv}
    {psd}
    {psd_intercept}
    {psd_metric}

    Attributes
    ----------
    levels_ : array, shape (n_levels,)
        The levels in increasing order: the columns of predictions.
    {psd_cv_attributes}
    {psd_support}
    {psd_attributes}
    """

    _: KW_ONLY
    tol: float = TOL
    metric: str | None = "evidence"

    default_widths: ClassVar[tuple[float, ...]] = (0.5, 1.0, 2.0)
    default_weights: ClassVar[tuple[float, ...]] = (1e-2, 3e-3, 1e-3, 1e-4)


@document
@dataclass(eq=False, repr=False)
class ConeRegressorCV(CrossValidated, ConeValued):
    """:class:`ConeRegressor` with parameters of smallest held-out squared error.

    Parameters
    ----------
    cone : {"nonnegative", "monotone", "convex"} or array (n_outputs, n_inequalities)
        As in :class:`ConeRegressor`.
    {psd_cv}
    {psd}
    {psd_intercept}
    {psd_metric}

    Attributes
    ----------
    {psd_cv_attributes}
    {psd_support}
    {psd_attributes}
    """
