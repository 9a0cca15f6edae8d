"""Real tables with the same splits for all; tables of classes that everybody has.

A split is a permutation of the rows that depends on its number alone: the first n are for training,
tuning included, up to 4000 of the others for the test. With all rows a quarter of them, at most
4000, is the test. Columns without a value somewhere are left out. Tables come from
:mod:`nablasso.datasets`, from the folder that ``NABLASSO_DATA`` names. Those of *classes* come
with scikit-learn, or are made by it (clusters at the corners of a cube, labels of one row in twenty
turned).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
from sklearn import datasets

from benchmarks.problem import ALL, Array, Draw, Problem, Quick, Suite
from experiments.real_tables import CATALOGUE, load_table

TEST = 4000
SIZES = (100, 500, 2000)


@lru_cache(maxsize=2)  # contestants of one problem follow each other
def whole(name: str) -> tuple[Array, Array]:
    """Columns without a gap, and y; classes as numbers."""
    table = load_table(name)
    y = table.y
    if CATALOGUE[name].moments is None:
        y = np.unique(y, return_inverse=True)[1].astype(float)
    return table.X[:, ~np.isnan(table.X).any(axis=0)], y


def split(X: Array, y: Array, n: int, number: int) -> Draw:
    """Split of a table by its number."""
    order = np.random.default_rng([32, number]).permutation(len(y))
    n = len(y) - min(TEST, len(y) // 4) if n == ALL else n
    train, test = order[:n], order[n : n + TEST]
    return Draw(X[train], y[train], X[test], y[test])


def draw(name: str, n: int, number: int) -> Draw:
    """Read and split."""
    return split(*whole(name), n, number)


def load() -> Sequence[Problem]:
    """All tables, at the sizes that leave a third for the test, and with all rows."""
    found = []
    for name, facts in CATALOGUE.items():
        most = 2 * facts.n_samples // 3
        sizes = tuple(n for n in SIZES if n <= most)
        task = "regression" if facts.moments is not None else "classification"
        found.append(Problem(name, partial(draw, name), (*sizes, ALL), task=task, most_rows=most))
    return found


CLASSES = {
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "clusters_2": partial(
        datasets.make_classification,
        4000,
        30,
        n_informative=8,
        n_redundant=6,
        n_clusters_per_class=3,
        flip_y=0.05,
        random_state=0,
    ),
    "clusters_4": partial(
        datasets.make_classification,
        4000,
        20,
        n_informative=6,
        n_redundant=2,
        n_classes=4,
        flip_y=0.05,
        random_state=1,
    ),
}
CLASSES_SIZES = (100, 400, 1500)


def classes_draw(name: str, n: int, number: int) -> Draw:
    """A split of a table of classes."""
    found = CLASSES[name]()
    X, y = found if isinstance(found, tuple) else (found.data, found.target)
    return split(np.asarray(X, dtype=float), np.asarray(y, dtype=float), n, number)


def load_classes() -> Sequence[Problem]:
    """At the sizes that leave a quarter for the test."""
    found = []
    for name, n in zip(CLASSES, (569, 1797, 150, 178, 4000, 4000), strict=True):
        sizes = tuple(size for size in CLASSES_SIZES if size <= 3 * n // 4)
        draw = partial(classes_draw, name)
        most = 3 * n // 4
        found.append(Problem(name, draw, sizes, task="classification", most_rows=most))
    return found


SUITES = (
    Suite(
        "tables",
        "how well are real tables predicted, from 100, 500, 2000 and all rows?",
        load,
        (
            "nablasso",
            "kernel_ridge",
            "boosting_native",
            "lasso_native",
            "lightgbm",
            "xgboost",
            "ebm_native",
            "xrfm_native",
            "gaussian_process_native",
            "catboost",
        ),
        Quick(("airfoil", "wpbc_outcome"), (100,)),
        range(5),
        "NABLASSO_DATA",
    ),
    Suite(
        "classes",
        "how well are classes predicted, label by label and as probabilities?",
        load_classes,
        (
            "nablasso",
            "lasso_native",
            "gaussian_process_native",
            "boosting_default",
            "lightgbm",
            "xgboost",
            "catboost",
        ),
        Quick(("iris", "breast_cancer"), (100,), ("nablasso", "lasso_native")),
        range(5),
    ),
)
