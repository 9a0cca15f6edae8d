"""The common face of the estimators of functions that must stay non-negative.

Validate, make a :class:`~nablasso.nonnegative.Task`, fit it by the chosen model, unpack.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, check_weights, prepare
from nablasso.errors import InvalidParameterError
from nablasso.estimators.psd_evidence import evidence_scales
from nablasso.estimators.psd_metric import check_metric, learn
from nablasso.estimators.psd_ranks import Ranks
from nablasso.estimators.reading import CLEAR_GAIN
from nablasso.estimators.validation import (
    check_length_scale,
    check_new_data,
    check_training_data,
    feature_names,
    group_labels,
)
from nablasso.kernels import Gaussian, length_scale
from nablasso.nonnegative import SOLVERS, Fit, PSDFitter, Task
from nablasso.solvers import Status
from nablasso.types import Array

LIGHTER = 0.01  # linear_weight over weight where the mean or middle is free and the spread is not


@dataclass(eq=False, repr=False)
class NonnegativeEstimator(BaseEstimator, ABC):
    """Parameters that densities and regressors share; each declares its own task."""

    _: KW_ONLY
    model: Any = "psd"
    length_scale: Any = "median"
    l1_ratio: float = 0.1
    rank: int | None = 200
    solver: str = "auto"
    standardize: bool = True
    tol: float = 1e-5
    max_iter: int | None = None
    random_state: Any = None
    verbose: int = 0

    linear_share: ClassVar[float] = 1.0  # linear_weight in units of weight, where it is not given

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        """Inputs, targets and weights."""

    @abstractmethod
    def _task(self, table: Table, width: float, weight: float, linear_weight: float) -> Task:
        """What is to be fitted on a table."""

    @abstractmethod
    def _unpack(self, task: Task, fitted: Fit, table: Table) -> None:
        """Remember what predicts."""

    @abstractmethod
    def _held_out(self, X: Array, y: Array, weights: Array) -> float:
        """Score of rows not seen in fit: mean log-likelihood, or a negative mean loss."""

    def summary(self) -> str:
        """The result in words."""
        check_is_fitted(self)
        gap = f", within {self.dual_gap_:.1e} of the optimum" if self.dual_gap_ >= 0 else ""
        return " ".join(
            [
                f"{type(self).__name__} of {self.n_features_in_} columns by the {self.model} "
                f"model: objective {self.objective_:.4g}{gap} ({self.solver_status_}, "
                f"{self.n_iter_} steps), length scale {self.length_scale_:.3g}.",
                *self._words(),
            ]
        )

    def _words(self) -> list[str]:
        """Sentences of the summary that are the estimator's own."""
        return []

    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        table = prepare(X, y, weights, standardize=self.standardize, centre_y=False)
        kept = y[weights > 0]
        if np.ptp(table.y) == 0:  # where y is constant a table holds zeros
            return replace(table, y=np.full(len(table.y), float(kept.mean())))
        return table

    def _check_parameters(self) -> None:
        if self.model != "psd" and not hasattr(self.model, "fit"):
            raise InvalidParameterError(
                f'model must be "psd" or an object that fits a task; got {self.model!r}.'
            )
        allowed = SOLVERS if self.model == "psd" else ("auto",)
        if self.solver not in allowed:
            raise InvalidParameterError(
                f"solver must be {' or '.join(map(repr, allowed))} with model={self.model!r}; got "
                f"{self.solver!r}."
            )
        check_length_scale(self.length_scale)
        check_positive(self.tol, "tol")
        if not isinstance(self.l1_ratio, Real) or not 0 <= self.l1_ratio < 1:
            raise InvalidParameterError(
                f"l1_ratio must be at least 0 and less than 1; got {self.l1_ratio!r}."
            )
        for name in ("rank", "max_iter"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Integral) or value < 1):
                raise InvalidParameterError(
                    f"{name} must be a whole number of at least 1, or None; got {value!r}."
                )

    def _look_at(self, table: Table) -> None:
        """What is done once, before the first fit."""
        self.selection_status_ = "all columns"

    def _fit_at(self, table: Table, width: float, weight: float, linear_weight: float) -> Self:
        """Fit on a table and unpack."""
        task = self._task(table, width, weight, linear_weight)
        (fitted,) = self._path([task], tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)
        self._finish(task, fitted, table)
        return self

    def _path(
        self, tasks: list[Task], *, tol: float, max_iter: int | None, verbose: int = 0
    ) -> Iterable[Fit]:
        """Fits of tasks that differ in their weights alone, from heavy to light."""
        if self.model != "psd":
            return (self.model.fit(task, tol=tol, max_iter=max_iter) for task in tasks)
        weights = [(task.l1, task.l2) for task in tasks]
        return PSDFitter(tasks[0], verbose, self.solver).path(weights, tol=tol, max_iter=max_iter)

    def _finish(self, task: Task, fitted: Fit, table: Table) -> None:
        self._unpack(task, fitted, table)
        self.objective_, self.dual_gap_ = fitted.primal, fitted.gap
        self.n_iter_, self.solver_status_ = max(1, fitted.n_iter), fitted.status.value
        largest = float(task.scales.max())
        self.length_scale_ = 1 / largest if largest > 0 else np.inf  # no column matters
        self._warn_unless_converged(fitted)

    def _width_of(self, table: Table, width: float) -> float:
        """Length scale on the inputs of a table."""
        X = inputs_of(table)
        return length_scale(Gaussian(), X, table.weights, self.length_scale, width)

    def _penalties(self, nonnegative: tuple[bool, ...], weight: float, linear_weight: float) -> Any:
        """``l1`` and ``l2`` of each block."""
        signs = np.array(nonnegative)
        l1 = np.where(signs, weight * self.l1_ratio, 0.0)
        return l1, np.where(signs, weight * (1 - self.l1_ratio), linear_weight)

    def _seed(self) -> int:
        """One number that fixes every random choice of a fit."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _inside(self, X: Array) -> Array:
        """Rows in the units of the task."""
        inside = self._scaler.transform(X)[:, self._columns]
        return inside if self._columns.size else np.zeros((len(X), 1))

    def _keep_units(self, table: Table) -> None:
        self._scaler, self._columns = table.scaler, table.columns

    def _warn_unless_converged(self, fitted: Fit) -> None:
        if fitted.status is Status.CONVERGED:
            return
        bound = (
            f" with duality gap {fitted.gap:.1e} (tolerance {self.tol:.1e}). The gap still bounds "
            "the error."
            if np.isfinite(fitted.gap)
            else ". Nothing bounds the error of this model."
        )
        warnings.warn(
            f"{type(self).__name__} stopped after {fitted.n_iter} iterations "
            f"({fitted.status.value}){bound} Raise max_iter, loosen tol, or raise weight.",
            ConvergenceWarning,
            stacklevel=4,
        )


@dataclass(eq=False, repr=False)
class Given(NonnegativeEstimator):
    """Fit at one width and one weight."""

    _: KW_ONLY
    width: float = 1.0
    weight: float = 0.01

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the functions.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, y, weights = self._validate(X, y, sample_weight)
        table = self._prepare(X, y, weights)
        self._look_at(table)
        linear = getattr(self, "linear_weight", None)
        return self._fit_at(
            table,
            float(self.width),
            float(self.weight),
            float(self.linear_share * self.weight if linear is None else linear),
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.width, "width")
        check_positive(self.weight, "weight")


@dataclass(eq=False, repr=False)
class GivenLinear(Given):
    """Fit at one width, one weight and one weight of functions of any sign."""

    _: KW_ONLY
    linear_weight: float | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.linear_weight is not None:
            check_positive(self.linear_weight, "linear_weight")


@dataclass(eq=False, repr=False)
class NonnegativeRegressor(RegressorMixin, NonnegativeEstimator, ABC):
    """What the regressors share."""

    _: KW_ONLY
    fit_intercept: bool = True
    metric: str | None = None
    feature_groups: Any = None
    always_keep: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_metric(self.metric)

    def _look_at(self, table: Table) -> None:
        """Relative scale of every column of the input for each function, zero when dropped."""
        super()._look_at(table)
        d, learned = int(self.n_features_in_), np.ones((1, len(table.columns)))
        if self.metric == "evidence":
            learned = self._by_evidence(table)
        elif self.metric == "adaptive" and table.X.shape[1]:
            scales, gain = self._learned(table)
            learned = scales / table.deviations
            found = "clear" if gain >= CLEAR_GAIN else "too few rows"
            self.selection_status_ = found if scales.any() else "none found"
        shape = (len(learned), 2 if self.metric == "evidence" else 1)  # columns and their ranks
        self._relative = np.zeros((*shape, d))
        self._relative[:, :, table.columns] = learned.reshape(*shape, len(table.columns))
        self._keep_support(self._relative.any(axis=1))

    def _by_evidence(self, table: Table) -> Array:
        """Scales of the columns and of their ranks, one row for all functions."""
        labels = group_labels(self, self.feature_groups)[table.columns]
        X, targets = self._inputs(table), self._targets_of(table)
        doubled = np.concatenate([labels, labels + 1 + labels.max(initial=0)])
        units = np.concatenate([table.deviations, np.ones(len(labels))])
        if not table.X.shape[1]:
            return np.ones((1, 0))
        scales = evidence_scales(X / units, targets, table.weights, doubled)
        return np.asarray(scales / units)[None, :]

    def _targets_of(self, table: Table) -> Array:
        """Targets (n, q) that say how fast functions change along the columns."""
        return table.y[:, None]

    def _inputs(self, table: Table) -> Array:
        """What the kernels see of a table: columns, and with evidence their ranks."""
        if self.metric != "evidence" or not table.X.shape[1]:
            return inputs_of(table)
        return np.hstack([table.X, Ranks(table.X, table.weights)(table.X)])

    def _inside(self, X: Array) -> Array:
        inside = super()._inside(X)
        if self.metric != "evidence" or not self._columns.size:
            return inside
        return np.hstack([inside, self._ranks(inside)])

    def _keep_units(self, table: Table) -> None:
        super()._keep_units(table)
        self._ranks = Ranks(table.X, table.weights)

    def _learned(self, table: Table) -> tuple[Array, float]:
        """Scales of the table's columns, one row per function or one for all, and their gain."""
        found = learn(self, table, table.y)
        return found.scales[None, :], found.gain

    def _words(self) -> list[str]:
        """Which columns matter, where that was asked for."""
        if self.metric != "adaptive":
            return []
        return [f"It depends on {named(self, self.support_)}."]

    def _keep_support(self, used: Any) -> None:
        """Columns that each function uses, shape (m, d)."""
        self.support_ = np.asarray(used.any(axis=0))

    def _scales_of(self, table: Table, width: float, n_blocks: int) -> Array:
        """Multipliers of the table's columns for each function, shape (m, d)."""
        if not table.X.shape[1]:
            return np.ones((n_blocks, 1))
        relative = self._relative[:, :, table.columns].reshape(len(self._relative), -1)
        X, rule = self._inputs(table), self.length_scale
        made = [
            scales / length_scale(Gaussian(), X * scales, table.weights, rule, width)
            for scales in relative
        ]
        return np.array([made[min(b, len(made) - 1)] for b in range(n_blocks)])

    def _keep_scales(self, task: Task) -> None:
        self.scales_ = np.zeros(int(self.n_features_in_))
        if self._columns.size:
            largest = task.scales.max(axis=0).reshape(-1, self._columns.size)
            self.scales_[self._columns] = np.sqrt(np.sum(largest**2, axis=0))

    def _finish(self, task: Task, fitted: Fit, table: Table) -> None:
        super()._finish(task, fitted, table)
        self._keep_scales(task)

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        X, y = check_training_data(self, X, y)
        return X, y, check_weights(sample_weight, len(X))

    def _block_values(self, X: Any) -> Array:
        """Values of the block functions at new rows, shape (k, m)."""
        inside = self._inside(check_new_data(self, X))
        return np.column_stack([function.values(inside) for function in self.functions_])

    def _block_gradients(self, X: Any) -> Array:
        """Gradients of the block functions in the units of ``X``, shape (k, d, m)."""
        X = check_new_data(self, X)
        inside = self._inside(X)
        out = np.zeros((*X.shape, len(self.functions_)))
        if self._columns.size:
            r = self._columns.size
            for b, function in enumerate(self.functions_):
                slopes = function.gradients(inside)
                if slopes.shape[1] > r:  # by way of the ranks too
                    slopes = slopes[:, :r] + slopes[:, r:] * self._ranks.slopes(inside[:, :r])
                out[:, self._columns, b] = slopes / self._scaler.scale[self._columns]
        return out


def named(estimator: BaseEstimator, mask: Any) -> str:
    """Names of columns in a sentence."""
    names = [name for name, kept in zip(feature_names(estimator), mask, strict=True) if kept]
    return ", ".join(names) or "no column"


def inputs_of(table: Table) -> Array:
    """Standardised inputs; a column of zeros where none varies."""
    return table.X if table.X.shape[1] else np.zeros((len(table.X), 1))


def check_count(value: Any, name: str) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not isinstance(value, Integral) or value < 1:
        raise InvalidParameterError(f"{name} must be a whole number of at least 1; got {value!r}.")


def check_positive(value: Any, name: str) -> None:
    """Refuse anything but a positive number."""
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise InvalidParameterError(f"{name} must be a positive number; got {value!r}.")
