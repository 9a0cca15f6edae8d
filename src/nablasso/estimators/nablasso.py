"""The one call: decide which columns matter (:mod:`nablasso.search.decide`), predict, certify."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from nablasso.answer import said
from nablasso.data.table import Table, check_weights, prepare
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.base import (
    PredictsClasses,
    Target,
    check_classes,
    class_shares,
    read_classes,
)
from nablasso.estimators.certificate import read_sums
from nablasso.estimators.explained import explanation_of
from nablasso.estimators.outcome import accuracy_of_classes, accuracy_of_numbers, read_all_rows
from nablasso.estimators.parameters import estimator
from nablasso.estimators.validation import by_column, check_new_data, check_training_data
from nablasso.losses import Logistic, Loss, Squared
from nablasso.reading.explanation import Explanation
from nablasso.regression.laplace import left_out_odds
from nablasso.search.few import Decision
from nablasso.search.predictor import Predictor, odds_of, predictor_of
from nablasso.search.together import AllRows, odds_of_all, predictor_of_all
from nablasso.spaces import Function, RepresenterSpace
from nablasso.streaming.sources import Source
from nablasso.types import Array, Index


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

    def _arrays(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        X, y = check_training_data(self, X, y)
        return X, y, check_weights(sample_weight, len(X))

    def _table(self, X: Array, y: Any, weights: Array) -> Table:
        return prepare(X, y, weights, standardize=True, centre_y=True)

    def _targets(self, table: Table) -> Array:
        return table.y[:, None]

    def _loss(self) -> Loss:
        return Squared()

    def _keep_functions(
        self, decision: Decision, table: Table, source: Source | None, rows: AllRows | None
    ) -> None:
        self._predictor: Predictor
        if source is None or rows is None:
            self._predictor, self._y_mean = predictor_of(decision, table.columns), table.y_mean
            self._judge(said("left out", n_rows=len(self._predictor.observed)))
            return
        grown = self._grown(source, "auto")
        self._predictor, joined = predictor_of_all(
            decision, table.columns, grown, rows, full=self.max_features is not None
        )
        self._y_mean = 0.0
        if grown is not None:
            read_all_rows(self, [grown], joined, [self._predictor], rows)
            read_sums(self, [grown])
        self._judge(said("judged", n_rows=rows.n_fresh, n_all=len(rows.y)))

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

    def _opened(self, source: Source) -> Source:
        classes, totals = source.labels()
        check_classes(classes)
        self._target = Target(self._loss(), classes, self.class_weight)
        factors = self._target.class_factors(np.arange(len(totals), dtype=float), totals)
        self.classes_, self._class_factors = classes, factors
        return source.with_classes(classes, factors)

    def _arrays(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        loss, balance = self._loss(), self.class_weight
        data, self._target = read_classes(self, X, y, sample_weight, loss, balance)
        self.classes_: Any = self._target.classes
        factors = self._class_factors = self._target.class_factors(data.y, data.weights)
        return data.X, data.y, data.weights * factors[data.y.astype(np.intp)]

    def _table(self, X: Array, y: Any, weights: Array) -> Table:
        return prepare(X, y, weights, standardize=True, centre_y=False)

    def _targets(self, table: Table) -> Array:
        return self._target.functions(table.y)

    def _loss(self) -> Loss:
        return Logistic()

    def _keep_functions(
        self, decision: Decision, table: Table, source: Source | None, rows: AllRows | None
    ) -> None:
        fitted = odds_of(decision.few, decision.model)
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
        self._judge(np.column_stack(odds), codes, few.weights, said("left out", n_rows=len(few.X)))
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
        read_sums(self, grown)
        fresh = rows.fresh
        odds = [function.values(rows.standardised(fresh)) for function in self._functions]
        codes, how = (
            rows.y[fresh].astype(np.intp),
            said("judged", n_rows=len(fresh), n_all=len(rows.y)),
        )
        self._judge(np.column_stack(odds), codes, rows.weights[fresh], how)

    def _judge(self, odds: Array, codes: Index, weights: Array, how: str) -> None:
        """How accurate left-out rows are predicted; weights by class count as one row each."""
        weights = weights / self._class_factors[codes]
        shares = class_shares(odds[:, 0] if odds.shape[1] == 1 else odds)
        self._left_out = (codes, shares, weights / weights.sum())
        self._accuracy = accuracy_of_classes(*self._left_out, how)

    def _explained(self, table: Table, n: int) -> Explanation:
        return explanation_of(self, table, self._functions, self._spreads, n)
