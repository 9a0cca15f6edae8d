"""One call that finds the variables: propose, price, check; then predict and certify."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, check_weights, prepare
from nablasso.estimators.automatic import AutomaticSelector, Given
from nablasso.estimators.docs import document
from nablasso.estimators.log_odds import LogOddsClassifier
from nablasso.estimators.outcome import read_all_rows
from nablasso.estimators.validation import check_new_data, check_training_data
from nablasso.losses import Logistic, Loss, Squared
from nablasso.reading import interval_half_width
from nablasso.search.decide import Decision
from nablasso.search.predictor import Predictor, odds_of_all, predictor_of, predictor_of_all
from nablasso.spaces import Function
from nablasso.streaming.tables import apart, is_in_blocks, open_table
from nablasso.types import Array


@document
@dataclass(eq=False, repr=False)
class NablassoRegressor(RegressorMixin, AutomaticSelector):
    """Select variables and predict a number, everything chosen from the data.

    Families of functions propose variables; one number, the log evidence minus what the choice
    costs, decides between sets of variables, families and assumptions about the noise; left-out
    rows must agree; a derivative lasso in the learned metric certifies the answer
    (:mod:`nablasso.search.decide`).

    Parameters
    ----------
    {automatic}

    Attributes
    ----------
    {automatic_attributes}

    Examples
    --------
    >>> from nablasso import NablassoRegressor
    >>> from nablasso.datasets import make_two_way
    >>> data = make_two_way(60, 6, random_state=0)
    >>> model = NablassoRegressor().fit(data.X, data.y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1', 'x2', 'x3']
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Select variables and fit the predictor.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), or a table in blocks
            Blocks: Parquet or CSV files, a pattern or a folder of them, a Dask collection, or
            what :func:`nablasso.streaming.open_table` returns.
        y : array-like, shape (n_samples,), or str
            A name stands for a column of files or of a data frame.
        sample_weight : array-like, shape (n_samples,), or str, optional
            Weight ``k`` equals ``k`` copies of a row.
        groups : array-like, shape (n_samples,), optional
            Groups of rows that are left out together; handed to the splitter.

        Returns
        -------
        self
        """
        if is_in_blocks(X):
            self._fit_blocks(open_table(X, y, sample_weight), groups)
            return self
        X, y, sample_weight = apart(X, y, sample_weight)
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
            returned too.

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
        predictor = self._predictor
        half = interval_half_width(predictor.residuals, predictor.weights, float(return_interval))
        return y, self._y_mean + predictor.interval(Z, half)

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
        return np.asarray(self._predictor.gradients(Z) / self._scaler.scale)

    def _table(self, X: Array, y: Any, weights: Array) -> Table:
        return prepare(X, y, weights, standardize=True, centre_y=True)

    def _targets(self, table: Table) -> Array:
        return table.y[:, None]

    def _loss(self) -> Loss:
        return Squared()

    def _keep_functions(self, decision: Decision, table: Table, given: Given) -> None:
        sample = predictor_of(decision, table.columns)
        self._predictor: Predictor = sample
        self._y_mean = table.y_mean
        if given.rows is None:
            return
        grown = self._grown(given.source, "auto")
        self._predictor, joined = predictor_of_all(decision.few.rules, grown, sample, given.rows)
        self._y_mean = 0.0
        if grown is not None:
            read_all_rows(self, [grown], joined, [self._predictor], given.rows)


@document
@dataclass(eq=False, repr=False)
class NablassoClassifier(LogOddsClassifier, AutomaticSelector):
    """Select variables and predict a class, everything chosen from the data.

    The search explains the labels by least squares; what it finds must hold for the log-odds too,
    whose variances and probabilities come from Laplace's approximation
    (:mod:`nablasso.regression.laplace`), one class against the rest for more than two.

    Parameters
    ----------
    {automatic}
    class_weight : dict, "balanced" or None
        Multiplies the weights of the rows of each class.

    Attributes
    ----------
    {automatic_attributes}
    classes_ : array
        The labels.

    Examples
    --------
    >>> from nablasso import NablassoClassifier
    >>> from nablasso.datasets import make_rings
    >>> data = make_rings(40, 6, random_state=0)
    >>> model = NablassoClassifier().fit(data.X, data.y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1']
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Select variables and fit the predictor.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), or a table in blocks
            Blocks: Parquet or CSV files, a pattern or a folder of them, a Dask collection, or
            what :func:`nablasso.streaming.open_table` returns.
        y : array-like, shape (n_samples,), or str
            Labels; a name stands for a column of files or of a data frame.
        sample_weight : array-like, shape (n_samples,), or str, optional
            Weight ``k`` equals ``k`` copies of a row.
        groups : array-like, shape (n_samples,), optional
            Groups of rows that are left out together; handed to the splitter.

        Returns
        -------
        self
        """
        if is_in_blocks(X):
            source = open_table(X, y, sample_weight)
            self.classes_, totals = source.labels()
            self._check_classes()
            factors = self._class_factors(np.arange(len(totals), dtype=float), totals)
            self._fit_blocks(source.with_classes(self.classes_, factors), groups)
            return self
        X, y, sample_weight = apart(X, y, sample_weight)
        X, codes, weights = self._validate_labels(X, y, sample_weight)
        weights = weights * self._class_factors(codes, weights)[codes.astype(np.intp)]
        self._fit_arrays(X, codes, weights, groups)
        return self

    def _table(self, X: Array, y: Any, weights: Array) -> Table:
        return prepare(X, y, weights, standardize=True, centre_y=False)

    def _targets(self, table: Table) -> Array:
        return self._signed_targets(table.y)

    def _loss(self) -> Loss:
        return Logistic()

    def _keep_functions(self, decision: Decision, table: Table, given: Given) -> None:
        self._functions: list[Function | Predictor] = [
            replace(function, columns=table.columns[function.columns])
            for function in decision.few.odds_function(decision.model)
        ]
        if given.rows is None:
            return
        if len(self._functions) > 1 and self.max_features is not None:
            return  # the limit is one for all classes
        grown, joined = [], np.empty(0, dtype=np.intp)
        targets = self._signed_targets(given.rows.y).T
        looks = float(np.log(len(targets)))  # as many times more, one for each class
        for k, target in enumerate(targets):
            found = self._grown(given.source, "label", looks, float(k if len(targets) > 1 else 1))
            function = self._functions[k]
            if found is None or not isinstance(function, Function):
                return
            grown.append(found)
            self._functions[k], own = odds_of_all(
                decision.few.rules,
                found,
                function,
                given.rows,
                target,
                full=self.max_features is not None,
            )
            joined = np.union1d(joined, own).astype(np.intp)
        read_all_rows(self, grown, joined, self._functions, given.rows)
