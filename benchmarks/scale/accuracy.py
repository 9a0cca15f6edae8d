"""Feature spaces against the exact one: ``python -m benchmarks.scale.accuracy [QUESTION ...]``.

Problems small enough to be solved exactly, with alpha and ridge of the exact fit so that the two
solve the same problem. Held-out root mean squared error on 2000 rows, noise included, as a multiple
of the exact fit's (asked: at most 1.03 on average at m = 1024), and whether the supports agree
(asked: on 95 % of the seeds with sparse frequencies or a learned metric). Supports are stored, and
compared as they are and without variables under one per cent of the strongest, which the library
calls negligible. ``dropped`` says how many variables the exact fit leaves out: a row in which it
drops none says nothing about selection. Alpha is therefore the first of ``FRACTIONS`` of the
library's scale at which the exact fit drops a variable; without fractions it is 0.1, the default.

* additive: two of six variables, ANOVA kernel of order 1, n = 100
* waves: three of eight uniform variables, ANOVA kernel of order 1, n = 100
* pairwise: a main effect and a product of two in four, ANOVA kernel of order 2, n = 60
* friedman: Friedman's first function without its fifth variable, six uniform variables, ANOVA
  kernel of order 2, n = 100
* metric: the additive problem with a Gaussian kernel in a metric learned by six passes, n = 100
* product: a product of two and a sine in six, Gaussian kernel, learned metric, n = 100
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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.provenance import record_run
from benchmarks.store import Row, RowStore
from nablasso import DerivativeLasso
from nablasso.errors import NoSelectionWarning
from nablasso.kernels import Anova
from nablasso.paths import DEFAULT_FRACTION
from nablasso.types import Array

RESULTS = Path(__file__).parent / "results"
KEY = ("question", "m", "seed")
MEASURED = (
    *("fraction", "rmse", "exact_rmse", "ratio", "dropped", "support", "exact_support"),
    *("same_support", "same_but_negligible", "gap", "error"),
)
FRACTIONS = {"additive": (0.2, 0.4, 0.6), "waves": (0.2, 0.4, 0.6)}
NEGLIGIBLE = 0.01
FIRST_SEED = 1000
N_TEST = 2000
LANDMARKS = 75

SETTINGS: dict[str, dict[str, Any]] = {
    "additive": {"kernel": Anova(1)},
    "waves": {"kernel": Anova(1)},
    "pairwise": {"kernel": Anova(2)},
    "friedman": {"kernel": Anova(2)},
    "metric": {"kernel": "gaussian", "n_passes": 6},
    "product": {"kernel": "gaussian", "n_passes": 6},
    "dense": {"kernel": "gaussian", "debias": False},
    "landmarks": {"kernel": "gaussian", "space": "nystrom"},
}
UNIFORM = ("waves", "friedman")
SIZES = {"waves": (100, 8), "pairwise": (60, 4), "dense": (150, 3), "landmarks": (150, 3)}


def target(question: str, X: Array) -> Array:
    """The function behind the data."""
    if question in ("additive", "metric"):
        return np.asarray(np.sin(2 * X[:, 0]) + X[:, 1] ** 2)
    if question == "waves":
        waves = np.sin(6 * X[:, 0]) + np.cos(4 * X[:, 1]) + 2 * (X[:, 2] - 0.5) ** 2
        return np.asarray(waves)
    if question == "pairwise":
        return np.asarray(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    if question == "product":
        return np.asarray(X[:, 0] * X[:, 1] + np.sin(X[:, 2]))
    if question == "friedman":
        wave, bowl = np.sin(np.pi * X[:, 0] * X[:, 1]), (X[:, 2] - 0.5) ** 2
        return np.asarray(2 * wave + 4 * bowl + 2 * X[:, 3])
    return np.asarray(np.sin(X[:, 0] + X[:, 1]) + np.exp(-(X[:, 2] ** 2)))


def draw(question: str, seed: int) -> tuple[Array, Array, Array, Array]:
    """Training and held-out rows, noise of deviation 0.3 on both."""
    n, d = SIZES.get(question, (100, 6))
    rng = np.random.default_rng(seed)
    shape = (n + N_TEST, d)
    X = rng.uniform(size=shape) if question in UNIFORM else rng.normal(size=shape)
    y = target(question, X) + 0.3 * rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:]


def exact_fit(question: str, X: Array, y: Array) -> tuple[DerivativeLasso, float]:
    """The exact fit, and its alpha as a fraction of the library's scale."""
    settings = {**SETTINGS[question], "space": "exact"}
    first = DerivativeLasso(**settings, tol=1.0).fit(X, y)  # for its scale of alpha and its ridge
    for fraction in FRACTIONS.get(question, (DEFAULT_FRACTION,)):
        alpha = fraction / DEFAULT_FRACTION * first.alpha_
        exact = DerivativeLasso(**settings, alpha=alpha, ridge=first.ridge_).fit(X, y)
        if not exact.support_.all():
            break
    return exact, fraction


def measure(question: str, m: int, seed: int) -> Row:
    """One row."""
    X, y, X_new, y_new = draw(question, seed)
    exact, fraction = exact_fit(question, X, y)
    shared = {"alpha": exact.alpha_, "ridge": exact.ridge_, "n_components": m}
    ours = DerivativeLasso(**{"space": "fourier", **SETTINGS[question], **shared}).fit(X, y)
    errors = [float(np.sqrt(np.mean((f.predict(X_new) - y_new) ** 2))) for f in (ours, exact)]
    heavy = [
        f.feature_importances_ > NEGLIGIBLE * f.feature_importances_.max() for f in (ours, exact)
    ]
    return {
        "question": question,
        "m": m,
        "seed": seed,
        "fraction": fraction,
        "rmse": errors[0],
        "exact_rmse": errors[1],
        "ratio": errors[0] / errors[1],
        "dropped": int(np.sum(~exact.support_)),
        "support": variables(ours.support_),
        "exact_support": variables(exact.support_),
        "same_support": int(np.array_equal(ours.support_, exact.support_)),
        "same_but_negligible": int(np.array_equal(*heavy)),
        "gap": ours.relative_gap_,
        "error": ours.approximation_error_,
    }


def variables(support: NDArray[np.bool_]) -> str:
    """Numbers of the variables that are in."""
    return " ".join(str(a) for a in np.flatnonzero(support))


def report(rows: Sequence[dict[str, str]]) -> str:
    """One line for each question and m; agreement of supports where the exact fit drops some."""
    lines = [
        "question     m  seeds  ratio mean  median     max  dropping  same support  but negligible"
    ]
    for question, m in sorted({(row["question"], int(row["m"])) for row in rows}):
        ours = [row for row in rows if (row["question"], int(row["m"])) == (question, m)]
        ratio = np.array([float(row["ratio"]) for row in ours])
        telling = [row for row in ours if float(row["dropped"])]
        same, nearly = (
            np.mean([float(row[name]) for row in telling]) if telling else float("nan")
            for name in ("same_support", "same_but_negligible")
        )
        lines.append(
            f"{question:9s} {m:5d} {len(ours):6d} {ratio.mean():11.4f} {np.median(ratio):7.4f} "
            f"{ratio.max():7.4f} {len(telling):9d} {same:13.2f} {nearly:15.2f}"
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
