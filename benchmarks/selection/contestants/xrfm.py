"""xRFM (recursive feature machines), ranked by its average gradient outer product's diagonal."""

from __future__ import annotations

import contextlib
import io
import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.selection.contest import Array, Question, installed
from benchmarks.selection.ranking import Ranker, Scaler

BANDWIDTHS = (3.0, 10.0, 30.0)
REGULARISATIONS = (1e-4, 1e-2, 1.0)
FOLDS = 4


def _params(bandwidth: float, reg: float) -> dict[str, Any]:
    model = {
        "kernel": "l2",
        "bandwidth": bandwidth,
        "exponent": 1.0,
        "diag": True,
        "bandwidth_mode": "constant",
    }
    fit = {
        "reg": reg,
        "iters": 5,
        "verbose": False,
        "early_stop_rfm": True,
        "get_agop_best_model": True,
    }
    return {"model": model, "fit": fit}


class XRFM(Ranker):
    """Diagonal metric, bandwidth and regularisation by held-out error."""

    name = "xrfm"
    tuning = (
        "kernel l2 with a diagonal metric, 5 iterations with early stopping; bandwidth 3, 10, 30 "
        "and reg 1e-4, 1e-2, 1 by 4-fold cross-validation (xRFM needs a validation part anyway); "
        "ranked by the gradient outer product's diagonal averaged over the folds; k and refit by "
        "the wrapper"
    )

    def missing(self) -> str | None:
        """torch and xrfm."""
        return installed("torch", "xrfm")

    def source(self) -> str:
        """Version of the package."""
        from importlib.metadata import version

        return f"xrfm {version('xrfm')}"

    def scores(self, question: Question) -> Array:
        """Mean diagonal at the grid point of the smallest held-out error."""
        import torch

        torch.set_num_threads(1)
        X = Scaler.of(question.X)(question.X).astype(np.float32)
        y = Scaler.of(question.signed[:, None])(question.signed[:, None]).astype(np.float32)
        splits = list(KFold(FOLDS, shuffle=True, random_state=question.seed).split(X))
        best, scores = np.inf, np.zeros(X.shape[1])
        for bandwidth, reg in product(BANDWIDTHS, REGULARISATIONS):
            error, diagonal = 0.0, np.zeros(X.shape[1])
            for train, held_out in splits:
                part = X[train], y[train], X[held_out], y[held_out]
                fold_error, fold_diagonal = _fold(*part, _params(bandwidth, reg), question.seed)
                error += fold_error
                diagonal += fold_diagonal / FOLDS
            if error < best:
                best, scores = error, diagonal
        return scores


def _fold(X: Any, y: Any, X_val: Any, y_val: Any, params: Any, seed: int) -> tuple[float, Array]:
    """Held-out squared error and AGOP diagonal, scaled to sum one."""
    import torch
    from xrfm import xRFM

    model = xRFM(
        params, device=torch.device("cpu"), tuning_metric="mse", random_state=seed, verbose=False
    )
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*(torch.from_numpy(part) for part in (X, y, X_val, y_val)))
        predicted = np.asarray(model.predict(torch.from_numpy(X_val))).reshape(-1)
    agop = model.collect_best_agops()[0].detach().cpu().numpy().astype(float)
    diagonal = np.diag(agop) if agop.ndim == 2 else agop
    total = float(diagonal.sum()) or 1.0
    return float(np.sum((predicted - y_val[:, 0]) ** 2)), diagonal / total


CONTESTANTS = (XRFM(),)
