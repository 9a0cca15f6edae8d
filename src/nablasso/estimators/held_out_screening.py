"""Screening of wide tables as a transformer: which columns are worth a closer look."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nablasso.data.cells import listed
from nablasso.estimators.base import Data, Grouped, Selects, Target, read_classes, read_numbers
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.validation import at_least, feature_names, groups_of, spread
from nablasso.losses import Logistic, Squared
from nablasso.regression.models import FewRows
from nablasso.screening import SHORTLISTED_PAIRS, by_chance, screen


@estimator
class HeldOutScreening(Selects, Grouped):
    """Keep the columns of a wide table that tell something about ``y``, alone or in pairs.

    In rounds: columns whose curve, and pairs of columns whose product, predict left-out rows of
    what the columns found so far leave over, beyond what chance gives the best of so many. Memory
    is bounded by the table and a block of columns, time is O(n d) a round and O(n d^2) once for
    the pairs. Columns that matter only together with two or more others are not seen.

    A selector that follows in a pipeline sees only what is left, and its certificate is for that.
    What was kept predicts the rows it was chosen on too well: judge a pipeline as a whole on other
    rows, for example with ``cross_val_score``.

    Attributes
    ----------
    clear_ : array of bool, shape (n_features,)
        Those of them that are clearly relevant, or always kept.
    scores_ : array, shape (n_features,)
        Share of the variance of ``y`` that the column alone predicts on left-out rows; about zero,
        or less, for a useless one.
    chance_ : float
        About the largest score that one of so many useless columns gets.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from nablasso import DerivativeLasso, HeldOutScreening
    >>> X = np.random.default_rng(0).normal(size=(200, 3000))
    >>> y = X[:, 7] ** 2 + X[:, 11] * X[:, 12]
    >>> model = make_pipeline(HeldOutScreening(n_spare=0), DerivativeLasso()).fit(X, y)
    >>> model[:-1].get_feature_names_out().tolist()
    ['x7', 'x11', 'x12']
    """

    n_spare: int = parameter(
        10,
        "Columns (groups) kept besides those that are clearly relevant: the next best ones.",
        at_least(0),
    )
    _: KW_ONLY
    pairs: bool = parameter(
        True,
        "Whether pairs are looked at: the part of the work that grows with the square of the "
        "columns.",
    )
    task: str = parameter(
        "auto",
        'What ``y`` is; ``"auto"`` takes numbers for numbers and anything else for labels.',
        kind='{"auto", "regression", "classification"}',
    )
    verbose: int = parameter(0, "Log progress on the ``nablasso`` logger.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the columns to keep.

        Parameters
        ----------
        y : array-like, shape (n_samples,)
            Numbers or labels.
        """
        data, target = self._read(X, y, sample_weight)
        table, d = target.table(data, standardize=True), data.X.shape[1]
        rows = FewRows.of(table, target.functions(table.y), groups_of(self, table), len(table.X))
        n_pairs = SHORTLISTED_PAIRS if self.pairs else 0
        found = screen(rows, n_spare=self.n_spare, n_pairs=n_pairs, verbose=self.verbose)
        self.scores_ = spread(found.scores, table, d)
        self.clear_ = spread(found.clear[rows.labels], table, d, fill=False)
        self.support_ = spread(found.open[rows.labels], table, d, fill=False)
        self.chance_ = by_chance(*rows.X.shape)
        return self

    def summary(self) -> str:
        """The result in words."""
        check_is_fitted(self)
        names, d = feature_names(self), len(self.support_)
        order = np.argsort(-self.scores_, kind="stable")
        clear = [names[a] for a in order if self.clear_[a]]
        found = (
            f"{len(clear)} are clearly relevant: {listed(clear)}"
            if clear
            else "none clearly relevant"
        )
        best = order[0]
        return (
            f"{int(self.support_.sum())} of {d} variables are kept; {found}.\n"
            f"Alone, {names[best]} predicts best: {max(self.scores_[best], 0.0):.1%} of the "
            f"variance on left-out rows, where the best of {d} useless variables would get about "
            f"{self.chance_:.1%}."
        )

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Data, Target]:
        numbers = y is None or np.issubdtype(np.asarray(y).dtype, np.number)
        if self.task == "regression" or (self.task == "auto" and numbers):
            return read_numbers(self, X, y, sample_weight, Squared())
        return read_classes(self, X, y, sample_weight, Logistic(), None)
