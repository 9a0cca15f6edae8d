r"""Classes from log-odds: what the classifiers have in common.

Two classes need one function, the log-odds of the second. K > 2 classes need K functions, each from
the problem "this class or not"; their probabilities are divided by their sum.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nablasso.data.table import MIN_ROWS, check_weights
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.validation import check_finite_columns, check_new_data
from nablasso.types import Array


@dataclass(eq=False, repr=False)
class LogOddsClassifier(ClassifierMixin):
    """Predictions from ``_functions`` of standardised inputs, and the checks of labels."""

    _: KW_ONLY
    class_weight: Any = None

    def decision_function(self, X: Any) -> Array:
        """Log-odds of the second class, or of each class against the rest.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

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

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_classes)
        """
        odds = self.decision_function(X)
        if odds.ndim == 1:
            return np.column_stack([expit(-odds), expit(odds)])
        # relative to the largest: all of them may be tiny
        logs = -np.logaddexp(0.0, -odds)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples,)
        """
        odds = self.decision_function(X)
        codes = (odds > 0).astype(int) if odds.ndim == 1 else odds.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_gradient(self, X: Any) -> Array:
        """Gradient of the decision function, in the units of ``X``.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_features) for two classes, (n_samples, n_classes, n_features)
            for more
        """
        check_is_fitted(self)
        Z = self._scaler.transform(check_new_data(self, X))
        parts = [function.gradients(Z) / self._scaler.scale for function in self._functions]
        return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)

    def _validate_labels(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        """Inputs, codes of the labels, and weights; sets ``classes_``."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False)
        check_finite_columns(self, X)
        check_classification_targets(y)
        if len(X) < MIN_ROWS:
            raise InvalidDataError(f"At least {MIN_ROWS} rows are needed; got n_samples={len(X)}.")
        weights = check_weights(sample_weight, len(X))
        counted = weights > 0
        self.classes_ = np.unique(y[counted])
        self._check_classes()
        codes = np.zeros(len(y))
        codes[counted] = np.searchsorted(self.classes_, y[counted])
        return X, codes, weights

    def _check_classes(self) -> None:
        check_classification_targets(self.classes_)
        if len(self.classes_) < 2:
            raise InvalidDataError(
                f"A classifier needs at least two classes; got {len(self.classes_)} class in the "
                "rows of non-zero weight. Add rows of another class."
            )

    def _signed_targets(self, codes: Array) -> Array:
        """Plus or minus one per function, (n, q): one for two classes, else one per class."""
        ours = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return np.column_stack([np.where(codes == code, 1.0, -1.0) for code in ours])

    def _class_factors(self, codes: Array, weights: Array) -> Array:
        """What ``class_weight`` multiplies the weights of each class by."""
        k = len(self.classes_)
        if self.class_weight is None:
            return np.ones(k)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            totals = np.bincount(codes.astype(np.intp), weights=weights, minlength=k)
            return np.asarray(
                np.divide(weights.sum() / k, totals, out=np.zeros(k), where=totals > 0)
            )
        if not hasattr(self.class_weight, "get"):
            raise InvalidParameterError(
                f'class_weight must be None, "balanced" or a dict of label to number; got '
                f"{self.class_weight!r}."
            )
        factors = np.array([self.class_weight.get(label, 1.0) for label in self.classes_.tolist()])
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise InvalidParameterError(
                f"class_weight must hold positive numbers; got {self.class_weight!r}."
            )
        return np.asarray(factors, dtype=float)
