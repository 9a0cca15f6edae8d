"""SRBench's black-box tables with its protocol; 62 of them have known columns (Friedman 1).

A split by ``random_state``, 75 % for training; columns and target standardised on the training
part. Ten seeds, three where there are more than 1000 training rows. Relevant in the tables
``*_fri_c*`` are oz1 to oz5; c1 to c4 make oz2 to oz5 collinear with oz1 to oz4.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
from numpy import array
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.problem import Draw, Problem, Quick, Suite
from benchmarks.suites import public

FOLDER, PUBLISHED = "srbench_blackbox", "srbench_published"
# Of SRBench's seeds those that fit the published medians (inferred).
SEEDS = (23654, 15795, 860, 5390, 29802, 21575, 11964, 11284, 22118, 6265)
MANY_ROWS, FEW_SEEDS = 1000, 3
RELEVANT = ("oz1", "oz2", "oz3", "oz4", "oz5")


def draw(name: str, _n: int, seed: int) -> Draw:
    """One split of a table."""
    X, y, names = public.columns_and_target(public.frame(FOLDER, name))
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=0.75, test_size=0.25, random_state=seed
    )
    inputs, target = StandardScaler().fit(X), StandardScaler().fit(y[:, None])
    support = array([name in RELEVANT for name in names]) if is_friedman(name) else None
    return Draw(
        inputs.transform(X),
        target.transform(y[:, None])[:, 0],
        inputs.transform(X_test),
        target.transform(y_test[:, None])[:, 0],
        support,
    )


def is_friedman(name: str) -> bool:
    """Whether the relevant columns are known."""
    return "_fri_c" in name


def load() -> Sequence[Problem]:
    """All tables, short ones first."""
    facts = public.frame(PUBLISHED, "datasets_info").set_index("name")["nsamples"]
    names = sorted(public.names(FOLDER), key=lambda name: (int(facts.get(name, 0)), name))
    return [
        Problem(name, partial(draw, name), seeds=SEEDS[: _n_seeds(int(facts.get(name, 0)))])
        for name in names
    ]


def _n_seeds(rows: int) -> int:
    return len(SEEDS) if 0.75 * rows <= MANY_ROWS else FEW_SEEDS


def friedman() -> Sequence[Problem]:
    """Those whose relevant columns are known."""
    return [problem for problem in load() if is_friedman(problem.name)]


def published() -> pd.DataFrame:
    """Published medians: algorithm, dataset, r2_test, model_size, training time (s)."""
    table = public.frame(PUBLISHED, "blackbox_results")
    return table[table["dataset"].isin(public.names(FOLDER))]


SUITES = (
    Suite(
        "srbench",
        "how well are SRBench's 119 black-box tables predicted, next to its published rows?",
        load,
        (
            "nablasso",
            "linear",
            "lightgbm",
            "xgboost",
            "srbench_kernel_ridge",
            "ebm_native",
            "xrfm_native",
            "gaussian_process_native",
            "operon",
            "srbench_forest",
        ),
        Quick(("687_sleuth_ex1605", "611_fri_c3_100_5")),
        SEEDS,
        public.VARIABLE,
    ),
    Suite(
        "friedman",
        "which columns matter in 62 of these tables? (further contestants: rows of srbench)",
        friedman,
        (
            "boruta",
            "knockoffs",
            "desparsified_lasso",
            "lasso_support",
            "mars_native",
            "lassonet",
        ),
        Quick(("611_fri_c3_100_5",), contestants=("nablasso", "lasso_support", "boruta")),
        SEEDS,
        public.VARIABLE,
    ),
)
