"""Figures of Ye and Xie (2012) from rows."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

Rows = list[dict[str, str]]


def figure_1(rows: Rows) -> Any:
    """Paths of SGL and of the lasso: x1 red, x2 to x5 blue, noise green, as in the paper."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    labels = {"SGL": "-log10 alpha", "lasso": "share of the full l1 norm"}
    for ax, (method, label) in zip(axes, labels.items(), strict=True):
        for variable in range(10, 0, -1):
            chosen = [r for r in rows if r["method"] == method and r["variable"] == str(variable)]
            colour = "red" if variable == 1 else "blue" if variable <= 5 else "green"
            x, y = ([float(r[key]) for r in chosen] for key in ("strength", "size"))
            ax.plot(x, y, color=colour, linewidth=1)
        ax.set(title=method, xlabel=label)
    axes[0].set_ylabel("norm of the partial derivative")
    axes[1].set_ylabel("coefficient")
    return figure


def figure_2(rows: Rows) -> Any:
    """Share of exact supports and of recovered rings against the noise of the other inputs."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for name, ax in zip(("exact", "accuracy"), axes, strict=True):
        curves: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            curves[row["method"]][float(row["spread"])].append(float(row[name]))
        for method, points in curves.items():
            if name == "exact" and method == "GL":
                continue
            x = sorted(points)
            ax.plot(x, [np.mean(points[s]) for s in x], "o-", label=method)
        ax.set(xlabel="deviation of the other inputs", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("x1, x2 and nothing else (share of draws)")
    axes[1].set_ylabel("accuracy by the radius in two directions")
    axes[1].legend(fontsize=8)
    return figure


def figure_3(rows: Rows) -> Any:
    """Rows in the first two directions, norms and eigenvalues, one column per method."""
    from matplotlib import pyplot as plt

    methods = list(dict.fromkeys(row["method"] for row in rows))
    shape = (4, len(methods))
    figure, axes = plt.subplots(
        *shape, figsize=(3 * len(methods), 9), layout="constrained", squeeze=False
    )
    for at, method in enumerate(methods):
        own = [row for row in rows if row["method"] == method]
        for ax, kind in zip(axes[:2, at], ("train", "test"), strict=True):
            for label, colour in (("1", "red"), ("0", "blue")):
                part = [row for row in own if row["kind"] == kind and row["index"] == label]
                x, y = ([float(row[key]) for row in part] for key in ("x", "y"))
                ax.plot(x, y, ".", color=colour, markersize=4)
            ax.set_aspect("equal", "datalim")
            ax.set_title(f"{method}: {kind}", fontsize=9)
        for ax, kind in zip(axes[2:, at], ("norm", "eigenvalue"), strict=True):
            part = [row for row in own if row["kind"] == kind]
            heights = [float(row["x"]) for row in part]
            ax.vlines([int(row["index"]) for row in part], 0, heights, linewidth=1)
            ax.set_title(f"{kind}s", fontsize=9)
    return figure
