"""Draw the stored rows of wide tables: ``python -m benchmarks.scale.plot_wide``. Needs matplotlib.

Time and peak memory against d, log-log, with slopes fitted to the points of each method.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.scale.plot_passes import plain_ticks, slope
from benchmarks.scale.wide import RESULTS

MEASURES = {"time_in_e": "time in E", "peak_gib": "peak memory, GiB"}
Row = dict[str, str]


def lines(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows of the first seed of each method, on its problem of most widths, by d."""
    found: dict[str, list[Row]] = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method and row["seed"] == "0"]
        problems = [row["problem"] for row in mine]
        usual = max(dict.fromkeys(problems), key=problems.count)
        chosen = [row for row in mine if row["problem"] == usual]
        found[method] = sorted(chosen, key=lambda row: int(row["d"]))
    return found


def draw(rows: list[Row], target: Path) -> None:
    """One panel per measure, one line per method."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2))
    for axis, (measure, label) in zip(axes, MEASURES.items(), strict=True):
        for method, mine in lines(rows).items():
            x, y = (np.array([float(row[name]) for row in mine]) for name in ("d", measure))
            fitted = f", slope {slope(x, y):.2f}" if len(x) > 1 else ""
            axis.loglog(x, y, "o-", ms=4, label=f"{method}{fitted}")
        plain_ticks(axis, np.array([float(row["d"]) for row in rows]))
        axis.set(xlabel="columns", ylabel=label)
        axis.legend(fontsize=7)
    axes[1].axhline(4, color="grey", lw=0.8, ls="--")
    figure.tight_layout()
    figure.savefig(target, dpi=80)
    plt.close(figure)


def main() -> None:
    """Draw ``wide.png`` next to the rows."""
    with (RESULTS / "wide.csv").open(newline="") as file:
        draw(list(csv.DictReader(file)), RESULTS / "wide.png")


if __name__ == "__main__":
    main()
