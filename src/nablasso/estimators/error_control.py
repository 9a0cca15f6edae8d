"""Error control around any estimator: stability selection, knockoffs, p-values.

Stability selection bounds the expected number of false selections, the knockoff filter and the
randomisation test with Benjamini and Hochberg's rule the false discovery rate. Their mathematics is
in :mod:`nablasso.inference`; here are rows, folds and seeds, and what they ask of the estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter, signature
from numbers import Integral
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    OneToOneFeatureMixin,
    clone,
    is_classifier,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from nablasso import inference
from nablasso.data.table import canonical_order, check_weights, moments, used_rows
from nablasso.errors import InvalidParameterError, warn
from nablasso.estimators.base import Selects, class_shares
from nablasso.estimators.cross_validation import Fold, draw_folds
from nablasso.estimators.parameters import KW_ONLY, REQUIRED, estimator, parameter
from nablasso.estimators.validation import (
    Check,
    check_count,
    check_positive,
    check_rate,
    check_share,
    check_training_data,
    group_labels,
)
from nablasso.progress import run_jobs
from nablasso.types import Array, Index, Mask

Result = TypeVar("Result")


class WeightedRows(NamedTuple):
    """Rows to fit on; ``y`` are numbers or class codes, ``targets`` what the estimator sees.

    ``rows`` says where each row of the input went, -1 where it was dropped, ``column_order`` is a
    canonical order of the columns.
    """

    X: Array
    y: Array
    targets: NDArray[np.generic]
    weights: Array
    rows: Index
    column_order: Index


@estimator
class WrappedSelector(Selects, MetaEstimatorMixin, BaseEstimator):
    """A selector that asks another estimator; the result is ``support_``."""

    estimator: Any = parameter(REQUIRED, "What is asked.", kind="estimator")
    _: KW_ONLY
    random_state: Any = parameter(
        None,
        "Draws what is drawn, and seeds the estimator where its own ``random_state`` is None.",
        kind="int or RandomState",
    )
    n_jobs: int | None = parameter(
        None, "Fits and tests in parallel. The result does not depend on it."
    )
    verbose: int = parameter(0, "Log progress on the ``nablasso`` logger.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _rows(self, X: Any, y: Any, sample_weight: Any, *, canonical: bool = True) -> WeightedRows:
        """Validated rows of positive weight, merged and in canonical order.

        Columns stay where they are: the wrapped estimator may know them by their index. Identical
        rows are merged where the estimator takes weights.
        """
        if not hasattr(self.estimator, "fit"):
            raise InvalidParameterError(
                f"{type(self).__name__} needs an estimator with a fit method, such as "
                f"sklearn.linear_model.LassoCV(); got {self.estimator!r}."
            )
        labels = None
        if y is not None and chooses_classes(self.estimator):
            labels = column_or_1d(y, warn=True)
            check_classification_targets(labels)
            y = np.unique(labels, return_inverse=True)[1]
        X, y = check_training_data(self, X, y)
        weights = check_weights(sample_weight, len(X))
        targets = y if labels is None else labels
        weighted = weight_keyword(self.estimator) is not None
        if not weighted and len(np.unique(weights[weights > 0])) > 1:
            raise InvalidParameterError(
                f"{type(self.estimator).__name__} takes no sample_weight in fit. Choose an "
                "estimator that does, or leave sample_weight out."
            )
        kept = used_rows(weights)
        origin, went = kept, np.arange(len(kept))
        if weighted and canonical:
            table = np.column_stack([X[kept], y[kept]])
            _, first, went = np.unique(table, axis=0, return_index=True, return_inverse=True)
            went, origin = went.ravel(), kept[first]
        merged: Array = np.bincount(went, weights[kept]).astype(float)
        order, columns = canonical_order(X[origin], y[origin], merged)
        order = order if canonical else np.arange(len(origin))
        rows, origin = np.full(len(X), -1), origin[order]
        rows[kept] = np.argsort(order)[went]
        return WeightedRows(X[origin], y[origin], targets[origin], merged[order], rows, columns)

    def _on_parts(
        self,
        job: Callable[..., Result],
        rows: WeightedRows,
        parts: Sequence[Index],
        seeds: Any,
        label: str,
    ) -> list[Result]:
        """``job(estimator, X, y, weights, seed)`` on parts of the rows, with ``n_jobs``."""
        arguments = [
            (self.estimator, rows.X[part], rows.targets[part], rows.weights[part], int(seed))
            for part, seed in zip(parts, seeds, strict=True)
        ]
        jobs = run_jobs(job, arguments, label=label, n_jobs=self.n_jobs, verbose=self.verbose)
        return list(jobs)


def root_seed(random_state: Any) -> int:
    """One number that all random choices of a fit depend on."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def chooses_classes(estimator: Any) -> bool:
    """Whether ``y`` holds classes for this estimator or the one inside it."""
    if isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    inner = getattr(estimator, "estimator", None)
    return bool(is_classifier(estimator) or (hasattr(inner, "fit") and chooses_classes(inner)))


def weight_keyword(estimator: Any) -> str | None:
    """Name under which ``fit`` takes sample weights, or None."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        keyword = weight_keyword(last)
        return None if keyword is None else f"{name}__{keyword}"
    if not hasattr(estimator, "fit"):
        return None
    parameters = signature(estimator.fit).parameters
    if "sample_weight" in parameters:
        return "sample_weight"
    passed_on = any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
    return weight_keyword(getattr(estimator, "estimator", None)) if passed_on else None


def fit_clone(
    estimator: Any, X: Array, y: NDArray[np.generic], weights: Array, seed: int
) -> BaseEstimator:
    """A fitted clone; every ``random_state`` left open gets a number derived from ``seed``."""
    fitted = clone(estimator)
    open_states = sorted(
        name
        for name, value in fitted.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and value is None
    )
    seeds = np.random.SeedSequence(seed).generate_state(len(open_states)) >> np.uint32(1)
    fitted.set_params(**{name: int(s) for name, s in zip(open_states, seeds, strict=True)})
    keyword = weight_keyword(fitted)
    if keyword is None or (weights == 1).all():
        return fitted.fit(X, y)
    return fitted.fit(X, y, **{keyword: weights})


def column_scores(fitted: Any, d: int, *, masks: bool = False) -> Array:
    """Size of each column's importance or coefficient; with ``masks``, its support if it has one.

    A pipeline is followed back through steps that keep the columns or select some.
    """
    scores = _find_scores(fitted, d, masks)
    if scores is None:
        wanted = "support_, coef_ or feature_importances_" if masks else "coef_ or importances"
        raise InvalidParameterError(
            f"{type(fitted).__name__} has no {wanted} of one number per column ({d}) after fit, so "
            "it does not say which columns it chooses. Use an estimator that does, for example "
            "LassoCV, RandomForestRegressor or DerivativeLasso; in a pipeline, only steps that "
            "keep or select columns may come before it."
        )
    return scores


def _find_scores(fitted: Any, d: int, masks: bool) -> Array | None:
    """These sizes, or None where the estimator does not say."""
    if isinstance(fitted, Pipeline):
        columns, scores = np.arange(d), np.zeros(d)
        for _, step in fitted.steps[:-1]:
            if hasattr(step, "get_support"):
                columns = columns[step.get_support()]
            elif step not in (None, "passthrough") and not isinstance(step, OneToOneFeatureMixin):
                return None
        last = _find_scores(fitted.steps[-1][1], len(columns), masks)
        if last is not None:
            scores[columns] = last
        return None if last is None else scores
    if masks:
        mask = getattr(fitted, "support_", None)
        if mask is None and hasattr(fitted, "get_support"):
            mask = fitted.get_support()
        if mask is not None and np.shape(mask) == (d,) and np.asarray(mask).dtype == bool:
            return np.asarray(mask, dtype=float)
    for name in ("feature_importances_", "coef_"):
        values = np.atleast_2d(np.abs(np.asarray(getattr(fitted, name, np.nan), dtype=float)))
        if values.ndim == 2 and values.shape[1] == d and np.isfinite(values).all():
            return np.asarray(values.sum(axis=0))
    return None


@estimator
class StabilitySelection(WrappedSelector):
    """Select what an estimator selects on most halves of the data.

    The rows are split into two halves ``n_pairs`` times, the estimator is fitted on every half, and
    the variables selected in at least a share ``threshold`` of the fits are kept (complementary
    pairs, Shah and Samworth 2013). The bounds on the expected number of false selections are for
    variables that one half selects with probability at most ``average_selected_ / n_features``,
    and they put the average number selected on a half in place of its expectation.

    Sample weights go with their rows: copies of a row stay together in one half, and the estimator
    gets the weights of its half. Classes are divided evenly.

    Attributes
    ----------
    selection_probabilities_ : array, shape (n_features,)
        Share of the halves that select the variable.
    threshold_ : float
        What was used; infinite where no threshold keeps ``max_expected_false``.
    average_selected_ : float
        Variables selected on a half, on average.
    expected_false_selections_ : float
        Bound under ``assumption``.

    Examples
    --------
    >>> from sklearn.linear_model import LassoCV
    >>> from nablasso import StabilitySelection
    >>> selector = StabilitySelection(LassoCV(), max_expected_false=1.0, random_state=0)
    """

    estimator: Any = parameter(
        REQUIRED,
        "Selects by ``support_`` or ``get_support``, else by non-zero ``feature_importances_`` or "
        "``coef_``. It should select few variables: the bounds grow with the square of their "
        "number.",
        kind="estimator",
    )
    _: KW_ONLY
    n_pairs: int = parameter(50, "Times that the rows are split.", check_count)
    threshold: float = parameter(
        0.6,
        "Above 1/2 and at most 1.",
        Check(
            lambda v: check_share.allows(v) and v > 0.5,
            "above 0.5 and at most 1: at half or less there is no bound on the false selections",
        ),
    )
    max_expected_false: float | None = parameter(
        None,
        "Raise the threshold until the bound on the expected number of false selections is at most "
        "this.",
        check_positive,
    )
    assumption: str = parameter(
        "r-concave",
        "What is assumed of the distribution of selection proportions, see "
        ":mod:`nablasso.inference`.",
        kind='{"r-concave", "worst-case"}',
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select variables; ``sample_weight`` needs an estimator that takes weights."""
        rows, seed = self._rows(X, y, sample_weight), root_seed(self.random_state)
        codes = rows.y.astype(np.intp) if chooses_classes(self.estimator) else None
        rng, n = np.random.default_rng(seed), len(rows.X)
        halves = inference.complementary_pairs(n, self.n_pairs, rng, codes)
        seeds = np.random.SeedSequence(seed).generate_state(len(halves))
        selections = self._on_parts(_select, rows, halves, seeds, "half-samples")
        self.selection_probabilities_ = np.mean(selections, axis=0)
        q, d = float(np.sum(selections, axis=1).mean()), rows.X.shape[1]
        self.threshold_, known = float(self.threshold), (q, d, self.n_pairs, self.assumption)
        if self.max_expected_false is not None:
            limit = float(self.max_expected_false)
            self.threshold_ = inference.smallest_threshold(self.threshold, limit, *known)
        self.support_ = self.selection_probabilities_ >= self.threshold_ - 1e-9
        self.average_selected_, none = q, np.isinf(self.threshold_)
        least = inference.false_selection_bound(min(self.threshold_, 1.0), *known)
        self.expected_false_selections_ = 0.0 if none else least
        if none:
            warn(
                f"Nothing is selected: no threshold keeps the bound on the expected number of "
                f"false selections under max_expected_false={self.max_expected_false}. The "
                f"estimator selects {q:.1f} of {d} variables on a half, for which the bound is at "
                f"least {least:.2g}. Let it select fewer, or raise max_expected_false."
            )
        return self


def _select(estimator: Any, X: Array, y: NDArray[np.generic], weights: Array, seed: int) -> Mask:
    """What a clone of the estimator selects on these rows."""
    return column_scores(fit_clone(estimator, X, y, weights, seed), X.shape[1], masks=True) > 0


@estimator
class KnockoffSelector(WrappedSelector):
    """Select the variables that beat their knockoffs, at a false discovery rate.

    Every column gets a knockoff: a random column that is correlated with the others as the column
    is, but knows nothing of ``y``. The estimator is fitted once on the standardised columns and
    knockoffs together; variables are selected where they are more important than their knockoffs
    by a margin that keeps the false discovery rate (Candes et al. 2018). The guarantee is for
    Gaussian columns of known correlation; here it is estimated, shrunk towards the identity.

    Fewer than ``1 / fdr`` selections are impossible: for a sparse truth use ``RandomizationTest``.

    Attributes
    ----------
    knockoff_statistics_ : array, shape (n_features,)
        Importance of the column minus that of its knockoff.
    threshold_ : float
        Smallest statistic selected; infinite when none is.
    estimator_ : estimator
        Fitted on standardised columns and knockoffs; each pair in random order.
    """

    estimator: Any = parameter(
        REQUIRED,
        "With ``feature_importances_`` or ``coef_`` after fit; it sees twice the columns.",
        kind="estimator",
    )
    _: KW_ONLY
    fdr: float = parameter(0.1, "Largest false discovery rate.", check_rate)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select variables; ``sample_weight`` needs an estimator that takes weights."""
        rows, seed = self._rows(X, y, sample_weight), root_seed(self.random_state)
        rng = np.random.default_rng(seed)
        d, p = rows.X.shape[1], rows.weights / rows.weights.sum()
        centre, scale, varies = moments(rows.X, p)
        Z = np.where(varies, (rows.X - centre) / scale, 0.0)  # constant columns are zero in both
        correlation = inference.shrunk_correlation(Z, p)
        drawn = inference.gaussian_knockoffs(Z, correlation, rng, rows.column_order)
        knockoffs = np.where(varies, drawn, 0.0)
        swapped = np.empty(d, dtype=bool)  # the estimator cannot tell a column by its place
        swapped[rows.column_order] = rng.random(d) < 0.5
        left, right = np.where(swapped, knockoffs, Z), np.where(swapped, Z, knockoffs)
        both, every = rows._replace(X=np.hstack([left, right])), np.arange(len(Z))
        (self.estimator_,) = self._on_parts(fit_clone, both, [every], [seed], "knockoffs")
        scores = column_scores(self.estimator_, 2 * d)
        difference = scores[:d] - scores[d:]
        statistics = self.knockoff_statistics_ = np.where(swapped, -difference, difference)
        self.threshold_ = inference.knockoff_threshold(statistics, self.fdr)
        self.support_ = statistics >= self.threshold_
        if not self.support_.any():
            warn(
                f"KnockoffSelector selects nothing at fdr={self.fdr:g}: fewer than 1 / fdr = "
                f"{int(np.ceil(1 / self.fdr - 1e-9))} selections are impossible, and "
                f"{int(np.sum(statistics > 0))} of {d} variables are ahead of their knockoffs. "
                "Raise fdr, or use RandomizationTest, which can select a single variable."
            )
        return self


@estimator
class RandomizationTest(WrappedSelector):
    """P-values of the variables, and those selected at a false discovery rate.

    The estimator is fitted on the training rows of every fold. A variable's values on the held-out
    rows are then redrawn many times from their distribution given the other columns. Its p-value
    says how often the held-out loss (squared errors, for classes the log loss) with redrawn values
    is as small as with the real ones. Variables that no fit uses get p = 1 without a draw, which is
    valid and conservative. Benjamini and Hochberg's rule selects. See :mod:`nablasso.inference`.

    Attributes
    ----------
    p_values_ : array, shape (n_features,)
        Columns of a group share one.
    adjusted_p_values_ : array, shape (n_features,)
        Smallest ``fdr`` at which the variable is selected.
    n_draws_ : int
        Most redraws per variable.
    """

    estimator: Any = parameter(
        REQUIRED, "A regressor or classifier with ``predict``.", kind="estimator"
    )
    _: KW_ONLY
    fdr: float = parameter(0.1, "Largest false discovery rate.", check_rate)
    n_draws: int | None = parameter(
        None,
        "Most redraws per variable; by default as many as let one variable among all be selected, "
        "``n_features / fdr``, at least 199. Variables that are clearly null need few.",
        check_count,
    )
    cv: Any = parameter(
        5,
        "Folds. A number draws them in a canonical order of the rows, stratified for classifiers.",
        kind="int, splitter or iterable",
    )
    sampler: Any = parameter(
        "auto",
        'How a column is redrawn. ``"auto"``: ridge regression on the other columns and its '
        "exchanged residuals; discrete columns (at most 10 values) keep their values. A function "
        "``sampler(X, columns, rng)`` returns the redrawn ``X[:, columns]``.",
        kind='"auto" or callable',
    )
    feature_groups: Any = parameter(
        None,
        "Columns that are redrawn together and share a p-value, such as indicators of one factor.",
        kind="list of lists, mapping or labels",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Compute p-values and select variables; losses and redraws are weighted too."""
        classes = chooses_classes(self.estimator)
        needed = ("predict_proba", "decision_function") if classes else ("predict",)
        if not any(hasattr(self.estimator, name) for name in needed):
            raise InvalidParameterError(
                f"RandomizationTest needs an estimator that predicts; {self.estimator!r} has no "
                f"{' or '.join(needed)}. Put a predictor behind it, for example in a "
                "sklearn.pipeline.Pipeline."
            )
        own_folds = groups is None and isinstance(self.cv, Integral)
        rows = self._rows(X, y, sample_weight, canonical=own_folds)
        labels = group_labels(self, self.feature_groups)
        seed = root_seed(self.random_state)
        n_groups = int(labels.max()) + 1
        self.n_draws_ = self.n_draws or inference.enough_draws(n_groups, self.fdr)
        folds = draw_folds(self.cv, X, y, groups, rows, seed, stratify=classes)
        columns = [np.flatnonzero(labels == g) for g in range(n_groups)]
        places = np.argsort(rows.column_order)
        p_values = inference.randomization_p_values(
            self._held_out(rows, folds, seed),
            rows.X,
            inference.as_conditional(self.sampler, rows.X, rows.weights),
            groups=columns,
            ranks=np.array([places[c].min() for c in columns]),
            seed=seed,
            n_draws=self.n_draws_,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self.p_values_ = p_values[labels]
        self.adjusted_p_values_ = inference.adjusted_p_values(p_values)[labels]
        self.support_ = self.adjusted_p_values_ <= self.fdr * (1 + inference.TIE)
        return self

    def _held_out(
        self, rows: WeightedRows, folds: list[Fold], seed: int
    ) -> list[inference.HeldOutFold]:
        """Fit on each fold; what its predictor loses on the held-out rows."""
        training, seeds = [_kept(rows, train) for train, _ in folds], seed + np.arange(len(folds))
        label = f"{type(self).__name__} folds"
        found, d = [], rows.X.shape[1]
        for k, model in enumerate(self._on_parts(fit_clone, rows, training, seeds, label)):
            scores = _find_scores(model, d, masks=True)  # of columns that may be used: else all
            used = np.ones(d, dtype=bool) if scores is None else scores > 0
            losses = partial(_losses, model, rows, chooses_classes(self.estimator))
            found.append(inference.HeldOutFold(_kept(rows, folds[k][1]), used, losses))
        return found


def _kept(rows: WeightedRows, part: Index) -> Index:
    """Where rows of the input went."""
    numbers = np.unique(rows.rows[part])
    return numbers[numbers >= 0]


def _losses(model: Any, rows: WeightedRows, classes: bool, X: Array, numbers: Index) -> Array:
    """Weighted squared errors or log losses of ``X`` in the place of some of the rows."""
    y = rows.y[numbers]
    if classes:
        chances = class_probabilities(model, X)[np.arange(len(y)), y.astype(np.intp)]
        losses = -np.log(np.maximum(chances, np.finfo(float).tiny))
    else:
        losses = (y - np.asarray(model.predict(X))) ** 2
    return np.asarray(rows.weights[numbers] * losses)


def class_probabilities(model: Any, X: Array) -> Array:
    """Probabilities of the classes, from decision values where a classifier has only these."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    values = np.asarray(model.decision_function(X))
    return class_shares(values) if values.ndim == 1 else np.asarray(softmax(values, axis=1))
