r"""Sparse gradient learning (Ye and Xie 2012): selection and dimension reduction together.

Regression, on standardised ``X`` and centred ``y`` with row weights ``p``:

.. math::
    \min_f \sum_{ij} p_i p_j w_{ij} \big(y_i - y_j + (x_j - x_i)^\top f(x_i)\big)^2
    + \alpha \sum_a \|f^a\|_K

Classes: the logistic loss of ``f0(x_i) + (x_j - x_i)' f(x_i)`` at the label of row j, plus
``ridge ||f0||^2`` (:mod:`nablasso.gradients.problem`).

**Cross-validation.** Scores are those of what ``predict`` returns: the refit on the directions of
each training fold, f0 for classes. The grid, the folds and the canonical order are fixed before any
fold is fitted; along the grid, from large alpha to small, each fit starts from the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from nablasso.data.cells import listed
from nablasso.data.table import Table
from nablasso.errors import InvalidDataError, warn
from nablasso.estimators.base import (
    Data,
    InKernel,
    PredictsClasses,
    PredictsNumbers,
    Selector,
    gap_of,
)
from nablasso.estimators.cross_validation import (
    Candidate,
    Cell,
    CrossValidated,
    Path,
    certificates_along,
    decreasing,
    grid_points,
)
from nablasso.estimators.display import Answers
from nablasso.estimators.parameters import KW_ONLY, estimator, fixed, parameter
from nablasso.estimators.validation import (
    check_count,
    check_length_scale,
    check_new_data,
    check_positive,
    feature_names,
    spread,
)
from nablasso.gradients.learner import (
    SOLVERS,
    GradientData,
    GradientFit,
    Learner,
    find_directions,
    union_of,
)
from nablasso.gradients.solvers import DEFAULT_MAX_ITER
from nablasso.kernels import Gaussian, as_kernel, length_scale
from nablasso.losses import LossSample, Squared
from nablasso.paths import DEFAULT_FRACTION
from nablasso.progress import track
from nablasso.regression.machine import Refit, refit
from nablasso.regression.ridge import saving
from nablasso.spaces import require_memory
from nablasso.types import Array, Mask

FOLD_TOL = 1e-4  # a fold's fit need not be more exact than its score
SMALLEST_FRACTION = 1e-2  # of alpha_max
WIDER = 10.0  # the ridge has no alpha_max: its grid begins at this many units and is as much longer
MAX_ROWS = 2000  # of kernel ridge regression: rows of a table are in random order


@estimator
class SparseGradientEstimator(
    Answers, ClassNamePrefixFeaturesOutMixin, TransformerMixin, InKernel, Selector
):
    """Shared by the sparse gradient regressors and classifiers.

    Attributes
    ----------
    feature_importances_ : array, shape (n_features,)
        RKHS norms of the partial derivatives, for standardised columns and in standard
        deviations of ``y`` (log-odds for classifiers); zero when not selected.
    gradient_covariance_ : sparse array, shape (n_features, n_features)
        Inner products of the partial derivatives (S-EGCM), in standardised units.
    components_ : array, shape (n_components, n_features)
        Its first eigenvectors: directions for standardised columns, zero where not selected.
    spectrum_ : array
        Its positive eigenvalues, largest first.
    alpha_, alpha_max_, ridge_, length_scale_, bandwidth_, kernel_
        What was used; ``alpha_max_`` selects nothing, infinite for the ridge. With
        adaptive weights they are those of the last problem, but for ``alpha_max_``.
    dual_gap_, relative_gap_, objective_ : float
        With adaptive weights they belong to the last problem, whose variables are the selected
        ones.
    loo_r2_ : float
        Leave-one-out R2 of kernel ridge regression on the selected variables (of classes coded
        as plus and minus one).
    """

    alpha: float | None = parameter(
        None,
        "Sparsity weight; by default a tenth of ``alpha_max``, the smallest value that selects "
        "nothing. The ridge has no such value: a tenth of its natural unit "
        "(:mod:`nablasso.gradients.solvers`).",
        check_positive,
    )
    _: KW_ONLY
    kernel: Any = parameter(
        "gaussian",
        "Kernel of the partial derivatives: a name or object of :mod:`nablasso.kernels` "
        '(``"linear"`` is x.y, ``Polynomial(1)`` is 1 + x.y).',
        kind="str or Kernel",
    )
    length_scale: Any = "half_median"
    bandwidth: Any = parameter(
        "half_median", "The s of the weights of pairs.", check_length_scale, kind="float or rule"
    )
    n_neighbors: int | None = parameter(
        None,
        "Without it all pairs have weights ``exp(-|x_i - x_j|^2 / 2 s^2)``, an n x n array; with "
        "it the given number of nearest rows have ``exp(-2 |x_i - x_j|^2 / s^2)``, the others "
        "none. Copies of a row count once.",
        check_count,
    )
    penalty: str = parameter(
        "lasso",
        "Sum of the norms, or of the squared norms (gradient learning without sparsity: everything "
        "is selected).",
        kind='{"lasso", "ridge"}',
    )
    ridge: float | None = parameter(
        None,
        "Weight of squared norms: of f0 (by default the leave-one-out choice of kernel logistic "
        "regression), and of the columns always kept (by default a hundredth of half the loss's "
        "largest curvature).",
        check_positive,
    )
    adaptive_weights: bool = parameter(
        False,
        "Solve again on the selected variables alone, weights and kernel measured in them and "
        "alpha the same fraction of ``alpha_max``, until all of them are selected.",
    )
    n_components: int | None = parameter(
        None,
        "Directions; by default as many as explain 95 % of the gradients' covariance.",
        check_count,
    )
    solver: str = parameter(
        "active_set",
        "Accelerated steps on an active set, or the plain steps of the paper's Algorithm 1 on all "
        "columns, for reference (:mod:`nablasso.gradients.solvers`).",
        kind='{"active_set", "forward_backward"}',
    )

    along = (40, SMALLEST_FRACTION)

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

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Mask of the selected variables, or their indices."""
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_.copy()

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _project(self, X: Array) -> Array:
        return np.asarray(self._scaler.transform(X) @ self.components_.T)

    def _on(self, table: Table) -> GradientData:
        """What the parameters ask for on a table."""
        labels, kept = self._groups()
        weights = np.where(kept, 0.0, np.bincount(labels)[labels])
        return GradientData(
            table,
            kernel=clone(as_kernel(self.kernel)),
            length_scale=self.length_scale,
            bandwidth=self.bandwidth,
            n_neighbors=self.n_neighbors,
            form=self.penalty,
            ridge=None if self.ridge is None else float(self.ridge),
            classes=self._target.classes is not None,
            labels=labels,
            group_weights=weights,
        )

    def _table(self, data: Data, **options: Any) -> Table:
        return super()._table(data, centre_x=True)

    def _learner(self, table: Table, tol: float) -> Learner:
        n, p = table.X.shape
        require_memory(n, min(p, n))
        max_iter = DEFAULT_MAX_ITER if self.max_iter is None else int(self.max_iter)
        targets = self._target.functions(table.y)
        return Learner(self._on(table), targets, SOLVERS[self.solver](tol, max_iter))

    def _walk(self, learner: Learner, alphas: Array) -> Iterator[list[GradientFit]]:
        """Fits at decreasing alphas, adapted where asked for."""
        for fits in learner.walk(alphas):
            yield learner.adapted(fits) if self.adaptive_weights else fits

    def _grid(self, learner: Learner, alphas: Any, smallest: float = SMALLEST_FRACTION) -> Array:
        """Decreasing alphas: as given, or a number of them from the top of the problem."""
        top, wider = learner.alpha_scale or 1.0, 1.0 if self.penalty == "lasso" else WIDER
        return decreasing(alphas, wider * top, smallest / wider)

    def _weights(self, data: Data, table: Table, groups: Any) -> dict[str, Any]:
        return {"learner": self._learner(table, self.tol), "alpha": self.alpha}

    def _path(self, data: Data, table: Table, alphas: Any, eps: float) -> Path:
        """Learn along ``alpha``, with warm starts.

        An interrupted path ends where it was; points that did not reach ``tol`` give a
        :class:`~sklearn.exceptions.ConvergenceWarning`.
        """
        learner = self._learner(table, float(self.tol))
        self._warn_of_isolated(learner.data)
        grid = self._grid(learner, alphas, eps)
        found = list(track(self._walk(learner, grid), len(grid), "path", verbose=self.verbose))
        for fits in found:
            for fit in fits:
                self._warn_of_gap(fit)
        supports, importances = zip(*(self._selected(fits, table) for fits in found), strict=True)
        return Path(
            grid[: len(found)],
            np.array(supports),
            np.max(importances, axis=1),
            feature_names(self),
            learner.alpha_max,
            **certificates_along([map(gap_of, fits) for fits in found]),
            n_iter=np.array([max(fit.solution.n_iter for fit in fits) for fits in found]),
        )

    def _fit_at(self, data: Data, table: Table, *, learner: Learner, alpha: float | None) -> None:
        self._warn_of_isolated(learner.data)
        value = DEFAULT_FRACTION * learner.alpha_scale if alpha is None else float(alpha)
        fits = learner.fits(value)
        if self.adaptive_weights:
            fits = learner.adapted(fits)
        for fit in fits:
            self._warn_of_gap(fit)
        self._unpack(data, table, learner, fits)

    def _selected(self, fits: list[GradientFit], table: Table) -> tuple[Mask, Array]:
        """Support of the input's columns over all functions, and importances of each."""
        support, own, d = union_of(fits), fits[0].data.table, self.n_features_in_
        unit = 1.0 if self._target.classes is not None else table.y_scale
        norms = [np.where(support, fit.norms, 0.0) * own.deviations / unit for fit in fits]
        rows = np.array([spread(of_function, own, d) for of_function in norms])
        return spread(support, own, d, fill=False), rows

    def _unpack(self, data: Data, table: Table, learner: Learner, fits: list[GradientFit]) -> None:
        """Solutions as fitted attributes."""
        shared, problem = fits[0].data, fits[0].problem
        self.support_, importances = self._selected(fits, table)
        self._keep_importances(importances)
        self.alpha_ = problem.penalty.alpha
        self.alpha_max_ = learner.alpha_max if self.penalty == "lasso" else np.inf
        self.ridge_ = problem.offset_ridge if problem.has_offset else problem.penalty.ridge
        self.kernel_, self.length_scale_ = shared.kernel, shared.width
        self.bandwidth_ = shared.reach
        self._keep_solved(fits)
        self._keep(fits, table)
        columns, targets = shared.table.X[:, union_of(fits)], self._target.functions(table.y)
        self._keep_status(data, table, left_out_gain(columns, targets, table))
        if self.penalty == "ridge":  # without sparsity there is nothing to judge
            self.selection_status_, self.twins_ = "clear", []

    def _keep(self, fits: list[GradientFit], table: Table) -> None:
        """Directions and functions of the fits."""
        super()._keep([fit.function for fit in fits], table)
        blocks = [(function.active, function.B) for function in self._functions]
        self.components_, self.spectrum_, self.gradient_covariance_ = find_directions(
            blocks, self.n_features_in_, self.n_components
        )

    def _warn_of_isolated(self, data: GradientData) -> None:
        """Name rows whose weights are all zero; refuse where that is most of them."""
        rows = data.table.rows
        alone = np.isin(rows, data.pairs.isolated())
        if not alone.any() or not data.table.X.shape[1]:
            return
        named = listed([str(row) for row in np.flatnonzero(alone)])
        cure = (
            f"Raise bandwidth (now {data.reach:.3g}, in standardised units where "
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

    def _warn_of_gap(self, fit: GradientFit) -> None:
        cure = "Raise max_iter or alpha, or loosen tol."
        self._warn_unless_converged(fit.solution, self.tol * fit.problem.reference, cure)


def left_out_gain(features: Array, targets: Array, table: Table) -> tuple[float, float]:
    """R2 on left-out rows of kernel ridge regression, and the gain over the mean.

    The gain is in standard errors. Targets are (n, q): y, or plus and minus one per class.
    """
    losses = []
    for target in targets.T:
        refit = ridge_on(features, replace(table, y=target))
        n = len(refit.loo_residuals)
        weights = table.weights[:n] / table.weights[:n].sum()
        null = ((target[:n] - weights @ target[:n]) / (1 - weights)) ** 2
        losses.append((null, refit.loo_residuals**2))
    return saving(losses, weights)


def ridge_on(features: Array, table: Table) -> Refit:
    """Gaussian kernel ridge regression of y on features of the table's rows, ridge by left-outs."""
    F, y, weights = features[:MAX_ROWS], table.y[:MAX_ROWS], table.weights[:MAX_ROWS]
    columns, weights = np.flatnonzero(np.ptp(F, axis=0) > 0), weights / weights.sum()
    F = np.ascontiguousarray(F[:, columns])
    width = length_scale(Gaussian(), F, weights, "median") if F.shape[1] else 1.0
    sample, scales = LossSample(y, weights, Squared()), np.full(len(columns), 1 / width)
    return refit(sample, Gaussian(), F, columns, scales)


@estimator
class GradientNumbers(PredictsNumbers, SparseGradientEstimator):
    """Shared by the regressors: kernel ridge regression on the directions predicts."""

    def _keep(self, fits: list[GradientFit], table: Table) -> None:
        super()._keep(fits, table)
        features = np.asarray(table.X @ self.components_[:, table.columns].T)
        self._predictor = ridge_on(features, table).function

    def _link(self, X: Array) -> Array:
        return np.asarray(self._y_mean + self._predictor.values(self._project(X)))


@estimator
class GradientsByFolds(CrossValidated, SparseGradientEstimator):
    """Choose ``alpha`` by cross-validation, then fit on all rows."""

    _: KW_ONLY
    alphas: Any = parameter(
        30,
        "Values to try; a number asks for that many from ``alpha_max`` (of the ridge: ten times "
        "its natural unit) down to a hundredth (thousandth) of it.",
        kind="int or array-like",
    )
    alpha: Any = fixed(None)

    def _weights(self, data: Data, table: Table, groups: Any) -> dict[str, Any]:
        learner = self._learner(table, self.tol)
        cell = Cell(self._grid(learner, self.alphas))
        outcomes = self._judged(data, table, groups, cell)
        best = self._choose(grid_points([cell]), outcomes, ties=cell.alphas)
        return {"learner": learner, **best}

    def _candidates(self, train: Data, held_out: Data, grid: Cell) -> Iterator[Candidate]:
        table, model = self._table(train), copy(self)
        if self.n_neighbors is not None:  # a fold may have fewer distinct rows
            model.n_neighbors = min(self.n_neighbors, len(table.X) - 1)
        learner = model._learner(table, max(self.tol, FOLD_TOL))
        done = 0
        for fits in model._walk(learner, grid.alphas):
            yield Candidate(model._as_fitted(fits, table), float(union_of(fits).sum()))
            done += 1
        if done < len(grid.alphas):
            raise KeyboardInterrupt


@estimator
class SparseGradientRegressor(GradientNumbers):
    """Sparse gradient learning for regression.

    Learns the gradient of the regression function from pairs of rows, most of its components
    exactly zero. Select variables by the components that are not, reduce the dimension by the
    eigenvectors of their covariance. Kernel ridge regression on these directions predicts.

    Examples
    --------
    >>> from nablasso import SparseGradientRegressor
    >>> from nablasso.datasets import make_turlach
    >>> from nablasso.kernels import Polynomial
    >>> data = make_turlach(100, 10, random_state=0)
    >>> model = SparseGradientRegressor(0.001, kernel=Polynomial(1), n_neighbors=10)
    >>> model.fit(data.X, data.y).get_support(indices=True).tolist()
    [0, 1, 2, 3, 4]
    """


@estimator
class SparseGradientClassifier(PredictsClasses, SparseGradientEstimator):
    """Sparse gradient learning for classes: gradients of the log-odds.

    Two classes need one function, more need one per class ("this class or not"). Predictions come
    from f0, the log-odds themselves, which is learned along with the gradients.

    Examples
    --------
    >>> from nablasso import SparseGradientClassifier
    >>> from nablasso.datasets import make_rings
    >>> data = make_rings(40, 10, random_state=0)
    >>> model = SparseGradientClassifier(0.02, standardize=False).fit(data.X, data.y)
    >>> model.get_support(indices=True).tolist()
    [0, 1]
    >>> model.transform(data.X).shape
    (40, 2)
    """


@estimator
class SparseGradientRegressorCV(GradientsByFolds, GradientNumbers):
    """:class:`SparseGradientRegressor` with ``alpha`` by cross-validation."""


@estimator
class SparseGradientClassifierCV(PredictsClasses, GradientsByFolds):
    """:class:`SparseGradientClassifier` with ``alpha`` by cross-validation."""
