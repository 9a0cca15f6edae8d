"""Draw the stored rows: ``python -m benchmarks.hierarchy.plot``. Needs matplotlib."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.hierarchy.run import RESULTS

SWEEPS = {"p": "p", "n": "n", "R": "active"}


def read(path: Path) -> list[dict[str, str]]:
    """Rows, none when the file is absent."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def cost(rows: list[dict[str, str]], target: Path) -> None:
    """Seconds against p, n and R, next to R n^3 + n^2 R^2 p through the largest case."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    for axis, (sweep, column) in zip(axes, SWEEPS.items(), strict=True):
        mine = sorted((r for r in rows if r["varied"] == sweep), key=lambda r: float(r[column]))
        if not mine:
            continue
        x, seconds, paper = (
            np.array([float(r[c]) for r in mine]) for c in (column, "seconds", "paper")
        )
        sure = np.array([r["certified"] == "True" for r in mine])
        axis.loglog(x[sure], seconds[sure], "o", ms=4, label="measured, certified")
        axis.loglog(x[~sure], seconds[~sure], "x", ms=5, label="measured, gap only")
        axis.loglog(
            x, paper * seconds[-1] / paper[-1], "k--", lw=1, label="R n$^3$ + n$^2$ R$^2$ p"
        )
        slope = np.polyfit(np.log(x), np.log(seconds), 1)[0] if len(set(x)) > 1 else np.nan
        axis.minorticks_off()
        ticks = sorted(set(x))
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=7)
        axis.set(xlabel=sweep, title=f"slope {slope:.2f}")
        axis.legend(fontsize=7)
    axes[0].set_ylabel("seconds of one fit")
    figure.tight_layout()
    figure.savefig(target, dpi=80)
    plt.close(figure)


def recovery(rows: list[dict[str, str]], target: Path) -> None:
    """Gap and nodes too many or too few along the paths of the first seed."""
    names = ("design", "product", "beta")
    settings = list(dict.fromkeys(tuple(r[n] for n in names) for r in rows))
    figure, axes = plt.subplots(1, 2, figsize=(11, 4))
    for setting in settings:
        mine = [r for r in rows if tuple(r[n] for n in names) == setting and r["seed"] == "0"]
        if not mine:
            continue
        share = [float(r["alpha_share"]) for r in mine]
        label = f"{setting[0]}, products x {setting[1]}, beta {setting[2]}"
        axes[0].loglog(share, [max(float(r["relative_gap"]), 1e-9) for r in mine], label=label)
        wrong = [int(r["too_many"]) + int(r["too_few"]) for r in mine]
        axes[1].semilogx(share, wrong, label=label)
    axes[0].axhline(1e-3, color="k", lw=0.8, ls="--")
    axes[0].set(xlabel="alpha / alpha_max", ylabel="relative gap over all kernels")
    axes[1].set(xlabel="alpha / alpha_max", ylabel="nodes too many or too few", ylim=(-0.5, 12))
    for axis in axes:
        axis.invert_xaxis()
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(target, dpi=80)
    plt.close(figure)


def main() -> None:
    """Draw what has rows."""
    for draw in (cost, recovery):
        if rows := read(RESULTS / f"{draw.__name__}.csv"):
            draw(rows, RESULTS / f"{draw.__name__}.png")


if __name__ == "__main__":
    main()
