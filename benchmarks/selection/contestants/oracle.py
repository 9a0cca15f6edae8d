"""Oracles: shown the truly relevant columns only, they keep them all and predict.

``oracle`` is the library's own estimator made to keep every column, so that it differs from the
contestant ``nablasso`` in knowing the support and in nothing else. ``oracle_refit`` is the refit of
the rankers' wrapper.
"""

from __future__ import annotations

import numpy as np

from benchmarks.selection.contest import Answer, Contestant, Question
from benchmarks.selection.contestants.nablasso_default import Ours, automatic, labels
from benchmarks.selection.ranking import KERNELS, cross_validated_errors, refit


def mean_answer(question: Question) -> Answer:
    """No columns: the mean, or the label in the majority."""
    mean = float(question.signed.mean())
    return Answer(np.zeros(0, dtype=bool), lambda new: question.decode(np.full(len(new), mean)))


class Oracle(Ours):
    """The default estimator on the true columns, all of them kept."""

    name = "oracle"
    tuning = "as nablasso"
    true_columns_only = True

    def fit(self, question: Question) -> Answer:
        """Fit with ``always_keep`` naming every column."""
        d = question.X.shape[1]
        if d == 0:
            return mean_answer(question)
        model = automatic(question, always_keep=list(range(d)), random_state=question.seed)
        model.fit(question.X, labels(question))
        return Answer(
            np.ones(d, dtype=bool), lambda new: np.asarray(model.predict(new), dtype=float)
        )


class RefitOracle(Contestant):
    """The wrapper's kernel ridge regression on the true columns."""

    name = "oracle_refit"
    tuning = "kernel by 5-fold cross-validation, ridge by closed-form leave-one-out"
    true_columns_only = True

    def fit(self, question: Question) -> Answer:
        """Choose the kernel and fit."""
        X, y = question.X, question.signed
        if X.shape[1] == 0:
            return mean_answer(question)
        best = int(np.argmin(cross_validated_errors(X, y, question.seed)))
        predict = refit(X, y, KERNELS[best])
        support = np.ones(X.shape[1], dtype=bool)
        return Answer(support, lambda new: question.decode(predict(new)))


CONTESTANTS = (Oracle(), RefitOracle())
