"""What each rule of the one call buys: ``python -m benchmarks.ablation [--draws 3]``.

Every rule is switched off or moved by much, alone, and the stored problems are asked again, each
size with the same draws: exact supports, spurious and missed columns, processor seconds. Rules of
few rows on the problems of *selection*, rules of many rows on those of *not_ideal* at 1000 rows and
on *weak*, factors on *gse1* at 10 000 rows, rules of what predicts on real tables. Rows go to
``results/ablation.csv``; a second call does what is missing, and what another source of the library
has made. In ``results/ablation.md`` each table is made from the rows of its newest source.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Collection, Iterator
from itertools import product
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problem import Problem
from benchmarks.provenance import digest
from benchmarks.run import RESULTS
from benchmarks.store import RowStore, StoredRow
from benchmarks.suites import SUITES
from nablasso import NablassoClassifier, NablassoRegressor
from nablasso.rules import Rules

KEY = ("variant", "suite", "problem", "n", "seed")
FIGURES = ("exact", "spurious", "missed", "cpu_seconds")
COLUMNS = (*KEY, *FIGURES, "source", "error")
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
FACTORS = {AS_IT_IS: {}, "no factors": {"factor": np.inf}}
PREDICTED = {AS_IT_IS: {}, "values are never states": {"states": np.inf}}
TABLES = {  # with the numbers of rows; 0 are all that the split leaves
    "uci": (("yacht", "bostonHousing", "energy", "concrete", "power-plant"), (0,)),
    "tables": (("airfoil", "bike_hour", "cpu_act", "energy_cooling", "pole"), (100, 500)),
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
    for variant, changes in FACTORS.items():
        yield variant, changes, "rffnet", SUITES["rffnet"].problems()["gse1"], 10_000
    for suite, (names, sizes) in TABLES.items():
        for name, n in product(names, sizes if SUITES[suite].missing() is None else ()):
            for variant, changes in PREDICTED.items():
                yield variant, changes, suite, SUITES[suite].problems()[name], n


def measured(problem: Problem, n: int, seed: int, rules: Rules) -> dict[str, object]:
    """One fit under these rules."""
    draw = problem.draw(n, seed)
    made = NablassoClassifier if problem.task == "classification" else NablassoRegressor
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cautions about the answer, which is judged here
        model = made(rules=rules).fit(draw.X, draw.y)
    seconds, found = time.process_time() - begun, model.support_
    if draw.support is None:
        error = np.sqrt(np.mean((model.predict(draw.X_test) - draw.y_test) ** 2))
        judged_by = {"cpu_seconds": f"{seconds:.3f}", "error": f"{error:.6g}"}
        return dict.fromkeys(FIGURES, "") | judged_by
    judged = ~np.isin(np.arange(len(found)), problem.indifferent)
    spurious = int((found & ~draw.support & judged).sum())
    missed = int((draw.support & ~found & judged).sum())
    return {
        "exact": int(not spurious and not missed),
        "spurious": spurious,
        "missed": missed,
        "cpu_seconds": f"{seconds:.3f}",
        "error": "",
    }


def run(store: RowStore, draws: int, suites: Collection[str] = ()) -> None:
    """What is missing, draws outermost, variants innermost: a run may be stopped at any time."""
    present = {store.key_of(dict(row)) for row in store.rows if row["source"] == digest()}
    for turn in range(draws):
        for variant, changes, suite, problem, n in questions():
            seeds = problem.seeds or SUITES[suite].seeds
            if turn >= len(seeds) or suite not in (suites or (suite,)):
                continue
            key = (variant, suite, problem.name, str(n), str(seeds[turn]))
            if key not in present:
                rules = Rules(**changes)  # type: ignore[arg-type]
                row = dict(zip(KEY, key, strict=True)) | measured(problem, n, seeds[turn], rules)
                store.append(row | {"source": digest()})


def page(store: RowStore) -> str:
    """The table: each variant on the draws that it shares with the rules as they are."""
    lines = ["# What each rule buys", "", *(__doc__ or "").split("\n\n")[1].split("\n"), ""]
    for title, variants, suites in (
        ("Few rows", FEW, ("selection",)),
        ("Many rows", MANY, ("not_ideal", "weak")),
        ("Factors", FACTORS, ("rffnet",)),
        ("Predictions", PREDICTED, tuple(TABLES)),
    ):
        rows = [row for row in store.rows if row["suite"] in suites]
        rows = [row for row in rows if row["source"] == rows[-1]["source"]]
        asked = {
            v: {tuple(r[k] for k in KEY[1:]): r for r in rows if r["variant"] == v}
            for v in variants
        }
        table = _errors if title == "Predictions" else _supports
        lines += [f"## {title}", "", *table(asked), ""]
    return "\n".join(lines)


Asked = dict[str, dict[tuple[str, ...], StoredRow]]  # rows of each variant, by what was asked


def _supports(asked: Asked) -> Iterator[str]:
    yield "| rules | draws | exact | as it is | spurious a fit | missed a fit | median seconds |"
    yield "|---|---|---|---|---|---|---|"
    for variant, own in asked.items():
        shared = [k for k in own if k in asked[AS_IT_IS]]
        if not shared:
            yield f"| {variant} | 0 | | | | | |"
            continue
        plain = np.mean([int(asked[AS_IT_IS][k]["exact"]) for k in shared])
        numbers = [np.array([float(own[k][c]) for k in shared]) for c in FIGURES]
        exact, spurious, missed, seconds = numbers
        yield (
            f"| {variant} | {len(shared)} | {exact.mean():.3f} | {plain:.3f} | "
            f"{spurious.mean():.3f} | {missed.mean():.3f} | {np.median(seconds):.2f} |"
        )


def _errors(asked: Asked) -> Iterator[str]:
    """Geometric means, over draws, of errors over those of the rules as they are."""
    yield "| rules | table | rows | draws | error over as it is | range | median seconds |"
    yield "|---|---|---|---|---|---|---|"
    for variant, own in asked.items():
        for place in dict.fromkeys(k[:3] for k in own):
            shared = [k for k in own if k[:3] == place and k in asked[AS_IT_IS]]
            if not shared:
                continue
            r = [float(own[k]["error"]) / float(asked[AS_IT_IS][k]["error"]) for k in shared]
            seconds = np.median([float(own[k]["cpu_seconds"]) for k in shared])
            yield (
                f"| {variant} | {place[1]} | {place[2] if place[2] != '0' else 'all'} | "
                f"{len(shared)} | {np.exp(np.mean(np.log(r))):.3f} | {min(r):.3f}, {max(r):.3f} | "
                f"{seconds:.2f} |"
            )


def main(arguments: list[str] | None = None, folder: Path = RESULTS) -> None:
    """Run, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--suites", nargs="+", default=(), help="only these")
    parser.add_argument("--pages", action="store_true", help="only make the page")
    asked = parser.parse_args(arguments)
    store = RowStore(folder / "ablation.csv", COLUMNS, KEY)
    if not asked.pages:
        with threadpool_limits(1):
            run(store, asked.draws, asked.suites)
    (folder / "ablation.md").write_text(page(store), encoding="utf-8")


if __name__ == "__main__":
    main()
