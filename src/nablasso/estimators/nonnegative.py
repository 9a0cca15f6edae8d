"""What the estimators of functions that must stay non-negative share.

Validate, make a :class:`~nablasso.nonnegative.Task`, fit it, unpack. A class says what its task is
and what it predicts, at given width and weights; as ``...CV`` it is tuned (:class:`TunedPenalty`).
Tuning compares held-out log-likelihoods, or negative losses: in each fold and for each width
features are made once; the weights are a path from heavy to light, each fit starting from the one
before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import groupby
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, prepare
from nablasso.errors import InvalidDataError, InvalidParameterError, warn, warn_of_gap
from nablasso.estimators.cross_validation import (
    Candidate,
    CrossValidated,
    Fold,
    by_key,
    choose,
    draw_folds,
    judge_fold,
    on_folds,
    positive_list,
)
from nablasso.estimators.parameters import KW_ONLY, estimator, fixed, parameter
from nablasso.estimators.target import Data
from nablasso.estimators.validation import check_count, check_length_scale
from nablasso.kernels.base import positive, width_by_rule
from nablasso.nonnegative import SOLVERS, FittedTask, InfeasibleError, PSDFitter, Task
from nablasso.solvers import Status
from nablasso.types import Array

FOLD_TOL = 1e-3  # nats: a fold's fit need not be more exact than its score
FOLD_ITER = 300
TUNING_ROWS = 5000  # rows that candidates are judged on


class WidthAndWeights(NamedTuple):
    """Multiplier of the length scale and weights of the penalties."""

    width: float
    weight: float
    linear_weight: float


@estimator
class NonnegativeEstimator(BaseEstimator, ABC):
    """Parameters that densities and regressors share; each declares its own task.

    Attributes
    ----------
    objective_ : float
        Objective reached, in units of the scaled target.
    dual_gap_ : float
        Bound on its distance from the optimum (nan for models without one).
    n_iter_, solver_status_
        Steps of the solver, and how it ended.
    length_scale_ : float
        Width of the kernel on standardised inputs.
    selection_status_ : str
        ``"all columns"`` or, with ``metric="adaptive"``, ``"clear"``, ``"too few rows"`` or
        ``"none found"``.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _: KW_ONLY
    width: float = parameter(1.0, "float", "Multiplier of ``length_scale``.")
    weight: float = parameter(
        0.01, "float", "Weight of the penalty of functions that are not negative."
    )
    model: Any = parameter(
        "psd",
        '"psd" or object',
        "How functions stay non-negative: by a positive semidefinite matrix, or by an object whose "
        "``fit(task, tol=..., max_iter=...)`` returns a :class:`nablasso.nonnegative.FittedTask`, "
        "such as those that the experiments compare it to.",
    )
    length_scale: Any = parameter(
        "median",
        'float or {"median", "half_median", "neighbour20", "median20"}',
        "Width of the Gaussian kernel on standardised inputs: a number, or a rule measured on the "
        "data.",
    )
    l1_ratio: float = parameter(
        0.1,
        "float",
        "Share of the trace in the penalty: larger gives matrices of lower rank. Less than 1.",
    )
    rank: int | None = parameter(
        200,
        "int or None",
        "Largest number of anchor points of a non-negative function, chosen by randomly pivoted "
        "Cholesky; functions of any sign have up to twice as many. None for as many as the kernel "
        "matrix has rank.",
    )
    solver: str = parameter(
        "auto",
        '{"auto", "fista"}',
        '``"auto"``: Newton\'s method on the dual, an interior point method for quantiles. '
        '``"fista"``: the paper\'s own algorithm, for reference.',
    )
    standardize: bool = parameter(
        True, "bool", "Centre the columns and divide them by their standard deviation."
    )
    tol: float = parameter(1e-5, "float", "Duality gap to reach.")
    max_iter: int | None = parameter(
        None,
        "int",
        'Steps of the solver for each weight on the way; by default 1000, 20000 of ``"fista"``.',
    )
    random_state: Any = parameter(
        None,
        "int or RandomState",
        "Draws the anchor points and, where folds are drawn for a number ``cv``, shuffles them; "
        "without it both are fixed by the data.",
    )
    verbose: int = parameter(0, "int", "Log progress on the ``nablasso`` logger.")

    linear_share: ClassVar[float] = 1.0  # linear_weight in units of weight, where it is not given

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Inputs, targets and weights."""

    @abstractmethod
    def _task(self, table: Table, penalty: WidthAndWeights) -> Task:
        """What is to be fitted on a table."""

    @abstractmethod
    def _unpack(self, task: Task, fitted: FittedTask, table: Table) -> None:
        """Remember what predicts."""

    @abstractmethod
    def _held_out(self, data: Data) -> float:
        """Score of rows not seen in fit: mean log-likelihood, or a negative mean loss."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the functions.

        Parameters
        ----------
        y : array-like, shape (n_samples,); ignored by densities, of a cone (n_samples, n_outputs)
        """
        self._check_parameters()
        table = self._look_at(self._validate(X, y, sample_weight))
        linear = getattr(self, "linear_weight", None)
        linear = self.linear_share * self.weight if linear is None else linear
        return self._fit_at(
            table, WidthAndWeights(float(self.width), float(self.weight), float(linear))
        )

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
        positive(self.tol, "tol")
        if not isinstance(self.l1_ratio, Real) or not 0 <= self.l1_ratio < 1:
            raise InvalidParameterError(
                f"l1_ratio must be at least 0 and less than 1; got {self.l1_ratio!r}."
            )
        for name in ("rank", "max_iter"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name, ", or None")
        for name in ("width", "weight", "linear_weight"):
            if getattr(self, name, None) is not None:
                positive(getattr(self, name), name)

    def _prepare(self, data: Data) -> Table:
        X, y, weights, _ = data
        table = prepare(X, y, weights, standardize=self.standardize, centre_y=False)
        if np.ptp(table.y) == 0:  # where y is constant a table holds zeros
            kept = float(y[weights > 0].mean())
            return replace(table, y=np.full(len(table.y), kept))
        return table

    def _look_at(self, data: Data) -> Table:
        """The table, and what is done once, before the first fit."""
        self.selection_status_ = "all columns"
        return self._prepare(data)

    def _fit_at(self, table: Table, penalty: WidthAndWeights) -> Self:
        """Fit on a table and unpack."""
        task = self._task(table, penalty)
        (fitted,) = self._path([task], tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)
        self._unpack(task, fitted, table)
        self.objective_, self.dual_gap_ = fitted.primal, fitted.gap
        self.n_iter_, self.solver_status_ = max(1, fitted.n_iter), fitted.status.value
        largest = float(task.scales.max())
        self.length_scale_ = 1 / largest if largest > 0 else np.inf  # no column matters
        if fitted.status is not Status.CONVERGED:
            cure = "Raise max_iter, loosen tol, or raise weight."
            warn_of_gap(type(self).__name__, fitted, self.tol, cure)
        return self

    def _path(
        self, tasks: list[Task], *, tol: float, max_iter: int | None, verbose: int = 0
    ) -> Iterable[FittedTask]:
        """Fits of tasks that differ in their weights alone, from heavy to light."""
        if self.model != "psd":
            return (self.model.fit(task, tol=tol, max_iter=max_iter) for task in tasks)
        weights = [(task.l1, task.l2) for task in tasks]
        return PSDFitter(tasks[0], verbose, self.solver).path(weights, tol=tol, max_iter=max_iter)

    def _seed(self) -> int:
        """One number that fixes every random choice of a fit."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _made(
        self, table: Table, penalty: WidthAndWeights, nonnegative: tuple[bool, ...], **parts: Any
    ) -> Task:
        """A task; unless said otherwise outputs are the functions, of the table's columns."""
        signs, weight, m = np.array(nonnegative), penalty.weight, len(nonnegative)
        return Task(
            weights=table.weights,
            nonnegative=nonnegative,
            l1=np.where(signs, weight * self.l1_ratio, 0.0),
            l2=np.where(signs, weight * (1 - self.l1_ratio), penalty.linear_weight),
            rank=self.rank,
            random_state=self._seed(),
            **{"X": table.X, "mixing": np.eye(m), "offset": np.zeros(m), **parts},
        )


def weight_of_any_sign() -> Any:
    """The parameter ``linear_weight``."""
    return parameter(
        None,
        "float",
        "Weight of the squared norm of functions of any sign; by default ``weight``, a hundredth "
        "of it for means and middle quantiles: the larger function needs the lighter weight.",
    )


@estimator
class TunedPenalty(CrossValidated, NonnegativeEstimator):
    """Choose width and weights by cross-validation, then fit on all rows.

    Attributes
    ----------
    best_params_ : dict
        ``width``, ``weight`` and, where there is one, ``linear_weight`` of the refit.
    """

    _: KW_ONLY
    widths: Any = parameter(None, "array-like", "Multipliers of the length scale to try.")
    weights: Any = parameter(
        None,
        "array-like",
        "Weights to try; pairs (weight, linear_weight) where functions of any sign have their own.",
    )
    width: Any = fixed(None)
    weight: Any = fixed(None)
    linear_weight: Any = fixed(None)
    scoring: Any = fixed(None)
    selection_rule: Any = fixed("min")

    default_widths: ClassVar[tuple[float, ...]] = (0.25, 0.5, 1.0)
    default_weights: ClassVar[tuple[float, ...]] = (1e-1, 1e-2, 1e-3, 1e-4)
    has_linear: ClassVar[bool] = True
    fold_tol: ClassVar[float] = 0.0  # losses may be as small as they like: tol itself

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose width and weights, then fit on all rows.

        Parameters
        ----------
        y : array-like, shape (n_samples,); ignored by densities, of a cone (n_samples, n_outputs)
        """
        self._check_parameters()
        grid = self._grid()
        data = self._validate(X, y, sample_weight)
        table = self._look_at(data)
        folds = self._folds(data, table, groups)
        self._choose(grid, by_key(on_folds(self, judge_fold, folds, self, data, grid)))
        return self._fit_at(table, grid[self.best_index_])

    def _grid(self) -> list[WidthAndWeights]:
        """The grid, weights within widths, heaviest first."""
        given = self.default_widths if self.widths is None else self.widths
        widths = sorted(positive_list(given, "widths").tolist(), reverse=True)
        given = self.default_weights if self.weights is None else self.weights
        if self.has_linear:
            pairs = _positive_pairs(given, self.linear_share)
        else:
            pairs = [(float(w), float(w)) for w in positive_list(given, "weights")]
        ordered = sorted(set(pairs), reverse=True)
        return [WidthAndWeights(width, *pair) for width in widths for pair in ordered]

    def _candidates(
        self, train: Data, held_out: Data, grid: list[WidthAndWeights]
    ) -> Iterator[Candidate]:
        """Scores of the grid on one fold: features once for each width, then a path of weights."""
        probe = copy(self)
        try:
            table = probe._prepare(train)
        except InvalidDataError:  # a column constant in this fold: no density to judge
            yield from (Candidate(None) for _ in grid)
            return
        solver = getattr(self.model, "solver", self.solver)  # another model may have its own
        limit = FOLD_ITER if self.max_iter is None and solver == "auto" else self.max_iter
        for _, path in groupby(grid, key=lambda point: point.width):
            points = list(path)
            left = len(points)
            with suppress(InfeasibleError):  # at this width no density meets the constraints
                tasks = [probe._task(table, point) for point in points]
                fits = probe._path(tasks, tol=max(self.tol, self.fold_tol), max_iter=limit)
                for task, fitted in zip(tasks, fits, strict=True):
                    if fitted.status is Status.INTERRUPTED:
                        raise KeyboardInterrupt
                    probe._unpack(task, fitted, table)
                    yield Candidate(None, score=probe._held_out(held_out))
                    left -= 1
            yield from [Candidate(None, score=-np.inf)] * left

    def _folds(self, data: Data, table: Table, groups: Any) -> list[Fold]:
        """Folds over the rows, or over as many as candidates are judged on."""
        folds = draw_folds(self.cv, data.X, data.y, groups, table, self.random_state)
        if len(table.X) <= TUNING_ROWS:
            return folds
        judged = (table.rows >= 0) & (table.rows < TUNING_ROWS)  # canonical: as good as random
        kept = [(train[judged[train]], test[judged[test]]) for train, test in folds]
        return [fold for fold in kept if all(map(len, fold))]

    def _choose(self, candidates: list[WidthAndWeights], said_by_folds: dict[str, Array]) -> None:
        """Choose by what the folds said: score and seconds of each candidate."""
        scores, seconds = said_by_folds["score"], said_by_folds["fit_time"]
        name, said = type(self).__name__, None
        if np.isnan(scores).all():
            said = (
                f"No fold of {name} can be fitted (a column is constant in each), so nothing was "
                "tuned and the widest kernel with the largest weight is used."
            )
            scores = seconds = np.zeros_like(scores)
        elif len(getattr(self, "constraints", ())) and np.isneginf(scores).any():
            unmet = np.atleast_1d(np.isneginf(scores).any(axis=0))
            widths = sorted({c.width for c, bad in zip(candidates, unmet, strict=True) if bad})
            said = (
                f"In some fold no density of width {', '.join(f'{w:g}' for w in widths)} was found "
                "that meets the constraints; candidates of that width are out."
            )
        elif np.isneginf(scores).any(axis=0).all():
            said = (
                f"Every candidate of {name} gives some held-out row probability zero, so nothing "
                "can be compared. Use another model, or a base_measure."
            )
        if said:
            warn(said)
        keys = WidthAndWeights._fields if self.has_linear else WidthAndWeights._fields[:2]
        params = [{key: getattr(c, key) for key in keys} for c in candidates]
        self._keep_choice(choose(params, {"score": scores, "fit_time": seconds}))


def _positive_pairs(values: Any, share: float) -> list[tuple[float, float]]:
    """Pairs of positive weights as they are, single ones and their share."""
    try:
        pairs = [(v, share * v) if np.ndim(v) == 0 else tuple(map(float, v)) for v in values]
        array = np.array(pairs, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape[1:] != (2,) or not (np.isfinite(array) & (array > 0)).all():
        raise InvalidParameterError(
            f"weights must be a list of positive numbers or pairs of such; got {values!r}."
        )
    return [(float(w), float(v)) for w, v in array]


def width_of(X: Array, weights: Array, rule: Any) -> float:
    """Length scale that a rule or a number stands for on these points."""
    return width_by_rule(X, weights, rule) if isinstance(rule, str) else float(rule)
