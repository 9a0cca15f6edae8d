r"""The lasso on partial derivatives, for numbers and for classes, its weights given or chosen.

On standardised ``X`` and, where the loss allows it, centred ``y`` it solves

.. math::
    \min_{f, b} \sum_i p_i\, l(y_i, b + f(x_i)) + \alpha \sum_g w_g \big(\mu \|\partial_g f\|_n +
    (1 - \mu) \|\partial_g f\|_n^2\big) + \lambda \|f\|^2

exactly, in the representer space of the kernel (:mod:`nablasso.problems`). Groups of one column
are the lasso, larger ones the group lasso, :math:`\mu` = ``l1_ratio`` below one the elastic net.
Classes have the logistic loss, several of them one against the rest.

**Cross-validation.** Scores are those of what ``predict`` returns: debiased inside each training
fold. The grid, the folds and the canonical order are fixed before any fold is fitted. A candidate
is what ``predict`` would use at one width, ridge and alpha: the refits on its supports, or the
penalised functions; one per problem. Candidates of one support share their refit.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from nablasso.data.table import Table
from nablasso.errors import DegenerateFitWarning, InvalidParameterError, warn
from nablasso.estimators.base import (
    Data,
    InKernel,
    PredictsClasses,
    PredictsNumbers,
    Selector,
    Selects,
    Target,
)
from nablasso.estimators.cross_validation import (
    Candidate,
    Cell,
    CrossValidated,
    Path,
    decreasing,
    grid_points,
    positive_list,
)
from nablasso.estimators.display import Answers
from nablasso.estimators.outcome import Proof
from nablasso.estimators.parameters import KW_ONLY, estimator, fixed, parameter
from nablasso.estimators.validation import (
    check_new_data,
    check_non_negative,
    check_share,
    feature_names,
    spread,
)
from nablasso.kernels import as_kernel
from nablasso.paths import DEFAULT_FRACTION, Formulation, ProblemFamily
from nablasso.penalties import Partition, Penalty
from nablasso.problems import ABOVE
from nablasso.progress import track
from nablasso.regression.ridge import saving
from nablasso.solvers import Solver, Status, as_solver, support_of, walk_path
from nablasso.spaces import Function, penalty_points
from nablasso.types import Array, Index, Mask

NEGLIGIBLE = 0.01  # of the largest derivative norm: below it, being out counts as certified
STEEP = 10.0  # derivative norms growing this much between the data call for a warning
DEFAULT_RIDGES = (1.0, 10.0, 100.0)  # times the leave-one-out choice
RIDGE_FRACTION = 1e-4  # of the kernel's trace, at least
SMALLEST_FRACTION = 1e-3  # of alpha_max
STEEPNESS_LIMIT = 2.0  # mean over the folds; steeper candidates are not chosen
HOPELESS = 5.0  # steepness from which larger alphas are not tried

Step = tuple[Function, Mask, float]  # what is fitted, its support, its steepness at held-out rows


@dataclass(frozen=True)
class Fit(Proof):
    """A solved problem of a family, and what predicts."""

    family: ProblemFamily

    @cached_property
    def unit(self) -> Array:
        """Standard deviations per deviation of y.

        Losses with a link have no deviation of y; their unit is that of the link.
        """
        scale = self.family.table.y_scale if self.family.loss.translates else 1.0
        return np.asarray(self.family.table.deviations / scale)

    @cached_property
    def certified(self) -> Mask:
        """Where the bounds decide."""
        lower, upper = self.problem.derivative_bounds(self.solution.point)
        return np.where(self.support, lower > 0, upper <= NEGLIGIBLE * lower.max(initial=0.0))

    def function(self, debias: bool) -> Function:
        """What predicts: the kernel machine on the selected columns, or the penalised function."""
        family = self.family
        return family.refit(self.support).function if debias else family.function(self.solution)

    def left_out_losses(self) -> tuple[Array, Array]:
        """Loss of each row under the null model, and under the refit without the row."""
        loss, table = self.family.loss, self.family.table
        fits = self.family.formulation.fit_intercept or loss.translates
        nothing = np.zeros_like(table.y)
        null = loss.best_intercept(table.y, nothing, table.weights) if fits else 0.0
        left_out = table.y - self.family.refit(self.support).loo_residuals
        return loss.value(table.y, nothing + null), loss.value(table.y, left_out)


@estimator
class DerivativeEstimator(Answers, Selects, InKernel, Selector):
    """Shared by the derivative regressors and classifiers, with given or chosen weights.

    Attributes
    ----------
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
    scales_ : array, shape (n_features,)
        Multiplier of each column inside the kernel: one over the length scale.
    alpha_, ridge_, length_scale_, kernel_, loss_
        What was used.
    """

    kernel: Any = parameter(
        "gaussian",
        '``"gaussian"``, ``"matern"``, ``"rough"``, ``"rational_quadratic"``, ``"linear"``, '
        '``"polynomial"``, ``"anova"``, or an object of :mod:`nablasso.kernels`.',
        kind="str or Kernel",
    )
    alpha: float | None = parameter(
        None,
        "Sparsity weight; by default a tenth of ``alpha_max``, the smallest value that selects "
        "nothing (of ``Problem.alpha_scale`` where that is blown up).",
        check_non_negative,
    )
    ridge: float | None = parameter(
        None,
        "Weight of ``||f||^2``; by default chosen by leave-one-out (closed form for the squared "
        "loss, to second order for others). Zero means the limit, 1e-7 of the kernel's trace: "
        "without any, f may be flat at the data and free between them.",
    )
    _: KW_ONLY
    group_weights: Any = parameter(
        "size",
        "``w_g``: the group's size, its square root, or one number per group in the order of "
        "``feature_groups``.",
        kind='{"size", "sqrt"} or array-like',
    )
    l1_ratio: float = parameter(
        1.0,
        "Share of the norms in the penalty, above 0; the rest are their squares. Below 1 it is the "
        "elastic net, which keeps correlated variables together more often.",
        check_share,
    )
    loss: Any = parameter(
        "squared",
        '``"squared"``, ``"huber"``, ``"epsilon_insensitive_squared"``, ``"poisson"`` (counts; '
        "predictions are ``exp(f)``), or an object of :mod:`nablasso.losses`, whose thresholds are "
        "in units of a robust deviation of ``y``.",
        kind="str or Loss",
    )
    fit_intercept: bool = parameter(True)
    debias: bool = parameter(
        True,
        "Predict by a kernel machine with the same loss on the selected columns (kernel ridge "
        "regression for the squared loss; same kernel, length scale measured anew, ridge by "
        "leave-one-out) instead of the penalised function.",
    )
    solver: Any = parameter("dual", kind='{"dual", "denovas", "admm"} or Solver')

    along = (50, SMALLEST_FRACTION)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        X_unlabeled: Any = None,
    ) -> Self:
        """Select variables and fit the function."""
        return self._fit(self._data(X, y, sample_weight, X_unlabeled), groups)

    def _data(self, X: Any, y: Any, sample_weight: Any, unlabelled: Any) -> Data:
        data: Data = self._read(X, y, sample_weight)
        if unlabelled is None:
            return data
        return data._replace(unlabelled=check_new_data(self, unlabelled))

    def _fit_at(
        self,
        data: Data,
        table: Table,
        *,
        alpha: float | None,
        ridge: float | None,
        width: float = 1.0,
    ) -> None:
        """One problem per function, at one ridge and alpha, solved."""
        families = self._families(table, width, data.unlabelled)
        if ridge is None:
            ridge = max(family.best_ridge() for family in families)
        problems = [family.problem(float(ridge)) for family in families]
        if alpha is None:
            alpha = DEFAULT_FRACTION * max(problem.alpha_max()[1] for problem in problems)
        solver = as_solver(self.solver, self.tol, self.max_iter, families[0].loss)
        fits: list[Fit] = []
        for family, free in zip(families, problems, strict=True):
            problem = replace(free, alpha=float(alpha))
            if Status.INTERRUPTED in [fit.solution.status for fit in fits]:  # what starting costs
                solution = clone(solver).set_params(max_iter=0).solve(problem)
                solution = replace(solution, status=Status.INTERRUPTED)
            else:
                solution = solver.polish(problem, solver.solve(problem))
            cure = "Raise max_iter, loosen tol, raise ridge, or lower alpha."
            self._warn_unless_converged(solution, self.tol * problem.reference, cure)
            fits.append(Fit(problem, solution, family))
        self._unpack(data, fits)

    def _formulation(self) -> Formulation:
        """What the parameters ask for; the data's columns are known by now."""
        labels, kept = self._groups()
        weights = np.where(kept, 0.0, _group_weights(self.group_weights, labels))

        def penalty(columns: Index) -> Penalty:
            partition = Partition(labels[columns])
            return Penalty(partition, weights[columns][partition.first], self.l1_ratio)

        return Formulation(
            kernel=clone(as_kernel(self.kernel)),
            length_scale=self.length_scale,
            penalty=penalty,
            fit_intercept=self.fit_intercept,
            loss=self._loss(),
        )

    def _families(
        self, table: Table, width: float, unlabelled: Array | None
    ) -> list[ProblemFamily]:
        """One family of problems per function."""
        points = penalty_points(table, unlabelled)
        shared = ProblemFamily(table, self._formulation(), width, points)
        if self._target.classes is None:
            return [shared]
        return [shared.with_target(target) for target in self._target.functions(table.y).T]

    def _unpack(self, data: Data, fits: list[Fit]) -> None:
        """What the solved problems say, per column of the input."""
        first, table, d = fits[0], fits[0].family.table, data.X.shape[1]
        for fit in fits:
            steepness = fit.family.steepness(fit.solution)
            if steepness > STEEP and (fit.support.any() or not self.debias):
                warn(
                    f"The fitted function is {steepness:.0f} times steeper between the data than "
                    "at them, so its derivatives at the data say little. Raise ridge, widen "
                    "length_scale, lower alpha, or give X_unlabeled.",
                    DegenerateFitWarning,
                )
        proven = np.any([fit.support & fit.certified for fit in fits], axis=0)
        outside = np.all([~fit.support & fit.certified for fit in fits], axis=0)
        support = np.any([fit.support for fit in fits], axis=0)
        bounds = [np.max([fit.bounds[end] for fit in fits], axis=0) for end in (0, 1)]
        self.support_ = spread(support, table, d, fill=False)
        self._keep_importances(np.array([spread(fit.importances, table, d) for fit in fits]))
        self.importance_bounds_ = np.column_stack([spread(bound, table, d) for bound in bounds])
        self.support_certified_ = spread(proven | outside, table, d, fill=True)
        self.alpha_, self.ridge_ = first.problem.alpha, first.problem.ridge
        self.kernel_, self.length_scale_ = first.family.formulation.kernel, first.family.width
        self.scales_ = spread(first.family.space.scales, table, d)
        self.loss_ = first.family.loss
        self._target: Target = replace(self._target, loss=self.loss_)
        self._keep_solved(fits)
        self._keep([fit.function(self.debias) for fit in fits], table)
        losses = [fit.left_out_losses() for fit in fits]
        self._keep_status(data, table, saving(losses, table.weights))

    def _weights(self, *_: Any) -> dict[str, Any]:
        return {"alpha": self.alpha, "ridge": self.ridge}

    def _path(self, data: Data, table: Table, alphas: Any, eps: float) -> Path:
        family = self._only(self._families(table, 1.0, data.unlabelled))
        ridge = family.best_ridge() if self.ridge is None else float(self.ridge)
        problem = family.problem(ridge)
        flat = problem.flat()[0]
        top = ABOVE * problem.gauge(flat)
        grid = decreasing(alphas, top, eps, zero=True)
        solver = as_solver(self.solver, self.tol, self.max_iter, family.loss)
        steps = walk_path(problem, grid[::-1], solver, flat)
        tracked = track(steps, len(grid), "path", verbose=self.verbose)
        fits = [Fit(*solved, family) for solved in tracked][::-1]
        d = data.X.shape[1]
        return Path(
            grid,
            np.array([spread(fit.support, table, d, fill=False) for fit in fits]),
            np.array([spread(fit.importances, table, d) for fit in fits]),
            feature_names(self),
            top,
            ridge=ridge,
            dual_gaps=np.array([fit.solution.gap for fit in fits]),
            n_iter=np.array([fit.solution.n_iter for fit in fits], dtype=np.intp),
        )


def _group_weights(asked: Any, labels: Index) -> Array:
    """Weight of each column's group, per column."""
    sizes = np.bincount(labels).astype(float)
    named = {"size": sizes, "sqrt": np.sqrt(sizes)}
    weights = named.get(asked) if isinstance(asked, str) else np.asarray(asked, dtype=float)
    if weights is None or weights.shape != sizes.shape or not (weights > 0).all():
        raise InvalidParameterError(
            f'group_weights must be "size", "sqrt" or {len(sizes)} positive numbers, one per '
            f"group; got {asked!r}. To leave a group unpenalised use always_keep."
        )
    return np.asarray(weights[labels])


@estimator
class ChosenWeights(CrossValidated, DerivativeEstimator):
    """Choose ``alpha``, ``ridge`` and width by cross-validation, then fit on all rows."""

    _: KW_ONLY
    alphas: Any = parameter(
        30,
        "Sparsity weights to try; a number asks for that many from ``Problem.alpha_scale`` of each "
        "ridge and width down to a thousandth of it.",
        kind="int or array-like",
    )
    ridges: Any = parameter(
        None,
        "Weights of ``||f||^2`` to try; by default the leave-one-out choice of each width (at "
        "least 1e-4 of the kernel's trace) times 1, 10 and 100.",
        kind="array-like",
    )
    widths: Any = parameter(
        None, "Multipliers of the length scale to try; by default 1.", kind="array-like"
    )
    alpha: Any = fixed(None)
    ridge: Any = fixed(None)

    fold_tol: ClassVar[float] = 1e-5  # a fold's fit need not be more exact than its score

    def _weights(self, data: Data, table: Table, groups: Any) -> dict[str, Any]:
        cells: list[Cell] = []
        for width in positive_list((1.0,) if self.widths is None else self.widths, "widths"):
            families = self._families(table, width, data.unlabelled)
            cells += self._cells(families, float(width))
        judge = copy(self)
        judge._target = replace(self._target, loss=families[0].loss)
        return self._best(cells, judge._judged(data, table, groups, cells))

    def _best(self, cells: list[Cell], outcomes: dict[str, Array]) -> dict[str, float]:
        """The weights of the candidate that the rule takes."""
        params = grid_points(cells)
        allowed = outcomes["steepness"].mean(axis=0) <= STEEPNESS_LIMIT
        least_shrunk = np.array([p["alpha"] for p in params])
        return self._choose(params, outcomes, allowed=allowed, ties=least_shrunk)

    def _cells(self, families: list[ProblemFamily], width: float) -> list[Cell]:
        """The cells of one width, a path of alphas for each ridge."""
        ridges, counted = self.ridges, isinstance(self.alphas, int | np.integer)
        if ridges is None:  # large enough for the folds' problems to be well-posed
            least = max(max(f.best_ridge(), RIDGE_FRACTION * f.trace) for f in families)
            ridges = least * np.array(DEFAULT_RIDGES)
        cells = []
        for ridge in positive_list(ridges, "ridges").tolist():
            problems = [family.problem(ridge) for family in families] if counted else []
            tops = [problem.alpha_max() for problem in problems] or [(1.0, 1.0)]
            alphas = decreasing(self.alphas, max(scale for _, scale in tops), SMALLEST_FRACTION)
            if counted:  # the null model, in the folds as on all rows
                alphas[0] = max(top for top, _ in tops)
            fixed = {"ridge": ridge, "width": width}
            cells.append(Cell(alphas, fixed, null_first=self.debias and counted))
        return cells

    def _candidates(self, train: Data, held_out: Data, grid: list[Cell]) -> Iterator[Candidate]:
        table = self._table(train)
        rows = table.scaler.transform(held_out.X)[:, table.columns], held_out.weights
        solver = as_solver(self.solver, max(self.tol, self.fold_tol), self.max_iter, self._loss())
        families: dict[float, list[ProblemFamily]] = {}
        for cell in grid:
            width = cell.fixed["width"]
            if width not in families:
                families[width] = self._families(table, width, train.unlabelled)
            walks = [
                _path_steps(self.debias, family, solver, cell, rows) for family in families[width]
            ]
            for parts in zip(*walks, strict=True):
                functions, supports, steepness = zip(*parts, strict=True)
                size, more = float(np.any(supports, axis=0).sum()), {"steepness": max(steepness)}
                yield Candidate(self._as_fitted(list(functions), table), size, more)


def _path_steps(
    debias: bool,
    family: ProblemFamily,
    solver: Solver[Any],
    cell: Cell,
    held_out: tuple[Array, ...],
) -> list[Step]:
    """The function that ``predict`` would use at each alpha of a cell, the largest first.

    The walk goes from the smallest alpha up, until nothing new can come: larger alphas select
    nothing, or nothing that means anything.
    """
    free = family.problem(cell.fixed["ridge"])
    always = np.asarray(free.penalty.partition.spread(free.penalty.weights)) == 0
    alphas = cell.alphas[1:] if cell.null_first else cell.alphas
    found: list[Step] = []
    for problem, solution in walk_path(free, alphas[::-1], solver):
        support = support_of(problem, solution)
        function = family.refit(support).function if debias else family.function(solution)
        steepness = family.steepness(solution, *held_out)
        found.append((function, support, steepness))
        if not (support & ~always).any() or steepness > HOPELESS:
            break
    if found:
        function, support, steepness = found[-1]
        steepness = np.inf if (support & ~always).any() else steepness
        found += [(function, support, steepness)] * (len(alphas) - len(found))
    if cell.null_first:
        found.append((family.refit(always).function, always, 1.0))
    return found[::-1]


@estimator
class DerivativeLasso(PredictsNumbers, DerivativeEstimator):
    r"""Lasso on partial derivatives: the penalty is :math:`\alpha \sum_a \|\partial_a f\|_n`.

    ``feature_groups`` make it the group lasso, :math:`\sum_g w_g \|\partial_g f\|_n` with
    :math:`\|\partial_g f\|_n^2` the sum over the variables of the group; ``l1_ratio`` below one
    makes it the elastic net, :math:`\mu \sum_a \|\partial_a f\|_n + (1 - \mu) \sum_a
    \|\partial_a f\|_n^2`.

    Examples
    --------
    >>> from nablasso import DerivativeLasso
    >>> from nablasso.datasets import make_product
    >>> data = make_product(80, 5, random_state=0)
    >>> model = DerivativeLasso(kernel="polynomial", alpha=0.1).fit(data.X, data.y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1']
    """


@estimator
class DerivativeLassoClassifier(PredictsClasses, DerivativeEstimator):
    """Lasso on the partial derivatives of the log-odds; group lasso and elastic net too.

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import DerivativeLassoClassifier
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = DerivativeLassoClassifier(kernel="polynomial", alpha=0.1).fit(X, y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1']
    """

    loss: Any = fixed("logistic")


@estimator
class DerivativeLassoCV(PredictsNumbers, ChosenWeights):
    """:class:`DerivativeLasso` with ``alpha``, ``ridge`` and width by cross-validation."""


@estimator
class DerivativeLassoClassifierCV(PredictsClasses, ChosenWeights):
    """:class:`DerivativeLassoClassifier` with its parameters by cross-validation."""

    loss: Any = fixed("logistic")
