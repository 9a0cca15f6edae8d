r"""Hierarchical kernel learning: select variables and interactions among all products of kernels.

See :mod:`nablasso.hierarchy` and the section "Hierarchical kernels" of the mathematics.
"""

from __future__ import annotations

import warnings
from abc import ABC
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import log_loss
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, check_weights, prepare
from nablasso.errors import InvalidParameterError
from nablasso.estimators.alpha_path import Path
from nablasso.estimators.docs import document
from nablasso.estimators.hierarchical_base import KernelSelector
from nablasso.estimators.hierarchical_path import walk_down
from nablasso.estimators.log_odds import LogOddsClassifier
from nablasso.estimators.validation import check_new_data, check_training_data
from nablasso.hierarchy import DagHierarchy, Grid, Hierarchy, KernelDag, as_decomposition
from nablasso.losses import (
    Logistic,
    Loss,
    SmoothedEpsilonInsensitive,
    SmoothedHinge,
    SquaredHinge,
    as_loss,
)
from nablasso.types import Array, Index

CLASSIFICATION_LOSSES: dict[str, type[Loss]] = {
    "logistic": Logistic,
    "squared_hinge": SquaredHinge,
    "hinge": SmoothedHinge,
}


@dataclass(eq=False, repr=False)
class SingleAlpha(KernelSelector):
    """Fit at one ``alpha``."""

    alpha: float | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select kernels and fit the function.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row.

        Returns
        -------
        self
        """
        X, y, weights = self._validate(X, y, sample_weight)
        return self._fit_table(X, self._prepare(X, y, weights), self.alpha, None)

    def _path(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Path:
        return walk_down(self, X, y, sample_weight, **options)


@dataclass(eq=False, repr=False)
class GridForm(KernelSelector):
    """All products of kernels of single variables, or a DAG of the user's own."""

    _: KW_ONLY
    root_weight: float = 1.0
    whiten: bool = False
    dag: Any = None

    def _hierarchy(self, table: Table, beta: float | None = None) -> Hierarchy:
        beta = self._checked_beta(getattr(self, "beta", None) if beta is None else beta)
        if not isinstance(self.root_weight, Real) or not 0 < float(self.root_weight) <= 1:
            raise InvalidParameterError(
                f"root_weight must lie in (0, 1]; got {self.root_weight!r}."
            )
        shared: dict[str, Any] = {
            "beta": beta,
            "root_weight": float(self.root_weight),
            "rank": check_rank(self.rank),
            "whiten": bool(self.whiten),
        }
        if self.dag is None:
            decomposition = as_decomposition(self.decomposition, self.degree)
            return Grid(table.X, table.weights, decomposition, self._labels(table), **shared)
        if not isinstance(self.dag, KernelDag):
            raise InvalidParameterError(
                "dag must be a nablasso.hierarchy.ExplicitDag or another KernelDag; got "
                f"{self.dag!r}."
            )
        X = np.zeros((len(table.X), self.n_features_in_))
        X[:, table.columns] = table.X
        return DagHierarchy(self.dag, X, table.weights, **shared)

    def _origin(self, table: Table, d: int) -> Index:
        return table.columns if self.dag is None else np.arange(d)

    def _is_limited(self) -> bool:
        return self.dag is None and super()._is_limited()

    def _checked_beta(self, beta: Any) -> float:
        if not isinstance(beta, Real) or not 0 < float(beta) < np.inf:
            raise InvalidParameterError(f"beta must be a positive number; got {beta!r}.")
        if beta <= 1:
            warnings.warn(
                f"beta={beta:g} gives deep kernels no more weight in the norm than shallow ones: "
                "the hierarchy hardly orders the search, sums over descendants do not shrink, and "
                "a certificate is unlikely. Values from 1.5 to 4 are usual.",
                UserWarning,
                stacklevel=5,
            )
        return float(beta)


@dataclass(eq=False, repr=False)
class SingleBeta(GridForm):
    """One ``beta``."""

    _: KW_ONLY
    beta: float = 2.0


def check_rank(rank: Any) -> int | None:
    """A whole number of at least 1, or None."""
    if rank is not None and (not isinstance(rank, int | np.integer) or rank < 1):
        raise InvalidParameterError(
            f"rank must be None or a whole number of at least 1; got {rank!r}."
        )
    return None if rank is None else int(rank)


@dataclass(eq=False, repr=False)
class KernelRegressorBase(RegressorMixin, KernelSelector, ABC):
    """Shared by the regressors over a hierarchy of kernels."""

    _: KW_ONLY
    loss: Any = "squared"

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
        return self.loss_.mean(self._link(check_new_data(self, X)))

    def _link(self, X: Array) -> Array:
        return np.asarray(self._y_mean + self._function.values(self._scaler.transform(X)))

    def _loss(self) -> Loss:
        if isinstance(self.loss, str) and self.loss == "epsilon_insensitive":
            return SmoothedEpsilonInsensitive()
        return as_loss(self.loss)

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        loss = self._loss()
        X, y = check_training_data(self, X, y)
        loss.check_target(y)
        return X, y, check_weights(sample_weight, len(X))

    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        centre_y = self.fit_intercept and self._loss().translates
        return prepare(X, y, weights, standardize=self.standardize, centre_y=centre_y)

    def _problem_targets(self, table: Table) -> list[Array]:
        return [table.y]

    def _keep(self, functions: list[Any], table: Table) -> None:
        (self._function,) = functions
        self._scaler, self._y_mean = table.scaler, table.y_mean

    def _targets(self, y: Array) -> Array:
        """The target that scorers expect."""
        return y

    def _default_score(self, model: Any, X: Array, y: Array, sample_weight: Any = None) -> float:
        """Negative mean loss."""
        return -float(np.average(self.loss_.value(y, model._link(X)), weights=sample_weight))


def _has_probabilities(model: Any) -> bool:
    return isinstance(model._loss(), Logistic)


@dataclass(eq=False, repr=False)
class KernelClassifierBase(LogOddsClassifier, KernelSelector, ABC):
    """Shared by the classifiers over a hierarchy of kernels."""

    _: KW_ONLY
    loss: Any = "logistic"

    predict_proba = available_if(_has_probabilities)(LogOddsClassifier.predict_proba)

    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss):
            return as_loss(self.loss)
        if not isinstance(self.loss, str) or self.loss not in CLASSIFICATION_LOSSES:
            raise InvalidParameterError(
                f"loss must be one of {', '.join(CLASSIFICATION_LOSSES)} or a nablasso.losses.Loss "
                f"object; got {self.loss!r}."
            )
        return CLASSIFICATION_LOSSES[self.loss]()

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        self._loss()
        return self._validate_labels(X, y, sample_weight)

    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        factors = self._class_factors(y, weights)
        weights = weights * factors[y.astype(np.intp)]
        return prepare(X, y, weights, standardize=self.standardize, centre_y=False)

    def _problem_targets(self, table: Table) -> list[Array]:
        return list(self._signed_targets(table.y).T)

    def _keep(self, functions: list[Any], table: Table) -> None:
        self._functions, self._scaler = functions, table.scaler

    @property
    def class_importances_(self) -> Array:
        """``feature_importances_`` of each class against the rest."""
        check_is_fitted(self)
        return np.asarray(self._class_importances)

    def _targets(self, y: Array) -> NDArray[Any]:
        """The labels of their codes."""
        return np.asarray(self.classes_[y.astype(np.intp)])

    def _default_score(self, model: Any, X: Array, y: Any, sample_weight: Any = None) -> float:
        """Negative log loss; without probabilities the accuracy."""
        if not _has_probabilities(self):
            return float(np.average(model.predict(X) == y, weights=sample_weight))
        shares = model.predict_proba(X)
        return -float(log_loss(y, shares, labels=self.classes_, sample_weight=sample_weight))


@document
@dataclass(eq=False, repr=False)
class HierarchicalKernelRegressor(SingleAlpha, SingleBeta, KernelRegressorBase):
    r"""Hierarchical kernel learning: variables and their interactions, with a certificate.

    A function that is a sum of products of functions of single variables, over all
    ``(q + 1)^p`` products of levels. A product is selected only after all products of its parts.

    Parameters
    ----------
    {hierarchical_alpha}
    {beta}
    {hierarchical}
    {hierarchical_loss}
    {kernel_selection}

    Attributes
    ----------
    {hierarchical_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import HierarchicalKernelRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> y = X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1]
    >>> model = HierarchicalKernelRegressor(alpha=0.02).fit(X, y)
    >>> model.interactions_
    ['x0 * x1 (order 2)']
    """


@document
@dataclass(eq=False, repr=False)
class HierarchicalKernelClassifier(SingleAlpha, SingleBeta, KernelClassifierBase):
    """:class:`HierarchicalKernelRegressor` for classes, one against the rest.

    Parameters
    ----------
    {hierarchical_alpha}
    {beta}
    {hierarchical}
    {hierarchical_class_loss}
    {class_weight}
    {kernel_selection}

    Attributes
    ----------
    {classes}
    {hierarchical_attributes}
    """
