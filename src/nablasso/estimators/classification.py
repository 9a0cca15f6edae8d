r"""The common face of the derivative classifiers: the logistic loss, one class against the rest.

Two classes need one function, the log-odds of the second. K > 2 classes need K functions, each from
the problem "this class or not" on the same table; they share ``alpha``, ``ridge`` and width.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from nablasso.data.table import Table, prepare
from nablasso.estimators.base import DerivativeEstimator
from nablasso.estimators.fitting import Fit, spread
from nablasso.estimators.log_odds import LogOddsClassifier
from nablasso.losses import Logistic, Loss
from nablasso.paths import Family
from nablasso.spaces import Function, PenaltyPoints
from nablasso.types import Array


@dataclass(eq=False, repr=False)
class DerivativeClassifierBase(LogOddsClassifier, DerivativeEstimator, ABC):
    """Shared by the derivative classifiers."""

    def _loss(self) -> Loss:
        return Logistic()

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        return self._validate_labels(X, y, sample_weight)

    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        factors = self._class_factors(y, weights)
        weights = weights * factors[y.astype(np.intp)]
        return prepare(X, y, weights, standardize=self.standardize, centre_y=False)

    def _families(
        self, table: Table, multiplier: float, points: PenaltyPoints | None
    ) -> list[Family]:
        targets = self._signed_targets(table.y)
        shared = self._family(table, multiplier, points, targets)
        return [shared.with_target(target) for target in targets.T]

    def _keep(self, functions: list[Function], table: Table) -> None:
        self._functions, self._scaler = functions, table.scaler

    def _unpack(self, X: Array, fits: list[Fit]) -> None:
        super()._unpack(X, fits)
        table, d = fits[0].family.table, X.shape[1]
        rows = [spread(fit.importances, table, d) for fit in fits]
        self.class_importances_ = np.array(rows)

    def _targets(self, y: Array) -> NDArray[Any]:
        """The labels of their codes."""
        return np.asarray(self.classes_[y.astype(np.intp)])

    def _default_score(self, model: Any, X: Array, y: Any, sample_weight: Any = None) -> float:
        """Negative log loss."""
        probabilities = model.predict_proba(X)
        return -float(log_loss(y, probabilities, labels=self.classes_, sample_weight=sample_weight))
