"""How time and memory grow, drawn from the stored rows: ``python -m benchmarks.growth``.

Log-log, with the slope fitted to the points of every line, one figure next to each file of rows.
Needs matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

HERE = Path(__file__).parent
WIDE = {"time_in_e": "time in E", "peak_gib": "peak memory, GiB"}


class Panel(NamedTuple):
    """Lines (label, x, y) against one variable; their slopes are shown."""

    x: str
    y: str
    lines: list[tuple[str, np.ndarray, np.ndarray]]


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Of the line through the logarithms."""
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-12)), 1)[0])


def draw(panels: list[Panel], target: Path) -> None:
    """All panels, three beside each other."""
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(down, across, figsize=(3.8 * across, 3 * down), squeeze=False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        for label, x, y in panel.lines:
            grows = [f"slope {slope(x, y):.2f}"] if len(np.unique(x)) > 1 else []
            axis.loglog(x, y, "o-", ms=4, label=", ".join([*filter(None, [label]), *grows]))
        plain_ticks(axis, np.concatenate([x for _, x, _ in panel.lines]))
        axis.set(xlabel=panel.x, ylabel=panel.y)
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(target, dpi=80)
    plt.close(figure)


def plain_ticks(axis: Axes, x: np.ndarray) -> None:
    """A tick at every point, numbers as people write them."""
    axis.set_xticks(np.unique(x), [f"{value:,.0f}" for value in np.unique(x)], fontsize=7)
    axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    for kind in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
        kind(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.tick_params(axis="y", which="both", labelsize=7)


def line(rows: pd.DataFrame, x: str, y: str, label: str = "") -> tuple[str, np.ndarray, np.ndarray]:
    """Rows by their x."""
    rows = rows.sort_values(x)
    return label, rows[x].to_numpy(float), rows[y].to_numpy(float)


def wide(rows: pd.DataFrame) -> list[Panel]:
    """The first seed of each method, on its problem of most widths."""
    rows = rows[rows["seed"] == 0]
    found = {}
    for method, mine in rows.groupby("method", sort=False):
        found[str(method)] = mine[mine["problem"] == mine["problem"].mode()[0]]
    return [
        Panel("columns", label, [line(mine, "d", measure, name) for name, mine in found.items()])
        for measure, label in WIDE.items()
    ]


def hierarchy(rows: pd.DataFrame) -> list[Panel]:
    """Seconds of one fit beside R n^3 + n^2 R^2 p, the paper's count, through the largest case."""
    panels = []
    for varied, x in {"p": "p", "n": "n", "R": "active"}.items():
        mine = rows[rows["varied"] == varied].sort_values(x)
        scale = mine["seconds"].iloc[-1] / mine["paper"].iloc[-1]
        paper = mine.assign(paper=mine["paper"] * scale)
        lines = [line(mine, x, "seconds", "measured"), line(paper, x, "paper", "the paper's count")]
        panels.append(Panel(varied, "seconds of one fit", lines))
    return panels


def densities(rows: pd.DataFrame) -> list[Panel]:
    """One fit of a density against the rows and against the rank."""
    rows = rows[rows["question"] == "growth"]
    parts = {"n": rows[rows["rank"] == 100], "rank": rows[rows["n"] == 5000]}
    return [Panel(name, "time in E", [line(mine, name, "in_E")]) for name, mine in parts.items()]


FIGURES: dict[str, Callable[[pd.DataFrame], list[Panel]]] = {
    "scale/results/wide": wide,
    "hierarchy/results/cost": hierarchy,
    "nonnegative/results/rows": densities,
    "gradients/results/columns": lambda rows: [Panel("p", "time in E", [line(rows, "p", "in_E")])],
    "gradients/results/rows": lambda rows: [Panel("n", "time in E", [line(rows, "n", "in_E")])],
}


def figures() -> Iterator[tuple[Path, list[Panel]]]:
    """Of all files that have rows."""
    for name, panels in FIGURES.items():
        path = HERE / f"{name}.csv"
        if path.exists():
            yield path.with_suffix(".png"), panels(pd.read_csv(path))


def main() -> None:
    """Draw."""
    for target, panels in figures():
        draw(panels, target)


if __name__ == "__main__":
    main()
