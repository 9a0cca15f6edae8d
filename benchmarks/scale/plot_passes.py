"""Draw the stored rows of pass and path: ``python -m benchmarks.scale.plot_passes``.

Time and memory above the input of the pass, and time of the path after it, against n, d and m,
log-log, with slopes fitted to all points. Needs matplotlib.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from benchmarks.scale.passes import RESULTS

MEASURES = {
    "cpu_seconds": "seconds of the processor",
    "memory_above_input_mb": "MB above the input",
}
PATH_MEASURES = {"cpu_seconds": "path, seconds of the processor", "iterations": "iterations"}
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


def plain_ticks(axis: Axes, x: np.ndarray) -> None:
    """A tick at every point, numbers as people write them."""
    axis.set_xticks(np.unique(x), [f"{value:,.0f}" for value in np.unique(x)], fontsize=7)
    axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    for kind in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
        kind(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.tick_params(axis="y", which="both", labelsize=7)


def draw(rows: list[Row], target: Path, measures: dict[str, str] = MEASURES) -> None:
    """One panel per measure and variable."""
    figure, axes = plt.subplots(len(measures), 3, figsize=(11, 3 * len(measures)), squeeze=False)
    for line, (measure, label) in zip(axes, measures.items(), strict=True):
        for axis, (name, mine) in zip(line, sweeps(rows).items(), strict=True):
            x, y = (np.array([float(row[c]) for row in mine]) for c in (name, measure))
            axis.loglog(x, y, "o-", ms=4)
            plain_ticks(axis, x)
            axis.set(xlabel=name, title=f"slope {slope(x, y):.2f}" if len(x) > 1 else "")
        line[0].set_ylabel(label)
    figure.tight_layout()
    figure.savefig(target, dpi=80)
    plt.close(figure)


def stored(name: str, questions: tuple[str, ...]) -> list[Row]:
    """Rows of some questions; none where nothing was measured yet."""
    path = RESULTS / name
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["question"] in questions]


def main() -> None:
    """Draw ``passes.png`` and ``path_time.png`` next to the rows, where there are rows."""
    rows = stored("passes.csv", ("scaling",))
    if rows:
        draw(rows, RESULTS / "passes.png")
    # copies: the same problem from more rows; with fresh rows it becomes an easier one
    rows = stored("path_time.csv", ("copies", "columns", "features"))
    if rows:
        draw(rows, RESULTS / "path_time.png", PATH_MEASURES)


if __name__ == "__main__":
    main()
