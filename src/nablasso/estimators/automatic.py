"""The common face of the automatic estimators: learn the metric, decide, refit, certify."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from nablasso.estimators.certificate import certify_selection
from nablasso.estimators.fitting import Fit, all_certified, spread
from nablasso.estimators.folds import Fold, draw_folds
from nablasso.estimators.found import Found, Rest
from nablasso.estimators.outcome import STABLE, describe, frequencies, read_outcome
from nablasso.estimators.reading import CLEAR_GAIN, feature_kinds
from nablasso.estimators.scoring import scored_errors
from nablasso.estimators.stratified import stratified_folds
from nablasso.estimators.taught import sample_of
from nablasso.exceptions import DataTooLargeError, InvalidDataError, InvalidParameterError
from nablasso.inference import (
    HeldOut,
    LinearConditional,
    PredictionLoss,
    adjusted_p_values,
    enough_draws,
    randomization_p_values,
)
from nablasso.kernels import as_kernel
from nablasso.losses import Loss
from nablasso.metric import Fit as MetricFit
from nablasso.metric import (
    Sample,
    Selection,
    Start,
    default_starts,
    select,
    starts_of,
)
from nablasso.metric.enough import FRESH, nothing_missed
from nablasso.metric.more_rows import exactly
from nablasso.metric.overlooked import with_products
from nablasso.metric.paired import paired
from nablasso.metric.refit import KERNELS, Refit, refit
from nablasso.metric.screening import WIDE, is_wide, screened, shortlisted
from nablasso.paths import Formulation
from nablasso.penalties import GroupLasso, Partition
from nablasso.preparation import Table, first_rows
from nablasso.solvers import Status

Array = NDArray[np.float64]
Index = NDArray[np.intp]

FIRST_ROWS = 300  # rows that metric, support and certificate are found on if they are enough
SEARCH_ROWS = 1000  # and if they are not: O(n^3) each
FEW_ROWS = 500  # up to which one BLAS thread is faster than several
LARGEST = 100  # groups that nested models go up to, unless max_features says otherwise


@dataclass(eq=False, repr=False)
class AutomaticSelector(SelectorMixin, BaseEstimator, ABC):
    """Shared by :class:`NablassoRegressor` and :class:`NablassoClassifier`."""

    kernel: Any = "auto"
    _: KW_ONLY
    feature_groups: Any = None
    always_keep: Any = None
    max_features: int | None = None
    fdr: float | None = None
    cv: Any = None
    scoring: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    @abstractmethod
    def _table(self, X: Array, y: Any, weights: Array) -> Table:
        """Rows of non-zero weight, or a fair sample of them: merged, in order, standardised."""

    @abstractmethod
    def _targets(self, table: Table) -> Array:
        """What the metric is taught with, (n, q)."""

    @abstractmethod
    def _loss(self) -> Loss:
        """Loss of the certificate."""

    @abstractmethod
    def _keep_functions(self, fit: MetricFit, sample: Sample, table: Table) -> None:
        """Remember what predicts."""

    def summary(self) -> str:
        """The result in words."""
        check_is_fitted(self)
        return describe(self)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def _fit_automatically(self, X: Array, y: Any, weights: Array, groups: Any) -> None:
        """Everything between validated arrays and fitted attributes."""
        self._check_parameters()
        table = self._table(X, y, weights)
        everything = self._sample(table)
        self.feature_kinds_ = feature_kinds(X[table.rows >= 0])
        found, interrupted = self._found(X, y, table, everything, groups)
        sample, fit = found.sample, found.refit.fit
        self.n_rows_searched_ = len(sample.X)
        self.refits_ = [
            {"kernel": str(one), "price": one.price, "n_rows": one.n_rows}
            for one in found.refit.tuned
        ]
        searched = first_rows(table, len(sample.X))
        with _threads(len(sample.X)):
            self._unpack(X, searched, sample, fit)
            read_outcome(self, searched, found)
        if len(everything.X) > len(sample.X):
            outside = np.flatnonzero((weights > 0) & (table.rows < 0))
            rest = Rest(X, np.asarray(y), outside, weights[outside] / table.total)
            fit, sample = self._on_more_rows(everything, fit, table, rest)
        self._keep_functions(fit, sample, table)
        self._warn(interrupted)

    def _found(
        self, X: Array, y: Any, table: Table, everything: Sample, groups: Any
    ) -> tuple[Found, bool]:
        """The answer of the first rows that are enough, and whether it was interrupted."""
        n, found = len(everything.X), None
        if n >= FIRST_ROWS + FRESH and self.fdr is None and not everything.kept.all():
            with _threads(FIRST_ROWS):
                found = self._decide(X, y, table, everything.first(FIRST_ROWS), groups)
                fresh = everything.rows(np.arange(FIRST_ROWS, FIRST_ROWS + FRESH))
                if found.interrupted or self._enough(found, fresh):
                    return found, found.interrupted
        try:
            with _threads(min(n, SEARCH_ROWS)):
                found = self._decide(X, y, table, everything.first(SEARCH_ROWS), groups)
        except KeyboardInterrupt:
            if found is None:
                raise
            return found, True
        return found, found.interrupted

    def _enough(self, found: Found, fresh: Sample) -> bool:
        """Whether the same groups are found in nearly all folds, and fresh rows miss no other."""
        assert found.selection is not None
        stable = frequencies(found.sample, found.selection)[found.chosen] >= STABLE
        return bool(stable.all()) and nothing_missed(fresh, found.refit.fit)

    def _decide(self, X: Array, y: Any, table: Table, sample: Sample, groups: Any) -> Found:
        """Search, decide and refit on the rows of a sample, the first ones of the table."""
        d = X.shape[1]
        self.p_values_ = None if self.fdr is None else np.ones(d)
        if sample.kept.all():  # nothing to decide
            chosen = np.flatnonzero(sample.kept)
            return Found(sample, None, chosen, self._refit(sample, chosen))
        sample = self._screened(sample)
        errors = {} if self.scoring is None else {"errors": partial(scored_errors, self, table)}
        selection = select(
            sample,
            self._starts(len(sample.X), sample.n_groups),
            self._folds(X, y, groups, table, sample),
            self._largest(sample),
            max_groups=self.max_features,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            **errors,
        )
        if self.fdr is not None:  # a product is no p-value of its columns
            chosen = self._discoveries(sample, selection, table, d)
            return Found(sample, selection, chosen, self._refit(sample, chosen))
        first = self._refit(sample, selection.chosen)
        found = Found(sample, selection, selection.chosen, first)
        if found.interrupted or not self._plain_folds(groups) or self.scoring is not None:
            return found  # a second look takes rows as independent, and judges by squares
        most = self.max_features
        joined = with_products(sample, found.chosen, first, most, verbose=self.verbose)
        return Found(sample, selection, *joined)

    def _on_more_rows(
        self, everything: Sample, fit: MetricFit, table: Table, rest: Rest
    ) -> tuple[MetricFit, Sample]:
        """The predictor on more rows than were searched, and the sample of its residuals."""
        return exactly(everything, fit)

    def _warn(self, interrupted: bool) -> None:
        if interrupted:
            self.selection_status_ = "interrupted"
            folds = self.tried_[0]["n_folds"] if self.tried_ else 0
            warnings.warn(
                f"Interrupted: the selection of {type(self).__name__} rests on {folds} folds of "
                f"{self.n_rows_searched_} rows, its predictor on the best of {len(self.refits_)} "
                "kernels. Fit again for the whole answer.",
                ConvergenceWarning,
                stacklevel=4,
            )
        for caution in self.cautions_:
            warnings.warn(caution, UserWarning, stacklevel=4)

    def _check_parameters(self) -> None:
        if self.fdr is not None and not 0 < float(self.fdr) < 1:
            raise InvalidParameterError(
                f"fdr is the share of false discoveries to allow, between 0 and 1, or None; got "
                f"{self.fdr!r}."
            )
        most = self.max_features
        if most is not None and (not isinstance(most, int | np.integer) or most < 1):
            raise InvalidParameterError(
                f"max_features must be a whole number of at least 1, or None; got {most!r}."
            )

    def _sample(self, table: Table) -> Sample:
        return sample_of(self, table, self._targets(table))

    def _screened(self, sample: Sample) -> Sample:
        """On a wide table, the sample with the groups that the search begins from."""
        if not is_wide(sample):
            return sample
        if self.fdr is not None:
            n, d = sample.X.shape
            raise DataTooLargeError(
                f"p-values of {sample.n_groups} hypotheses would need millions of redrawn columns: "
                f"fdr is for tables of at most {WIDE} numbers, got {n} x {d}. Select columns with "
                "HeldOutScreening on half of the rows, and use fdr with these on the other half."
            )
        return screened(shortlisted(sample, verbose=self.verbose))

    def _starts(self, n_samples: int, n_groups: int) -> list[Start]:
        if isinstance(self.kernel, str) and self.kernel == "auto":
            return default_starts(n_samples, n_groups)
        return starts_of(clone(as_kernel(self.kernel)))

    def _refit(self, sample: Sample, chosen: Index) -> Refit:
        automatic = isinstance(self.kernel, str) and self.kernel == "auto"
        kernels = KERNELS if automatic else [clone(as_kernel(self.kernel))]
        return refit(sample, chosen, kernels, verbose=self.verbose)

    def _largest(self, sample: Sample) -> int:
        n_kept = int(sample.kept.sum())
        most = LARGEST + n_kept if self.max_features is None else int(self.max_features)
        return min(sample.n_groups, max(most, n_kept))

    def _plain_folds(self, groups: Any) -> bool:
        """Whether rows may go into any fold."""
        return groups is None and (self.cv is None or isinstance(self.cv, int | np.integer))

    def _folds(self, X: Array, y: Any, groups: Any, table: Table, sample: Sample) -> list[Fold]:
        """Folds as rows of the table."""
        if self._plain_folds(groups):
            n_folds = None if self.cv is None else int(self.cv)
            if n_folds is None and self.scoring is not None:  # a score needs several rows
                n_folds = max(2, min(5, len(sample.X) // 4))
            return stratified_folds(sample.Y, n_folds, self.random_state)
        drawn = draw_folds(self.cv, X, y, groups, table, self.random_state)
        rows = table.rows
        inside = np.where(rows < len(sample.X), rows, -1)
        parts = [[np.unique(inside[part][inside[part] >= 0]) for part in fold] for fold in drawn]
        # copies of a row that a splitter tears apart are tested, not trained on
        parts = [[np.setdiff1d(train, test), test] for train, test in parts]
        folds = [(train, test) for train, test in parts if len(train) > 1 and len(test)]
        if not folds:
            raise InvalidDataError(
                "A fold needs at least 2 distinct training rows and one test row among the "
                f"{len(sample.X)} rows that are searched; cv gives none. Use a number for cv, or "
                "folds that mix the rows."
            )
        return folds

    def _discoveries(
        self, sample: Sample, selection: Selection, table: Table, d: int
    ) -> NDArray[np.intp]:
        """Groups that pass Benjamini-Hochberg, and those to keep; p-values per column.

        The model was picked by the same held-out rows that the p-values rest on, which favours it
        a little; so there are no discoveries at all unless it predicts these rows clearly better
        than the smallest model does.
        """
        assert self.fdr is not None
        best = selection.best
        size = int(np.argmin(best.curve))
        held_out = []
        for fold in best.folds:
            fit = fold.fits[size]
            used = np.isin(np.arange(sample.X.shape[1]), fit.columns)
            numbers = fold.test.astype(float)
            loss = PredictionLoss(
                fit.values, numbers, sample.weights[fold.test], partial(_distance, sample.Y)
            )
            held_out.append(HeldOut(fold.test, loss, used))
        members = [np.flatnonzero(sample.labels == g) for g in range(sample.n_groups)]
        p_values = randomization_p_values(
            held_out,
            sample.X,
            LinearConditional(sample.X, sample.weights),
            groups=members,
            ranks=np.array([columns.min() for columns in members]),
            seed=_seed(self.random_state),
            n_draws=enough_draws(sample.n_groups, self.fdr),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self.p_values_ = np.ones(d)
        self.p_values_[table.columns] = p_values[sample.labels]
        gain = paired(best.errors[0] - best.errors[size], best.weights)
        convincing = gain.mean > CLEAR_GAIN * gain.error
        found = (adjusted_p_values(p_values) <= self.fdr) & convincing
        order = np.lexsort((p_values, ~sample.kept))
        if self.max_features is not None:
            order = order[: self._largest(sample)]
        return np.sort(order[found[order] | sample.kept[order]])

    def _unpack(self, X: Array, table: Table, sample: Sample, fit: MetricFit) -> None:
        """Fitted attributes of the penalised function in the metric of the refit."""
        d, columns = X.shape[1], fit.columns
        chosen = replace(
            table,
            X=sample.X[:, columns],
            columns=table.columns[columns],
            deviations=table.deviations[columns],
        )
        support = np.zeros(d, dtype=bool)
        support[chosen.columns] = True
        self.support_ = support
        self.kernel_ = None if fit.space is None else fit.space.kernel
        self.scales_ = np.zeros(d)
        fits: list[Fit] = []
        if fit.space is not None:
            self.scales_[chosen.columns] = fit.space.scales
            fits = self._certificate(chosen, sample, fit)
        if any(f.solution.status is Status.INTERRUPTED for f in fits):
            raise KeyboardInterrupt
        self.alpha_ = fits[0].problem.alpha if fits else 0.0
        self.ridge_ = fits[0].problem.ridge if fits else 0.0
        self.dual_gap_ = sum(max(f.solution.gap, 0.0) for f in fits)
        self.objective_ = sum(f.solution.primal for f in fits)
        self.relative_gap_ = max(
            (max(f.solution.gap, 0.0) / f.problem.reference for f in fits), default=0.0
        )
        self.n_iter_ = max((f.solution.n_iter for f in fits), default=1) or 1
        self.importance_bounds_ = np.zeros((d, 2))
        self.support_certified_ = np.ones(d, dtype=bool)
        self.feature_importances_ = np.zeros(d)
        if fits:
            for end in (0, 1):
                bound = np.max([f.bounds[end] for f in fits], axis=0)
                self.importance_bounds_[:, end] = spread(bound, chosen, d)
            certified = all_certified(fits) & np.any([f.support for f in fits], axis=0)
            self.support_certified_ = spread(certified, chosen, d, fill=True)
            self.support_certified_[~support] = True
            norms = np.max([f.importances for f in fits], axis=0)
            self.feature_importances_ = spread(norms, chosen, d)

    def _certificate(self, table: Table, sample: Sample, fit: MetricFit) -> list[Fit]:
        """(P) on the selected columns in the metric of the refit, groups to keep unpenalised."""
        assert fit.space is not None
        groups, labels = np.unique(sample.labels[fit.columns], return_inverse=True)
        partition = Partition(labels.astype(np.intp))
        weights = np.where(sample.kept[groups], 0.0, np.bincount(labels))
        formulation = Formulation(
            fit.space.kernel,
            length_scale=1.0,
            penalty=lambda _: GroupLasso(partition, weights),
            fit_intercept=True,
            loss=self._loss(),
        )
        return certify_selection(table, formulation, fit.space.scales, list(sample.Y.T))


def _threads(n_rows: int) -> threadpool_limits:
    """One BLAS thread for small matrices: several on each would wait for one another."""
    return threadpool_limits(1 if n_rows <= FEW_ROWS else None, user_api="blas")


def _distance(Y: Array, numbers: NDArray[np.generic], outputs: Array) -> Array:
    """Squared error per row, added up over targets; rows are given by their numbers."""
    rows = np.asarray(numbers, dtype=np.intp)
    return np.asarray(np.sum((Y[rows] - outputs) ** 2, axis=1))


def _seed(random_state: Any) -> int:
    """A number from whatever ``random_state`` is."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(2**31 - 1))
