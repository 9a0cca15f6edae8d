"""Figures of Marteau-Ferey, Bach and Rudi (2020) from rows."""

from __future__ import annotations

from typing import Any

TITLES = {"psd": "PSD", "pnm": "PNM", "glm": "GLM", "ncm": "NCM"}
Rows = list[dict[str, str]]


def figure_2(rows: Rows) -> Any:
    """Approximations of exp(-x^2/2) by NCM and PSD for growing n, with two kernels."""
    from matplotlib import pyplot as plt

    sizes, kernels = sorted({int(row["n"]) for row in rows}), ("printed", "wide")
    figure, axes = plt.subplots(
        2, len(sizes), figsize=(9, 4.2), sharex=True, sharey=True, squeeze=False
    )
    for line, kernel in zip(axes, kernels, strict=True):
        for axis, n in zip(line, sizes, strict=True):
            part = [r for r in rows if int(r["n"]) == n and r["kernel"] == kernel]
            for model, colour in (("ncm", "tab:red"), ("psd", "tab:blue")):
                curve = _named(part, model)
                axis.plot(*_columns(curve, "x", "value"), color=colour, label=TITLES[model])
            axis.plot(*_columns(curve, "x", "truth"), "k:", label="truth")
            axis.set_title(f"n = {n}, kernel {kernel}", fontsize=8)
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def figure_3(rows: Rows) -> Any:
    """Learned densities in ten variables against the first coordinate."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(11, 2.8))
    for axis, (model, title) in zip(axes, TITLES.items(), strict=True):
        for kind, colour in (("line", "tab:orange"), ("truth", "tab:blue"), ("box", "tab:green")):
            part = [r for r in rows if r["model"] == model and r["kind"] == kind]
            axis.plot(*_columns(part, "x1", "density"), ".", ms=2, color=colour, label=kind)
        part = [r for r in rows if r["model"] == model and r["kind"] == "line"]
        axis.plot(*_columns(part, "x1", "truth"), "k:", lw=0.8, label="true density")
        axis.axhline(0, color="k", lw=0.4)
        axis.set_title(title)
    axes[0].legend(fontsize=6)
    figure.tight_layout()
    return figure


def heteroscedastic(rows: Rows) -> Any:
    """Mean and two deviations of each model, over the rows."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), sharey=True)
    points, truth = (_named(rows, name) for name in ("rows", "truth"))
    for axis, (model, title) in zip(axes, TITLES.items(), strict=True):
        axis.plot(*_columns(points, "x", "mean"), ".", ms=3, color="0.6")
        for part, colour, style in ((_named(rows, model), "tab:blue", "-"), (truth, "k", ":")):
            x, mean = _columns(part, "x", "mean")
            deviation = _columns(part, "x", "deviation")[1]
            axis.plot(x, mean, style, color=colour)
            for sign in (-2, 2):
                edge = [m + sign * s for m, s in zip(mean, deviation, strict=True)]
                axis.plot(x, edge, style, color=colour, lw=0.7)
        axis.set_title(title)
    figure.tight_layout()
    return figure


def quantile_curves(rows: Rows) -> Any:
    """Quantiles of each model, over the rows."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), sharey=True)
    points, truth = (_named(rows, name) for name in ("rows", "truth"))
    for axis, (model, title) in zip(axes, TITLES.items(), strict=True):
        axis.plot(*_columns(points, "x", "value"), ".", ms=2, color="0.7")
        for part, style in ((_named(rows, model), "-"), (truth, "k:")):
            for level in sorted({row["level"] for row in part}):
                curve = [row for row in part if row["level"] == level]
                axis.plot(*_columns(curve, "x", "value"), style, lw=0.9)
        axis.set_ylim(-0.8, 0.8)
        axis.set_title(title)
    figure.tight_layout()
    return figure


def _named(rows: Rows, model: str) -> Rows:
    return [row for row in rows if row["model"] == model]


def _columns(rows: Rows, x: str, y: str) -> tuple[list[float], list[float]]:
    return [float(row[x]) for row in rows], [float(row[y]) for row in rows]
