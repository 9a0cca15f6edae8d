r"""Sparse gradient learning (Ye and Xie 2012): selection and dimension reduction together.

Regression, on standardised ``X`` and centred ``y`` with row weights ``p``:

.. math::
    \min_f \sum_{ij} p_i p_j w_{ij} \big(y_i - y_j + (x_j - x_i)^\top f(x_i)\big)^2
    + \alpha \sum_a \|f^a\|_K

Classes: the logistic loss of ``f0(x_i) + (x_j - x_i)' f(x_i)`` at the label of row j, plus
``ridge ||f0||^2`` (:mod:`nablasso.gradients.problem`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import log_loss
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, check_weights, prepare
from nablasso.errors import InvalidParameterError
from nablasso.estimators.alpha_path import Path
from nablasso.estimators.docs import document
from nablasso.estimators.log_odds import LogOddsClassifier
from nablasso.estimators.sparse_gradient_base import SparseGradientEstimator
from nablasso.estimators.sparse_gradient_path import gradient_path
from nablasso.estimators.sparse_gradient_predictor import fit_predictor
from nablasso.estimators.validation import check_new_data, check_training_data
from nablasso.gradients import GradientFit
from nablasso.types import Array


@dataclass(eq=False, repr=False)
class SingleGradientFit(SparseGradientEstimator):
    """Fit at one ``alpha``."""

    alpha: float | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        X_unlabeled: Any = None,
    ) -> Self:
        """Learn the gradients, select variables and find directions.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row.
        groups : ignored
            For the form with cross-validation.
        X_unlabeled : array-like, shape (n_unlabeled, n_features), optional
            Rows without a target, for the smoothness term.

        Returns
        -------
        self
        """
        X, y, weights = self._validate(X, y, sample_weight)
        table = self._prepare(X, y, weights)
        unlabelled = None if X_unlabeled is None else check_new_data(self, X_unlabeled)
        learner = self._learner(table, self._points(table, weights, unlabelled), self.tol)
        self._fit_table(X, table, learner, self.alpha, weights)
        return self

    def _path(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Path:
        return gradient_path(self, X, y, sample_weight, **options)


@dataclass(eq=False, repr=False)
class GradientRegression(RegressorMixin, SparseGradientEstimator):
    """Shared by the regressors: the squared loss, and a predictor on what was found."""

    _: KW_ONLY
    predictor: Any = None
    predict_from: str = "components"

    def predict(self, X: Any) -> Array:
        """Predict the target.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples,)
        """
        check_is_fitted(self)
        features = self._features(self._scaler.transform(check_new_data(self, X)))
        return np.asarray(self.predictor_.predict(features), dtype=float)

    def predict_gradient(self, X: Any) -> Array:
        """The learned gradient, in the units of ``X`` and ``y``.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        Z = self._scaler.transform(check_new_data(self, X))
        return np.asarray(self._functions[0].gradients(Z) / self._scaler.scale)

    def _features(self, Z: Array) -> Array:
        """What the predictor sees of standardised inputs."""
        if self.predict_from == "selected" and self._chosen.size:
            return np.asarray(Z[:, self._chosen])
        return np.asarray(Z @ self.components_.T)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.predictor is not None and not hasattr(self.predictor, "fit"):
            raise InvalidParameterError(
                f"predictor must be None or a scikit-learn estimator; got {self.predictor!r}."
            )
        if self.predict_from not in ("components", "selected"):
            raise InvalidParameterError(
                f'predict_from must be "components" or "selected"; got {self.predict_from!r}.'
            )

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        X, y = check_training_data(self, X, y)
        return X, y, check_weights(sample_weight, len(X))

    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        return prepare(X, y, weights, standardize=self.standardize, centre_y=True, centre_x=True)

    def _targets_of(self, table: Table) -> Array:
        return table.y[:, None]

    def _keep(self, fits: list[GradientFit], table: Table) -> None:
        self._chosen = np.sort(fits[0].function.active)
        self.predictor_ = fit_predictor(self.predictor, self._table_features(table), table)

    def _table_features(self, table: Table) -> Array:
        """Features of the table's rows, whose columns are some of the input's, reordered."""
        if self.predict_from == "selected" and self._chosen.size:
            place = np.full(self.n_features_in_, -1)
            place[table.columns] = np.arange(len(table.columns))
            return np.asarray(table.X[:, place[self._chosen]])
        return np.asarray(table.X @ self.components_[:, table.columns].T)

    def _targets(self, y: Array) -> Array:
        """The target that scorers expect."""
        return y

    def _default_score(self, model: Any, X: Array, y: Array, sample_weight: Any = None) -> float:
        """Negative mean squared error."""
        return -float(np.average((y - model.predict(X)) ** 2, weights=sample_weight))


@dataclass(eq=False, repr=False)
class GradientClassification(LogOddsClassifier, SparseGradientEstimator):
    """Shared by the classifiers: the logistic loss with f0, one class against the rest."""

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        return self._validate_labels(X, y, sample_weight)

    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        weights = weights * self._class_factors(y, weights)[y.astype(np.intp)]
        return prepare(X, y, weights, standardize=self.standardize, centre_y=False, centre_x=True)

    def _targets_of(self, table: Table) -> Array:
        return self._signed_targets(table.y)

    def _keep(self, fits: list[GradientFit], table: Table) -> None:
        """Nothing more: f0 predicts."""

    def _targets(self, y: Array) -> NDArray[Any]:
        """The labels of their codes."""
        return np.asarray(self.classes_[y.astype(np.intp)])

    def _default_score(self, model: Any, X: Array, y: Any, sample_weight: Any = None) -> float:
        """Negative log loss."""
        probabilities = model.predict_proba(X)
        return -float(log_loss(y, probabilities, labels=self.classes_, sample_weight=sample_weight))


@document
@dataclass(eq=False, repr=False)
class SparseGradientRegressor(SingleGradientFit, GradientRegression):
    """Sparse gradient learning for regression.

    Learns the gradient of the regression function from pairs of rows, most of its components
    exactly zero. Select variables by the components that are not, reduce the dimension by the
    eigenvectors of their covariance.

    Parameters
    ----------
    {gradient_alpha}
    {gradient_common}
    {gradient_predictor}
    {gradient_rest}

    Attributes
    ----------
    {gradient_attributes}

    Examples
    --------
    >>> from nablasso import SparseGradientRegressor
    >>> from nablasso.datasets import make_turlach
    >>> from nablasso.kernels import Polynomial
    >>> data = make_turlach(100, 10, random_state=0)
    >>> model = SparseGradientRegressor(0.001, kernel=Polynomial(1), n_neighbors=10)
    >>> model.fit(data.X, data.y).get_support(indices=True).tolist()
    [0, 1, 2, 3, 4]
    """


@document
@dataclass(eq=False, repr=False)
class SparseGradientClassifier(SingleGradientFit, GradientClassification):
    """Sparse gradient learning for classes: gradients of the log-odds.

    Two classes need one function, more need one per class ("this class or not"). Predictions come
    from f0, the log-odds themselves, which is learned along with the gradients.

    Parameters
    ----------
    {gradient_alpha}
    {gradient_common}
    {gradient_class_weight}
    {gradient_rest}

    Attributes
    ----------
    {gradient_classes}
    {gradient_attributes}

    Examples
    --------
    >>> from nablasso import SparseGradientClassifier
    >>> from nablasso.datasets import make_rings
    >>> data = make_rings(40, 10, random_state=0)
    >>> model = SparseGradientClassifier(0.02, standardize=False).fit(data.X, data.y)
    >>> model.get_support(indices=True).tolist()
    [0, 1]
    >>> model.transform(data.X).shape
    (40, 2)
    """
