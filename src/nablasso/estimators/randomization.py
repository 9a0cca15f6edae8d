"""P-values per variable around any predictor, by conditional randomisation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, check_cv

from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.knockoffs import check_rate
from nablasso.estimators.validation import group_labels
from nablasso.estimators.wrapped import (
    Rows,
    WrappedSelector,
    chooses_classes,
    fit_clone,
    root_seed,
    used_columns,
)
from nablasso.inference import (
    HeldOut,
    PredictionLoss,
    adjusted_p_values,
    as_conditional,
    benjamini_hochberg,
    enough_draws,
    log_loss,
    randomization_p_values,
    squared_loss,
)
from nablasso.progress import run_jobs
from nablasso.types import Array, Index

Fold = tuple[Index, Index]

HIT = 0.9  # probability given to the predicted class of a classifier without probabilities


@dataclass(eq=False, repr=False)
class RandomizationTest(WrappedSelector):
    """P-values of the variables, and those selected at a false discovery rate.

    The estimator is fitted on the training rows of every fold. A variable's values on the held-out
    rows are then redrawn many times from their distribution given the other columns. Its p-value
    says how often the held-out loss with redrawn values is as small as with the real ones.
    Variables that no fit uses get p = 1 without a draw, which is valid and conservative. Benjamini
    and Hochberg's rule selects. See :mod:`nablasso.inference.randomization`.

    Parameters
    ----------
    estimator : estimator
        A regressor or classifier with ``predict``.
    fdr : float, default=0.1
        Largest false discovery rate.
    n_draws : int, optional
        Most redraws per variable; by default as many as let one variable among all be selected,
        ``n_features / fdr``, at least 199. Variables that are clearly null need few.
    cv : int, splitter or iterable, default=5
        Folds. A number draws them in a canonical order of the rows, stratified for classifiers.
    sampler : "auto" or callable, default="auto"
        How a column is redrawn. ``"auto"``: ridge regression on the other columns and its exchanged
        residuals; discrete columns (at most 10 values) keep their values. A function
        ``sampler(X, columns, rng)`` returns the redrawn ``X[:, columns]``.
    feature_groups : list of lists, mapping or labels, optional
        Columns that are redrawn together and share a p-value, such as indicators of one factor.
    scoring : str or callable, optional
        A scorer of scikit-learn's in place of the loss. By default the squared error, or the log
        loss for classifiers.
    n_jobs : int, optional
        Folds fitted and variables tested in parallel. The result does not depend on it.
    random_state : int or RandomState, optional
        Draws folds and copies, and seeds the estimator where its own ``random_state`` is None.
    verbose : int, default=0
        Log progress on the ``nablasso`` logger.

    Attributes
    ----------
    p_values_ : array, shape (n_features,)
        Columns of a group share one.
    adjusted_p_values_ : array, shape (n_features,)
        Smallest ``fdr`` at which the variable is selected.
    support_ : array of bool, shape (n_features,)
    n_draws_ : int
        Most redraws per variable.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    estimator: Any
    _: KW_ONLY
    fdr: float = 0.1
    n_draws: int | None = None
    cv: Any = 5
    sampler: Any = "auto"
    feature_groups: Any = None
    scoring: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Compute p-values and select variables.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Needs an estimator that takes weights. Losses and redraws are weighted too.
        groups : array-like, shape (n_samples,), optional
            Groups of rows for the splitter.

        Returns
        -------
        self
        """
        self._check_parameters()
        own_folds = groups is None and isinstance(self.cv, Integral)
        rows = self._rows(X, y, sample_weight, canonical=own_folds)
        labels = group_labels(self, self.feature_groups)
        seed = root_seed(self.random_state)
        n_groups = int(labels.max()) + 1
        self.n_draws_ = self.n_draws or enough_draws(n_groups, self.fdr)
        folds = self._folds(X, y, groups, rows, seed)
        columns = [np.flatnonzero(labels == g) for g in range(n_groups)]
        p_values = randomization_p_values(
            self._held_out(rows, folds, seed),
            rows.X,
            as_conditional(self.sampler, rows.X, rows.weights),
            groups=columns,
            ranks=np.array([rows.column_ranks[c].min() for c in columns]),
            seed=seed,
            n_draws=self.n_draws_,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self.p_values_ = p_values[labels]
        self.adjusted_p_values_ = adjusted_p_values(p_values)[labels]
        self.support_ = benjamini_hochberg(p_values, self.fdr)[labels]
        return self

    def _folds(self, X: Any, y: Any, groups: Any, rows: Rows, seed: int) -> list[Fold]:
        """(train, test) numbers of the kept rows."""
        classes = chooses_classes(self.estimator)
        if not isinstance(self.cv, Integral):
            splitter = check_cv(self.cv, y, classifier=classes)
        elif groups is not None:
            splitter = GroupKFold(int(self.cv))
        else:
            kind = StratifiedKFold if classes else KFold
            splitter = kind(int(self.cv), shuffle=True, random_state=seed)
            return list(splitter.split(rows.X, rows.targets))
        return _as_kept_rows(splitter.split(X, y, groups), rows.origin)

    def _held_out(self, rows: Rows, folds: list[Fold], seed: int) -> list[HeldOut]:
        """Fit on each fold; what its predictor loses on the held-out rows."""
        arguments = [
            (self.estimator, rows.X[train], rows.targets[train], rows.weights[train], seed + k)
            for k, (train, _) in enumerate(folds)
        ]
        label = f"{type(self).__name__} folds"
        fitted = run_jobs(
            fit_clone, arguments, label=label, n_jobs=self.n_jobs, verbose=self.verbose
        )
        return [
            HeldOut(test, self._loss(model, rows, test), used_columns(model, rows.X.shape[1]))
            for model, (_, test) in zip(fitted, folds, strict=True)
        ]

    def _loss(self, model: Any, rows: Rows, test: Index) -> Any:
        weights = rows.weights[test]
        if self.scoring is not None:
            return ScorerLoss(get_scorer(self.scoring), model, rows.targets[test], weights)
        if not chooses_classes(self.estimator):
            return PredictionLoss(model.predict, rows.y[test], weights, squared_loss)
        predict = partial(class_probabilities, model, np.unique(rows.targets))
        return PredictionLoss(predict, rows.y[test], weights, log_loss)

    def _check_parameters(self) -> None:
        check_rate(self.fdr, "fdr")
        if not (hasattr(self.estimator, "predict") or hasattr(self.estimator, "decision_function")):
            raise InvalidParameterError(
                f"RandomizationTest needs an estimator that predicts; {self.estimator!r} has no "
                "predict. Put a predictor behind it, for example in a sklearn.pipeline.Pipeline."
            )
        if self.n_draws is not None and not (
            isinstance(self.n_draws, Integral) and self.n_draws >= 1
        ):
            raise InvalidParameterError(
                f"n_draws must be a positive whole number or None; got {self.n_draws!r}."
            )
        if isinstance(self.cv, Integral) and self.cv < 2:
            raise InvalidParameterError(f"cv must be at least 2 folds; got {self.cv!r}.")


@dataclass(frozen=True)
class ScorerLoss:
    """Minus a scorer's score, times the weight of the rows; one call per copy."""

    scorer: Any
    model: Any
    y: NDArray[np.generic]
    weights: Array

    def __call__(self, copies: Array) -> Array:
        """Loss of each copy."""
        weighted = {} if np.ptp(self.weights) == 0 else {"sample_weight": self.weights}
        scores = [self.scorer(self.model, copy, self.y, **weighted) for copy in copies]
        if not np.isfinite(scores).all():
            raise InvalidParameterError(
                f"{self.scorer!r} gave no number on {len(self.y)} held-out rows. Use larger folds "
                "or another score."
            )
        return np.asarray(-self.weights.sum() * np.array(scores, dtype=float))


def class_probabilities(model: Any, classes: NDArray[np.generic], X: Array) -> Array:
    """Probabilities of ``classes``, from what the classifier has.

    Decision values become probabilities by the logistic function, plain predictions by a fixed
    one; classes that the model has not seen have probability zero.
    """
    if hasattr(model, "predict_proba"):
        own = np.asarray(model.predict_proba(X))
    elif hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
        binary = values.ndim == 1
        own = np.column_stack([expit(-values), expit(values)]) if binary else softmax(values, 1)
    else:
        hit = np.asarray(model.predict(X))[:, None] == model.classes_
        own = np.where(hit, HIT, (1 - HIT) / max(1, len(model.classes_) - 1))
    probabilities = np.zeros((len(X), len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = own
    return probabilities


def _as_kept_rows(folds: Any, origin: Index) -> list[Fold]:
    """Folds of input rows as folds of the kept rows."""
    kept = [
        (np.flatnonzero(np.isin(origin, train)), np.flatnonzero(np.isin(origin, test)))
        for train, test in folds
    ]
    if any(len(train) == 0 or len(test) == 0 for train, test in kept):
        raise InvalidDataError(
            "Every fold of cv needs training and test rows of non-zero weight; one has none."
        )
    return kept
