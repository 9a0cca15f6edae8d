"""The common face of the derivative estimators: validate, build, solve, unpack."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, check_weights, prepare
from nablasso.errors import (
    DegenerateFitWarning,
    InvalidParameterError,
    NoSelectionWarning,
)
from nablasso.estimators.fitting import Fit, all_certified, left_out_gain, spread
from nablasso.estimators.reading import feature_kinds, selection_status, summary_text
from nablasso.estimators.taught import groups_of
from nablasso.estimators.validation import (
    check_length_scale,
    check_new_data,
    check_non_negative,
    check_training_data,
    column_indices,
    group_labels,
)
from nablasso.kernels import as_kernel
from nablasso.losses import Loss, Squared, as_loss
from nablasso.paths import DEFAULT_FRACTION, Family, Formulation
from nablasso.penalties import Partition, Penalty
from nablasso.problems import Problem
from nablasso.regression.adaptive import adaptive_scales
from nablasso.solvers import Solution, Solver, Status, as_solver
from nablasso.spaces import (
    Function,
    PenaltyPoints,
    SpaceChoice,
    choose_space,
    penalty_points,
)
from nablasso.types import Array, Index, Mask

METRIC_ROWS = 1000  # that teach the metric where the space is not the exact one
STEEP = 10.0  # derivative norms growing this much between the data call for a warning


@dataclass(eq=False, repr=False)
class DerivativeEstimator(SelectorMixin, BaseEstimator, ABC):
    """Shared by the derivative regressors and classifiers; the penalty is each one's own.

    Parameters are dataclass fields, so that each is declared once and the ``__init__`` of every
    estimator lists all of its own, as scikit-learn expects.
    """

    kernel: Any = "gaussian"
    _: KW_ONLY
    length_scale: Any = "median"
    feature_groups: Any = None
    always_keep: Any = None
    n_passes: int = 1
    n_jitter: int = 0
    space: Any = "auto"
    n_components: int = 512
    standardize: bool = True
    fit_intercept: bool = True
    debias: bool = True
    solver: Any = "dual"
    tol: float = 1e-6
    max_iter: int | None = None
    random_state: Any = None
    verbose: int = 0

    @abstractmethod
    def _make_penalty(self, partition: Partition, weights: Array) -> Penalty:
        """Build the penalty from the groups and their weights."""

    @abstractmethod
    def _group_weights(self, labels: Index) -> Array:
        """Weight of each column's group, per column."""

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        """Inputs, numbers that stand for the target, and weights."""

    @abstractmethod
    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        """The table of validated data."""

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss, thresholds in units of a robust deviation of the target."""

    @abstractmethod
    def _families(
        self, table: Table, multiplier: float, points: PenaltyPoints | None
    ) -> list[Family]:
        """One family of problems per function to be fitted."""

    @abstractmethod
    def _keep(self, functions: list[Function], table: Table) -> None:
        """Remember what predicts."""

    def summary(self) -> str:
        """The result in words."""
        check_is_fitted(self)
        return summary_text(self)

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def _formulation(self) -> Formulation:
        """What the parameters ask for; the data's columns are known by now."""
        check_length_scale(self.length_scale)
        labels = group_labels(self, self.feature_groups)
        weights = self._group_weights(labels)
        kept = column_indices(self, self.always_keep, "always_keep")
        weights = np.where(np.isin(labels, labels[kept]), 0.0, weights)

        def penalty(columns: Index) -> Penalty:
            partition = Partition(labels[columns])
            return self._make_penalty(partition, weights[columns][partition.first])

        return Formulation(
            kernel=clone(as_kernel(self.kernel)),
            length_scale=self.length_scale,
            penalty=penalty,
            fit_intercept=self.fit_intercept,
            loss=self._loss(),
        )

    def _choose_space(self, table: Table, points: PenaltyPoints | None) -> SpaceChoice:
        """What ``space`` means for this table."""
        n = len(table.X) + (0 if points is None else len(points.extra))
        size = (n, table.X.shape[1], self.n_components)
        return choose_space(self.space, as_kernel(self.kernel), *size)

    def _family(
        self, table: Table, multiplier: float, points: PenaltyPoints | None, targets: Array
    ) -> Family:
        """The family of this table; the metric, if any, is taught with ``targets``."""
        choice = self._choose_space(table, points)
        n = len(table.X) if choice.name == "exact" else min(len(table.X), METRIC_ROWS)
        return Family(
            table,
            self._formulation(),
            multiplier,
            points,
            self._metric(table.first(n), targets[:n]),
            choice=choice,
            n_components=int(self.n_components),
            random_state=self.random_state,
        )

    def _check_unlabeled(self, X_unlabeled: Any) -> Array | None:
        return None if X_unlabeled is None else check_new_data(self, X_unlabeled)

    def _points(
        self, table: Table, weights: Array, unlabelled: Array | None
    ) -> PenaltyPoints | None:
        """Penalty points besides the data of the table, whose sample weights are given."""
        if not isinstance(self.n_jitter, int | np.integer) or self.n_jitter < 0:
            raise InvalidParameterError(
                f"n_jitter must be a whole number of at least 0; got {self.n_jitter!r}."
            )
        total = float(weights.sum())
        return penalty_points(table, total, unlabelled, int(self.n_jitter), self.random_state)

    def _metric(self, table: Table, targets: Array) -> Array | None:
        """Multiplier of each column, from ``n_passes - 1`` kernel ridge fits of ``targets``.

        None, and no fit, for one pass: (P) with the kernel as it is.
        """
        if not isinstance(self.n_passes, int | np.integer) or self.n_passes < 1:
            raise InvalidParameterError(
                f"n_passes must be a whole number of at least 1; got {self.n_passes!r}."
            )
        if self.n_passes == 1 or not table.X.shape[1]:
            return None
        labels, kept = groups_of(self, table)
        X = table.X if (table.deviations == 1).all() else table.X / table.deviations
        kernel, passes = clone(as_kernel(self.kernel)), int(self.n_passes) - 1
        return adaptive_scales(kernel, X, targets, table.weights, labels, kept, passes)[labels]

    def _fit_table(
        self,
        X: Array,
        table: Table,
        alpha: float | None,
        ridge: float | None,
        multiplier: float,
        points: PenaltyPoints | None = None,
    ) -> Self:
        """Solve (P) on a table and unpack the solutions into fitted attributes."""
        check_non_negative(alpha, "alpha")
        self._unpack(X, self._solved(self._families(table, multiplier, points), alpha, ridge))
        return self

    def _solved(
        self, families: list[Family], alpha: float | None, ridge: float | None
    ) -> list[Fit]:
        """One problem of each family at one ridge and alpha, solved."""
        if ridge is None:
            ridge = max(family.best_ridge() for family in families)
        problems = [family.problem(float(ridge)) for family in families]
        if alpha is None:
            alpha = DEFAULT_FRACTION * max(problem.alpha_scale() for problem in problems)
        solver = as_solver(self.solver, self.tol, self.max_iter, families[0].loss)
        fits: list[Fit] = []
        for family, free in zip(families, problems, strict=True):
            problem = replace(free, alpha=float(alpha))
            interrupted = any(fit.solution.status is Status.INTERRUPTED for fit in fits)
            solution = _solve(solver, problem, hurry=interrupted)
            self._warn_unless_converged(problem, solution)
            fits.append(Fit(family, problem, solution))
        return fits

    def _unpack(self, X: Array, fits: list[Fit]) -> None:
        first, table = fits[0], fits[0].family.table
        for fit in fits:
            if fit.support.any() or not self.debias:
                self._warn_if_degenerate(fit)
        self._unpack_problems(fits, X.shape[1])
        solver = as_solver(self.solver, self.tol, self.max_iter, self.loss_)
        self.approximation_error_ = max(
            fit.family.approximation_error(fit.problem, fit.support, solver) for fit in fits
        )
        choice = first.family.choice or self._choose_space(table, None)
        self.space_, self.space_reason_ = choice.name, choice.reason
        self.feature_kinds_ = feature_kinds(X[table.rows >= 0])
        self.loo_r2_, self._loo_gain = left_out_gain(fits)
        self._keep([fit.function(self.debias) for fit in fits], table)
        self.selection_status_, self.twins_ = selection_status(self, table)

    def _unpack_problems(self, fits: list[Fit], d: int) -> None:
        """What the solved problems say, without a look at the rows."""
        first, table = fits[0], fits[0].family.table
        self._warn_unless_selecting(first.family)
        support = np.any([fit.support for fit in fits], axis=0)
        importances = np.max([fit.importances for fit in fits], axis=0)
        bounds = [np.max([fit.bounds[end] for fit in fits], axis=0) for end in (0, 1)]

        self.support_ = spread(support, table, d, fill=False)
        self.feature_importances_ = spread(importances, table, d)
        self.importance_bounds_ = np.column_stack([spread(bound, table, d) for bound in bounds])
        self.support_certified_ = spread(all_certified(fits), table, d, fill=True)
        self.alpha_, self.ridge_ = first.problem.alpha, first.problem.ridge
        self.kernel_, self.length_scale_ = first.family.formulation.kernel, first.family.width
        self.scales_ = spread(first.family.scales, table, d)
        self.loss_ = first.family.loss
        self.dual_gap_ = sum(fit.solution.gap for fit in fits)
        self.objective_ = sum(fit.solution.primal for fit in fits)
        self.relative_gap_ = max(fit.solution.gap / fit.problem.reference for fit in fits)
        self.n_iter_ = max(1, *(fit.solution.n_iter for fit in fits))
        self.solver_status_ = _worst(fits).value

    def _warn_unless_selecting(self, family: Family) -> None:
        taught = len(np.unique(family.metric)) > 1
        if family.features is None or family.features.selects or taught:
            return
        warnings.warn(
            f"Fourier features of {family.formulation.kernel!r} touch all variables at once: the "
            "penalty shrinks derivatives but leaves no variable out. To select use "
            'kernel="anova", space="nystrom", or n_passes > 1 (a learned metric).',
            NoSelectionWarning,
            stacklevel=6,
        )

    def _warn_unless_converged(self, problem: Problem, solution: Solution) -> None:
        target = self.tol * problem.reference
        interrupted = solution.status is Status.INTERRUPTED
        converged = solution.status is Status.CONVERGED or solution.gap <= target
        if converged and not interrupted:
            return
        cure = (
            "Fit again for an exact solution."
            if interrupted
            else "Raise max_iter, loosen tol, raise ridge, or lower alpha."
        )
        warnings.warn(
            f"{type(self).__name__} stopped after {solution.n_iter} iterations "
            f"({solution.status.value}) with duality gap {solution.gap:.1e} (tolerance "
            f"{target:.1e}). The gap still bounds the error. {cure}",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _warn_if_degenerate(self, fit: Fit) -> None:
        steepness = fit.family.steepness(fit.solution)
        if steepness > STEEP:
            warnings.warn(
                f"The fitted function is {steepness:.0f} times steeper between the data than at "
                "them, so its derivatives at the data say little. Raise ridge, widen "
                "length_scale, lower alpha, or set n_jitter.",
                DegenerateFitWarning,
                stacklevel=5,
            )


@dataclass(eq=False, repr=False)
class DerivativeSelector(RegressorMixin, DerivativeEstimator, ABC):
    """Shared by the derivative regressors."""

    _: KW_ONLY
    loss: Any = "squared"

    def predict(self, X: Any) -> Array:
        """Predict the target.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples,)
        """
        check_is_fitted(self)
        return self.loss_.mean(self._link(check_new_data(self, X)))

    def predict_gradient(self, X: Any) -> Array:
        """Gradient of the predicted function, in the units of ``X`` and ``y``.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_new_data(self, X)
        gradients = self._function.gradients(self._scaler.transform(X)) / self._scaler.scale
        if not isinstance(self.loss_, Squared):
            gradients *= self.loss_.mean_derivative(self._link(X))[:, None]
        return np.asarray(gradients)

    def _link(self, X: Array) -> Array:
        """The fitted function: what the loss compares with the target."""
        return np.asarray(self._y_mean + self._function.values(self._scaler.transform(X)))

    def _loss(self) -> Loss:
        return as_loss(self.loss)

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        loss = self._loss()
        X, y = check_training_data(self, X, y)
        loss.check_target(y)
        return X, y, check_weights(sample_weight, len(X))

    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        centre_y = self.fit_intercept and self._loss().translates
        return prepare(X, y, weights, standardize=self.standardize, centre_y=centre_y)

    def _families(
        self, table: Table, multiplier: float, points: PenaltyPoints | None
    ) -> list[Family]:
        return [self._family(table, multiplier, points, table.y[:, None])]

    def _keep(self, functions: list[Function], table: Table) -> None:
        (self._function,) = functions
        self._scaler, self._y_mean = table.scaler, table.y_mean

    def _targets(self, y: Array) -> Array:
        """The target that scorers expect."""
        return y

    def _default_score(self, model: Any, X: Array, y: Array, sample_weight: Any = None) -> float:
        """Negative mean loss."""
        return -float(np.average(self.loss_.value(y, model._link(X)), weights=sample_weight))


def _solve(solver: Solver[Any], problem: Problem, *, hurry: bool) -> Solution:
    """Solve and polish; in a hurry, only what starting costs."""
    if hurry:
        solution: Solution = clone(solver).set_params(max_iter=0).solve(problem)
        return replace(solution, status=Status.INTERRUPTED)
    return solver.polish(problem, solver.solve(problem))


def _worst(fits: list[Fit]) -> Status:
    """The status that says most about what went wrong."""
    order = list(Status)  # from converged to interrupted
    return max((fit.solution.status for fit in fits), key=order.index)
