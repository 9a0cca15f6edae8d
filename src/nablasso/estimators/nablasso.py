"""The one call: decide which columns matter (:mod:`nablasso.search.decide`), predict, certify."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import truediv
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from nablasso.answer import judged_words, left_out_words
from nablasso.data.table import Table, check_weights, is_in_blocks, prepare
from nablasso.errors import DataTooLargeError, InvalidDataError, InvalidParameterError, warn
from nablasso.estimators.base import (
    PredictsClasses,
    Target,
    check_classes,
    class_shares,
    read_classes,
)
from nablasso.estimators.certificate import Proof, Setting, certify_selection
from nablasso.estimators.cross_validation import draw_folds
from nablasso.estimators.discoveries import discoveries
from nablasso.estimators.display import Answers
from nablasso.estimators.explained import (
    contribution_table,
    explanation_of,
    importance_table,
    shape_table,
    share_of_columns,
    together_of,
)
from nablasso.estimators.outcome import (
    accuracy_of_classes,
    accuracy_of_numbers,
    read_all_rows,
    read_outcome,
)
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.scoring import fold_score
from nablasso.estimators.tables import Selects
from nablasso.estimators.validation import (
    by_column,
    check_new_data,
    check_training_data,
    column_indices,
    feature_kinds,
    group_labels,
    groups_of,
    target_name,
)
from nablasso.kernels import as_kernel
from nablasso.losses import Logistic, Loss, Squared
from nablasso.penalties import GroupLasso, Partition
from nablasso.reading.explanation import Explanation
from nablasso.regression.laplace import left_out_odds
from nablasso.screening import narrowed
from nablasso.search.decide import Decision, decide
from nablasso.search.families import FAMILIES, Family
from nablasso.search.few import FewRows
from nablasso.search.grown import Grown, grow
from nablasso.search.predictor import (
    AllRows,
    Predictor,
    odds_of_all,
    predictor_of,
    predictor_of_all,
)
from nablasso.search.rules import Rules
from nablasso.spaces import Function, RepresenterSpace
from nablasso.streaming.responses import Kind
from nablasso.streaming.sample import PREPARED_ROWS, prepared_rows
from nablasso.streaming.sources import Arrays, Source, open_table
from nablasso.types import Array, Index

ONE_THREAD = 10_000  # rows up to which one BLAS thread is faster than several that wait
N_FOLDS = 5
METRIC = "the derivative lasso on the selected columns, in the learned metric"
SUMS = "the adaptive group lasso over the terms of all columns, on all rows"
FRESH = 2000  # rows at most that judge what was found on others


@estimator
class AutomaticSelector(Answers, Selects, BaseEstimator, ABC):
    """Shared by :class:`NablassoRegressor` and :class:`NablassoClassifier`.

    Attributes
    ----------
    support_ : array of bool, shape (n_features,)
        The selected variables.
    feature_importances_ : array, shape (n_features,)
        The share of the variance of the prediction (for classes: of the log-odds) that a column
        carries: its Shapley effect where columns depend on one another
        (:mod:`nablasso.reading.shares`). Shares add up to one; columns of one group have equal
        parts of its share.
    importances_ : DataFrame, or dict of arrays without pandas
        One row for each selected column or group: ``share`` with 90 % interval ``low``, ``high``;
        ``of_y``, the share times the left-out R2; ``first_order`` and ``total`` Sobol' indices
        with intervals; ``slope``, root mean squared, in the units of the table, and
        ``direction``; ``degrees``, effective degrees of freedom; ``shuffled``, by how much of the
        variance of y left-out errors grow when the column is shuffled (not for classes);
        ``p_value`` with ``fdr``. Computed when first asked for.
    slopes_ : array, shape (n_features,)
        Norms of the partial derivatives (difference quotients for discrete columns) of the
        penalised function, in deviations of the target (for classes: in log-odds) per deviation
        of the column.
    importance_bounds_ : array, shape (n_features, 2)
        The duality gap proves that the exact minimiser's derivative norms lie between these;
        the difference quotients of a discrete column need not.
    support_certified_ : array of bool, shape (n_features,)
        Where the gap proves what the exact minimiser of (P) in the learned metric does; with many
        rows, where that of the adaptive group lasso over all columns, on the sums of all rows,
        agrees (:mod:`nablasso.solvers.sums`).
    evidence_ : array, shape (n_features,)
        What leaving the variable out (with its copies) would cost, in nats: 3 are odds of about
        20 to 1. Zero where it is not selected, or was to be kept.
    clear_by_ : array, shape (n_features,)
        Standard errors by which left-out rows are worse without it; not a number where that
        was not looked at.
    p_values_ : array, shape (n_features,), or None
        With ``fdr``: by conditional randomisation on held-out rows.
    selection_status_ : str
        ``"clear"``, ``"replaceable"`` (others could stand in), ``"too few rows"``,
        ``"doubtful"`` (see ``cautions_``), ``"interrupted"``, ``"none found"`` or
        ``"constant target"``.
    answer_ : Answer
        All of this as plain data, with every sentence about it (:mod:`nablasso.answer`).
    n_rows_searched_ : int
        Rows that decided: all of them, unless ``fdr``, ``cv``, ``scoring``, a kernel of
        one's own or a wide table leave the decision to the first 600.
    family_ : str
        The family of functions that won; ``"terms"`` where more rows than 650 were searched.
    assumptions_ : list of str
        What was found about noise and target and taken into account: heavy tails, uneven or
        serial noise, a skewed target.
    runner_up_ : (list of int, float) or None
        The best other set of columns that was tried, and by how many nats it lost.
    cautions_ : list of str
        What derivatives cannot see in these data.
    screened_ : array of bool, shape (n_features,)
        The variables that the search began from: all of them, unless the table is wide (more
        than 4 000 000 numbers in the rows searched).
    twins_ : list of (int, int)
        Selected variables and others correlated 0.95 or more with them.
    alternatives_ : list of (int, int, float, float)
        Selected variables and others that predict as well in their place, with the scores of
        left-out rows with the one and with the other (R2; of classes, accuracy).
    replaceable_ : list of (int, list of int, float)
        Selected variables that others together tell, and which share of them.
    interactions_ : list of (int, int, float)
        Pairs of selected variables by decreasing share of the variance of the prediction in which
        they act together; of a group its first column. Of more than 15 variables the pairs of the
        15 with the largest shares.
    triples_ : list of (int, int, int, float)
        Triples all of whose pairs act together, likewise.
    tried_ : list of dict
        The models that were tuned, by price: family, columns, price in nats.
    kernel_, scales_, alpha_, ridge_
        The kernel, the multiplier of every standardised column inside it (zero: dropped), and
        the weights of (P).
    certificate_ : str
        The problem that ``dual_gap_``, ``relative_gap_``, ``objective_``, ``alpha_`` and
        ``ridge_`` speak of: (P) on the selected columns; with many rows the group lasso on the
        sums of all of them, or (P) on a sample where that would take too long.
    dual_gap_, relative_gap_, objective_, n_iter_
        Its certificate.
    loo_r2_ : float
        Leave-one-out R2 on the selected variables, in what is explained.
    feature_kinds_ : array of str, shape (n_features,)
        ``"continuous"``, ``"discrete"`` (at most 10 values) or ``"constant"``.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    kernel: Any = parameter(
        "auto",
        '"auto", str or Kernel',
        '``"auto"`` compares linear, polynomial, additive, Gaussian and Matern families; a '
        "kernel restricts the search to it.",
    )
    _: KW_ONLY
    feature_groups: Any = parameter(
        None,
        "lists of columns, mapping or labels",
        "Columns that are selected together, such as those of one category.",
    )
    always_keep: Any = parameter(
        None,
        "columns",
        "Columns that stay in, by name or number.",
    )
    max_features: int | None = parameter(
        None,
        "int",
        "Largest number of variables or groups.",
    )
    fdr: float | None = parameter(
        None,
        "float",
        "Select by p-values instead: the expected share of false discoveries among the selected.",
    )
    cv: Any = parameter(
        None,
        "int, splitter or iterable",
        "Rows that are left out together when the selected variables are checked; single rows "
        "without it, groups of rows with ``groups``.",
    )
    scoring: Any = parameter(
        None,
        "str or callable",
        "What left-out predictions are checked by, instead of absolute errors and log densities.",
    )
    time: bool = parameter(
        True,
        "bool",
        "Whether the order of the rows may mean time. Where residuals then follow one "
        "another, that is taken into account and said; otherwise the order of the rows "
        "changes nothing.",
    )
    rules: Rules | None = parameter(
        None,
        "Rules",
        "The numbers that decide, see :class:`nablasso.search.rules.Rules`.",
    )
    random_state: Any = parameter(
        None,
        "int or RandomState",
        "Draws the folds and the randomisation; without it the draw is fixed.",
    )
    verbose: int = parameter(
        0,
        "int",
        "Log progress on the ``nablasso`` logger.",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a missing value is a state of its own
        return tags

    @abstractmethod
    def _table(self, X: Array, y: Any, weights: Array) -> Table:
        """Rows of non-zero weight, or a fair sample of them: merged, in order, standardised."""

    @abstractmethod
    def _targets(self, table: Table) -> Array:
        """What the search explains, (n, q)."""

    @abstractmethod
    def _loss(self) -> Loss:
        """Loss of the certificate."""

    @abstractmethod
    def _keep_functions(
        self, decision: Decision, table: Table, source: Source | None, rows: AllRows | None
    ) -> None:
        """Remember what predicts."""

    @property
    def feature_importances_(self) -> Array:
        """Shares of the variance of the prediction, adding up to one."""
        check_is_fitted(self)
        return share_of_columns(self)

    @property
    def importances_(self) -> Any:
        """How much each selected column matters, with intervals."""
        check_is_fitted(self)
        return importance_table(self)

    @property
    def interactions_(self) -> list[tuple[int, int, float]]:
        """Pairs that act together."""
        check_is_fitted(self)
        return together_of(self, self._explanation.pairs)

    @property
    def triples_(self) -> list[tuple[int, int, int, float]]:
        """Triples that act together."""
        check_is_fitted(self)
        return together_of(self, self._explanation.triples)

    def shapes(self, level: float = 0.9) -> Any:
        """How the prediction (for classes: the log-odds) depends on each selected column.

        Parameters
        ----------
        level : float, default=0.9
            Of the bands: ``low`` and ``high`` hold the function at one point with this
            probability, ``low_simultaneous`` and ``high_simultaneous`` at all points at once.

        Returns
        -------
        DataFrame, or dict of arrays without pandas
            ``column``, ``x``, ``value`` (mean zero over the rows) and the bands; for classes
            ``class`` too.
        """
        check_is_fitted(self)
        return shape_table(self, level)

    def contributions(self, X: Any) -> Any:
        """What each selected column adds to each prediction (for classes: to the log-odds).

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        DataFrame, or dict of arrays without pandas
            ``bias`` and one column for each selected one; rows add up to the predictions. A dict
            of them by class where there are more than two.
        """
        check_is_fitted(self)
        return contribution_table(self, self._scaler.transform(check_new_data(self, X)))

    @abstractmethod
    def _explained(self, table: Table, n: int) -> Explanation:
        """What predicts, to be read at rows of the table, of which ``n`` were searched."""

    def _fit_arrays(self, X: Array, y: Any, weights: Array, groups: Any) -> None:
        """Validated arrays: their rows, or a fair sample of them, for kernels; all for terms."""
        self._check_parameters()
        used = np.flatnonzero(weights > 0)
        if len(used) < self._rules.few_rows + self._rules.fresh:
            self._fit_rows(X, y, weights, np.arange(len(X)), None, groups)
            return
        source = Arrays(X, y, weights)
        if len(used) < len(X):
            source = Arrays(X[used], y[used], weights[used])
        if len(used) > PREPARED_ROWS:
            sample = prepared_rows(source)
            place = used[sample.place]
            groups = None if groups is None else np.asarray(groups)[place]
            self._fit_rows(sample.X, sample.y, sample.weight, place, source, groups)
        else:
            self._fit_rows(X, y, weights, np.arange(len(X)), source, groups)

    def _fit_blocks(self, source: Source, groups: Any) -> None:
        """A table in blocks: a fair sample of its rows for kernels; all of them for terms."""
        if groups is not None:
            raise InvalidParameterError(
                "groups are for rows in memory; leave them out for a table in blocks."
            )
        self._check_parameters()
        sample = prepared_rows(source)
        self.n_features_in_ = source.n_columns
        if source.named and source.reading.encoding is None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        self._fit_rows(sample.X, sample.y, sample.weight, sample.place, source, None)

    def _fit_rows(
        self, X: Array, y: Any, weights: Array, place: Index, source: Source | None, groups: Any
    ) -> None:
        """Everything between validated rows, at their places in the table, and attributes."""
        self._n_rows = int(np.sum(weights > 0))
        self._labels = group_labels(self, self.feature_groups)
        table = self._table(X, y, weights)
        few, fresh = self._rules.few_rows, self._rules.fresh
        n = len(table.X) if len(table.X) < few + fresh else few
        with threadpool_limits(1, user_api="blas"):
            rows = self._rows(table, n, place, self._folds(X, y, groups, table, n))
            inner, narrow = self._screened(rows, table)
            decision = decide(inner, verbose=self.verbose)
            self.p_values_ = None
            if self.fdr is not None:
                self.p_values_ = np.ones(X.shape[1])
                if inner.n_groups > len(inner.kept):
                    chance = self.fdr, self.random_state, self.verbose
                    decision, p_values = discoveries(decision, *chance)
                    self.p_values_[narrow.columns] = p_values[inner.labels]
            self.screened_ = np.ones(X.shape[1], dtype=bool)
            self.screened_[np.setdiff1d(table.columns, narrow.columns)] = False
            self.n_rows_searched_ = self._n_sampled = n
            searched = narrow.first(n)
            self._unpack(X, searched, decision)
            self.feature_kinds_ = feature_kinds(X[table.rows >= 0])
            read_outcome(self, searched, decision)
            self._scaler = table.scaler
        with threadpool_limits(1 if len(X) <= ONE_THREAD else None, user_api="blas"):
            self._keep_functions(decision, narrow, source, self._all_rows(table, n))
            self._explanation = self._explained(table, n)
            _ = self._explanation.shares  # computed here, and kept
        self._warn(decision)

    @property
    def _rules(self) -> Rules:
        return Rules() if self.rules is None else self.rules

    def _rows(self, table: Table, n: int, place: Index, folds: list[Index] | None) -> FewRows:
        """The rows to search, in canonical order."""
        first = np.full(len(table.X), np.inf)
        came = np.flatnonzero(table.rows >= 0)
        np.minimum.at(first, table.rows[came], place[came].astype(float))
        return FewRows.of(
            table,
            self._targets(table),
            groups_of(self, table),
            n,
            time=first[:n] if self.time else None,
            rules=self._rules,
            families=self._families(),
            folds=folds,
            most=None if self.max_features is None else int(self.max_features),
            classes=not self._loss().translates,
            score=None if self.scoring is None else partial(fold_score, self, table),
        )

    def _all_rows(self, table: Table, n: int) -> AllRows | None:
        """All rows, where more than those searched; half of the others, at most 2000, judge."""
        more = len(table.X) - n
        if not more:
            return None
        return AllRows(
            Z=table.X,
            y=table.y + table.y_mean,
            weights=table.weights * table.total,
            columns=table.columns,
            centre=table.scaler.centre,
            scale=table.scaler.scale,
            n_searched=n,
            n_fresh=min(FRESH, (more + 1) // 2),
            shift=table.y_mean,
        )

    def _grown(
        self, source: Source, kind: Kind, looks: float = 0.0, positive: float = 1.0
    ) -> Grown | None:
        """Terms on all rows; None where p-values, folds, scores or a kernel of one's own decide.

        ``looks`` are nats to be paid for the number of searches.
        """
        own = (self.fdr, self.cv, self.scoring)
        if any(one is not None for one in own) or self.kernel != "auto" or not self.screened_.all():
            return None
        labels = group_labels(self, self.feature_groups)
        groups = [np.flatnonzero(labels == g).tolist() for g in np.unique(labels)]
        found = grow(
            source,
            kind,
            replace(self._rules, surprise=self._rules.surprise + looks),
            positive=positive,
            groups=[group for group in groups if len(group) > 1],
            keep=column_indices(self, self.always_keep, "always_keep").tolist(),
            max_columns=self.max_features,
            time=None if self.time else False,
            certificate=True,
        )
        self.n_rows_searched_ = found.n_rows
        return found

    def _certify_all_rows(self, grown: Sequence[Grown]) -> None:
        """The gap of the problem on the sums of all rows takes the place of the sample's."""
        proofs = [one.certificate for one in grown if one.certificate is not None]
        if len(proofs) < len(grown):
            self.certificate_ = f"{METRIC}, on a sample of {self._n_sampled} rows"
            return
        self.alpha_, self.ridge_ = proofs[0].alpha, 0.0
        self.objective_ = float(sum(proof.objective for proof in proofs))
        gaps = [max(proof.gap, 0.0) for proof in proofs]
        self.dual_gap_ = float(sum(gaps))
        self.relative_gap_ = max(map(truediv, gaps, (proof.at_zero or 1.0 for proof in proofs)))
        self.certificate_ = SUMS

    def _screened(self, rows: FewRows, table: Table) -> tuple[FewRows, Table]:
        """On a wide table, rows and table with the columns that the search begins from."""
        if rows.X.size <= rows.rules.wide:
            return rows, table
        if self.fdr is not None:
            n, d = rows.X.shape
            raise DataTooLargeError(
                f"p-values of {rows.n_groups} hypotheses would need millions of redrawn columns: "
                f"fdr is for tables of at most {rows.rules.wide} numbers, got {n} x {d}. Select "
                "columns with HeldOutScreening on half of the rows, and use fdr with these on the "
                "other half."
            )
        inner, columns = narrowed(rows, verbose=self.verbose)
        return inner, table.on_columns(columns)

    def _families(self) -> tuple[Family, ...]:
        if isinstance(self.kernel, str) and self.kernel == "auto":
            return FAMILIES
        kernel = clone(as_kernel(self.kernel))
        return (Family(repr(kernel), kernel),)

    def _folds(self, X: Array, y: Any, groups: Any, table: Table, n: int) -> list[Index] | None:
        """Rows of the table that are left out together; None for single rows."""
        if self.cv is None and groups is None and self.scoring is None:
            return None
        cv = N_FOLDS if self.cv is None and groups is None else self.cv
        drawn = draw_folds(cv, X, y, groups, table, self.random_state)
        inside = np.where(table.rows < n, table.rows, -1)
        tests = [np.unique(inside[test][inside[test] >= 0]) for _, test in drawn]
        folds = [test for test in tests if 0 < len(test) < n - 1]
        if not folds:
            raise InvalidDataError(
                "A fold needs at least 2 distinct training rows and one test row among the "
                f"{n} rows that are searched; cv gives none. Use a number for cv, or folds that "
                "mix the rows."
            )
        return folds

    def _warn(self, decision: Decision) -> None:
        if decision.interrupted:
            self.selection_status_ = "interrupted"
            warn(
                f"Interrupted: the answer of {type(self).__name__} is the best one found until "
                "then. Fit again for the whole answer.",
                ConvergenceWarning,
            )
        for caution in self.cautions_:
            warn(caution)

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
        if self.rules is not None and not isinstance(self.rules, Rules):
            raise InvalidParameterError(
                f"rules must be a nablasso.search.Rules or None; got {self.rules!r}."
            )

    def _unpack(self, X: Array, table: Table, decision: Decision) -> None:
        """Fitted attributes of the penalised function in the metric of the model."""
        d, function = X.shape[1], decision.few.function(decision.model)
        chosen = table.columns[function.columns]
        self.support_ = np.isin(np.arange(d), chosen)
        space = function.space
        assert space is None or isinstance(space, RepresenterSpace)
        self.kernel_ = None if space is None else space.kernel
        self.scales_ = np.zeros(d)
        proofs: list[Proof] = []
        if space is not None:
            self.scales_[chosen] = space.scales
            proofs = self._certificate(decision, space)
        gaps = [max(proof.solution.gap, 0.0) for proof in proofs]
        self.alpha_ = proofs[0].problem.alpha if proofs else 0.0
        self.ridge_ = proofs[0].problem.ridge if proofs else 0.0
        self.dual_gap_ = float(sum(gaps))
        self.objective_ = float(sum(proof.solution.primal for proof in proofs))
        references = [proof.problem.reference for proof in proofs]
        self.relative_gap_ = max(map(truediv, gaps, references), default=0.0)
        self._metric = self.alpha_, self.ridge_
        self.certificate_ = METRIC
        self.n_iter_ = max((proof.solution.n_iter for proof in proofs), default=1) or 1
        self.importance_bounds_ = np.zeros((d, 2))
        self.support_certified_ = np.ones(d, dtype=bool)
        self.slopes_ = np.zeros(d)
        if proofs:
            bounds = np.max([proof.bounds for proof in proofs], axis=0)
            self.importance_bounds_[chosen] = bounds.T
            proven = [proof.support & (proof.bounds[0] > 0) for proof in proofs]
            self.support_certified_[chosen] = np.any(proven, axis=0)
            norms = np.max([proof.importances for proof in proofs], axis=0)
            self.slopes_[chosen] = norms

    def _certificate(self, decision: Decision, space: RepresenterSpace) -> list[Proof]:
        """(P) on the selected columns in the metric of the model, groups to keep unpenalised."""
        few, loss = decision.few, self._loss()
        columns = np.flatnonzero(np.isin(few.labels, decision.model.groups))
        groups, labels = np.unique(few.labels[columns], return_inverse=True)
        weights = np.where(np.isin(groups, few.kept), 0.0, np.bincount(labels))
        penalty = GroupLasso(Partition(labels.astype(np.intp)), weights)
        total = float(few.precisions.sum())
        noise = float(np.exp(decision.model.noise)) / total
        setting = Setting(space, few.precisions / total, penalty, loss, noise)
        return certify_selection(setting, list((few.Y if loss.translates else few.targets).T))


@estimator
class NablassoRegressor(RegressorMixin, AutomaticSelector):
    """Select variables and predict a number, everything chosen from the data.

    Families of functions propose variables; one number, the log evidence minus what the choice
    costs, decides between sets of variables, families and assumptions about the noise; left-out
    rows must agree; a derivative lasso in the learned metric certifies the answer
    (:mod:`nablasso.search.decide`).

    Examples
    --------
    >>> from nablasso import NablassoRegressor
    >>> from nablasso.datasets import make_two_way
    >>> data = make_two_way(60, 6, random_state=0)
    >>> model = NablassoRegressor().fit(data.X, data.y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1', 'x2', 'x3']
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        time: Any = None,
    ) -> Self:
        """Select variables and fit the predictor.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), data frame, or a table in blocks
            Frames and blocks may hold words, categories, dates and missing values, arrays missing
            values. Blocks: Parquet or CSV files, a pattern or a folder of them, a Dask collection,
            or what :func:`nablasso.streaming.open_table` returns.
        y : array-like, shape (n_samples,), or str
            A name stands for a column of files or of a data frame.
        sample_weight : array-like, shape (n_samples,), or str, optional
            Weight ``k`` equals ``k`` copies of a row.
        groups : array-like, shape (n_samples,), or str, optional
            Groups of rows that are left out together; handed to the splitter.
        time : array-like, shape (n_samples,), or str, optional
            When each row was taken: rows are put into this order. A column that is named for
            ``y``, ``sample_weight``, ``groups`` or ``time`` is not among the variables.

        Returns
        -------
        self
        """
        self._target_name = target_name(y)
        if is_in_blocks(X):
            self._fit_blocks(open_table(X, y, sample_weight), groups)
            return self
        X, y = check_training_data(self, X, y)
        self._fit_arrays(X, y, check_weights(sample_weight, len(X)), groups)
        return self

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """Predict the target.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        return_interval : float, optional
            Probability, for instance 0.9: intervals that cover a new target this often are
            returned too, wide where rows are noisy (:mod:`nablasso.reading.intervals`).

        Returns
        -------
        y : array, shape (n_samples,)
        interval : array, shape (n_samples, 2)
            Lower and upper ends; only with ``return_interval``.
        """
        check_is_fitted(self)
        Z = self._scaler.transform(check_new_data(self, X))
        y = self._y_mean + self._predictor.values(Z)
        if return_interval is None:
            return y
        return y, self._y_mean + self._explanation.intervals_at(Z, float(return_interval))

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
        return by_column(self, self._predictor.gradients(Z) / self._scaler.scale)

    def _table(self, X: Array, y: Any, weights: Array) -> Table:
        return prepare(X, y, weights, standardize=True, centre_y=True)

    def _targets(self, table: Table) -> Array:
        return table.y[:, None]

    def _loss(self) -> Loss:
        return Squared()

    def _keep_functions(
        self, decision: Decision, table: Table, source: Source | None, rows: AllRows | None
    ) -> None:
        sample = predictor_of(decision, table.columns)
        self._predictor: Predictor = sample
        self._y_mean = table.y_mean
        if source is None or rows is None:
            self._judge(left_out_words(len(sample.observed)))
            return
        grown = self._grown(source, "auto")
        self._predictor, joined = predictor_of_all(decision.few.rules, grown, sample, rows)
        self._y_mean = 0.0
        if grown is not None:
            read_all_rows(self, [grown], joined, [self._predictor], rows)
            self._certify_all_rows([grown])
        self._judge(judged_words(rows.n_fresh, len(rows.y)))

    def _judge(self, how: str) -> None:
        """How accurate left-out rows are predicted."""
        one, mean = self._predictor, self._y_mean
        self._accuracy = accuracy_of_numbers(
            one.observed + mean, one.left_out + mean, one.weights, how
        )

    def _explained(self, table: Table, n: int) -> Explanation:
        return explanation_of(self, table, [self._predictor], [None], n)


@estimator
class NablassoClassifier(PredictsClasses, AutomaticSelector):
    """Select variables and predict a class, everything chosen from the data.

    The search explains the labels by least squares; what it finds must hold for the log-odds too,
    whose variances and probabilities come from Laplace's approximation
    (:mod:`nablasso.regression.laplace`), one class against the rest for more than two.

    Examples
    --------
    >>> from nablasso import NablassoClassifier
    >>> from nablasso.datasets import make_rings
    >>> data = make_rings(40, 6, random_state=0)
    >>> model = NablassoClassifier().fit(data.X, data.y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1']
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        time: Any = None,
    ) -> Self:
        """Select variables and fit the predictor.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), data frame, or a table in blocks
            Frames and blocks may hold words, categories, dates and missing values, arrays missing
            values. Blocks: Parquet or CSV files, a pattern or a folder of them, a Dask collection,
            or what :func:`nablasso.streaming.open_table` returns.
        y : array-like, shape (n_samples,), or str
            Labels; a name stands for a column of files or of a data frame.
        sample_weight : array-like, shape (n_samples,), or str, optional
            Weight ``k`` equals ``k`` copies of a row.
        groups : array-like, shape (n_samples,), or str, optional
            Groups of rows that are left out together; handed to the splitter.
        time : array-like, shape (n_samples,), or str, optional
            When each row was taken: rows are put into this order. A column that is named for
            ``y``, ``sample_weight``, ``groups`` or ``time`` is not among the variables.

        Returns
        -------
        self
        """
        self._target_name = target_name(y)
        if is_in_blocks(X):
            source = open_table(X, y, sample_weight)
            classes, totals = source.labels()
            self.classes_: Any = classes
            check_classes(self.classes_)
            self._target = Target(self._loss(), self.classes_, self.class_weight)
            factors = self._target.class_factors(np.arange(len(totals), dtype=float), totals)
            self._class_factors = factors
            self._fit_blocks(source.with_classes(self.classes_, factors), groups)
            return self
        data, self._target = read_classes(
            self, X, y, sample_weight, self._loss(), self.class_weight
        )
        self.classes_ = self._target.classes
        factors = self._class_factors = self._target.class_factors(data.y, data.weights)
        self._fit_arrays(data.X, data.y, data.weights * factors[data.y.astype(np.intp)], groups)
        return self

    def _table(self, X: Array, y: Any, weights: Array) -> Table:
        return prepare(X, y, weights, standardize=True, centre_y=False)

    def _targets(self, table: Table) -> Array:
        return self._target.functions(table.y)

    def _loss(self) -> Loss:
        return Logistic()

    def _keep_functions(
        self, decision: Decision, table: Table, source: Source | None, rows: AllRows | None
    ) -> None:
        fitted = decision.few.odds(decision.model)
        functions = [
            replace(function, columns=table.columns[function.columns]) for function, _ in fitted
        ]
        self._spreads = [spread for _, spread in fitted]
        self._functions: list[Function | Predictor] = [*functions]
        few = decision.few
        odds = [
            left_out_odds(function.space.gram, function.u, function.intercept, y, few.weights)
            if isinstance(function.space, RepresenterSpace) and function.u is not None
            else np.full(len(y), function.intercept)
            for function, y in zip(functions, few.targets.T, strict=True)
        ]
        codes = table.y[: len(few.X)].astype(np.intp)
        self._judge(np.column_stack(odds), codes, few.weights, left_out_words(len(few.X)))
        if source is None or rows is None:
            return
        if len(self._functions) > 1 and self.max_features is not None:
            return  # the limit is one for all classes
        grown, joined = [], np.empty(0, dtype=np.intp)
        targets = self._target.functions(rows.y).T
        looks = float(np.log(len(targets)))  # as many times more, one for each class
        for k, target in enumerate(targets):
            found = self._grown(source, "label", looks, float(k if len(targets) > 1 else 1))
            function = self._functions[k]
            if found is None or not isinstance(function, Function):
                return
            grown.append(found)
            self._functions[k], own = odds_of_all(
                decision.few.rules,
                found,
                function,
                rows,
                target,
                full=self.max_features is not None,
            )
            joined = np.union1d(joined, own).astype(np.intp)
        read_all_rows(self, grown, joined, self._functions, rows)
        self._certify_all_rows(grown)
        fresh = rows.fresh
        odds = [function.values(rows.standardised(fresh)) for function in self._functions]
        codes, how = rows.y[fresh].astype(np.intp), judged_words(len(fresh), len(rows.y))
        self._judge(np.column_stack(odds), codes, rows.weights[fresh], how)

    def _judge(self, odds: Array, codes: Index, weights: Array, how: str) -> None:
        """How accurate left-out rows are predicted; weights by class count as one row each."""
        weights = weights / self._class_factors[codes]
        shares = class_shares(odds[:, 0] if odds.shape[1] == 1 else odds)
        self._left_out = (codes, shares, weights / weights.sum())
        self._accuracy = accuracy_of_classes(*self._left_out, how)

    def _explained(self, table: Table, n: int) -> Explanation:
        return explanation_of(self, table, self._functions, self._spreads, n)
