"""Rosasco et al. (2013): the derivative lasso; alpha = 2 tau, ridge = tau nu."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nablasso.datasets import make_parabola
from nablasso.estimators import DerivativeLasso
from nablasso.exceptions import DegenerateFitWarning
from nablasso.progress import track

Row = dict[str, Any]

TAUS = np.logspace(-4, 0, 13)
MATCHED_TAU = 0.13


def figure_3(repeats: int = 20, seed: int = 0) -> list[Row]:
    """Figure 3: the norm term and a nearly constant variable.

    x1 uniform on [-1, 1], x2 normal with deviation 0.05, y = x1^2 + noise, n = 20, 20 validation
    rows, Gaussian kernel of median width, inputs as they are. One row per repeat, nu and way of
    choosing tau: the same tau for all, or the best on the validation rows of the penalised function
    ("penalised") or of the refit ("refit").
    """
    rows: list[Row] = []
    draws = range(seed, seed + repeats)
    for draw in track(draws, repeats, "figure 3"):
        train = make_parabola(20, random_state=draw)
        validation = make_parabola(20, random_state=10_000 + draw)
        for nu in (10.0, 1e-3):
            fits = {tau: _fit(tau, nu, train, validation) for tau in (*TAUS, MATCHED_TAU)}
            errors = {name: [fits[tau][name] for tau in TAUS] for name in ("penalised", "refit")}
            choices = {name: float(TAUS[np.argmin(e)]) for name, e in errors.items()}
            choices["matched"] = MATCHED_TAU
            for choice, tau in choices.items():
                selected = fits[tau]["selected"]
                rows.append(
                    {"draw": draw, "nu": nu, "choice": choice, "tau": tau, "selected": selected}
                )
    return rows


def _fit(tau: float, nu: float, train: Any, validation: Any) -> Row:
    """Selected variables and validation errors of the penalised function and the refit."""
    result: Row = {}
    for name, debias in (("penalised", False), ("refit", True)):
        model = DerivativeLasso(
            alpha=2 * tau, ridge=tau * nu, standardize=False, debias=debias, max_iter=2000
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", DegenerateFitWarning)
            model.fit(train.X, train.y)
        result[name] = float(np.mean((validation.y - model.predict(validation.X)) ** 2))
        result["selected"] = "".join(
            str(a + 1) for a, chosen in enumerate(model.support_) if chosen
        )
    return result
