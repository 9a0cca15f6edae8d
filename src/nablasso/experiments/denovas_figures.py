"""Figures of Rosasco et al. (2013): errors against what is varied, and the radial function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nablasso.experiments.denovas_tables import needed

Rows = list[dict[str, str]]


def errors_against(name: str) -> Callable[[Rows], Any]:
    """Selection error, RMSE and seconds against a column, one line per method."""

    def figure(rows: Rows) -> Any:
        from matplotlib import pyplot as plt

        drawn, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [row for row in rows if row["method"] == method]
            places = sorted({int(row[name]) for row in own})
            style = "ko-" if method == "default" else ".-"
            for axis, value in zip(axes, ("selection_error", "rmse", "seconds"), strict=True):
                means = [
                    np.mean([float(row[value]) for row in own if int(row[name]) == place])
                    for place in places
                ]
                axis.plot(places, means, style, ms=4, lw=1, label=method)
                axis.set(xlabel=name, ylabel=value.replace("_", " "))
        axes[1].axhline(1, color="grey", ls=":", lw=1)
        axes[2].set_yscale("log")
        axes[0].legend(fontsize=7)
        return drawn

    return figure


def figure_5(rows: Rows) -> Any:
    """Selection error against n, a row of panels per method, and the n that is needed."""
    from matplotlib import pyplot as plt

    relevant = sorted({int(row["relevant"]) for row in rows})
    dimensions = sorted({int(row["d"]) for row in rows})
    methods = list(dict.fromkeys(row["method"] for row in rows))
    drawn, axes = plt.subplots(
        len(methods),
        len(relevant) + 1,
        figsize=(2.3 * (len(relevant) + 1), 2.4 * len(methods)),
        squeeze=False,
        layout="constrained",
    )
    for line, method in zip(axes, methods, strict=True):
        own = [row for row in rows if row["method"] == method]
        for axis, r in zip(line, relevant, strict=False):
            for d in dimensions:
                part = [x for x in own if (x["d"], x["relevant"]) == (str(d), str(r))]
                sizes = sorted({int(row["n"]) for row in part})
                errors = [
                    np.mean([float(x["selection_error"]) for x in part if int(x["n"]) == n])
                    for n in sizes
                ]
                axis.plot(sizes, errors, ".-", lw=1, label=f"d = {d}")
            axis.set(title=f"{method}, {r} relevant", ylim=(-0.02, 0.6))
            axis.title.set_fontsize(8)
        for d in dimensions:
            values = []
            for r in relevant:
                part = [x for x in own if (x["d"], x["relevant"]) == (str(d), str(r))]
                word = needed(part)
                values.append(float(word) if word.isdigit() else np.nan)
            line[-1].plot(relevant, values, "o-", ms=3, lw=1)
        line[-1].set_title("n for 10 %", fontsize=8)
    axes[0, 0].legend(fontsize=6)
    return drawn


def radial(rows: Rows) -> Any:
    """The radial function at the test rows, and what each method predicts."""
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["method"] for row in rows))
    drawn, axes = plt.subplots(
        1, len(names), figsize=(2.4 * len(names), 2.7), squeeze=False, layout="constrained"
    )
    truth = [float(row["value"]) for row in rows if row["method"] == "truth"]
    for axis, name in zip(axes[0], names, strict=True):
        own = [row for row in rows if row["method"] == name]
        x, y, value = ([float(row[key]) for row in own] for key in ("x1", "x2", "value"))
        axis.scatter(x, y, c=value, s=6, vmin=min(truth), vmax=max(truth))
        axis.set_title(name, fontsize=8)
        axis.set_aspect("equal")
    return drawn
