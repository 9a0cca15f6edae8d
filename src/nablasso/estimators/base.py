"""The common face of the derivative estimators: validate, build, solve, unpack."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from nablasso.estimators.reading import (
    feature_kinds,
    loo_gain,
    selection_status,
    summary_text,
)
from nablasso.estimators.validation import (
    check_length_scale,
    check_new_data,
    check_non_negative,
    check_training_data,
    column_indices,
    group_labels,
)
from nablasso.exceptions import DegenerateFitWarning
from nablasso.kernels import as_kernel
from nablasso.paths import DEFAULT_FRACTION, Family, Formulation, support_of
from nablasso.penalties import Partition, Penalty
from nablasso.preparation import Table, check_weights, prepare
from nablasso.problems import Problem
from nablasso.solvers import DualSolver, Solution, Status, as_solver

Array = NDArray[np.float64]

STEEP = 10.0  # derivative norms growing this much between the data call for a warning
NEGLIGIBLE = 0.01  # of the largest derivative norm: below it, being out counts as certified


@dataclass(eq=False, repr=False)
class DerivativeSelector(SelectorMixin, RegressorMixin, BaseEstimator, ABC):
    """Shared by the derivative estimators; the penalty is each one's own.

    Parameters are dataclass fields, so that each is declared once and the ``__init__`` of every
    estimator lists all of its own, as scikit-learn expects.
    """

    kernel: Any = "gaussian"
    _: KW_ONLY
    length_scale: Any = "median"
    feature_groups: Any = None
    always_keep: Any = None
    standardize: bool = True
    fit_intercept: bool = True
    debias: bool = True
    solver: Any = "dual"
    tol: float = 1e-6
    max_iter: int | None = None
    verbose: int = 0

    @abstractmethod
    def _make_penalty(self, partition: Partition, weights: Array) -> Penalty:
        """Build the penalty from the groups and their weights."""

    @abstractmethod
    def _group_weights(self, labels: NDArray[np.intp]) -> Array:
        """Weight of each column's group, per column."""

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
        Z = self._scaler.transform(check_new_data(self, X))
        return np.asarray(self._y_mean + self._function.values(Z))

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
        Z = self._scaler.transform(check_new_data(self, X))
        return np.asarray(self._function.gradients(Z) / self._scaler.scale)

    def summary(self) -> str:
        """The result in words."""
        check_is_fitted(self)
        return summary_text(self)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        X, y = check_training_data(self, X, y)
        return X, y, check_weights(sample_weight, len(X))

    def _formulation(self) -> Formulation:
        """What the parameters ask for; the data's columns are known by now."""
        check_length_scale(self.length_scale)
        labels = group_labels(self, self.feature_groups)
        weights = self._group_weights(labels)
        kept = column_indices(self, self.always_keep, "always_keep")
        weights = np.where(np.isin(labels, labels[kept]), 0.0, weights)

        def penalty(columns: NDArray[np.intp]) -> Penalty:
            partition = Partition(labels[columns])
            return self._make_penalty(partition, weights[columns][partition.first])

        return Formulation(
            kernel=clone(as_kernel(self.kernel)),
            length_scale=self.length_scale,
            penalty=penalty,
            fit_intercept=self.fit_intercept,
        )

    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        return prepare(X, y, weights, standardize=self.standardize, centre_y=self.fit_intercept)

    def _fit_table(
        self, X: Array, table: Table, alpha: float | None, ridge: float | None, multiplier: float
    ) -> Self:
        """Solve (P) on a table and unpack the solution into fitted attributes."""
        check_non_negative(alpha, "alpha")
        family = Family(table, self._formulation(), multiplier)
        problem = family.problem(family.best_ridge() if ridge is None else float(ridge))
        if alpha is None:
            alpha = DEFAULT_FRACTION * problem.alpha_scale()
        problem = replace(problem, alpha=float(alpha))
        solver = as_solver(self.solver, self.tol, self.max_iter)
        solution = solver.solve(problem)
        if isinstance(solver, DualSolver):
            solution = solver.polish(problem, solution)
        self._warn_unless_converged(problem, solution)
        self._unpack(X, family, problem, solution)
        return self

    def _unpack(self, X: Array, family: Family, problem: Problem, solution: Solution) -> None:
        table, d = family.table, X.shape[1]
        support = support_of(problem, solution)
        if support.any() or not self.debias:
            self._warn_if_degenerate(family, solution)
        unit = table.deviations / table.y_scale
        norms = np.sqrt(np.einsum("ia,ia->a", solution.point.g, solution.point.g))
        lower, upper = problem.derivative_bounds(solution.point)
        certified = np.where(support, lower > 0, upper <= NEGLIGIBLE * lower.max(initial=0.0))

        self.support_ = _spread(support, table, d, fill=False)
        self.feature_importances_ = _spread(np.where(support, norms * unit, 0.0), table, d)
        bounds = [_spread(bound * unit, table, d) for bound in (lower, upper)]
        self.importance_bounds_ = np.column_stack(bounds)
        self.support_certified_ = _spread(certified, table, d, fill=True)
        self.alpha_, self.ridge_ = problem.alpha, problem.ridge
        self.kernel_, self.length_scale_ = family.formulation.kernel, family.width
        self.dual_gap_, self.objective_ = solution.gap, solution.primal
        self.relative_gap_ = solution.gap / problem.reference
        self.n_iter_ = max(solution.n_iter, 1)
        self.feature_kinds_ = feature_kinds(X[table.rows >= 0])

        refit = family.refit(support)
        self.loo_r2_, self._loo_gain = loo_gain(table, refit.loo_residuals)
        self._function = refit.function if self.debias else family.function(solution)
        self._scaler, self._y_mean = table.scaler, table.y_mean
        self.selection_status_, self.twins_ = selection_status(self, table)

    def _warn_unless_converged(self, problem: Problem, solution: Solution) -> None:
        target = self.tol * problem.reference
        if solution.status is Status.CONVERGED or solution.gap <= target:
            return
        warnings.warn(
            f"{type(self).__name__} stopped after {solution.n_iter} iterations "
            f"({solution.status.value}) with duality gap {solution.gap:.1e} (tolerance "
            f"{target:.1e}). The gap still bounds the error. Raise max_iter, loosen tol, raise "
            "ridge, or lower alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _warn_if_degenerate(self, family: Family, solution: Solution) -> None:
        steepness = family.steepness(solution)
        if steepness > STEEP:
            warnings.warn(
                f"The fitted function is {steepness:.0f} times steeper between the data than at "
                "them, so its derivatives at the data say little. Raise ridge, widen "
                "length_scale, or lower alpha.",
                DegenerateFitWarning,
                stacklevel=5,
            )


def _spread(values: NDArray[Any], table: Table, d: int, fill: Any = 0.0) -> NDArray[Any]:
    """Values per table column as values per input column; constant columns get ``fill``."""
    out = np.full(d, fill, dtype=values.dtype)
    out[table.columns] = values
    return out
