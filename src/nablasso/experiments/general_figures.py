"""Figures that several experiments share: every row as a dot, and errors against n."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nablasso.experiments.nvsd import GROUPED, METRIC, PUBLISHED, ROWS

Rows = list[dict[str, str]]

HIGHEST = 1.5  # error over the deviation of y up to which real tables are drawn


def strip(value: str, *by: str) -> Callable[[Rows], Any]:
    """A dot per row at its ``value``, a column per combination of ``by``, and the means."""

    def figure(rows: Rows) -> Any:
        from matplotlib import pyplot as plt

        groups: dict[str, list[float]] = {}
        for row in rows:
            if row[value] != "":
                label = ", ".join(row[name] for name in by)
                groups.setdefault(label, []).append(float(row[value]))
        drawn, axis = plt.subplots(figsize=(2 + 0.45 * len(groups), 4.2), layout="constrained")
        for place, values in enumerate(groups.values()):
            axis.plot([place] * len(values), values, "o", ms=3, color="tab:blue", alpha=0.6)
            axis.plot([place - 0.3, place + 0.3], [np.mean(values)] * 2, "k-", lw=1.2)
        axis.set_xticks(range(len(groups)), list(groups), rotation=60, ha="right", fontsize=7)
        axis.set_ylabel(value.replace("_", " "))
        axis.set_title("every row, and the mean", fontsize=9)
        return drawn

    return figure


def real_tables(rows: Rows) -> Any:
    """Medians of error and of the share of columns kept, by table, a mark for each method."""
    from matplotlib import pyplot as plt

    names, methods = (list(dict.fromkeys(row[key] for row in rows)) for key in ("data", "method"))
    drawn, axes = plt.subplots(
        2, 1, figsize=(3 + 1.1 * len(names), 5.4), sharex=True, layout="constrained"
    )
    for axis, value, most in zip(axes, ("rmse_over_sd", "fraction"), (HIGHEST, 1.0), strict=True):
        for number, method in enumerate(methods):
            shift = 0.8 * ((number + 0.5) / len(methods) - 0.5)
            for place, name in enumerate(names):
                own = [float(r[value]) for r in rows if (r["data"], r["method"]) == (name, method)]
                if own:
                    height = float(np.median(own))
                    mark = "^" if height > most else "o"
                    axis.plot(place + shift, min(height, most), mark, color=f"C{number}")
        for place in range(1, len(names)):
            axis.axvline(place - 0.5, color="0.85", lw=0.8)
    axes[0].set(ylabel="RMSE / sd(y)", ylim=(0, 1.03 * HIGHEST))
    axes[0].axhline(1, color="grey", ls=":", lw=1)
    axes[0].set_title(f"medians over the splits; a triangle is above {HIGHEST:g}", fontsize=9)
    axes[1].set(ylabel="share of columns kept", ylim=(-0.03, 1.03))
    axes[1].set_xticks(range(len(names)), names)
    for number, method in enumerate(methods):
        axes[1].plot([], [], "o", color=f"C{number}", label=method)
    drawn.legend(fontsize=8, ncols=4, loc="outside lower center")
    return drawn


def selected(rows: Rows) -> Any:
    """Share of the draws in which each of ten variables is selected, a line per method."""
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    numbers = range(1, 11)
    for method in dict.fromkeys(row["method"] for row in rows):
        chosen = [row["selected"].split() for row in rows if row["method"] == method]
        shares = [np.mean([str(variable) in names for names in chosen]) for variable in numbers]
        axis.plot(numbers, shares, "o-", label=method)
    axis.set(xlabel="variable", ylabel="share of draws", ylim=(-0.03, 1.03))
    axis.set_xticks(list(numbers))
    axis.legend(fontsize=8)
    return figure


def errors_against_n(rows: Rows) -> Any:
    """RMSE of E1 to E3 against n, ours and as printed."""
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["problem"] for row in rows))
    figure, axes = plt.subplots(
        1, len(names), figsize=(4 * len(names), 4.8), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], names, strict=True):
        for place, method in enumerate((*PUBLISHED[name], METRIC, GROUPED)):
            colour = f"C{place}"
            own = [r for r in rows if r["problem"] == name and r["method"] == method]
            sizes = sorted({int(row["n"]) for row in own})
            errors = [np.mean([float(r["rmse"]) for r in own if int(r["n"]) == n]) for n in sizes]
            if sizes:
                axis.plot(sizes, errors, "o-", color=colour, label=method)
            if method in PUBLISHED[name]:
                printed = [pair[0] for pair in PUBLISHED[name][method]]
                axis.plot(ROWS, printed, "--", lw=1, color=colour, label=f"{method}, printed")
        axis.set(title=name, xlabel="n", yscale="log")
        axis.legend(fontsize=7, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    axes[0, 0].set_ylabel("RMSE on test rows")
    return figure
