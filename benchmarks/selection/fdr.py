"""Error control: ``python -m benchmarks.selection.fdr``, in three parts.

``fdr``: NablassoRegressor(fdr=0.1) on ten known-support problems at n = 200. The false discovery
proportion is (false selections) / max(1, selections), power the share of the relevant columns
found. Asked: mean proportion minus two standard errors at most 0.10; power at least 0.8 on six of
ten. ``noise``: the same estimator on pure noise; asked: nothing selected in at least 90 % of the
runs, and ``selection_status_`` says so. ``coverage``: the default estimator's 90 % intervals on
1000 test rows; asked: mean coverage 0.87 to 0.93.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import nablasso
from benchmarks.provenance import record_run
from benchmarks.selection.contestants.nablasso_default import Default
from benchmarks.selection.judge import judge_support, wilson
from benchmarks.selection.problems import PROBLEMS
from benchmarks.selection.run import seed_range
from benchmarks.store import Row, RowStore

Q = 0.1
LEVEL = 0.9
ROWS = 200
TEN = (
    "radial",
    "two_way",
    "three_way",
    "additive",
    "E1",
    "H1_16",
    "friedman1",
    "turlach",
    "sine_ridge",
    "linear",
)
KEY = ("part", "problem", "n", "seed")
COLUMNS = (*KEY, "source", "selected", "fdp", "power", "coverage", "width", "status", "seconds")
OUT = Path(__file__).parent / "results" / "fdr.csv"


def fitted(X: Any, y: Any, **options: Any) -> tuple[Any, float]:
    """The estimator and its seconds."""
    start = time.perf_counter()
    with threadpool_limits(1):
        model = nablasso.NablassoRegressor(**options).fit(X, y)  # type: ignore[attr-defined]
    return model, time.perf_counter() - start


def one_run(part: str, name: str, n: int, seed: int) -> Row:
    """One fit judged."""
    problem = PROBLEMS[name]
    train, test = problem.draw(n, seed)
    options = {} if part == "coverage" else {"fdr": Q}
    model, seconds = fitted(train.X, train.y, random_state=seed, **options)
    judged = judge_support(model.support_, train.support, problem.indifferent)
    coverage, width = "", ""
    if part == "coverage":
        _, interval = model.predict(test.X, return_interval=LEVEL)
        inside = (interval[:, 0] <= test.y) & (test.y <= interval[:, 1])
        coverage = f"{inside.mean():.4f}"
        width = f"{np.mean(interval[:, 1] - interval[:, 0]):.5g}"
    return {
        **dict(zip(KEY, (part, name, n, seed), strict=True)),
        "source": Default().source(),
        "selected": int(np.sum(model.support_)),
        "fdp": f"{1 - judged.precision:.4f}",
        "power": f"{judged.recall:.4f}",
        "coverage": coverage,
        "width": width,
        "status": str(getattr(model, "selection_status_", "")),
        "seconds": f"{seconds:.4g}",
    }


def summary(rows: Sequence[dict[str, str]]) -> str:
    """Each requirement next to what was measured."""
    parts = [
        _errors([row for row in rows if row["part"] == "fdr"]),
        _noise([row for row in rows if row["part"] == "noise"]),
        _coverage([row for row in rows if row["part"] == "coverage"]),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _column(rows: Sequence[dict[str, str]], name: str) -> Any:
    return np.array([float(row[name]) for row in rows])


def _by_problem(rows: Sequence[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    names = dict.fromkeys(row["problem"] for row in rows)
    return {name: [row for row in rows if row["problem"] == name] for name in names}


def _errors(rows: Sequence[dict[str, str]]) -> list[str]:
    if not rows:
        return []
    lines = ["| problem | runs | mean FDP | power |", "|---|---|---|---|"]
    powers = []
    for name, own in _by_problem(rows).items():
        powers.append(_column(own, "power").mean())
        fdp = _column(own, "fdp").mean()
        lines.append(f"| {name} | {len(own)} | {fdp:.3f} | {powers[-1]:.2f} |")
    fdp = _column(rows, "fdp")
    error = float(fdp.std(ddof=1) / np.sqrt(len(fdp))) if len(fdp) > 1 else float("inf")
    enough = sum(power >= 0.8 for power in powers)
    controlled = fdp.mean() - 2 * error <= Q
    return [
        *lines,
        "",
        f"{len(fdp)} runs: mean FDP {fdp.mean():.3f}, standard error {error:.3f}, "
        f"{'met' if controlled else 'NOT met'} (mean - 2 s.e. <= {Q}). Power at least 0.8 on "
        f"{enough} of {len(powers)} problems, {'met' if enough >= 6 else 'NOT met'} (six).",
        "",
    ]


def _noise(rows: Sequence[dict[str, str]]) -> list[str]:
    if not rows:
        return []
    empty = [row for row in rows if row["selected"] == "0"]
    said = sum(row["status"] == "none found" for row in empty)
    low, high = wilson(len(empty), len(rows))
    rate = len(empty) / len(rows)
    return [
        f"Pure noise: nothing selected in {rate:.0%} of {len(rows)} runs "
        f"({low:.0%} to {high:.0%}), {'met' if rate >= 0.9 else 'NOT met'} (90 %); "
        f"{said} of {len(empty)} of these say "
        '"none found".',
        "",
    ]


def _coverage(rows: Sequence[dict[str, str]]) -> list[str]:
    if not rows:
        return []
    lines = [
        "| problem | runs | coverage of 90 % intervals | in 0.87 to 0.93 |",
        "|---|---|---|---|",
    ]
    for name, own in [*_by_problem(rows).items(), ("all", rows)]:
        mean = _column(own, "coverage").mean()
        inside = "yes" if 0.87 <= mean <= 0.93 else "**no**"
        lines.append(f"| {name} | {len(own)} | {mean:.3f} | {inside} |")
    return [*lines, ""]


def main(argv: Sequence[str] | None = None) -> None:
    """Fill the rows that are missing, then judge all of them."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=["fdr", "noise", "coverage"])
    parser.add_argument("--problems", nargs="+", default=list(TEN))
    parser.add_argument("--seeds", type=seed_range, default=range(20), help="per problem")
    parser.add_argument("--noise-seeds", type=seed_range, default=range(50))
    parser.add_argument("--n", type=int, default=ROWS)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    reason = Default().missing()
    if reason is not None:
        sys.stderr.write(f"skipped: {reason}\n")
        return
    store = RowStore(options.out, COLUMNS, KEY)
    record_run(store.path, arguments)
    work = [
        (part, name, options.n, seed)
        for part in options.parts
        for seed in (options.noise_seeds if part == "noise" else options.seeds)
        for name in (["pure_noise"] if part == "noise" else options.problems)
    ]
    present = store.keys()
    work = [task for task in work if tuple(map(str, task)) not in present]
    start = time.monotonic()
    for done, task in enumerate(work, start=1):
        row = one_run(*task)
        store.append(row)
        left = (time.monotonic() - start) / done * (len(work) - done) / 60
        sys.stderr.write(f"{done} of {len(work)}, about {left:.1f} min left: {row}\n")
    sys.stdout.write(summary(store.rows))


if __name__ == "__main__":
    main()
