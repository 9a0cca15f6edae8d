"""The common face of the sparse gradient estimators: validate, build, solve, unpack."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.fitting import spread
from nablasso.estimators.reading import feature_kinds
from nablasso.estimators.sparse_gradient_predictor import left_out_gain
from nablasso.estimators.sparse_gradient_reading import gradient_status, gradient_summary
from nablasso.estimators.validation import (
    check_length_scale,
    check_new_data,
    check_non_negative,
    column_indices,
    group_labels,
)
from nablasso.gradients import (
    DEFAULT_MAX_ITER,
    FORMS,
    SOLVERS,
    GradientData,
    GradientFit,
    GradientParameters,
    Learner,
    find_directions,
    union_of,
)
from nablasso.kernels import WIDTH_RULES, as_kernel
from nablasso.paths import DEFAULT_FRACTION
from nablasso.solvers import Status
from nablasso.spaces import PenaltyPoints, penalty_points, require_memory
from nablasso.types import Array

SHOWN = 10


@dataclass(eq=False, repr=False)
class SparseGradientEstimator(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Shared by the sparse gradient regressors and classifiers."""

    _: KW_ONLY
    kernel: Any = "gaussian"
    length_scale: Any = "half_median"
    bandwidth: Any = "half_median"
    n_neighbors: int | None = None
    penalty: str = "lasso"
    ridge: float | None = None
    two_step: bool = False
    adaptive_weights: bool = False
    smoothness: float = 0.0
    n_components: int | None = None
    feature_groups: Any = None
    always_keep: Any = None
    standardize: bool = True
    solver: str = "active_set"
    tol: float = 1e-6
    max_iter: int | None = None
    random_state: Any = None
    verbose: int = 0

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        """Inputs, numbers that stand for the target, and weights."""

    @abstractmethod
    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        """The table of validated data."""

    @abstractmethod
    def _targets_of(self, table: Table) -> Array:
        """One column per function to learn the gradients of."""

    @abstractmethod
    def _keep(self, fits: list[GradientFit], table: Table) -> None:
        """Remember what predicts."""

    @property
    def _is_classifier(self) -> bool:
        return hasattr(self, "class_weight")

    def transform(self, X: Any) -> Array:
        """Project on the sparse directions (S-EDR).

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_components): standardised ``X`` times ``components_``; one
            column of zeros, and a warning, where nothing was selected.
        """
        check_is_fitted(self)
        X = check_new_data(self, X)
        if not self.support_.any():
            warnings.warn(
                "Nothing was selected, so there is no direction to project on: transform gives "
                "one column of zeros. Lower alpha.",
                UserWarning,
                stacklevel=2,
            )
        return self._project(X)

    def select(self, X: Any) -> Any:
        """The selected columns of ``X``, an array or a data frame as it came."""
        check_is_fitted(self)
        checked = check_new_data(self, X)
        if hasattr(X, "iloc"):
            return X.iloc[:, np.flatnonzero(self.support_)]
        return checked[:, self.support_]

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Mask of the selected variables, or their indices."""
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_.copy()

    def summary(self) -> str:
        """The result in words."""
        check_is_fitted(self)
        return gradient_summary(self)

    @property
    def gradients_(self) -> Array:
        """Gradients at the rows seen in ``fit``, in the units of ``X`` and ``y``."""
        check_is_fitted(self)
        parts = []
        for function, extra in zip(self._functions, self._dropped_gradients, strict=True):
            out = np.zeros((len(self._rows), self.n_features_in_))
            inside = self._rows >= 0
            at_rows = function.at_rows(self._n_table)[self._rows[inside]]
            out[np.ix_(inside, function.active)] = at_rows
            out[~inside] = extra
            parts.append(out / self._scaler.scale)
        return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)

    @property
    def representer_coef_(self) -> Array:
        """``C`` of ``f^a = sum_i C_ai k(x_i, .)``, rows in standardised units.

        One column per row seen in ``fit`` (copies share theirs), then per distinct unlabelled row.
        With two steps it is the second one's.
        """
        check_is_fitted(self)
        parts = []
        for function in self._functions:
            inner = function.factor.coefficients(function.B)
            n_extra = inner.shape[1] - self._n_table
            out = np.zeros((self.n_features_in_, len(self._rows) + n_extra))
            inside = np.flatnonzero(self._rows >= 0)
            shared = inner[:, self._rows[inside]] * self._shares[inside]
            out[np.ix_(function.active, inside)] = shared
            out[np.ix_(function.active, len(self._rows) + np.arange(n_extra))] = inner[
                :, self._n_table :
            ]
            parts.append(out)
        return parts[0] if len(parts) == 1 else np.stack(parts)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _importance_unit(self, table: Table) -> float:
        """What gradients are divided by to be importances: sd(y), or 1 for log-odds."""
        return 1.0 if self._is_classifier else table.y_scale

    def _project(self, X: Array) -> Array:
        return np.asarray(self._scaler.transform(X) @ self.components_.T)

    def _check_parameters(self) -> None:
        if self.penalty not in FORMS:
            raise InvalidParameterError(
                f"penalty must be one of {', '.join(FORMS)}; got {self.penalty!r}."
            )
        if self.solver not in SOLVERS:
            raise InvalidParameterError(
                f"solver must be one of {', '.join(SOLVERS)}; got {self.solver!r}."
            )
        check_length_scale(self.length_scale)
        rule = self.bandwidth
        number = isinstance(rule, Real) and 0 < float(rule) < np.inf
        if not number and not (isinstance(rule, str) and rule in WIDTH_RULES):
            raise InvalidParameterError(
                f"bandwidth must be a positive number or one of {', '.join(WIDTH_RULES)}; got "
                f"{rule!r}."
            )
        for name in ("n_neighbors", "n_components", "max_iter"):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if value is not None and not (whole and value >= 1):
                raise InvalidParameterError(
                    f"{name} must be a whole number of at least 1; got {value!r}."
                )
        check_non_negative(self.smoothness, "smoothness")
        for name in ("ridge", "tol"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and 0 < float(value) < np.inf):
                raise InvalidParameterError(f"{name} must be a positive number; got {value!r}.")

    def _parameters(self) -> GradientParameters:
        """What the parameters ask for; the data's columns are known by now."""
        self._check_parameters()
        labels = group_labels(self, self.feature_groups)
        weights = np.bincount(labels)[labels].astype(float)
        kept = column_indices(self, self.always_keep, "always_keep")
        weights = np.where(np.isin(labels, labels[kept]), 0.0, weights)
        return GradientParameters(
            kernel=clone(as_kernel(self.kernel)),
            length_scale=self.length_scale,
            bandwidth=self.bandwidth,
            n_neighbors=self.n_neighbors,
            form=self.penalty,
            ridge=None if self.ridge is None else float(self.ridge),
            smoothness=float(self.smoothness),
            classes=self._is_classifier,
            labels=labels,
            group_weights=weights,
        )

    def _points(self, table: Table, weights: Array, unlabelled: Array | None) -> Any:
        """Unlabelled points of the smoothness term."""
        if unlabelled is None:
            return None
        if not self.smoothness:
            raise InvalidParameterError(
                "X_unlabeled is used by the smoothness term alone; set smoothness above 0 or "
                "leave X_unlabeled out."
            )
        return penalty_points(table, float(weights.sum()), unlabelled, 0, None)

    def _learner(self, table: Table, points: PenaltyPoints | None, tol: float) -> Learner:
        n_points = len(table.X) if points is None else len(points.weights)
        require_memory(n_points, min(table.X.shape[1], n_points))
        data = GradientData(self._parameters(), table, points)
        max_iter = DEFAULT_MAX_ITER if self.max_iter is None else int(self.max_iter)
        return Learner(data, self._targets_of(table), SOLVERS[self.solver](tol, max_iter))

    def _walk(self, learner: Learner, alphas: Array) -> Iterator[list[GradientFit]]:
        """Fits at decreasing alphas, adapted where asked for."""
        for fits in learner.walk(alphas):
            yield learner.adapted(fits) if self.adaptive_weights else fits

    def _fit_table(
        self, X: Array, table: Table, learner: Learner, alpha: float | None, weights: Array
    ) -> None:
        """Solve at one alpha and unpack the solutions into fitted attributes."""
        self._warn_of_isolated(learner.data)
        check_non_negative(alpha, "alpha")
        if alpha == 0 and learner.alpha_scale > 0:
            raise InvalidParameterError(
                f"alpha must be positive; got 0. {1e-6 * learner.alpha_scale:.1e} is as good as "
                "none here."
            )
        value = DEFAULT_FRACTION * learner.alpha_scale if alpha is None else float(alpha)
        fits = learner.fits(value)
        if self.adaptive_weights:
            fits = learner.adapted(fits)
        final = learner.refitted(fits) if self.two_step else fits
        for fit in {id(fit): fit for fit in (*fits, *final)}.values():
            self._warn_unless_converged(fit)
        self._unpack(X, table, learner, fits, final, weights)

    def _unpack(
        self,
        X: Array,
        table: Table,
        learner: Learner,
        fits: list[GradientFit],
        final: list[GradientFit],
        weights: Array,
    ) -> None:
        d, data, problem = X.shape[1], fits[0].data, fits[0].problem
        support, own = union_of(fits), data.table
        norms = np.where(support, np.max([fit.norms for fit in fits], axis=0), 0.0)
        unit = self._importance_unit(table)
        self.support_ = spread(support, own, d, fill=False)
        self.feature_importances_ = spread(norms * own.deviations / unit, own, d)
        self.alpha_ = problem.penalty.alpha
        self.alpha_max_ = learner.alpha_max if self.penalty == "lasso" else np.inf
        self.ridge_ = problem.offset_ridge if problem.has_offset else problem.penalty.ridge
        self.kernel_, self.length_scale_ = data.parameters.kernel, data.width
        self.bandwidth_ = data.bandwidth
        self.dual_gap_ = sum(fit.solution.gap for fit in fits)
        self.objective_ = sum(fit.solution.certificate.primal for fit in fits)
        self.relative_gap_ = max(fit.solution.gap / fit.problem.reference for fit in fits)
        self.n_iter_ = max(1, *(fit.solution.n_iter for fit in fits))
        self.solver_status_ = _worst([*fits, *final]).value
        self.history_ = [
            {"objective": done.objectives, "n_selected": done.n_selected}
            for done in (fit.solution.history for fit in fits)
            if done is not None
        ]
        self.feature_kinds_ = feature_kinds(X[table.rows >= 0])
        self._keep_gradients(X, table, weights)
        self._finish(final, table)
        self._dropped_gradients = [
            function.gradients(self._scaler.transform(X[self._rows < 0]))
            for function in self._functions
        ]
        chosen, targets = np.flatnonzero(support), self._targets_of(table)
        self.loo_r2_, self._loo_gain = left_out_gain(own.X[:, chosen], targets, table)
        self.selection_status_, self.twins_ = gradient_status(self, table)

    def _keep_gradients(self, X: Array, table: Table, weights: Array) -> None:
        """What the properties that speak of input rows need."""
        self._rows, self._n_table = table.rows, len(table.X)
        inside = table.rows >= 0
        totals = np.bincount(table.rows[inside], weights=weights[inside], minlength=self._n_table)
        self._shares = np.zeros(len(X))
        self._shares[inside] = weights[inside] / totals[table.rows[inside]]

    def _finish(self, final: list[GradientFit], table: Table) -> None:
        """Directions and predictions of the last fits."""
        self._functions, self._scaler = [fit.function for fit in final], table.scaler
        blocks = [(function.active, function.B) for function in self._functions]
        directions = find_directions(blocks, self.n_features_in_, self.n_components)
        self.components_, self.spectrum_ = directions.components, directions.spectrum
        self.gradient_covariance_ = directions.covariance
        self._keep(final, table)

    def _warn_of_isolated(self, data: GradientData) -> None:
        """Name rows whose weights are all zero; refuse where that is most of them."""
        rows = data.table.rows
        alone = np.isin(rows, data.pairs.isolated())
        if not alone.any() or not data.table.X.shape[1]:
            return
        named = ", ".join(map(str, np.flatnonzero(alone)[:SHOWN]))
        named += " ..." if alone.sum() > SHOWN else ""
        cure = (
            f"Raise bandwidth (now {data.bandwidth:.3g}, in standardised units where "
            "standardize is set), or drop them."
        )
        if alone.sum() * 2 > np.sum(rows >= 0):
            raise InvalidDataError(
                f"The weights of {int(alone.sum())} of {len(rows)} rows are zero for all other "
                f"rows: no gradient can be learned. Rows {named}. {cure}"
            )
        warnings.warn(
            f"Rows {named} are so far from all others that their weights are zero: nothing is "
            f"learned from the pairs they begin. {cure}",
            UserWarning,
            stacklevel=4,
        )

    def _warn_unless_converged(self, fit: GradientFit) -> None:
        solution = fit.solution
        if solution.status is Status.CONVERGED:
            return
        interrupted = solution.status is Status.INTERRUPTED
        cure = "Fit again." if interrupted else "Raise max_iter or alpha, or loosen tol."
        warnings.warn(
            f"{type(self).__name__} stopped after {solution.n_iter} iterations "
            f"({solution.status.value}) with duality gap {solution.gap:.1e} (tolerance "
            f"{self.tol * fit.problem.reference:.1e}). The gap still bounds the error. {cure}",
            ConvergenceWarning,
            stacklevel=4,
        )


def _worst(fits: list[GradientFit]) -> Status:
    """The status that says most about what went wrong."""
    order = list(Status)
    return max((fit.solution.status for fit in fits), key=order.index)
