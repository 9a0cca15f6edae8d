"""Feature spaces against the exact one: ``python -m benchmarks.scale.accuracy [QUESTION ...]``.

Problems small enough to be solved exactly, at the library's default alpha and ridge, both those of
the exact fit so that the two solve the same problem. Held-out root mean squared error on 2000 rows,
noise included, as a multiple of the exact fit's (asked: at most 1.03 at m = 1024), and whether the
supports agree (asked: on 95 % of the seeds with sparse frequencies). Supports are compared as they
are and without variables under one per cent of the strongest, which the library calls negligible.

* additive: two of six variables, ANOVA kernel of order 1, n = 100
* pairwise: a main effect and a product of two in five, ANOVA kernel of order 2, n = 80
* metric: the additive problem with a Gaussian kernel in a metric learned by four passes, n = 100
* dense: a smooth function of three variables, Gaussian kernel, n = 150; prediction only
* landmarks: the dense problem, (P) on half of the rows, the refit on Nystrom features

Rows go to ``results/accuracy.csv`` one by one and are skipped when present. Development used seeds
under 100; rows are from 1000 on.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.provenance import record_run
from benchmarks.store import Row, RowStore
from nablasso import DerivativeLasso
from nablasso.exceptions import NoSelectionWarning
from nablasso.kernels import Anova

Array = NDArray[np.float64]

RESULTS = Path(__file__).parent / "results"
KEY = ("question", "m", "seed")
MEASURED = ("rmse", "exact_rmse", "ratio", "same_support", "same_but_negligible", "gap", "error")
NEGLIGIBLE = 0.01
FIRST_SEED = 1000
N_TEST = 2000
LANDMARKS = 75

SETTINGS = {
    "additive": {"kernel": Anova(1)},
    "pairwise": {"kernel": Anova(2)},
    "metric": {"kernel": "gaussian", "n_passes": 4},
    "dense": {"kernel": "gaussian", "debias": False},
    "landmarks": {"kernel": "gaussian", "space": "nystrom"},
}
SIZES = {"additive": (100, 6), "pairwise": (80, 5), "metric": (100, 6)}


def target(question: str, X: Array) -> Array:
    """The function behind the data."""
    if question in ("additive", "metric"):
        return np.asarray(np.sin(2 * X[:, 0]) + X[:, 1] ** 2)
    if question == "pairwise":
        return np.asarray(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    return np.asarray(np.sin(X[:, 0] + X[:, 1]) + np.exp(-(X[:, 2] ** 2)))


def draw(question: str, seed: int) -> tuple[Array, Array, Array, Array]:
    """Training and held-out rows, noise of deviation 0.3 on both."""
    n, d = SIZES.get(question, (150, 3))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + N_TEST, d))
    y = target(question, X) + 0.3 * rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:]


def measure(question: str, m: int, seed: int) -> Row:
    """One row."""
    X, y, X_new, y_new = draw(question, seed)
    settings = SETTINGS[question]
    exact = DerivativeLasso(**{**settings, "space": "exact"}).fit(X, y)
    shared = {"alpha": exact.alpha_, "ridge": exact.ridge_, "n_components": m}
    ours = DerivativeLasso(**{"space": "fourier", **settings, **shared}).fit(X, y)
    errors = [float(np.sqrt(np.mean((f.predict(X_new) - y_new) ** 2))) for f in (ours, exact)]
    heavy = [
        f.feature_importances_ > NEGLIGIBLE * f.feature_importances_.max() for f in (ours, exact)
    ]
    return {
        "question": question,
        "m": m,
        "seed": seed,
        "rmse": errors[0],
        "exact_rmse": errors[1],
        "ratio": errors[0] / errors[1],
        "same_support": int(np.array_equal(ours.support_, exact.support_)),
        "same_but_negligible": int(np.array_equal(*heavy)),
        "gap": ours.relative_gap_,
        "error": ours.approximation_error_,
    }


def report(rows: Sequence[dict[str, str]]) -> str:
    """One line for each question and m."""
    lines = ["question     m  seeds  ratio mean  median     max  same support  but negligible"]
    for question, m in sorted({(row["question"], int(row["m"])) for row in rows}):
        ours = [row for row in rows if (row["question"], int(row["m"])) == (question, m)]
        ratio = np.array([float(row["ratio"]) for row in ours])
        same, nearly = (
            np.mean([float(row[name]) for row in ours])
            for name in ("same_support", "same_but_negligible")
        )
        lines.append(
            f"{question:9s} {m:5d} {len(ours):6d} {ratio.mean():11.4f} {np.median(ratio):7.4f} "
            f"{ratio.max():7.4f} {same:13.2f} {nearly:15.2f}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*", default=list(SETTINGS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--components", type=int, nargs="+", default=[1024])
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    unknown = set(options.questions) - set(SETTINGS)
    if unknown:
        parser.error(f"unknown question {', '.join(unknown)}; known: {', '.join(SETTINGS)}")
    store = RowStore(options.out / "accuracy.csv", (*KEY, *MEASURED), KEY)
    record_run(store.path, sys.argv[1:] if arguments is None else arguments)
    warnings.simplefilter("ignore", NoSelectionWarning)
    for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
        for question in options.questions:
            for components in options.components:
                m = LANDMARKS if question == "landmarks" else components
                if (question, str(m), str(seed)) not in store:
                    store.append(measure(question, m, seed))
    print(report(store.rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
