"""Run the benchmark: ``python -m benchmarks.solvers.run [--smoke] [--out DIR]``.

Writes one CSV per question and ``results.md``, which is made from the rows alone.
"""

from __future__ import annotations

import argparse
import csv
import platform
import sys
from pathlib import Path

import numpy as np
import scipy
import sklearn

from benchmarks.solvers.objective import median_of
from benchmarks.solvers.problems import FRACTION, RIDGE
from benchmarks.solvers.questions import (
    Row,
    exponents,
    iteration_cost,
    linear_fit,
    memory,
    path_cost,
    speed,
)

HERE = Path(__file__).parent
FULL = {
    "sizes": [(100, 20), (200, 80)],
    "repeats": 3,
    "n": 1000,
    "dimensions": [10, 20, 40, 80, 160],
    "samples": [500, 1000, 2000],
    "memory": (2000, 100),
    "path": (100, 20, 50, 3),
}
SMOKE = {
    "sizes": [(40, 5)],
    "repeats": 1,
    "n": 100,
    "dimensions": [5, 10, 20],
    "samples": [50, 100],
    "memory": (100, 5),
    "path": (40, 5, 6, 1),
}


def main() -> None:
    """Measure, store, summarise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, under a minute")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    arguments = parser.parse_args()
    sizes = SMOKE if arguments.smoke else FULL
    arguments.out.mkdir(parents=True, exist_ok=True)

    tables = {}
    tables["speed"] = _stored(arguments.out, "speed", speed(sizes["sizes"], sizes["repeats"]))
    cost = iteration_cost(sizes["n"], sizes["dimensions"], sizes["samples"], 7)
    tables["iteration_cost"] = _stored(arguments.out, "iteration_cost", cost)
    tables["path"] = _stored(arguments.out, "path", path_cost(*sizes["path"]))
    tables["memory"] = _stored(arguments.out, "memory", [memory(*sizes["memory"])])
    slopes = exponents(cost, sizes["n"], sizes["dimensions"])
    text = _summary(tables, slopes, linear_fit(cost, sizes["n"]))
    (arguments.out / "results.md").write_text(text)
    sys.stdout.write(text)


def _stored(out: Path, name: str, rows: list[Row]) -> list[Row]:
    with (out / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    sys.stderr.write(f"{name}: {len(rows)} rows\n")
    return rows


def _summary(
    tables: dict[str, list[Row]], slopes: tuple[float, float], line: tuple[float, float, float]
) -> str:
    lines = [
        "# Solvers",
        "",
        f"Gaussian kernel, median width, ridge = {RIDGE} of the kernel's trace, alpha = {FRACTION} "
        "alpha_max, two-way data. Ratios within one run; gaps judged off the clock.",
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, {platform.machine()}.",
        "",
        "## Time to relative gap 1e-4, as a multiple of the default solver's",
        "",
        "| n | d | solver | median ratio | smallest ratio | median iterations | seeds |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[object, object, object], list[Row]] = {}
    for row in tables["speed"]:
        groups.setdefault((row["n"], row["d"], row["solver"]), []).append(row)
    for (n, d, name), rows in groups.items():
        ratios = [float(row["ratio_to_dual"]) for row in rows]
        iterations = median_of([float(row["iterations"]) for row in rows])
        lines.append(
            f"| {n} | {d} | {name} | {median_of(ratios):.1f} | {min(ratios):.1f} "
            f"| {iterations:.0f} | {len(rows)} |"
        )
    lines += ["", "## Cost of one iteration", "", "| n | d | seconds |", "|---|---|---|"]
    lines += [f"| {r['n']} | {r['d']} | {r['seconds']:.2e} |" for r in tables["iteration_cost"]]
    lines += [
        "",
        f"Over d at fixed n a straight line, {line[0]:.1e} + {line[1]:.1e} d seconds, fits with "
        f"R2 = {line[2]:.3f}. Over n at fixed d: n^{slopes[1]:.2f}.",
        "",
        "## Path from alpha_max to a thousandth of it",
        "",
        "Computing alpha_max, which cold fits on the same alphas need too, is off the clock.",
        "",
        "| n | d | points | over its cold fits | over its most expensive one | worst gap |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['n']} | {r['d']} | {r['points']} | {r['over_cold_fits']:.2f} "
        f"| {r['over_most_expensive']:.1f} | {r['worst_relative_gap']:.1e} |"
        for r in tables["path"]
    ]
    peak = tables["memory"][0]
    lines += [
        "",
        "## Memory",
        "",
        f"Peak of a whole process fitting n = {peak['n']}, d = {peak['d']} with defaults: "
        f"{peak['peak_gib']:.2f} GiB (the dense L alone would need {peak['dense_L_gib']:.0f} GiB).",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
