"""pumadyn 32nh, n = 1024: ``python -m benchmarks.selection.pumadyn``.

Same splits for all: 1024 training rows, the other 7168 are test rows. RMSE / sd(y) on the test
rows, seconds of the fit, number of columns kept. The file ``pumadyn_32nh.csv.gz`` (last column
``target``) is looked for in the folder named by the environment variable NABLASSO_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.provenance import record_run
from benchmarks.selection.contest import Array, Question
from benchmarks.selection.contestants import CONTESTANTS
from benchmarks.selection.judge import rmse
from benchmarks.selection.run import able
from benchmarks.store import RowStore

FILE = "pumadyn_32nh.csv.gz"
TRAIN = 1024
KEY = ("contestant", "version", "n", "split")
COLUMNS = (*KEY, "source", "rmse_over_sd", "seconds", "selected", "columns")
OUT = Path(__file__).parent / "results" / "pumadyn.csv"


def data_file() -> Path | None:
    """The file in NABLASSO_DATA, None when there is none."""
    folder = os.environ.get("NABLASSO_DATA")
    path = Path(folder, FILE) if folder else None
    return path if path is not None and path.exists() else None


def split(table: Array, number: int, n: int = TRAIN) -> tuple[Array, Array, Array, Array]:
    """X and y of the training rows, then of the test rows."""
    order = np.random.default_rng([32, number]).permutation(len(table))
    train, test = table[order[:n]], table[order[n:]]
    return train[:, :-1], train[:, -1], test[:, :-1], test[:, -1]


def summary(store: RowStore) -> str:
    """Means over the splits."""
    lines = ["| contestant | splits | RMSE / sd(y) | seconds | columns |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(row["contestant"] for row in store.rows):
        rows = [row for row in store.rows if row["contestant"] == name]
        errors, seconds, kept = (
            np.array([float(row[column]) for row in rows])
            for column in ("rmse_over_sd", "seconds", "selected")
        )
        lines.append(
            f"| {name} | {len(rows)} | {errors.mean():.4f} ({errors.min():.4f} to "
            f"{errors.max():.4f}) | {np.median(seconds):.1f} | {kept.mean():.1f} |"
        )
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Fit each contestant on each split."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    default = ["nablasso", "mars_native", "gaussian_process_native"]
    parser.add_argument("--contestants", nargs="+", default=default)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--n", type=int, default=TRAIN)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    path = data_file()
    if path is None:
        sys.stderr.write(f"skipped: no {FILE} in the folder of NABLASSO_DATA; set it and repeat\n")
        return
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    store = RowStore(options.out, COLUMNS, KEY)
    record_run(store.path, arguments)
    for number in range(options.splits):
        X, y, X_test, y_test = split(table, number, options.n)
        for name in able(options.contestants):
            contestant = CONTESTANTS[name]
            key = (name, contestant.version, str(options.n), str(number))
            if key in store:
                continue
            start = time.perf_counter()
            with threadpool_limits(1):
                answer = contestant.fit(Question(X, y, seed=number))
            seconds = time.perf_counter() - start
            error = rmse(answer.predict(X_test), y_test) / float(y_test.std())
            store.append(
                {
                    **dict(zip(KEY, key, strict=True)),
                    "source": contestant.source(),
                    "rmse_over_sd": f"{error:.6f}",
                    "seconds": f"{seconds:.4g}",
                    "selected": int(answer.support.sum()),
                    "columns": " ".join(str(a) for a in np.flatnonzero(answer.support)),
                }
            )
            sys.stderr.write(f"split {number} {name}: {error:.4f} in {seconds:.1f} s\n")
    sys.stdout.write(summary(store))


if __name__ == "__main__":
    main()
