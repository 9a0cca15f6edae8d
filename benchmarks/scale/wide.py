"""Wide tables: ``python -m benchmarks.scale.wide automatic screening exact``.

Five of d columns matter, n = 500, standard normal inputs, noise of a third of the signal's
deviation. Questions:

* ``automatic``: ``NablassoRegressor`` on d = 100 000, problems of different kinds, five seeds.
* ``columns``: the same against d, the additive problem.
* ``screening``: ``HeldOutScreening`` against d, without and with pairs.
* ``exact``: one fit of (P) by ``DerivativeLasso`` on all columns, no screening, against d.

Time is that of the processor in units of E (``benchmarks.unit``), memory the peak of the process,
interpreter and input included. ``recall`` is the share of the five columns that were found,
``spurious`` the number of others. Rows go to ``results/wide.csv`` one by one, each from a process
of its own; a second call goes on where the first stopped. Set OMP_NUM_THREADS for the number of
threads.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.provenance import record_run
from benchmarks.store import Row, RowStore
from benchmarks.unit import eigh_seconds
from nablasso import DerivativeLasso, HeldOutScreening, NablassoRegressor

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[2]
QUESTIONS = ("automatic", "columns", "screening", "exact")
KEY = ("question", "method", "problem", "n", "d", "seed")
MEASURED = (
    *("seconds", "cpu_seconds", "e_cpu_seconds", "time_in_e", "peak_gib"),
    *("recall", "spurious", "exact_support", "kept", "r2_new"),
)
N_ROWS, RELEVANT = 500, 5
NOISE = 1 / 3
NEW_ROWS = 500

PROBLEMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "additive": lambda x: x[0] - x[1] + np.sin(2 * x[2]) + x[3] ** 2 + 1.5 * np.abs(x[4]),
    "two-way": lambda x: x[0] * x[1] + x[2] * x[3] + x[3] * x[4],
    "radial": lambda x: np.exp(-np.sum(x**2, axis=0) / RELEVANT),
    # a product of three has neither main effects nor pairs: only x4 and x5 can be seen
    "three-way": lambda x: x[0] * x[1] * x[2] + x[3] + x[4],
}

METHODS: dict[str, Callable[[], Any]] = {
    "NablassoRegressor": NablassoRegressor,
    "HeldOutScreening": lambda: HeldOutScreening(n_spare=0),
    "HeldOutScreening alone": lambda: HeldOutScreening(n_spare=0, pairs=False),
    "DerivativeLasso": DerivativeLasso,
}


class Case(NamedTuple):
    """What is measured once."""

    question: str
    method: str
    problem: str
    n: int
    d: int
    seed: int


def cases(question: str, n_seeds: int, scale: float) -> Iterator[Case]:
    """The cases of a question; ``scale`` makes all numbers of columns smaller."""
    widths = [int(d * scale) for d in (10_000, 20_000, 50_000, 100_000)]
    if question == "automatic":
        for seed in range(n_seeds):
            for problem in PROBLEMS:
                yield Case(question, "NablassoRegressor", problem, N_ROWS, widths[-1], seed)
    elif question == "columns":
        for d in widths[:-1]:
            yield Case(question, "NablassoRegressor", "additive", N_ROWS, d, 0)
    elif question == "screening":
        for method in ("HeldOutScreening alone", "HeldOutScreening"):
            for d in widths:
                yield Case(question, method, "two-way", N_ROWS, d, 0)
    else:
        for d in widths:
            yield Case(question, "DerivativeLasso", "additive", N_ROWS, d, 0)


def drawn(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, targets, and which columns matter: random ones."""
    rng = np.random.default_rng(case.seed)
    X = rng.standard_normal((case.n, case.d))
    relevant = rng.choice(case.d, RELEVANT, replace=False)
    signal = PROBLEMS[case.problem](X[:, relevant].T)
    return X, signal + NOISE * signal.std() * rng.standard_normal(case.n), relevant


def peak_gib() -> float:
    """Peak memory of this process; NaN where the system does not tell."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 2**20 if found else float("nan")


def measured(case: Case) -> dict[str, float]:
    """One row; runs in a process of its own."""
    X, y, relevant = drawn(case)
    model = METHODS[case.method]()
    clock, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
    peak = peak_gib()  # before anything else is measured
    start = time.process_time()
    eigh_seconds()
    unit = time.process_time() - start  # with the drawing of the matrix, a small part
    chosen = np.flatnonzero(model.support_)
    found = np.intersect1d(chosen, relevant).size
    spurious = chosen.size - found
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "e_cpu_seconds": unit,
        "time_in_e": cpu_seconds / unit,
        "peak_gib": peak,
        "recall": found / RELEVANT,
        "spurious": spurious,
        "exact_support": float(found == RELEVANT and not spurious),
        "kept": float(getattr(model, "screened_", model.support_).sum()),
        "r2_new": r2_on_new_rows(model, case, relevant),
    }


def r2_on_new_rows(model: Any, case: Case, relevant: np.ndarray) -> float:
    """R2 against the signal without noise; NaN for what does not predict."""
    if not hasattr(model, "predict"):
        return float("nan")
    rng = np.random.default_rng(10_000 + case.seed)
    X = rng.standard_normal((NEW_ROWS, case.d))
    signal = PROBLEMS[case.problem](X[:, relevant].T)
    return float(1 - np.mean((signal - model.predict(X)) ** 2) / np.var(signal))


def in_process_of_its_own(case: Case) -> Row:
    """A row for the store."""
    script = (
        "import json; from benchmarks.scale.wide import Case, measured;"
        f"print(json.dumps(measured({case!r})))"
    )
    folders = [str(ROOT), *filter(None, sys.path)]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(folders))
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, env=environment
    )
    found = {name: f"{value:.4g}" for name, value in json.loads(done.stdout).items()}
    return {**case._asdict(), **found}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", nargs="*", default=list(QUESTIONS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of columns")
    parser.add_argument("--fresh", action="store_true", help="measure rows present again")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    path = options.out / "wide.csv"
    if options.fresh:
        path.unlink(missing_ok=True)
    store = RowStore(path, (*KEY, *MEASURED), KEY)
    for question in options.questions:
        for case in cases(question, options.seeds, options.scale):
            if tuple(map(str, case)) in store:
                continue
            row = in_process_of_its_own(case)
            store.append(row)
            sys.stderr.write(
                f"{' '.join(map(str, case))}: {row['time_in_e']} E, {row['peak_gib']} GiB, "
                f"recall {row['recall']}, {row['spurious']} spurious\n"
            )
    record_run(path, arguments)


if __name__ == "__main__":
    main()
