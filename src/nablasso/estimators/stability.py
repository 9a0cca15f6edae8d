"""Stability selection around any selector."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import InvalidParameterError
from nablasso.estimators.wrapped import (
    WrappedSelector,
    chooses_classes,
    fit_clone,
    root_seed,
    selected_columns,
)
from nablasso.inference import (
    ASSUMPTIONS,
    complementary_pairs,
    false_selection_bound,
    half_sample_selections,
    smallest_threshold,
)
from nablasso.types import Array, Mask


@dataclass(eq=False, repr=False)
class StabilitySelection(WrappedSelector):
    """Select what an estimator selects on most halves of the data.

    The rows are split into two halves ``n_pairs`` times, the estimator is fitted on every half, and
    the variables selected in at least a share ``threshold`` of the fits are kept (complementary
    pairs, Shah and Samworth 2013). The bounds on the expected number of false selections are for
    variables that one half selects with probability at most ``average_selected_ / n_features``,
    and they put the average number selected on a half in place of its expectation.

    Sample weights go with their rows: copies of a row stay together in one half, and the estimator
    gets the weights of its half. Classes are divided evenly.

    Parameters
    ----------
    estimator : estimator
        Selects by ``support_`` or ``get_support``, else by non-zero ``feature_importances_`` or
        ``coef_``. It should select few variables: the bounds grow with the square of their number.
    n_pairs : int, default=50
    threshold : float, default=0.6
        Above 1/2 and at most 1.
    max_expected_false : float, optional
        Raise the threshold until the bound on the expected number of false selections is at most
        this.
    assumption : {"r-concave", "unimodal", "worst-case"}, default="r-concave"
        What is assumed of the distribution of selection proportions, see
        :mod:`nablasso.inference.stability`.
    n_jobs : int, optional
        Halves fitted in parallel. The result does not depend on it.
    random_state : int or RandomState, optional
        Draws the halves, and seeds the estimator where its own ``random_state`` is None.
    verbose : int, default=0
        Log progress on the ``nablasso`` logger.

    Attributes
    ----------
    selection_probabilities_ : array, shape (n_features,)
        Share of the halves that select the variable.
    support_ : array of bool, shape (n_features,)
    threshold_ : float
        What was used; infinite where no threshold keeps ``max_expected_false``.
    average_selected_ : float
        Variables selected on a half, on average.
    expected_false_selections_ : float
        Bound under ``assumption``.
    false_selection_bounds_ : dict
        Bound under each assumption.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.linear_model import LassoCV
    >>> from nablasso.estimators.stability import StabilitySelection
    >>> selector = StabilitySelection(LassoCV(), max_expected_false=1.0, random_state=0)
    """

    estimator: Any
    _: KW_ONLY
    n_pairs: int = 50
    threshold: float = 0.6
    max_expected_false: float | None = None
    assumption: str = "r-concave"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select variables.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Needs an estimator that takes weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        rows = self._rows(X, y, sample_weight)
        seed = root_seed(self.random_state)
        codes = rows.y.astype(np.intp) if chooses_classes(self.estimator) else None
        halves = complementary_pairs(len(rows.X), self.n_pairs, np.random.default_rng(seed), codes)
        selections = half_sample_selections(
            partial(_select, self.estimator),
            rows.X,
            rows.targets,
            rows.weights,
            halves,
            seed=seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self._unpack(selections)
        return self

    def _unpack(self, selections: Mask) -> None:
        q, d = float(selections.sum(axis=1).mean()), selections.shape[1]
        self.threshold_ = float(self.threshold)
        if self.max_expected_false is not None:
            limit = float(self.max_expected_false)
            self.threshold_ = smallest_threshold(
                self.threshold, limit, q, d, self.n_pairs, self.assumption
            )
        self.selection_probabilities_ = selections.mean(axis=0)
        self.support_ = self.selection_probabilities_ >= self.threshold_ - 1e-9
        self.average_selected_ = q
        self.false_selection_bounds_ = {
            assumption: self._bound(assumption, q, d) for assumption in ASSUMPTIONS
        }
        self.expected_false_selections_ = self.false_selection_bounds_[self.assumption]
        if np.isinf(self.threshold_):
            least = false_selection_bound(1.0, q, d, self.n_pairs, self.assumption)
            warnings.warn(
                f"Nothing is selected: no threshold keeps the bound on the expected number of "
                f"false selections under max_expected_false={self.max_expected_false}. The "
                f"estimator selects {q:.1f} of {d} variables on a half, for which the bound is at "
                f"least {least:.2g}. Let it select fewer, or raise max_expected_false.",
                stacklevel=3,
            )

    def _bound(self, assumption: str, q: float, d: int) -> float:
        if np.isinf(self.threshold_):
            return 0.0
        return false_selection_bound(self.threshold_, q, d, self.n_pairs, assumption)

    def _check_parameters(self) -> None:
        if not isinstance(self.n_pairs, Integral) or self.n_pairs < 1:
            raise InvalidParameterError(
                f"n_pairs must be a positive whole number; got {self.n_pairs!r}."
            )
        if not isinstance(self.threshold, Real) or not 0.5 < self.threshold <= 1:
            raise InvalidParameterError(
                "threshold must be above 0.5 and at most 1: at half or less there is no bound on "
                f"the false selections; got {self.threshold!r}."
            )
        limit = self.max_expected_false
        if limit is not None and not (isinstance(limit, Real) and 0 < limit < np.inf):
            raise InvalidParameterError(
                f"max_expected_false must be a positive number or None; got {limit!r}."
            )
        if self.assumption not in ASSUMPTIONS:
            raise InvalidParameterError(
                f"assumption must be one of {', '.join(ASSUMPTIONS)}; got {self.assumption!r}."
            )


def _select(estimator: Any, X: Array, y: NDArray[np.generic], weights: Array, seed: int) -> Mask:
    """What a clone of the estimator selects on these rows."""
    return selected_columns(fit_clone(estimator, X, y, weights, seed), X.shape[1])
