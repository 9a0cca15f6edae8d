"""LassoNet: a network whose first layer is held by a linear model's sparsity."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np

from benchmarks.selection.contest import Array, Question, installed
from benchmarks.selection.ranking import Ranker, Scaler


class LassoNet(Ranker):
    """Ranked by the penalty at which a column leaves the path."""

    name = "lassonet"
    tuning = (
        "the package's defaults (one hidden layer of 100, M = 10, its own path and early "
        "stopping on 10 % of the rows); ranked by the penalty at which a column leaves; k and "
        "refit by the wrapper"
    )

    def missing(self) -> str | None:
        """torch and lassonet."""
        return installed("torch", "lassonet")

    def source(self) -> str:
        """Version of the package."""
        from importlib.metadata import version

        return f"lassonet {version('lassonet')}"

    def scores(self, question: Question) -> Array:
        """Penalty at which each column leaves; infinite for those that never do."""
        import torch
        from lassonet import LassoNetRegressor

        torch.set_num_threads(1)
        X = Scaler.of(question.X)(question.X).astype(np.float32)
        y = Scaler.of(question.signed[:, None])(question.signed[:, None]).astype(np.float32)
        model = LassoNetRegressor(random_state=question.seed, torch_seed=question.seed, verbose=0)
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.path(X, y)
        left = np.asarray(model.feature_importances_, dtype=float)
        return np.where(np.isfinite(left), left, np.nanmax(left[np.isfinite(left)], initial=0) + 1)


CONTESTANTS = (LassoNet(),)
