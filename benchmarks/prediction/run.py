"""Real tables, same splits for all: ``python -m benchmarks.prediction.run``.

A split is a permutation of the rows: the first ``--n`` (500, or two thirds of a short table) are
for training, tuning included; up to 4000 others are test rows. Columns without a value somewhere
are left out. RMSE / sd(y) on the test rows, number of columns kept, seconds of the fit. Rows are
appended as they come, and a second call does what is missing.

Tables come from :mod:`nablasso.datasets`; one that cannot be had is skipped with the reason.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.memory import peak_above
from benchmarks.prediction.contestants import CONTESTANTS
from benchmarks.provenance import record_run
from benchmarks.selection.contest import Array, Contestant, Question
from benchmarks.selection.judge import rmse
from benchmarks.store import Row, RowStore
from nablasso.datasets import CATALOGUE, load_table
from nablasso.exceptions import NablassoError

TRAIN, TEST = 500, 4000
SPLITS = 5
TABLES = tuple(name for name, facts in CATALOGUE.items() if facts.moments is not None)
DEFAULT = ("nablasso", "kernel_ridge", "boosting_native", "forest_native", "lasso_native")
KEY = ("contestant", "version", "table", "n", "split")
COLUMNS = (
    *KEY,
    "source",
    "n_test",
    "d",
    "selected",
    "rmse_over_sd",
    "seconds",
    "cpu_seconds",
    "status",
    "columns",
    "peak_mib",
)
OUT = Path(__file__).parent / "results" / "rows.csv"


class Split(NamedTuple):
    """Training rows, then test rows."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def split(X: Array, y: Array, number: int, n: int | None = None) -> Split:
    """A split that depends on its number and the length of the table alone."""
    n = min(TRAIN, 2 * len(y) // 3) if n is None else n
    order = np.random.default_rng([32, number]).permutation(len(y))
    train, test = order[:n], order[n : n + TEST]
    return Split(X[train], y[train], X[test], y[test])


def measure(contestant: Contestant, given: Split, number: int) -> Row:
    """Fit on one BLAS thread and judge; a failure is kept as the row's status."""
    start, cpu = time.perf_counter(), time.process_time()
    support, error, status = np.zeros(given.X.shape[1], dtype=bool), np.inf, "ok"
    try:
        with threadpool_limits(1):
            with peak_above() as peak:
                answer = contestant.fit(Question(given.X, given.y, seed=number))
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
            error = rmse(answer.predict(given.X_test), given.y_test) / float(given.y_test.std())
        support = answer.support
    except Exception as problem:  # kept in the row: one failure must not end a long run
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
        status = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
    return {
        "source": contestant.source(),
        "n_test": len(given.y_test),
        "d": given.X.shape[1],
        "selected": int(support.sum()),
        "rmse_over_sd": f"{error:.6f}",
        "seconds": f"{seconds:.4g}",
        "cpu_seconds": f"{cpu_seconds:.4g}",
        "status": status,
        "columns": " ".join(map(str, np.flatnonzero(support))),
        "peak_mib": str(peak),
    }


def able(names: Iterable[str]) -> list[str]:
    """Contestants that can run here; the others are told with their reason."""
    reasons = {name: CONTESTANTS[name].missing() for name in names}
    for name, reason in reasons.items():
        if reason is not None:
            sys.stderr.write(f"skipped {name}: {reason}\n")
    return [name for name, reason in reasons.items() if reason is None]


def fill(store: RowStore, names: Sequence[str], tables: Sequence[str], options: object) -> None:
    """Measure what is missing, split by split, so that an interrupted run has seen every table."""
    splits, n = getattr(options, "splits", SPLITS), getattr(options, "n", None)
    loaded: dict[str, tuple[Array, Array]] = {}
    for table in tables:
        try:
            found = load_table(table)
        except NablassoError as error:
            sys.stderr.write(f"skipped {table}: {error}\n")
            continue
        loaded[table] = found.X[:, ~np.isnan(found.X).any(axis=0)], found.y
    for number in range(splits):
        for table, (X, y) in loaded.items():
            given = split(X, y, number, n)
            for name in names:
                contestant = CONTESTANTS[name]
                key = (name, contestant.version, table, str(len(given.y)), str(number))
                if key in store:
                    continue
                row = measure(contestant, given, number)
                store.append({**dict(zip(KEY, key, strict=True)), **row})
                sys.stderr.write(
                    f"{table} split {number} {name}: {row['rmse_over_sd']} with "
                    f"{row['selected']} columns in {row['seconds']} s {row['status']}\n"
                )


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing, then print the page."""
    from benchmarks.prediction.report import report

    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contestants", nargs="+", default=list(DEFAULT), choices=CONTESTANTS)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--n", type=int, help="training rows; 500 or two thirds by default")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    store = RowStore(options.out, COLUMNS, KEY)
    record_run(store.path, arguments)
    fill(store, able(options.contestants), options.tables, options)
    sys.stdout.write(report(store.rows))


if __name__ == "__main__":
    main()
