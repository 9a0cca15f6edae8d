"""Figures 8 and 9 of Bach (2009) from rows: medians with quartiles, as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Rows = list[dict[str, str]]

PANELS_8 = {
    "the same Hermite kernels": (
        "HKL hermite",
        "HKL hermite + refit",
        "HKL hermite + pruning",
        "MKL hermite",
        "L2 hermite",
        "generalised lasso hermite",
        "greedy hermite",
    ),
    "the same spline kernels": (
        "HKL spline",
        "HKL spline + refit",
        "HKL spline + pruning",
        "MKL spline",
        "L2 spline",
        "generalised lasso spline",
    ),
    "other methods": (
        "HKL hermite + refit",
        "HKL hermite + pruning",
        "CART",
        "boosting",
        "Gaussian process",
        "NablassoRegressor",
    ),
}


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


def draws_of(rows: Rows) -> int:
    """Number of draws."""
    return len({row["draw"] for row in rows})


def figure_8(rows: Rows) -> Any:
    """Relative error against p, one panel per comparison."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 5), sharey=True)
    dimensions = sorted({int(row["p"]) for row in rows})
    for axis, (title, methods) in zip(axes, PANELS_8.items(), strict=True):
        for shift, method in enumerate(methods):
            mine = [row for row in rows if row["method"] == method]
            ps = sorted({int(row["p"]) for row in mine})
            if not ps:
                continue
            bands = np.array(
                [
                    quartiles([float(r["relative_error"]) for r in mine if int(r["p"]) == p])
                    for p in ps
                ]
            )
            x = np.array(ps) * 2 ** (0.04 * (shift - len(methods) / 2))
            spread = np.abs(bands[:, [0, 2]] - bands[:, [1]]).T
            axis.errorbar(
                x,
                bands[:, 1],
                spread,
                marker="o",
                ms=3,
                lw=1.2,
                capsize=2,
                label=f"{method} ({draws_of(mine)})",
            )
        axis.set(xscale="log", xlabel="p", title=title, ylim=(0, 1.5))
        axis.set_xticks(dimensions, [str(p) for p in dimensions])
        axis.minorticks_off()
        if axis.lines:
            axis.legend(fontsize=7, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    axes[0].set_ylabel("mean (prediction - f)$^2$ / var(f)")
    n = ", ".join(sorted({row["n"] for row in rows}))
    title = f"f = sum of $x_i x_j$, i < j <= 4; n = {n}; median and quartiles (number of draws)"
    figure.suptitle(title)
    figure.tight_layout()
    return figure


def figure_9(rows: Rows) -> Any:
    """Test error of every split, one panel per table."""
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["data"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 4), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        for place, method in enumerate(methods):
            errors = [
                float(r["error"]) for r in rows if r["data"] == name and r["method"] == method
            ]
            axis.plot([place] * len(errors), errors, "o", ms=3, color="tab:blue")
            if errors:
                axis.plot([place - 0.3, place + 0.3], [np.median(errors)] * 2, "k-", lw=1.2)
        axis.set_xticks(range(len(methods)), methods, rotation=60, ha="right", fontsize=7)
        axis.set_title(f"pumadyn {name}")
    axes[0, 0].set_ylabel("test error / var(y)")
    figure.suptitle("n = 1024; every split, and the median")
    figure.tight_layout()
    return figure
