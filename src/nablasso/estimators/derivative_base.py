r"""The lasso on partial derivatives: validate, build, solve, unpack.

On standardised ``X`` and, where the loss allows it, centred ``y`` it solves

.. math::
    \min_{f, b} \sum_i p_i\, l(y_i, b + f(x_i)) + \alpha \sum_g w_g \big(\mu \|\partial_g f\|_n +
    (1 - \mu) \|\partial_g f\|_n^2\big) + \lambda \|f\|^2

exactly, in the representer space of the kernel (:mod:`nablasso.problems`). Groups of one column
are the lasso, larger ones the group lasso, :math:`\mu` = ``l1_ratio`` below one the elastic net.
Classes have the logistic loss, several of them one against the rest
(:mod:`nablasso.estimators.target`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table
from nablasso.errors import (
    DegenerateFitWarning,
    InvalidParameterError,
    NoSelectionWarning,
    warn,
    warn_of_gap,
)
from nablasso.estimators.display import Answers
from nablasso.estimators.fitting import Fit, all_certified, left_out_gain, spread
from nablasso.estimators.outcome import feature_kinds, selection_status
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.tables import Selects
from nablasso.estimators.target import Data, Target
from nablasso.estimators.validation import (
    check_length_scale,
    check_new_data,
    check_non_negative,
    column_indices,
    group_labels,
    groups_of,
)
from nablasso.kernels import as_kernel
from nablasso.losses import Loss
from nablasso.paths import (
    DEFAULT_FRACTION,
    Formulation,
    ProblemFamily,
    StatisticsFamily,
)
from nablasso.penalties import ElasticNet, GroupLasso, Partition, Penalty
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


class Weights(NamedTuple):
    """What is given or chosen: ``alpha``, ``ridge``, and a multiplier of the length scale."""

    alpha: float | None
    ridge: float | None
    width: float = 1.0


@estimator
class DerivativeEstimator(Answers, Selects, BaseEstimator, ABC):
    """Shared by the derivative regressors and classifiers, with given or chosen weights.

    Attributes
    ----------
    support_ : array of bool, shape (n_features,)
        The selected variables.
    feature_importances_ : array, shape (n_features,)
        Norms of the partial derivatives of the penalised function in units of standard
        deviations of ``y`` (log-odds for classifiers, logs for the Poisson loss) per standard
        deviation of the column; zero when not selected.
    importance_bounds_ : array, shape (n_features, 2)
        The duality gap proves that the exact minimiser's norms lie between these.
    support_certified_ : array of bool, shape (n_features,)
        Where the problem is solved exactly enough to decide: selected with a lower bound above
        zero, or left out with an upper bound under one per cent of the strongest variable. It
        says what the exact minimiser does, not whether the variable matters in nature.
    dual_gap_, relative_gap_ : float
        Bound on the suboptimality, absolute and relative to the objective at ``f = 0``.
    objective_ : float
        Objective of the penalised function.
    scales_ : array, shape (n_features,)
        Multiplier of each column inside the kernel; one over the length scale for one pass.
    alpha_, ridge_, length_scale_, kernel_, loss_
        What was used.
    space_, space_reason_ : str
        The space, and why it was taken.
    approximation_error_ : float
        How far that space is from the exact one: root mean squared difference of predictions
        in deviations of ``y``, both refits of the selected columns on the same few rows. Zero in
        the exact space, nan where no rows were seen.
    solver_status_ : str
        ``"converged"``, ``"max_iter"``, ``"stalled"`` or, after a keyboard interrupt that kept
        the best fit so far, ``"interrupted"``.
    n_iter_ : int
        Iterations of the solver.
    loo_r2_ : float
        Leave-one-out R2 of the kernel machine on the selected variables; for losses other than
        the squared one the share of the null model's loss that it saves.
    feature_kinds_ : array of str, shape (n_features,)
        ``"continuous"``, ``"discrete"`` (at most 10 values) or ``"constant"``.
    selection_status_ : str
        ``"clear"``, ``"replaceable"``, ``"too few rows"`` or ``"none found"``.
    twins_ : list of (int, int)
        Selected variables and others correlated 0.95 or more with them.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    kernel: Any = parameter(
        "gaussian",
        "str or Kernel",
        '``"gaussian"``, ``"matern"``, ``"rough"``, ``"rational_quadratic"``, ``"linear"``, '
        '``"polynomial"``, ``"anova"``, or an object of :mod:`nablasso.kernels`.',
    )
    _: KW_ONLY
    length_scale: Any = parameter(
        "median",
        'float or {"median","half_median","neighbour20","median20"}',
        "Inputs are divided by it before the kernel sees them: a number, or a rule measured on the "
        "data. Kernels of the dot product have no distance; a rule means 1 for them.",
    )
    feature_groups: Any = parameter(
        None,
        "list of lists, mapping or labels",
        "A partition of the columns, by name or index, or one label per column. Groups are "
        "selected as a whole (the group lasso).",
    )
    group_weights: Any = parameter(
        "size",
        '{"size", "sqrt"} or array-like',
        "``w_g``: the group's size, its square root, or one number per group in the order of "
        "``feature_groups``.",
    )
    l1_ratio: float = parameter(
        1.0,
        "float",
        "Share of the norms in the penalty, above 0; the rest are their squares. Below 1 it is the "
        "elastic net, which keeps correlated variables together more often.",
    )
    always_keep: Any = parameter(
        None,
        "list",
        "Columns, by name, index or mask, that are not penalised and always selected (with their "
        "group), unless they are constant.",
    )
    n_passes: int = parameter(
        1,
        "int",
        "With more than one, kernel ridge fits first teach the kernel a scale per column (or "
        "group): the derivative norms of the fit before, relative to the largest. The last pass is "
        "the penalised fit, and the certificate is for it, in the metric ``scales_``.",
    )
    space: Any = parameter(
        "auto",
        '{"auto", "exact", "fourier", "nystrom"}',
        """
        Where f lives. ``"exact"`` is the representer space: n x n matrices. ``"fourier"``: cosines
        and sines, one pass over the rows (with other losses than the squared one, one pass a Newton
        step); selects with ANOVA kernels. ``"nystrom"``: the exact problem on ``n_components``
        rows, the refit on all rows. ``"auto"`` is exact while memory and time allow, then the one
        of the others that can select with the kernel.
        """,
    )
    n_components: int = parameter(512, "int", "Number of features, or of landmark rows.")
    standardize: bool = parameter(
        True, "bool", "Centre the columns and divide them by their standard deviation."
    )
    fit_intercept: bool = parameter(True, "bool")
    debias: bool = parameter(
        True,
        "bool",
        "Predict by a kernel machine with the same loss on the selected columns (kernel ridge "
        "regression for the squared loss; same kernel, length scale measured anew, ridge by "
        "leave-one-out) instead of the penalised function.",
    )
    solver: Any = parameter("dual", '{"dual", "denovas", "admm"} or Solver')
    tol: float = parameter(
        1e-6, "float", "Duality gap to reach, relative to the objective at ``f = 0``."
    )
    max_iter: int | None = parameter(None, "int", "By default the solver's own.")
    random_state: Any = parameter(
        None,
        "int or RandomState",
        "Draws features (0 by default) and, where folds are drawn for a number ``cv``, shuffles "
        "them; without it folds are fixed by the data.",
    )
    verbose: int = parameter(0, "int", "Log progress on the ``nablasso`` logger.")

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss, thresholds in units of a robust deviation of the target."""

    @abstractmethod
    def _weights(
        self, data: Data, table: Table, points: PenaltyPoints | None, groups: Any
    ) -> Weights:
        """The weights of the problem, given or chosen."""

    @abstractmethod
    def _statistics_weights(self, family: StatisticsFamily) -> Weights:
        """The weights of the problem, given or chosen by the folds of the statistics."""

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any, groups: Any = None
    ) -> Self:
        data = self._read(X, y, sample_weight)
        if X_unlabeled is not None:
            data = data._replace(unlabelled=check_new_data(self, X_unlabeled))
        table = self._table(data)
        points = penalty_points(table, data.unlabelled)
        alpha, ridge, width = self._weights(data, table, points, groups)
        self._unpack(data.X, self._solved(self._families(table, width, points), alpha, ridge))
        return self

    def _table(self, data: Data) -> Table:
        return self._target.table(data, standardize=self.standardize)

    def _formulation(self) -> Formulation:
        """What the parameters ask for; the data's columns are known by now."""
        check_length_scale(self.length_scale)
        if not isinstance(self.l1_ratio, Real) or not 0 < self.l1_ratio <= 1:
            raise InvalidParameterError(
                f"l1_ratio must be above 0 and at most 1, which is the lasso; got "
                f"{self.l1_ratio!r}. With 0 nothing would ever be selected out."
            )
        labels = group_labels(self, self.feature_groups)
        weights = _group_weights(self.group_weights, labels)
        kept = column_indices(self, self.always_keep, "always_keep")
        weights = np.where(np.isin(labels, labels[kept]), 0.0, weights)

        def penalty(columns: Index) -> Penalty:
            partition = Partition(labels[columns])
            of_groups = weights[columns][partition.first]
            if self.l1_ratio == 1:
                return GroupLasso(partition, of_groups)
            return ElasticNet(partition, of_groups, self.l1_ratio)

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

    def _families(
        self, table: Table, width: float, points: PenaltyPoints | None
    ) -> list[ProblemFamily]:
        """One family of problems per function; the metric, if any, is taught with all targets."""
        targets = self._target.functions(table.y)
        choice = self._choose_space(table, points)
        n = len(table.X) if choice.name == "exact" else min(len(table.X), METRIC_ROWS)
        shared = ProblemFamily(
            table,
            self._formulation(),
            width,
            points,
            self._metric(table.first(n), targets[:n]),
            choice=choice,
            n_components=int(self.n_components),
            random_state=self.random_state,
        )
        if self._target.classes is None:
            return [shared]
        return [shared.with_target(target) for target in targets.T]

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
        labels, groups = groups_of(self, table)
        kept = np.isin(np.arange(int(labels.max()) + 1), groups)
        X = table.X if (table.deviations == 1).all() else table.X / table.deviations
        kernel, passes = clone(as_kernel(self.kernel)), int(self.n_passes) - 1
        return adaptive_scales(kernel, X, targets, table.weights, labels, kept, passes)[labels]

    def _solved(
        self, families: list[ProblemFamily], alpha: float | None, ridge: float | None
    ) -> list[Fit]:
        """One problem of each family at one ridge and alpha, solved."""
        check_non_negative(alpha, "alpha")
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
        errors = [fit.family.approximation_error(fit.support) for fit in fits]
        self.approximation_error_ = max(errors)
        choice = first.family.choice or self._choose_space(table, None)
        self.space_, self.space_reason_ = choice.name, choice.reason
        self.feature_kinds_ = feature_kinds(X[table.rows >= 0])
        self.loo_r2_, self._loo_gain = left_out_gain(fits)
        self._n_rows = len(X)
        self._keep([fit.function(self.debias) for fit in fits], table)
        self.selection_status_, self.twins_ = selection_status(self, table)

    def _keep(self, functions: list[Function], table: Table) -> None:
        """Remember what predicts."""
        self._functions, self._scaler, self._y_mean = functions, table.scaler, table.y_mean

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
        self._target: Target = self._target.fitted(self.loss_)
        if self._target.classes is not None:
            rows = [spread(fit.importances, table, d) for fit in fits]
            self.class_importances_ = np.array(rows)
        self.dual_gap_ = sum(fit.solution.gap for fit in fits)
        self.objective_ = sum(fit.solution.primal for fit in fits)
        self.relative_gap_ = max(fit.solution.gap / fit.problem.reference for fit in fits)
        self.n_iter_ = max(1, *(fit.solution.n_iter for fit in fits))
        self.solver_status_ = _worst(fits).value

    def _warn_unless_selecting(self, family: ProblemFamily) -> None:
        taught = len(np.unique(family.metric)) > 1
        if family.features is None or family.features.selects or taught:
            return
        warn(
            f"Fourier features of {family.formulation.kernel!r} touch all variables at once: the "
            "penalty shrinks derivatives but leaves no variable out. To select use "
            'kernel="anova", space="nystrom", or n_passes > 1 (a learned metric).',
            NoSelectionWarning,
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
        warn_of_gap(type(self).__name__, solution, target, cure)

    def _warn_if_degenerate(self, fit: Fit) -> None:
        steepness = fit.family.steepness(fit.solution)
        if steepness > STEEP:
            warn(
                f"The fitted function is {steepness:.0f} times steeper between the data than at "
                "them, so its derivatives at the data say little. Raise ridge, widen "
                "length_scale, lower alpha, or give X_unlabeled.",
                DegenerateFitWarning,
            )


def _group_weights(asked: Any, labels: Index) -> Array:
    """Weight of each column's group, per column."""
    sizes = np.bincount(labels).astype(float)
    if isinstance(asked, str):
        if asked not in ("size", "sqrt"):
            raise InvalidParameterError(
                f'group_weights must be "size", "sqrt" or one number per group; got {asked!r}.'
            )
        return np.asarray((sizes if asked == "size" else np.sqrt(sizes))[labels])
    per_group = np.asarray(asked, dtype=float)
    if per_group.shape != sizes.shape or not (per_group > 0).all():
        raise InvalidParameterError(
            f"group_weights must hold {len(sizes)} positive numbers, one per group; got "
            f"{asked!r}. To leave a group unpenalised use always_keep."
        )
    return np.asarray(per_group[labels])


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
