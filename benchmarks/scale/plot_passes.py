"""Draw the stored rows of the pass: ``python -m benchmarks.scale.plot_passes``. Needs matplotlib.

Time and memory above the input against n, d and m, log-log, with slopes fitted to all points.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.scale.passes import RESULTS

MEASURES = {
    "cpu_seconds": "seconds of the processor",
    "memory_above_input_mb": "MB above the input",
}
Row = dict[str, str]


def sweeps(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows in which one of n, d, m varies and the others are those that occur most often."""
    names = ("n", "d", "m")
    usual = {}
    for name in names:
        values = [row[name] for row in rows]
        usual[name] = max(set(values), key=values.count)
    return {
        name: sorted(
            (row for row in rows if all(row[k] == usual[k] for k in names if k != name)),
            key=lambda row, name=name: float(row[name]),
        )
        for name in names
    }


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Of the line through the logarithms."""
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-12)), 1)[0])


def draw(rows: list[Row], target: Path) -> None:
    """One panel per measure and variable."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6))
    for line, (measure, label) in zip(axes, MEASURES.items(), strict=True):
        for axis, (name, mine) in zip(line, sweeps(rows).items(), strict=True):
            x, y = (np.array([float(row[c]) for row in mine]) for c in (name, measure))
            axis.loglog(x, y, "o-", ms=4)
            axis.set(xlabel=name, title=f"slope {slope(x, y):.2f}" if len(x) > 1 else "")
        line[0].set_ylabel(label)
    figure.tight_layout()
    figure.savefig(target, dpi=80)
    plt.close(figure)


def main() -> None:
    """Draw ``passes.png`` next to the rows."""
    with (RESULTS / "passes.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["question"] == "scaling"]
    draw(rows, RESULTS / "passes.png")


if __name__ == "__main__":
    main()
