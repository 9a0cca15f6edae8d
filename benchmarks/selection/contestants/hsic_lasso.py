"""HSIC lasso (pyHSICLasso): non-negative lasso on kernel matrices of single columns."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np

from benchmarks.selection.contest import Array, Question, installed
from benchmarks.selection.ranking import Ranker

MOST = 30
PERMUTATIONS = 3
BLOCK = 20


class HSICLasso(Ranker):
    """Ranked by the weights of its own solution."""

    name = "hsic_lasso"
    tuning = (
        "block HSIC lasso as its documentation recommends (B=20, M=3), up to 30 columns; ranked by "
        "its scores; k and refit by the wrapper"
    )

    def missing(self) -> str | None:
        """pyHSICLasso."""
        return installed("pyHSICLasso")

    def source(self) -> str:
        """Version of the package."""
        from importlib.metadata import version

        return f"pyHSICLasso {version('pyHSICLasso')}"

    def scores(self, question: Question) -> Array:
        """Weight of each column; those never taken are left out."""
        from pyHSICLasso import HSICLasso as Solver

        n, d = question.X.shape
        model = Solver()
        np.random.seed(question.seed)  # noqa: NPY002 - the package draws from the global source
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.input(question.X, question.y)
            kind = "classification" if question.task == "classification" else "regression"
            block = min(BLOCK, n // 2)
            scores = np.full(d, -np.inf)
            try:
                getattr(model, kind)(min(MOST, d), B=block, M=PERMUTATIONS, n_jobs=1)
            except ValueError as error:
                if "empty sequence" not in str(error):
                    raise
                return scores  # no column depends on y by itself: how the package says it
        scores[model.get_index()] = model.get_index_score()
        return scores


CONTESTANTS = (HSICLasso(),)
