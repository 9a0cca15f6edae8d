"""A million rows end to end: ``python -m benchmarks.scale.million``.

``NablassoRegressor`` with its defaults against scikit-learn's ``HistGradientBoostingRegressor``,
each fitted once to the same rows in the same process, on problems of 50 columns. A row holds both
times, the support found, and R2 on 20 000 fresh rows next to the noise ceiling, the R2 of the true
function. Rows go to ``results/million.csv`` one by one; a second call goes on where the first
stopped, ``--fresh`` starts anew. ``--rows`` makes the tables smaller.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.provenance import digest, record_run
from benchmarks.scale.passes import clocked, memory_mb
from benchmarks.store import Row, RowStore
from nablasso import NablassoRegressor
from nablasso.datasets import KnownSupport, make_additive, make_radial, make_two_way

RESULTS = Path(__file__).parent / "results"
KEY = ("problem", "n", "d", "threads", "seed")
COLUMNS = (
    *(
        *KEY,
        "source",
        "seconds",
        "boosting_seconds",
        "ratio",
        "cpu_seconds",
        "boosting_cpu_seconds",
    ),
    *("exact", "rows_searched", "r2", "boosting_r2", "ceiling", "memory_above_input_mb"),
)
PROBLEMS: dict[str, Callable[..., KnownSupport]] = {
    "radial": make_radial,
    "two_way": make_two_way,
    "additive": make_additive,
}
N_FEATURES = 50
TEST_ROWS = 20_000


def measured(problem: str, n: int, seed: int) -> Row:
    """Fit both, once each."""
    make = PROBLEMS[problem]
    data = make(n, N_FEATURES, random_state=seed)
    test = make(TEST_ROWS, N_FEATURES, random_state=10_000 + seed)
    ours = NablassoRegressor(random_state=seed)
    boosting = HistGradientBoostingRegressor(random_state=seed)
    before = memory_mb("VmRSS")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, cpu = clocked(lambda: ours.fit(data.X, data.y))
    above = memory_mb("VmHWM") - before
    boosting_seconds, boosting_cpu = clocked(lambda: boosting.fit(data.X, data.y))
    noise = np.var(test.y - test.noise_free) / np.var(test.y)
    return {
        "problem": problem,
        "n": n,
        "d": N_FEATURES,
        "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
        "seed": seed,
        "source": digest(),
        "seconds": f"{seconds:.2f}",
        "boosting_seconds": f"{boosting_seconds:.2f}",
        "ratio": f"{seconds / boosting_seconds:.3f}",
        "cpu_seconds": f"{cpu:.2f}",
        "boosting_cpu_seconds": f"{boosting_cpu:.2f}",
        "exact": int(np.array_equal(ours.support_, data.support)),
        "rows_searched": ours.n_rows_searched_,
        "r2": f"{ours.score(test.X, test.y):.5f}",
        "boosting_r2": f"{boosting.score(test.X, test.y):.5f}",
        "ceiling": f"{1 - noise:.5f}",
        "memory_above_input_mb": f"{above:.0f}",
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=["radial"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="measure rows present again")
    parser.add_argument("--out", type=Path, default=RESULTS / "million.csv")
    options = parser.parse_args(arguments)
    store = RowStore(options.out, COLUMNS, KEY)
    threads = os.environ.get("OMP_NUM_THREADS", str(os.cpu_count() or 1))
    wanted = [
        (problem, str(options.rows), str(N_FEATURES), threads, str(seed))
        for seed in range(options.seeds)
        for problem in options.problems
    ]
    if options.fresh:
        store.forget(set(wanted))
    work = [key for key in wanted if key not in store]
    if work:
        record_run(store.path, arguments)
    for problem, n, _, _, seed in work:
        row = measured(problem, int(n), int(seed))
        store.append(row)
        sys.stderr.write(f"{row}\n")


if __name__ == "__main__":
    main()
