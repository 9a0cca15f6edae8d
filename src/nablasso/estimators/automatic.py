"""The one call: decide which columns matter (:mod:`nablasso.search.decide`), predict, certify.

What both tasks share is the selector: rows, search, screening, all rows, certificate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from nablasso.data.table import Table, counted, is_in_blocks, prepare
from nablasso.errors import DataTooLargeError, InvalidDataError, InvalidParameterError, warn
from nablasso.estimators.base import (
    Data,
    Grouped,
    PredictsClasses,
    PredictsNumbers,
    Selects,
    Target,
    check_classes,
    class_shares,
)
from nablasso.estimators.cross_validation import draw_folds, fold_score
from nablasso.estimators.display import Answers
from nablasso.estimators.explained import Explains
from nablasso.estimators.outcome import (
    discoveries,
    read_all_rows,
    read_outcome,
    read_proofs,
    read_sums,
)
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.validation import (
    Check,
    check_count,
    check_parameters,
    check_rate,
    column_indices,
    feature_kinds,
    group_labels,
    groups_of,
    standardised,
    target_name,
)
from nablasso.kernels import as_kernel
from nablasso.losses import Squared
from nablasso.prediction.factors import product_of
from nablasso.prediction.odds import odds_of, odds_of_all
from nablasso.prediction.predictor import Predictor, predictor_of
from nablasso.prediction.together import AllRows, predictor_of_all
from nablasso.regression.models import FAMILIES, NO_GROUPS, Family, FewRows
from nablasso.rules import Rules
from nablasso.screening import narrowed
from nablasso.search.decide import decide
from nablasso.search.few import Decision
from nablasso.search.grown import Grown, grow
from nablasso.streaming.sample import PREPARED_ROWS, prepared_rows
from nablasso.streaming.sources import Arrays, Source, open_table
from nablasso.types import Array, Index

ONE_THREAD = 10_000  # rows up to which one BLAS thread is faster than several that wait
N_FOLDS = 5
FRESH = 2000  # rows at most that judge what was found on others


@estimator
class AutomaticSelector(Answers, Explains, Selects, Grouped, ABC):
    """Shared by :class:`NablassoRegressor` and :class:`NablassoClassifier`.

    Attributes
    ----------
    feature_importances_ : array, shape (n_features,)
        The share of the variance of the prediction (for classes: of the log-odds) that a column
        carries: its Shapley effect where columns depend on one another
        (:mod:`nablasso.reading.shares`). Shares add up to one; columns of one group have equal
        parts of its share.
    importances_ : DataFrame, or dict of arrays without pandas
        One row for each selected column or group: ``share`` with 90 % interval ``low``, ``high``;
        ``of_y``, the share times the left-out R2; ``first_order`` and ``total`` Sobol' indices
        with intervals; ``slope``, root mean squared, in the units of the table, and
        ``direction``; ``degrees``, effective degrees of freedom; ``p_value`` with ``fdr``.
        Computed when first asked for.
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
    faint_ : array of bool, shape (n_features,)
        Variables that predictions use without being selected: too faint to be named one by one,
        they are worth more together than the one variance that they share. None with ``fdr``,
        ``cv``, ``groups``, ``scoring`` or ``max_features``.
        Shares, curves and intervals of importances hold them at their means.
    stated_ : array of bool, shape (n_features,)
        Variables whose values come back and that predictions take as states, equal or not whatever
        their numbers, besides as sizes. None where classes are predicted.
    scaling_ : array of bool, shape (n_features,)
        Variables that only scale what the others do, found once these were
        (:mod:`nablasso.prediction.factors`): where terms on all rows decide, about 50 of the rows
        that judge tell of them (from 750 rows on), no logarithm is explained and rows are not in
        time. None with ``always_keep`` or ``max_features``, nor where classes are predicted.
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
        Rows that decided: all of them, unless ``fdr``, ``cv``, ``groups``, ``scoring``, a kernel
        of one's own or a wide table leave the decision to the first 600.
    family_ : str
        The family of functions that won; ``"terms"`` where all of 650 rows or more were searched.
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
    """

    kernel: Any = parameter(
        "auto",
        '``"auto"`` compares linear, polynomial, additive, Gaussian and Matern families; a '
        "kernel restricts the search to it.",
        kind='"auto", str or Kernel',
    )
    _: KW_ONLY
    max_features: int | None = parameter(
        None, "Largest number of variables or groups.", check_count
    )
    fdr: float | None = parameter(
        None,
        "Select by p-values instead: the expected share of false discoveries among the selected.",
        check_rate,
    )
    cv: Any = parameter(
        None,
        "Rows that are left out together when the selected variables are checked; single rows "
        "without it, groups of rows with ``groups``.",
        kind="int, splitter or iterable",
    )
    scoring: Any = parameter(
        None,
        "What left-out predictions are checked by, instead of absolute errors and log densities.",
        kind="str or callable",
    )
    time: bool = parameter(
        True,
        "Whether the order of the rows may mean time. Where residuals then follow one "
        "another, that is taken into account and said; otherwise the order of the rows "
        "changes nothing.",
    )
    rules: Rules | None = parameter(
        None,
        "The numbers that decide, see :class:`nablasso.rules.Rules`.",
        Check(lambda v: isinstance(v, Rules), "a nablasso.rules.Rules"),
    )
    random_state: Any = parameter(
        None,
        "Draws the folds and the randomisation; without it the draw is fixed.",
        kind="int or RandomState",
    )
    verbose: int = parameter(0, "Log progress on the ``nablasso`` logger.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a missing value is a state of its own
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, time: Any = None
    ) -> Self:
        """Select variables and fit the predictor.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), data frame, or a table in blocks
            Frames and blocks may hold words, categories, dates and missing values, arrays missing
            values. Blocks: Parquet or CSV files, a pattern or a folder of them, a Dask collection,
            or what :func:`nablasso.streaming.open_table` returns.
        y : array-like, shape (n_samples,), or str
            Numbers or labels; a name stands for a column of files or of a data frame.
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
            self._fit_blocks(self._opened(open_table(X, y, sample_weight)), groups)
            return self
        X, y, weights, _ = self._read(X, y, sample_weight)
        self._fit_arrays(X, y, weights, groups)
        return self

    def _opened(self, source: Source) -> Source:
        """A table in blocks, its target read."""
        self._target = Target(Squared(), centred=True)
        return source

    @abstractmethod
    def _keep_functions(
        self, decision: Decision, table: Table, source: Source | None, rows: AllRows | None
    ) -> None:
        """Remember what predicts: ``_functions``."""

    def _fit_arrays(self, X: Array, y: Any, weights: Array, groups: Any) -> None:
        """Validated arrays: their rows, or a fair sample of them, for kernels; all for terms."""
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
        check_parameters(self)
        sample = prepared_rows(source)
        self.n_features_in_ = len(source.names)
        if source.named and source.reading.encoding is None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        self._fit_rows(sample.X, sample.y, sample.weight, sample.place, source, None)

    def _fit_rows(
        self, X: Array, y: Any, weights: Array, place: Index, source: Source | None, groups: Any
    ) -> None:
        """Everything between validated rows, at their places in the table, and attributes."""
        self._n_rows = int(np.sum(weights > 0))
        self._labels = group_labels(self, self.feature_groups)
        table = prepare(X, y, weights, standardize=True, centre_y=self._target.centred)
        few, fresh = self._rules.few_rows, self._rules.fresh
        n = len(table.X) if len(table.X) < few + fresh else few
        with threadpool_limits(1, user_api="blas"):
            folds = self._folds(X, y, groups, table, n)
            self._by_folds = folds is not None
            rows = self._rows(table, n, place, folds)
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
            inside = (table.rows >= 0) & (table.rows < len(decision.few.X))
            self.n_rows_searched_, self._n_sampled = int(inside.sum()), n
            searched = narrow.first(n)
            read_proofs(self, searched, decision)
            self.feature_kinds_ = feature_kinds(X[table.rows >= 0])
            read_outcome(self, searched, decision)
            self._scaler = table.scaler
        self._judged_of = 0  # all rows, where some of them judge
        with threadpool_limits(1 if len(X) <= ONE_THREAD else None, user_api="blas"):
            self._keep_functions(decision, narrow, source, self._all_rows(table, n))
        order = np.argsort(table.columns)
        chosen = order[self.support_[table.columns[order]]]
        self._seen = table.X[: n + FRESH, chosen], table.weights[: n + FRESH]
        used = np.concatenate([function.columns for function in self._functions])
        self.faint_ = np.isin(np.arange(X.shape[1]), used) & ~self.support_
        made = [function for function in self._functions if isinstance(function, Predictor)]
        stated = np.concatenate([NO_GROUPS, *(one.stated for one in made)])
        scaling = np.concatenate([NO_GROUPS, *(one.scaling for one in made)])
        self.stated_, self.scaling_ = (np.isin(np.arange(X.shape[1]), a) for a in (stated, scaling))
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
            self._target.functions(table.y),
            groups_of(self, table),
            n,
            time=first[:n] if self.time else None,
            rules=self._rules,
            families=self._families(),
            folds=folds,
            most=None if self.max_features is None else int(self.max_features),
            classes=self._target.classes is not None,
            score=None if self.scoring is None else partial(fold_score, self, table),
        )

    def _all_rows(self, table: Table, n: int) -> AllRows | None:
        """All rows, where more than those searched; half of the others, 50 to 2000, judge."""
        more = len(table.X) - n
        if not more:
            return None
        return AllRows(
            Z=table.X,
            y=table.y + table.y_mean,
            weights=counted(table.weights * table.total, table.X),
            columns=table.columns,
            centre=table.scaler.centre,
            scale=table.scaler.scale,
            n_searched=n,
            n_fresh=min(FRESH, max(self._rules.fresh, (more + 1) // 2)),
        )

    def _grown(
        self, source: Source, looks: float = 0.0, label: float | None = None
    ) -> Grown | None:
        """Terms on all rows; None where p-values, folds, scores or a kernel of one's own decide.

        ``looks`` are nats to be paid for the number of searches.
        """
        by_folds = self._by_folds or self.fdr is not None
        if by_folds or self.kernel != "auto" or not self.screened_.all():
            return None
        found = grow(
            source,
            replace(self._rules, surprise=self._rules.surprise + looks),
            label=label,
            groups=self._groups,
            keep=column_indices(self, self.always_keep, "always_keep").tolist(),
            max_columns=self.max_features,
            time=None if self.time else False,
            certificate=True,
        )
        self.n_rows_searched_ = found.n_rows
        return found

    @property
    def _groups(self) -> list[list[int]]:
        """Columns that come together."""
        groups = [np.flatnonzero(self._labels == g).tolist() for g in np.unique(self._labels)]
        return [group for group in groups if len(group) > 1]

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


@estimator
class NablassoRegressor(PredictsNumbers, AutomaticSelector):
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
        Z = standardised(self, X)
        y = self._y_mean + self._functions[0].values(Z)
        if return_interval is None:
            return y
        return y, self._y_mean + self._explanation.intervals_at(Z, float(return_interval))

    def _keep_functions(
        self, decision: Decision, table: Table, source: Source | None, rows: AllRows | None
    ) -> None:
        if source is None or rows is None:
            predictor, self._y_mean = predictor_of(decision, table.columns), table.y_mean
        else:
            grown = self._grown(source)
            predictor, joined = predictor_of_all(
                decision, table.columns, grown, rows, full=self.max_features is not None
            )
            self._y_mean, self._judged_of = 0.0, len(rows.y)
            if grown is not None:
                if self.max_features is None and self.always_keep is None:
                    predictor, others = product_of(
                        predictor,
                        decision,
                        table.columns,
                        grown,
                        joined,
                        rows,
                        self._groups,
                    )
                    scaling = np.array(sorted(others), dtype=np.intp)
                    self.evidence_[scaling] = [others[a] for a in scaling]
                    joined = np.union1d(joined, scaling)
                read_all_rows(self, [grown], joined, [predictor], rows)
                read_sums(self, [grown])
        self._functions = [predictor]
        observed, left_out = predictor.observed + self._y_mean, predictor.left_out + self._y_mean
        self._left_out = observed, left_out, predictor.weights / predictor.weights.sum()


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

    def _opened(self, source: Source) -> Source:
        classes, totals = source.labels()
        check_classes(classes)
        self._target = Target(self._loss(), classes, self.class_weight)
        factors = self._target.class_factors(np.arange(len(totals), dtype=float), totals)
        self.classes_, self._class_factors = classes, factors
        return source.with_classes(classes, factors)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        data = super()._read(X, y, sample_weight)
        factors = self._class_factors = self._target.class_factors(data.y, data.weights)
        return data._replace(weights=data.weights * factors[data.y.astype(np.intp)])

    def _keep_functions(
        self, decision: Decision, table: Table, source: Source | None, rows: AllRows | None
    ) -> None:
        if source is None or rows is None or not self._odds_of_all(decision, table, source, rows):
            fitted = list(odds_of(decision, table.columns))
            self._functions = [function for function, _ in fitted]
            codes = table.y[: len(decision.few.X)].astype(np.intp)
            odds = np.column_stack([odds for _, odds in fitted])
            self._judge(odds, codes, decision.few.weights)

    def _odds_of_all(self, decision: Decision, table: Table, source: Source, rows: AllRows) -> bool:
        """Log-odds from all rows; whether terms may say anything."""
        targets = self._target.functions(rows.y)
        if targets.shape[1] > 1 and self.max_features is not None:
            return False  # the limit is one for all classes
        looks = float(np.log(targets.shape[1]))  # as many times more, one for each class
        terms = []
        for k in range(targets.shape[1]):
            found = self._grown(source, looks, float(k if targets.shape[1] > 1 else 1))
            if found is None:
                return False
            terms.append(found)
        self._functions, joined = odds_of_all(decision, table.columns, terms, rows, targets)
        read_all_rows(self, terms, joined, self._functions, rows)
        read_sums(self, terms)
        fresh = rows.fresh
        odds = [function.values(rows.standardised(fresh)) for function in self._functions]
        codes, self._judged_of = rows.y[fresh].astype(np.intp), len(rows.y)
        self._judge(np.column_stack(odds), codes, rows.weights[fresh])
        return True

    def _judge(self, odds: Array, codes: Index, weights: Array) -> None:
        """Keep what left-out rows are predicted as; weights by class count as one row each."""
        weights = weights / self._class_factors[codes]
        shares = class_shares(odds[:, 0] if odds.shape[1] == 1 else odds)
        self._left_out = (codes, shares, weights / weights.sum())
