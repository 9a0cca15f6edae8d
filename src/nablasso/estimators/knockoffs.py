"""The knockoff filter around any estimator with importances."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.estimators.wrapped import (
    Rows,
    WrappedSelector,
    column_scores,
    fit_clone,
    root_seed,
)
from nablasso.inference import gaussian_knockoffs, knockoff_threshold, shrunk_correlation
from nablasso.progress import track
from nablasso.types import Array


@dataclass(eq=False, repr=False)
class KnockoffSelector(WrappedSelector):
    """Select the variables that beat their knockoffs, at a false discovery rate.

    Every column gets a knockoff: a random column that is correlated with the others as the column
    is, but knows nothing of ``y``. The estimator is fitted once on the standardised columns and
    knockoffs together; variables are selected where they are more important than their knockoffs
    by a margin that keeps the false discovery rate (Candes et al. 2018). The guarantee is for
    Gaussian columns of known correlation; here it is estimated, shrunk towards the identity.

    Fewer than ``1 / fdr`` selections are impossible (with ``offset=1``): for a sparse truth use
    ``RandomizationTest``.

    Parameters
    ----------
    estimator : estimator
        With ``feature_importances_`` or ``coef_`` after fit; it sees twice the columns.
    fdr : float, default=0.1
        Largest false discovery rate.
    offset : {1, 0}, default=1
        1 controls the false discovery rate; 0 a modified rate, which is less strict when few
        variables are selected.
    random_state : int or RandomState, optional
        Draws the knockoffs, and seeds the estimator where its own ``random_state`` is None.
    verbose : int, default=0
        Log progress on the ``nablasso`` logger.

    Attributes
    ----------
    knockoff_statistics_ : array, shape (n_features,)
        Importance of the column minus that of its knockoff.
    threshold_ : float
        Smallest statistic selected; infinite when none is.
    support_ : array of bool, shape (n_features,)
    estimator_ : estimator
        Fitted on standardised columns and knockoffs; each pair in random order.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    estimator: Any
    _: KW_ONLY
    fdr: float = 0.1
    offset: int = 1
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
        check_rate(self.fdr, "fdr")
        if self.offset not in (0, 1):
            raise InvalidParameterError(f"offset must be 0 or 1; got {self.offset!r}.")
        rows = self._rows(X, y, sample_weight)
        seed = root_seed(self.random_state)
        for work in track((self._fit_rows,), 1, "knockoffs", verbose=self.verbose):
            work(rows, seed)
        return self

    def _fit_rows(self, rows: Rows, seed: int) -> None:
        rng = np.random.default_rng(seed)
        Z, knockoffs = knockoffs_of(rows, rng)
        d = Z.shape[1]
        swapped = np.empty(d, dtype=bool)  # the estimator cannot tell a column by its place
        swapped[rows.column_order] = rng.random(d) < 0.5
        left, right = np.where(swapped, knockoffs, Z), np.where(swapped, Z, knockoffs)
        self.estimator_ = fit_clone(
            self.estimator, np.hstack([left, right]), rows.targets, rows.weights, seed
        )
        scores = column_scores(self.estimator_, 2 * d)
        difference = scores[:d] - scores[d:]
        self.knockoff_statistics_ = np.where(swapped, -difference, difference)
        self.threshold_ = knockoff_threshold(self.knockoff_statistics_, self.fdr, self.offset)
        self.support_ = self.knockoff_statistics_ >= self.threshold_
        if not self.support_.any():
            self._warn_of_none()

    def _warn_of_none(self) -> None:
        ahead = int(np.sum(self.knockoff_statistics_ > 0))
        least = int(np.ceil(1 / self.fdr - 1e-9))
        rule = (
            f"fewer than 1 / fdr = {least} selections are impossible with offset=1"
            if self.offset
            else "the false ones are estimated to be too many"
        )
        warnings.warn(
            f"KnockoffSelector selects nothing at fdr={self.fdr:g}: {rule}, and {ahead} of "
            f"{len(self.support_)} variables are ahead of their knockoffs. Raise fdr, or use "
            "RandomizationTest, which can select a single variable.",
            stacklevel=4,
        )


def knockoffs_of(rows: Rows, rng: np.random.Generator) -> tuple[Array, Array]:
    """Standardised columns and their knockoffs; constant columns are zero in both."""
    p = rows.weights / rows.weights.sum()
    centred = rows.X - p @ rows.X
    size = np.sqrt(p @ centred**2)
    varies = size > 1e-12 * np.abs(rows.X).max(axis=0)
    Z = np.where(varies, centred / np.where(varies, size, 1.0), 0.0)
    drawn = gaussian_knockoffs(Z, shrunk_correlation(Z, p), rng, rows.column_order)
    return Z, np.where(varies, drawn, 0.0)


def check_rate(value: Any, name: str) -> None:
    """Refuse anything but a number strictly between 0 and 1."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise InvalidParameterError(
            f"{name} must be a number strictly between 0 and 1, such as 0.1; got {value!r}."
        )
