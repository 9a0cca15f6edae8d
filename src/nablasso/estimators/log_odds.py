"""Classifiers that keep no target: what they ask of one, by the names they use."""

from __future__ import annotations

from typing import Any

from nablasso.estimators.parameters import estimator
from nablasso.estimators.target import PredictsClasses, Target, check_classes, read_classes
from nablasso.losses import Logistic
from nablasso.types import Array


@estimator
class LogOddsClassifier(PredictsClasses):
    """Predictions from ``_functions`` of standardised inputs, and the checks of labels."""

    def _validate_labels(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        """Inputs, codes of the labels, and weights; sets ``classes_``."""
        data, target = read_classes(self, X, y, sample_weight, Logistic(), self.class_weight)
        self.classes_: Any = target.classes
        return data.X, data.y, data.weights

    def _signed_targets(self, codes: Array) -> Array:
        """Plus or minus one per function, (n, q): one for two classes, else one per class."""
        return Target(Logistic(), self.classes_).functions(codes)

    def _class_factors(self, codes: Array, weights: Array) -> Array:
        """What ``class_weight`` multiplies the weights of each class by."""
        return Target(Logistic(), self.classes_, self.class_weight).class_factors(codes, weights)

    def _check_classes(self) -> None:
        check_classes(self.classes_)
