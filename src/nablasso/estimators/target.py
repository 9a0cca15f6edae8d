r"""What ``y`` is: numbers, counts or classes; read, turned into functions to fit, and predicted.

Numbers need one function, and so do counts, whose loss has a link (:mod:`nablasso.losses`). Two
classes need one function too, the log-odds of the second. K > 2 classes need K functions, each from
the problem "this class or not" on the same table; their probabilities are divided by their sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import log_loss
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nablasso.data.roles import many_classes
from nablasso.data.table import MIN_ROWS, Table, check_weights, prepare
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.validation import (
    by_column,
    check_finite_columns,
    check_new_data,
    check_training_data,
)
from nablasso.losses import Logistic, Loss, Squared
from nablasso.types import Array, Index


class Data(NamedTuple):
    """Validated arrays; ``y`` are numbers, or the codes of classes."""

    X: Array
    y: Array
    weights: Array
    unlabelled: Array | None = None

    def at(self, rows: Index) -> Data:
        """Some of the rows; those without a target stay."""
        return Data(self.X[rows], self.y[rows], self.weights[rows], self.unlabelled)


@dataclass(frozen=True)
class Target:
    """The loss of one function, and the labels where ``y`` holds classes.

    ``centred`` says whether the mean of numbers is taken away before a function is fitted.
    """

    loss: Loss
    classes: NDArray[Any] | None = None
    class_weight: Any = None
    centred: bool = False

    def table(self, data: Data, *, standardize: bool, **options: Any) -> Table:
        """The rows in canonical order; those of a class weighted as ``class_weight`` says."""
        X, y, weights, _ = data
        if self.classes is not None:
            weights = weights * self.class_factors(y, weights)[y.astype(np.intp)]
        return prepare(X, y, weights, standardize=standardize, centre_y=self.centred, **options)

    def functions(self, y: Array) -> Array:
        """What each function is fitted to, (n, q): numbers, or plus and minus one."""
        if self.classes is None:
            return y[:, None]
        ours = [1] if len(self.classes) == 2 else range(len(self.classes))
        return np.column_stack([np.where(y == code, 1.0, -1.0) for code in ours])

    def labels(self, y: Array) -> NDArray[Any]:
        """What scorers expect: the numbers, or the labels of the codes."""
        return y if self.classes is None else np.asarray(self.classes[y.astype(np.intp)])

    def score(self, model: Any, X: Array, y: Any, sample_weight: Any = None) -> float:
        """Negative mean loss of numbers, negative log loss of classes.

        Without probabilities it is the accuracy. ``model`` has ``_link`` for numbers.
        """
        if self.classes is None:
            return -float(np.average(self.loss.value(y, model._link(X)), weights=sample_weight))
        if not isinstance(self.loss, Logistic):
            return float(np.average(model.predict(X) == y, weights=sample_weight))
        shares = model.predict_proba(X)
        return -float(log_loss(y, shares, labels=self.classes, sample_weight=sample_weight))

    def fitted(self, loss: Loss) -> Target:
        """The same target after the thresholds of the loss were measured."""
        return replace(self, loss=loss)

    def class_factors(self, codes: Array, weights: Array) -> Array:
        """What ``class_weight`` multiplies the weights of each class by."""
        assert self.classes is not None
        k = len(self.classes)
        if self.class_weight is None:
            return np.ones(k)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            totals = np.bincount(codes.astype(np.intp), weights=weights, minlength=k)
            share = weights.sum() / k
            return np.asarray(np.divide(share, totals, out=np.zeros(k), where=totals > 0))
        if not hasattr(self.class_weight, "get"):
            raise InvalidParameterError(
                f'class_weight must be None, "balanced" or a dict of label to number; got '
                f"{self.class_weight!r}."
            )
        factors = np.array([self.class_weight.get(label, 1.0) for label in self.classes.tolist()])
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise InvalidParameterError(
                f"class_weight must hold positive numbers; got {self.class_weight!r}."
            )
        return np.asarray(factors, dtype=float)


def read_numbers(
    model: Any, X: Any, y: Any, sample_weight: Any, loss: Loss, *, centred: bool = True
) -> tuple[Data, Target]:
    """Check numbers or counts; they are centred where ``centred`` and the loss allow it."""
    X, y = check_training_data(model, X, y)
    loss.check_target(y)
    weights = check_weights(sample_weight, len(X))
    return Data(X, y, weights), Target(loss, centred=centred and loss.translates)


def read_classes(
    model: Any, X: Any, y: Any, sample_weight: Any, loss: Loss, class_weight: Any
) -> tuple[Data, Target]:
    """Check labels; those of rows of no weight do not count."""
    X, y = validate_data(model, X, y, dtype=np.float64, ensure_all_finite=False)
    check_finite_columns(model, X)
    check_classification_targets(y)
    if len(X) < MIN_ROWS:
        raise InvalidDataError(f"At least {MIN_ROWS} rows are needed; got n_samples={len(X)}.")
    weights = check_weights(sample_weight, len(X))
    counted = weights > 0
    classes = np.unique(y[counted])
    check_classes(classes)
    codes = np.zeros(len(y))
    codes[counted] = np.searchsorted(classes, y[counted])
    return Data(X, codes, weights), Target(loss, classes, class_weight)


def check_classes(classes: NDArray[Any]) -> None:
    """Refuse labels that are none, or fewer than two."""
    check_classification_targets(classes)
    if question := many_classes(classes):
        raise InvalidDataError(question)
    if len(classes) < 2:
        raise InvalidDataError(
            f"A classifier needs at least two classes; got {len(classes)} class in the rows of "
            "non-zero weight. Add rows of another class."
        )


@estimator
class PredictsNumbers(RegressorMixin):
    """Predictions from the one of ``_functions`` of standardised inputs, and ``_target``.

    ``_loss()`` is that of the target; without ``fit_intercept`` numbers are not centred.
    """

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Checked arrays; sets ``_target``."""
        centred = getattr(self, "fit_intercept", True)
        data, self._target = read_numbers(self, X, y, sample_weight, self._loss(), centred=centred)
        return data

    def predict(self, X: Any) -> Array:
        """Predict the target.

        Returns
        -------
        array, shape (n_samples,)
        """
        check_is_fitted(self)
        return np.asarray(self._target.loss.mean(self._link(check_new_data(self, X))))

    def predict_gradient(self, X: Any) -> Array:
        """Gradient of the predicted function, in the units of ``X`` and ``y``.

        Returns
        -------
        array, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_new_data(self, X)
        gradients = self._functions[0].gradients(self._scaler.transform(X)) / self._scaler.scale
        if not isinstance(self._target.loss, Squared):
            gradients *= self._target.loss.mean_derivative(self._link(X))[:, None]
        return by_column(self, gradients)

    def _link(self, X: Array) -> Array:
        """The fitted function: what the loss compares with the target."""
        return np.asarray(self._y_mean + self._functions[0].values(self._scaler.transform(X)))


def class_shares(odds: Array) -> Array:
    """Probabilities of the classes from log-odds (n,) of the second, or (n, k) of each."""
    if odds.ndim == 1:
        return np.column_stack([expit(-odds), expit(odds)])
    # relative to the largest: all of them may be tiny
    logs = -np.logaddexp(0.0, -odds)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@estimator
class PredictsClasses(ClassifierMixin):
    """Predictions from ``_functions`` of standardised inputs, the log-odds.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        The labels.
    """

    _: KW_ONLY
    class_weight: Any = parameter(
        None,
        'dict or "balanced"',
        'Factors of the sample weights by class; ``"balanced"`` gives every class the same total '
        "weight.",
    )

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Checked arrays; sets ``_target`` and ``classes_``."""
        loss, weight = self._loss(), self.class_weight
        data, self._target = read_classes(self, X, y, sample_weight, loss, weight)
        self.classes_: Any = self._target.classes
        return data

    def decision_function(self, X: Any) -> Array:
        """Log-odds of the second class, or of each class against the rest.

        Returns
        -------
        array, shape (n_samples,) for two classes, (n_samples, n_classes) for more
        """
        check_is_fitted(self)
        Z = self._scaler.transform(check_new_data(self, X))
        odds = np.column_stack([function.values(Z) for function in self._functions])
        return odds[:, 0] if len(self.classes_) == 2 else odds

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class.

        Returns
        -------
        array, shape (n_samples, n_classes)
        """
        return class_shares(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label.

        Returns
        -------
        array, shape (n_samples,)
        """
        odds = self.decision_function(X)
        codes = (odds > 0).astype(int) if odds.ndim == 1 else odds.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_gradient(self, X: Any) -> Array:
        """Gradient of the decision function, in the units of ``X``.

        Returns
        -------
        array, shape (n_samples, n_features) for two classes, (n_samples, n_classes, n_features)
            for more
        """
        check_is_fitted(self)
        Z = self._scaler.transform(check_new_data(self, X))
        parts = [function.gradients(Z) / self._scaler.scale for function in self._functions]
        return by_column(self, parts[0] if len(parts) == 1 else np.stack(parts, axis=1))
