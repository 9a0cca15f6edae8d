r"""Sparse gradient learning (Ye and Xie 2012): selection and dimension reduction together.

Regression, on standardised ``X`` and centred ``y`` with row weights ``p``:

.. math::
    \min_f \sum_{ij} p_i p_j w_{ij} \big(y_i - y_j + (x_j - x_i)^\top f(x_i)\big)^2
    + \alpha \sum_a \|f^a\|_K

Classes: the logistic loss of ``f0(x_i) + (x_j - x_i)' f(x_i)`` at the label of row j, plus
``ridge ||f0||^2`` (:mod:`nablasso.gradients.problem`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table
from nablasso.errors import InvalidDataError, InvalidParameterError, warn, warn_of_gap
from nablasso.estimators.cross_validation import decreasing
from nablasso.estimators.display import Answers
from nablasso.estimators.fitting import spread
from nablasso.estimators.outcome import feature_kinds, selection_status
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.target import Data
from nablasso.estimators.validation import (
    check_count,
    check_length_scale,
    check_new_data,
    check_non_negative,
    check_positive,
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
from nablasso.kernels import Gaussian, as_kernel, length_scale
from nablasso.losses import Squared
from nablasso.paths import DEFAULT_FRACTION
from nablasso.regression.machine import Refit, refit
from nablasso.regression.paired import saving
from nablasso.solvers import Status
from nablasso.spaces import penalty_points, require_memory
from nablasso.types import Array, Mask

SHOWN = 10  # rows named in a warning
TWINS_UP_TO = 1000  # selected variables up to which twins are looked for
SMALLEST_FRACTION = 1e-2  # of alpha_max
WIDER = 10.0  # forms without alpha_max: the grid begins at this many units and is as much longer
MAX_ROWS = 2000  # of kernel ridge regression: rows of a table are in random order


@estimator
class SparseGradientEstimator(
    Answers, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Shared by the sparse gradient regressors and classifiers.

    Attributes
    ----------
    support_ : array of bool, shape (n_features,)
        The selected variables.
    feature_importances_ : array, shape (n_features,)
        RKHS norms of the partial derivatives, for standardised columns and in standard
        deviations of ``y`` (log-odds for classifiers); zero when not selected.
    gradients_ : array, shape (n_samples, n_features)
        At the rows seen in ``fit``, in the units of ``X`` and ``y``; (n_samples, n_classes,
        n_features) for more than two classes.
    gradient_covariance_ : sparse array, shape (n_features, n_features)
        Inner products of the partial derivatives (S-EGCM), in standardised units.
    components_ : array, shape (n_components, n_features)
        Its first eigenvectors: directions for standardised columns, zero where not selected.
    spectrum_ : array
        Its positive eigenvalues, largest first.
    alpha_, alpha_max_, ridge_, length_scale_, bandwidth_, kernel_
        What was used; ``alpha_max_`` selects nothing, infinite for the other forms. With
        adaptive weights they are those of the last problem, but for ``alpha_max_``.
    dual_gap_, relative_gap_, objective_ : float
        Bound on the suboptimality over all variables, absolute and relative to the objective
        without gradients; the objective. They belong to the sparse problem, the first step,
        and with adaptive weights to the last one, whose variables are the selected ones.
    n_iter_, solver_status_
        Iterations, and ``"converged"``, ``"max_iter"``, ``"stalled"`` or ``"interrupted"``.
    history_ : list of dict
        With ``solver="forward_backward"``, for each function: ``"objective"`` and
        ``"n_selected"``, arrays that begin at the start and have one entry per iteration. Empty
        with the other.
    loo_r2_ : float
        Leave-one-out R2 of kernel ridge regression on the selected variables (of classes coded
        as plus and minus one).
    selection_status_, twins_
        ``"clear"``, ``"replaceable"``, ``"too few rows"`` or ``"none found"``; pairs of a selected
        variable and another one correlated 0.95 or more with it.
    feature_kinds_, n_features_in_, feature_names_in_
        As in the other estimators.
    """

    _: KW_ONLY
    kernel: Any = parameter(
        "gaussian",
        "str or Kernel",
        "Kernel of the partial derivatives: a name or object of :mod:`nablasso.kernels` "
        '(``"linear"`` is x.y, ``Polynomial(1)`` is 1 + x.y), or ``Constant`` or ``Delta`` of '
        ":mod:`nablasso.gradients`.",
    )
    length_scale: Any = parameter(
        "half_median",
        "float or rule",
        'Inputs are divided by it before the kernel sees them. Rules: ``"half_median"`` (half '
        'the median distance between rows), ``"median"``, ``"neighbour20"``, ``"median20"``; '
        "they mean 1 for kernels of the dot product.",
    )
    bandwidth: Any = parameter("half_median", "float or rule", "The s of the weights of pairs.")
    n_neighbors: int | None = parameter(
        None,
        "int",
        "Without it all pairs have weights ``exp(-|x_i - x_j|^2 / 2 s^2)``, an n x n array; with "
        "it the given number of nearest rows have ``exp(-2 |x_i - x_j|^2 / s^2)``, the others "
        "none. Copies of a row count once.",
    )
    penalty: str = parameter(
        "lasso",
        '{"lasso", "squared", "ridge"}',
        "Sum of the norms, its square, or the sum of the squared norms (gradient learning without "
        "sparsity: everything is selected).",
    )
    ridge: float | None = parameter(
        None,
        "float",
        "Weight of squared norms: of f0 (by default the leave-one-out choice of kernel logistic "
        "regression), of the second step and of the columns always kept (by default a hundredth "
        "of half the loss's largest curvature).",
    )
    two_step: bool = parameter(
        False,
        "bool",
        "Learn the gradients again with the ridge on the selected variables, where kernel and "
        "weights are measured in them alone. Directions, gradients and f0 are then these.",
    )
    adaptive_weights: bool = parameter(
        False,
        "bool",
        "Solve again on the selected variables alone, weights and kernel measured in them and "
        "alpha the same fraction of ``alpha_max``, until all of them are selected.",
    )
    smoothness: float = parameter(
        0.0,
        "float",
        "Weight of ``sum_ij w_ij |f(x_i) - f(x_j)|^2`` over the rows and ``X_unlabeled``.",
    )
    n_components: int | None = parameter(
        None,
        "int",
        "Directions; by default as many as explain 95 % of the gradients' covariance.",
    )
    feature_groups: Any = parameter(
        None,
        "list of lists, mapping or labels",
        "A partition of the columns; groups are selected as a whole, weighted by their size.",
    )
    always_keep: Any = parameter(
        None,
        "list",
        "Columns that are always selected (with their group): a ridge takes the place of the norm.",
    )
    standardize: bool = parameter(
        True,
        "bool",
        "Centre the columns and divide them by their standard deviation; without it they are only "
        "centred.",
    )
    solver: str = parameter(
        "active_set",
        '{"active_set", "forward_backward"}',
        "Accelerated steps on an active set, or the plain steps of the paper's Algorithm 1 on all "
        "columns, for reference (:mod:`nablasso.gradients.solvers`).",
    )
    tol: float = parameter(
        1e-6, "float", "Duality gap to reach, relative to the objective without gradients."
    )
    max_iter: int | None = parameter(None, "int", "50000 by default.")
    random_state: Any = parameter(
        None,
        "int or RandomState",
        "Shuffles the folds of cross-validation; nothing else is random.",
    )
    verbose: int = parameter(0, "int", "Log progress on the ``nablasso`` logger.")

    @abstractmethod
    def _alpha(self, data: Data, table: Table, learner: Learner, groups: Any) -> float | None:
        """The sparsity weight, given or chosen by cross-validation."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        X_unlabeled: Any = None,
    ) -> Self:
        """Learn the gradients, select variables and find directions.

        Parameters
        ----------
        X_unlabeled : array-like, shape (n_unlabeled, n_features), optional
            Rows without a target, for the smoothness term.
        """
        data = self._data(X, y, sample_weight, X_unlabeled)
        table = self._table(data)
        learner = self._learner(data, table, self.tol)
        return self._fit_table(data, table, learner, self._alpha(data, table, learner, groups))

    def transform(self, X: Any) -> Array:
        """Project on the sparse directions (S-EDR).

        Returns
        -------
        array, shape (n_samples, n_components): standardised ``X`` times ``components_``; one
            column of zeros, and a warning, where nothing was selected.
        """
        check_is_fitted(self)
        X = check_new_data(self, X)
        if not self.support_.any():
            warn(
                "Nothing was selected, so there is no direction to project on: transform gives "
                "one column of zeros. Lower alpha."
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
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _project(self, X: Array) -> Array:
        return np.asarray(self._scaler.transform(X) @ self.components_.T)

    def _check_parameters(self) -> None:
        for name, known in (("penalty", FORMS), ("solver", SOLVERS)):
            if getattr(self, name) not in known:
                raise InvalidParameterError(
                    f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}."
                )
        check_length_scale(self.length_scale)
        check_length_scale(self.bandwidth, "bandwidth")
        for name in ("n_neighbors", "n_components", "max_iter"):
            check_count(getattr(self, name), name, ", or None")
        check_non_negative(self.smoothness, "smoothness")
        check_positive(self.tol, "tol")
        if self.ridge is not None:
            check_positive(self.ridge, "ridge")

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
            classes=self._target.classes is not None,
            labels=labels,
            group_weights=weights,
        )

    def _data(self, X: Any, y: Any, sample_weight: Any, unlabelled: Any) -> Data:
        data: Data = self._read(X, y, sample_weight)
        if unlabelled is None:
            return data
        if not self.smoothness:
            raise InvalidParameterError(
                "X_unlabeled is used by the smoothness term alone; set smoothness above 0 or "
                "leave X_unlabeled out."
            )
        return data._replace(unlabelled=check_new_data(self, unlabelled))

    def _table(self, data: Data) -> Table:
        table: Table = self._target.table(data, standardize=self.standardize, centre_x=True)
        return table

    def _learner(self, data: Data, table: Table, tol: float) -> Learner:
        points = penalty_points(table, data.unlabelled)
        n_points = len(table.X) if points is None else len(points.weights)
        require_memory(n_points, min(table.X.shape[1], n_points))
        shared = GradientData(self._parameters(), table, points)
        max_iter = DEFAULT_MAX_ITER if self.max_iter is None else int(self.max_iter)
        targets = self._target.functions(table.y)
        return Learner(shared, targets, SOLVERS[self.solver](tol, max_iter))

    def _walk(self, learner: Learner, alphas: Array) -> Iterator[list[GradientFit]]:
        """Fits at decreasing alphas, adapted where asked for."""
        for fits in learner.walk(alphas):
            yield learner.adapted(fits) if self.adaptive_weights else fits

    def _grid(self, learner: Learner, alphas: Any, smallest: float = SMALLEST_FRACTION) -> Array:
        """Decreasing alphas: as given, or a number of them from the top of the problem."""
        top, wider = learner.alpha_scale or 1.0, 1.0 if self.penalty == "lasso" else WIDER
        return decreasing(alphas, wider * top, smallest / wider)

    def _fit_table(self, data: Data, table: Table, learner: Learner, alpha: float | None) -> Self:
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
        self._unpack(data, table, learner, fits, final)
        return self

    def _selected(self, fits: list[GradientFit], table: Table) -> tuple[Mask, Array]:
        """Support and importances of the input's columns, over all functions."""
        support, own, d = union_of(fits), fits[0].data.table, self.n_features_in_
        norms = np.where(support, np.max([fit.norms for fit in fits], axis=0), 0.0)
        unit = 1.0 if self._target.classes is not None else table.y_scale
        importances = spread(norms * own.deviations / unit, own, d)
        return spread(support, own, d, fill=False), importances

    def _unpack(
        self,
        data: Data,
        table: Table,
        learner: Learner,
        fits: list[GradientFit],
        final: list[GradientFit],
    ) -> None:
        """Solutions as fitted attributes; directions and predictions are those of ``final``."""
        shared, problem = fits[0].data, fits[0].problem
        self.support_, self.feature_importances_ = self._selected(fits, table)
        self.alpha_ = problem.penalty.alpha
        self.alpha_max_ = learner.alpha_max if self.penalty == "lasso" else np.inf
        self.ridge_ = problem.offset_ridge if problem.has_offset else problem.penalty.ridge
        self.kernel_, self.length_scale_ = shared.parameters.kernel, shared.width
        self.bandwidth_ = shared.bandwidth
        solutions = [fit.solution for fit in fits]
        self.dual_gap_ = sum(solution.gap for solution in solutions)
        self.objective_ = sum(solution.certificate.primal for solution in solutions)
        self.relative_gap_ = max(fit.solution.gap / fit.problem.reference for fit in fits)
        self.n_iter_ = max(1, *(solution.n_iter for solution in solutions))
        worst = max((fit.solution.status for fit in (*fits, *final)), key=list(Status).index)
        self.solver_status_ = worst.value
        self.history_ = [solved.history for solved in solutions if solved.history]
        inside = table.rows >= 0
        self.feature_kinds_ = feature_kinds(data.X[inside])
        # for the properties that speak of input rows
        self._rows, self._n_table = table.rows, len(table.X)
        self._keep(final, table)
        self._dropped_gradients = [
            function.gradients(self._scaler.transform(data.X[~inside]))
            for function in self._functions
        ]
        columns, targets = shared.table.X[:, union_of(fits)], self._target.functions(table.y)
        self.loo_r2_, self._loo_gain = left_out_gain(columns, targets, table)
        self._n_rows = len(data.X)
        self.selection_status_, self.twins_ = self._status(table)

    def _status(self, table: Table) -> tuple[str, list[tuple[int, int]]]:
        """As for the other selectors; without sparsity there is nothing to judge."""
        if self.penalty == "ridge":
            return "clear", []
        if self.support_.sum() > TWINS_UP_TO:
            return "too few rows", []
        return selection_status(self, table)

    def _keep(self, final: list[GradientFit], table: Table) -> None:
        """Directions and functions of the last fits."""
        self._functions = [fit.function for fit in final]
        self._scaler, self._y_mean = table.scaler, table.y_mean
        blocks = [(function.active, function.B) for function in self._functions]
        directions = find_directions(blocks, self.n_features_in_, self.n_components)
        self.components_, self.spectrum_ = directions.components, directions.spectrum
        self.gradient_covariance_ = directions.covariance

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
        warn(
            f"Rows {named} are so far from all others that their weights are zero: nothing is "
            f"learned from the pairs they begin. {cure}"
        )

    def _warn_unless_converged(self, fit: GradientFit) -> None:
        solution = fit.solution
        if solution.status is Status.CONVERGED:
            return
        interrupted = solution.status is Status.INTERRUPTED
        cure = "Fit again." if interrupted else "Raise max_iter or alpha, or loosen tol."
        warn_of_gap(type(self).__name__, solution, self.tol * fit.problem.reference, cure)


def left_out_gain(features: Array, targets: Array, table: Table) -> tuple[float, float]:
    """R2 on left-out rows of kernel ridge regression, and the gain over the mean.

    The gain is in standard errors. Targets are (n, q): y, or plus and minus one per class.
    """
    null, ours = np.zeros(len(targets)), np.zeros(len(targets))
    for target in targets.T:
        refit = ridge_on(features, replace(table, y=target))
        n = len(refit.loo_residuals)
        weights = table.weights[:n] / table.weights[:n].sum()
        null[:n] += ((target[:n] - weights @ target[:n]) / (1 - weights)) ** 2
        ours[:n] += refit.loo_residuals**2
    return saving(null[:n], ours[:n], weights)


def ridge_on(features: Array, table: Table) -> Refit:
    """Gaussian kernel ridge regression of y on features of the table's rows, ridge by left-outs."""
    F, y, weights = features[:MAX_ROWS], table.y[:MAX_ROWS], table.weights[:MAX_ROWS]
    columns, weights = np.flatnonzero(np.ptp(F, axis=0) > 0), weights / weights.sum()
    F = np.ascontiguousarray(F[:, columns])
    width = length_scale(Gaussian(), F, weights, "median") if F.shape[1] else 1.0
    data = (Squared(), Gaussian(), F, y, weights, columns)
    return refit(*data, scales=np.full(len(columns), 1 / width), fit_intercept=True)
