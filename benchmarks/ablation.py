"""What each rule of the one call buys: ``python -m benchmarks.ablation [--draws 3] [--pages]``.

Every rule is switched off or moved by much, alone, and the stored problems are asked again, each
size with the same draws: exact supports, spurious and missed columns, processor seconds. Rules of
few rows on the problems of *selection*, rules of many rows on those of *not_ideal* at 1000 rows and
on *weak*. Rows go to ``results/ablation.csv``; a second call does what is missing, and what another
source of the library has made. ``results/ablation.md`` is made from the rows of the newest source.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problem import Problem
from benchmarks.provenance import digest
from benchmarks.run import RESULTS
from benchmarks.store import RowStore
from benchmarks.suites import SUITES
from nablasso import NablassoClassifier, NablassoRegressor
from nablasso.rules import Rules

KEY = ("variant", "suite", "problem", "n", "seed")
FIGURES = ("exact", "spurious", "missed", "cpu_seconds")
COLUMNS = (*KEY, *FIGURES, "source")
AS_IT_IS = "as it is"
FEW = {
    AS_IT_IS: {},
    "no check on left-out rows": {"clearly": -np.inf},
    "no tenth of the error": {"tenth": np.inf},
    "one proposal followed": {"followed": 1},
    "walks on 100 rows": {"walked_rows": 100},
    "no copies": {"copy": 1.1},
    "copies from 0.95 on": {"copy": 0.95},
}
MANY = {
    AS_IT_IS: {},
    "no surprise": {"surprise": 0.0},
    "surprise of 3 nats": {"surprise": 3.0},
    "no trials": {"trials": 0},
    "influence never bounded": {"tails": np.inf},
    "never in time": {"serial": np.inf, "serial_nats": np.inf},
    "in time for any gain": {"serial_nats": 0.0},
    "no exchange for relatives": {"relative": np.inf},
    "a factor of 300 rows": {"few_rows": 300},
}
LEFT_OUT = ("wide", "pure_noise")  # of selection: one takes minutes, one has a suite of its own


def questions() -> Iterator[tuple[str, dict[str, object], str, Problem, int]]:
    """Variant, its rules, and what it is asked: all variants of one question after another."""
    for problem in SUITES["selection"].problems().values():
        for n in problem.rows if problem.name not in LEFT_OUT else ():
            for variant, changes in FEW.items():
                yield variant, changes, "selection", problem, n
    for suite in ("not_ideal", "weak"):
        for problem in SUITES[suite].problems().values():
            for variant, changes in MANY.items():
                yield variant, changes, suite, problem, 1000


def measured(problem: Problem, n: int, seed: int, rules: Rules) -> dict[str, object]:
    """One fit under these rules."""
    draw = problem.draw(n, seed)
    made = NablassoClassifier if problem.task == "classification" else NablassoRegressor
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cautions about the answer, which is judged here
        found = made(rules=rules).fit(draw.X, draw.y).support_
    seconds = time.process_time() - begun
    assert draw.support is not None
    judged = ~np.isin(np.arange(len(found)), problem.indifferent)
    spurious = int((found & ~draw.support & judged).sum())
    missed = int((draw.support & ~found & judged).sum())
    return {
        "exact": int(not spurious and not missed),
        "spurious": spurious,
        "missed": missed,
        "cpu_seconds": f"{seconds:.3f}",
    }


def run(store: RowStore, draws: int) -> None:
    """What is missing, draws outermost, variants innermost: a run may be stopped at any time."""
    present = {store.key_of(dict(row)) for row in store.rows if row["source"] == digest()}
    for turn in range(draws):
        for variant, changes, suite, problem, n in questions():
            seed = (problem.seeds or SUITES[suite].seeds)[turn]
            key = (variant, suite, problem.name, str(n), str(seed))
            if key not in present:
                rules = Rules(**changes)  # type: ignore[arg-type]
                row = dict(zip(KEY, key, strict=True)) | measured(problem, n, seed, rules)
                store.append(row | {"source": digest()})


def page(store: RowStore) -> str:
    """The table: each variant on the draws that it shares with the rules as they are."""
    newest = store.rows[-1]["source"]
    lines = ["# What each rule buys", "", *(__doc__ or "").split("\n\n")[1].split("\n"), ""]
    for title, variants, suites in (
        ("Few rows", FEW, ("selection",)),
        ("Many rows", MANY, ("not_ideal", "weak")),
    ):
        rows = [row for row in store.rows if row["suite"] in suites and row["source"] == newest]
        asked = {
            v: {tuple(r[k] for k in KEY[1:]): r for r in rows if r["variant"] == v}
            for v in variants
        }
        lines += [
            f"## {title}",
            "",
            "| rules | draws | exact | as it is | spurious a fit | missed a fit | median seconds |",
            "|---|---|---|---|---|---|---|",
        ]
        for variant, own in asked.items():
            shared = [k for k in own if k in asked[AS_IT_IS]]
            if not shared:
                lines.append(f"| {variant} | 0 | | | | | |")
                continue
            plain = np.mean([int(asked[AS_IT_IS][k]["exact"]) for k in shared])
            numbers = [np.array([float(own[k][c]) for k in shared]) for c in FIGURES]
            exact, spurious, missed, seconds = numbers
            lines.append(
                f"| {variant} | {len(shared)} | {exact.mean():.3f} | {plain:.3f} | "
                f"{spurious.mean():.3f} | {missed.mean():.3f} | {np.median(seconds):.2f} |"
            )
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str] | None = None, folder: Path = RESULTS) -> None:
    """Run, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--pages", action="store_true", help="only make the page")
    asked = parser.parse_args(arguments)
    store = RowStore(folder / "ablation.csv", COLUMNS, KEY)
    if not asked.pages:
        with threadpool_limits(1):
            run(store, asked.draws)
    (folder / "ablation.md").write_text(page(store), encoding="utf-8")


if __name__ == "__main__":
    main()
