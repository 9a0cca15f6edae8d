"""What the selectors around another estimator share: its fits, its choice, rows and seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
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
from sklearn.utils.validation import check_is_fitted, column_or_1d

from nablasso.data.table import canonical_order, check_weights, used_rows
from nablasso.errors import InvalidParameterError
from nablasso.estimators.parameters import KW_ONLY, REQUIRED, estimator, parameter
from nablasso.estimators.tables import Selects
from nablasso.estimators.validation import check_training_data
from nablasso.progress import run_jobs
from nablasso.types import Array, Index, Mask

Result = TypeVar("Result")


class Rows(NamedTuple):
    """Rows to fit on; ``y`` are numbers or class codes, ``targets`` what the estimator sees.

    ``origin`` is the input row of each, ``column_order`` a canonical order of the columns.
    """

    X: Array
    y: Array
    targets: NDArray[np.generic]
    weights: Array
    origin: Index
    column_order: Index

    @property
    def column_ranks(self) -> Index:
        """Place of each column in the canonical order."""
        return np.argsort(self.column_order)


@estimator
class WrappedSelector(Selects, MetaEstimatorMixin, BaseEstimator):
    """A selector that asks another estimator; the result is ``support_``.

    Attributes
    ----------
    support_ : array of bool, shape (n_features,)
        The selected variables.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    estimator: Any = parameter(REQUIRED, "estimator", "What is asked.")
    _: KW_ONLY
    random_state: Any = parameter(
        None,
        "int or RandomState",
        "Draws what is drawn, and seeds the estimator where its own ``random_state`` is None.",
    )
    verbose: int = parameter(0, "int", "Log progress on the ``nablasso`` logger.")

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _rows(self, X: Any, y: Any, sample_weight: Any, *, canonical: bool = True) -> Rows:
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
        return _arrange(X, y, targets, weights, merge=weighted and canonical, order=canonical)

    def _on_parts(
        self, job: Callable[..., Result], rows: Rows, parts: Sequence[Index], seeds: Any, label: str
    ) -> list[Result]:
        """``job(estimator, X, y, weights, seed)`` on parts of the rows, with ``n_jobs``."""
        arguments = [
            (self.estimator, rows.X[part], rows.targets[part], rows.weights[part], int(seed))
            for part, seed in zip(parts, seeds, strict=True)
        ]
        n_jobs = getattr(self, "n_jobs", None)
        return run_jobs(job, arguments, label=label, n_jobs=n_jobs, verbose=self.verbose)


def _arrange(
    X: Array, y: Array, targets: NDArray[Any], weights: Array, *, merge: bool, order: bool
) -> Rows:
    origin = used_rows(weights)
    weights = weights[origin]
    if merge:
        table = np.column_stack([X[origin], y[origin]])
        _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
        weights = np.asarray(np.bincount(inverse.ravel(), weights), dtype=float)
        origin = origin[first]
    rows, columns = canonical_order(X[origin], y[origin], weights)
    if order:
        origin, weights = origin[rows], weights[rows]
    return Rows(X[origin], y[origin], targets[origin], weights, origin, columns)


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


def selected_columns(fitted: Any, d: int) -> Mask:
    """Mask of what a fitted estimator selects."""
    return column_scores(fitted, d, masks=True) > 0


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


def used_columns(fitted: Any, d: int) -> Mask:
    """Columns that predictions may depend on: all, unless the estimator says otherwise."""
    scores = _find_scores(fitted, d, masks=True)
    return np.ones(d, dtype=bool) if scores is None else scores > 0


def _find_scores(fitted: Any, d: int, masks: bool) -> Array | None:
    if isinstance(fitted, Pipeline):
        return _pipeline_scores(fitted, d, masks)
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


def _pipeline_scores(pipeline: Pipeline, d: int, masks: bool) -> Array | None:
    columns = np.arange(d)
    for _, step in pipeline.steps[:-1]:
        if hasattr(step, "get_support"):
            columns = columns[step.get_support()]
        elif step not in (None, "passthrough") and not isinstance(step, OneToOneFeatureMixin):
            return None
    last = _find_scores(pipeline.steps[-1][1], len(columns), masks)
    if last is None:
        return None
    scores = np.zeros(d)
    scores[columns] = last
    return scores
