"""Figures from rows: those that several experiments share, then one paper after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.printed import PUBLISHED, ROWS
from experiments.rows import Rows, column, distinct, repeats, where
from experiments.running import DEFAULT
from experiments.tables import needed

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

    names, methods = distinct(rows, "data"), distinct(rows, "method")
    drawn, axes = plt.subplots(
        2, 1, figsize=(3 + 1.1 * len(names), 5.4), sharex=True, layout="constrained"
    )
    for axis, value, most in zip(axes, ("rmse_over_sd", "fraction"), (HIGHEST, 1.0), strict=True):
        for number, method in enumerate(methods):
            shift = 0.8 * ((number + 0.5) / len(methods) - 0.5)
            for place, name in enumerate(names):
                own = column(where(rows, data=name, method=method), value)
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
    for method in distinct(rows, "method"):
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

    names = distinct(rows, "problem")
    figure, axes = plt.subplots(
        1, len(names), figsize=(4 * len(names), 4.8), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], names, strict=True):
        for place, method in enumerate((*PUBLISHED[name], DEFAULT)):
            colour = f"C{place}"
            own = where(rows, problem=name, method=method)
            sizes = sorted({int(row["n"]) for row in own})
            errors = [np.mean(column(where(own, n=n), "rmse")) for n in sizes]
            if sizes:
                axis.plot(sizes, errors, "o-", color=colour, label=method)
            if method in PUBLISHED[name]:
                printed = [
                    np.nan if pair[0] is None else pair[0] for pair in PUBLISHED[name][method]
                ]
                axis.plot(ROWS, printed, "--", lw=1, color=colour, label=f"{method}, printed")
        axis.set(title=name, xlabel="n", yscale="log")
        axis.legend(fontsize=7, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    axes[0, 0].set_ylabel("RMSE on test rows")
    return figure


def errors_against(name: str) -> Callable[[Rows], Any]:
    """Selection error, RMSE and seconds against a column, one line per method."""

    def figure(rows: Rows) -> Any:
        from matplotlib import pyplot as plt

        drawn, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
        for method in distinct(rows, "method"):
            own = where(rows, method=method)
            places = sorted({int(row[name]) for row in own})
            style = "ko-" if method == DEFAULT else ".-"
            for axis, value in zip(axes, ("selection_error", "rmse", "seconds"), strict=True):
                means = [np.mean(column(where(own, **{name: p}), value)) for p in places]
                axis.plot(places, means, style, ms=4, lw=1, label=method)
                axis.set(xlabel=name, ylabel=value.replace("_", " "))
        axes[1].axhline(1, color="grey", ls=":", lw=1)
        axes[2].set_yscale("log")
        axes[0].legend(fontsize=7)
        return drawn

    return figure


def denovas_figure_5(rows: Rows) -> Any:
    """Selection error against n, a row of panels per method, and the n that is needed."""
    from matplotlib import pyplot as plt

    relevant = sorted({int(row["relevant"]) for row in rows})
    dimensions = sorted({int(row["d"]) for row in rows})
    methods = distinct(rows, "method")
    drawn, axes = plt.subplots(
        len(methods),
        len(relevant) + 1,
        figsize=(2.3 * (len(relevant) + 1), 2.4 * len(methods)),
        squeeze=False,
        layout="constrained",
    )
    for line, method in zip(axes, methods, strict=True):
        own = where(rows, method=method)
        for axis, r in zip(line, relevant, strict=False):
            for d in dimensions:
                part = where(own, d=d, relevant=r)
                sizes = sorted({int(row["n"]) for row in part})
                errors = [np.mean(column(where(part, n=n), "selection_error")) for n in sizes]
                axis.plot(sizes, errors, ".-", lw=1, label=f"d = {d}")
            axis.set(title=f"{method}, {r} relevant", ylim=(-0.02, 0.6))
            axis.title.set_fontsize(8)
        for d in dimensions:
            values = []
            for r in relevant:
                part = where(own, d=d, relevant=r)
                word = needed(part)
                values.append(float(word) if word.isdigit() else np.nan)
            line[-1].plot(relevant, values, "o-", ms=3, lw=1)
        line[-1].set_title("n for 10 %", fontsize=8)
    axes[0, 0].legend(fontsize=6)
    return drawn


def radial(rows: Rows) -> Any:
    """The radial function at the test rows, and what each method predicts."""
    from matplotlib import pyplot as plt

    names = distinct(rows, "method")
    drawn, axes = plt.subplots(
        1, len(names), figsize=(2.4 * len(names), 2.7), squeeze=False, layout="constrained"
    )
    truth = [float(row["value"]) for row in rows if row["method"] == "truth"]
    for axis, name in zip(axes[0], names, strict=True):
        own = where(rows, method=name)
        x, y, value = ([float(row[key]) for row in own] for key in ("x1", "x2", "value"))
        axis.scatter(x, y, c=value, s=6, vmin=min(truth), vmax=max(truth))
        axis.set_title(name, fontsize=8)
        axis.set_aspect("equal")
    return drawn


PANELS_8 = {
    "the same Hermite kernels": (
        "HKL hermite",
        "HKL hermite + pruning",
        "MKL hermite",
        "L2 hermite",
        "generalised lasso hermite",
        "greedy hermite",
    ),
    "several decompositions": ("HKL hermite", "HKL spline", "HKL gaussian"),
    "the same spline kernels": (
        "HKL spline",
        "MKL spline",
        "L2 spline",
        "generalised lasso spline",
    ),
    "other methods": (
        "HKL hermite",
        "HKL hermite + pruning",
        "MARS",
        "CART",
        "boosting",
        "Gaussian process",
        "NablassoRegressor",
    ),
}


def hkl_figure_8(rows: Rows) -> Any:
    """Relative error against p, one panel per comparison as in the paper."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(PANELS_8), figsize=(17, 5), sharey=True)
    dimensions = sorted({int(row["p"]) for row in rows})
    for axis, (title, methods) in zip(axes, PANELS_8.items(), strict=True):
        for shift, method in enumerate(methods):
            mine = where(rows, method=method)
            ps = sorted({int(row["p"]) for row in mine})
            if not ps:
                continue
            errors = [column(where(mine, p=p), "relative_error") for p in ps]
            bands = np.array([np.quantile(part, [0.25, 0.5, 0.75]) for part in errors])
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
                label=f"{method} ({repeats(mine)})",
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


def hkl_figure_9(rows: Rows) -> Any:
    """Test error of every split, one panel per table."""
    from matplotlib import pyplot as plt

    names = distinct(rows, "data")
    methods = distinct(rows, "method")
    figure, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 4), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        for place, method in enumerate(methods):
            errors = column(where(rows, data=name, method=method), "error")
            axis.plot([place] * len(errors), errors, "o", ms=3, color="tab:blue")
            if errors:
                axis.plot([place - 0.3, place + 0.3], [np.median(errors)] * 2, "k-", lw=1.2)
        axis.set_xticks(range(len(methods)), methods, rotation=60, ha="right", fontsize=7)
        axis.set_title(f"pumadyn {name}")
    axes[0, 0].set_ylabel("test error / var(y)")
    figure.suptitle("n = 1024; every split, and the median")
    figure.tight_layout()
    return figure


def sgl_figure_1(rows: Rows) -> Any:
    """Paths of SGL and of the lasso: x1 red, x2 to x5 blue, noise green, as in the paper."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    labels = {"SGL": "-log10 alpha", "lasso": "share of the full l1 norm"}
    for ax, (method, label) in zip(axes, labels.items(), strict=True):
        for variable in range(10, 0, -1):
            chosen = where(rows, method=method, variable=variable)
            colour = "red" if variable == 1 else "blue" if variable <= 5 else "green"
            x, y = ([float(r[key]) for r in chosen] for key in ("strength", "size"))
            ax.plot(x, y, color=colour, linewidth=1)
        ax.set(title=method, xlabel=label)
    axes[0].set_ylabel("norm of the partial derivative")
    axes[1].set_ylabel("coefficient")
    return figure


def sgl_figure_2(rows: Rows) -> Any:
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


def sgl_figure_3(rows: Rows) -> Any:
    """Rows in two directions, norms, covariance and eigenvalues, one column per method."""
    from matplotlib import pyplot as plt

    methods = distinct(rows, "method")
    figure, axes = plt.subplots(
        5, len(methods), figsize=(2.6 * len(methods), 11), layout="constrained", squeeze=False
    )
    for at, method in enumerate(methods):
        own = where(rows, method=method)
        for ax, kind in zip(axes[:2, at], ("train", "test"), strict=True):
            for label, colour in (("1", "red"), ("0", "blue")):
                part = where(own, kind=kind, index=label)
                x, y = ([float(row[key]) for row in part] for key in ("x", "y"))
                ax.plot(x, y, ".", color=colour, markersize=4)
            ax.set_aspect("equal", "datalim")
            ax.set_title(f"{method}: {kind}", fontsize=9)
        for ax, kind in zip(axes[2:4, at], ("norm", "eigenvalue"), strict=True):
            part = where(own, kind=kind)
            if part:
                heights = [float(row["x"]) for row in part]
                ax.vlines([int(row["index"]) for row in part], 0, heights, linewidth=1)
                ax.set_title(f"{kind}s", fontsize=9)
        cells = [float(row["x"]) for row in own if row["kind"] == "covariance"]
        side = int(np.sqrt(len(cells)))
        if side:
            most = float(np.abs(cells).max()) or 1.0
            image = np.reshape(cells, (side, side))
            axes[4, at].imshow(image, cmap="coolwarm", vmin=-most, vmax=most)
            axes[4, at].set_title(f"covariance of the first {side}", fontsize=9)
        for ax in axes[2:, at]:
            ax.set_visible(ax.has_data())
    return figure


def sgl_iterates(rows: Rows) -> Any:
    """Selected genes against the iterations, the minimiser dotted."""
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for number, method in enumerate(distinct(rows, "method")):
        own = where(rows, method=method)
        steps = [row for row in own if row["iteration"] != "optimum"]
        axis.loglog(
            *([int(row[key]) for row in steps] for key in ("iteration", "n_genes")),
            "o-",
            color=f"C{number}",
            label=method,
        )
        for row in own:
            if row["iteration"] == "optimum":
                axis.axhline(int(row["n_genes"]), color=f"C{number}", ls=":")
    axis.axhline(106, color="k", lw=1)
    axis.set(xlabel="iterations", ylabel="selected genes", title="black: the published 106")
    axis.legend(fontsize=8)
    return figure


TITLES = {"psd": "PSD", "pnm": "PNM", "glm": "GLM", "ncm": "NCM"}


def psd_figure_2(rows: Rows) -> Any:
    """Approximations of exp(-x^2/2) by NCM and PSD for growing n, with two kernels."""
    from matplotlib import pyplot as plt

    sizes, kernels = sorted({int(row["n"]) for row in rows}), ("printed", "authors")
    figure, axes = plt.subplots(
        2, len(sizes), figsize=(9, 4.2), sharex=True, sharey=True, squeeze=False
    )
    for line, kernel in zip(axes, kernels, strict=True):
        for axis, n in zip(line, sizes, strict=True):
            part = where(rows, n=n, kernel=kernel)
            for model, colour in (("ncm", "tab:red"), ("psd", "tab:blue")):
                curve = where(part, model=model)
                axis.plot(*_columns(curve, "x", "value"), color=colour, label=TITLES[model])
            axis.plot(*_columns(curve, "x", "truth"), "k:", label="truth")
            axis.set_title(f"n = {n}, kernel {kernel}", fontsize=8)
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def psd_figure_3(rows: Rows) -> Any:
    """Learned densities in ten variables against the first coordinate."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(11, 2.8))
    for axis, (model, title) in zip(axes, TITLES.items(), strict=True):
        for kind, colour in (("line", "tab:orange"), ("truth", "tab:blue"), ("box", "tab:green")):
            part = where(rows, model=model, kind=kind)
            axis.plot(*_columns(part, "x1", "density"), ".", ms=2, color=colour, label=kind)
        part = where(rows, model=model, kind="line")
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
    points, truth = (where(rows, model=name) for name in ("rows", "truth"))
    for axis, (model, title) in zip(axes, TITLES.items(), strict=True):
        axis.plot(*_columns(points, "x", "mean"), ".", ms=3, color="0.6")
        for part, colour, style in ((where(rows, model=model), "tab:blue", "-"), (truth, "k", ":")):
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
    points, truth = (where(rows, model=name) for name in ("rows", "truth"))
    for axis, (model, title) in zip(axes, TITLES.items(), strict=True):
        axis.plot(*_columns(points, "x", "value"), ".", ms=2, color="0.7")
        for part, style in ((where(rows, model=model), "-"), (truth, "k:")):
            for level in sorted({row["level"] for row in part}):
                curve = where(part, level=level)
                axis.plot(*_columns(curve, "x", "value"), style, lw=0.9)
        axis.set_ylim(-0.8, 0.8)
        axis.set_title(title)
    figure.tight_layout()
    return figure


def _columns(rows: Rows, x: str, y: str) -> tuple[list[float], list[float]]:
    return column(rows, x), column(rows, y)
