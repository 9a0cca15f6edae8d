"""The papers' methods as this library has them, each tuned by its own cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nablasso
from benchmarks.selection.contest import Answer, Question
from benchmarks.selection.contestants.nablasso_default import Ours, labels


class Method(Ours):
    """A pair of estimators with cross-validation, default settings otherwise."""

    def __init__(
        self, name: str, regressor: Callable[..., Any], classifier: Callable[..., Any]
    ) -> None:
        self.name = name  # type: ignore[misc]
        self.tuning = f"{regressor.__name__}, default grids"  # type: ignore[misc]
        self._kinds = {"regression": regressor, "classification": classifier}

    def fit(self, question: Question) -> Answer:
        """Select and fit."""
        model = self._kinds[question.task](random_state=question.seed)
        model.fit(question.X, labels(question))
        support = np.asarray(model.support_, dtype=bool)
        return Answer(support, lambda new: np.asarray(model.predict(new), dtype=float))


CONTESTANTS = (
    Method("derivative_lasso", nablasso.DerivativeLassoCV, nablasso.DerivativeLassoClassifierCV),
    Method(
        "derivative_elastic_net",
        nablasso.DerivativeElasticNetCV,
        nablasso.DerivativeElasticNetClassifierCV,
    ),
    Method(
        "hierarchical_kernels",
        nablasso.HierarchicalKernelRegressorCV,
        nablasso.HierarchicalKernelClassifierCV,
    ),
    Method(
        "multiple_kernels", nablasso.MultipleKernelRegressorCV, nablasso.MultipleKernelClassifierCV
    ),
    Method(
        "sparse_gradients", nablasso.SparseGradientRegressorCV, nablasso.SparseGradientClassifierCV
    ),
)
