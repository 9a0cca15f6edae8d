"""From rows to the lines of tables: the published figure, the paper's method, our default.

Published figures that exist only as curves are described in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from nablasso.experiments.hkl import AUTOMATIC
from nablasso.experiments.nvsd import GROUPED, METRIC, PUBLISHED, ROWS
from nablasso.experiments.running import Line

Rows = list[dict[str, str]]


SGL_TABLE_1 = (78, 100, 100, 100, 100, 7, 4, 6, 5, 2)  # of 100 draws
LASSO_TABLE_1 = (16, 100, 100, 100, 100, 25, 14, 13, 13, 19)
PRINTED_LEUKEMIA = {
    "SGL": "106 genes; 0/38 left out, 0/34 test",
    "lasso": "33 genes; 1/38 left out, 1/34 test",
    "support vector machine on all genes": "7129 genes; 3/38 left out, 2/34 test",
    "GL": "7129 genes; 0/38 left out, 2/34 test",
}


def where(rows: Rows, **conditions: object) -> Rows:
    """Rows in which these columns have these values."""
    return [row for row in rows if all(row[k] == str(v) for k, v in conditions.items())]


def column(rows: Rows, name: str) -> list[float]:
    """Numbers of a column, without empty cells."""
    return [float(row[name]) for row in rows if row[name] != ""]


def mean(rows: Rows, name: str, digits: int = 3) -> str:
    """Mean of a column; empty without rows."""
    values = column(rows, name)
    return f"{np.mean(values):.{digits}g}" if values else ""


def median(rows: Rows, name: str) -> str:
    """Median of a column and the number of rows; empty without rows."""
    values = column(rows, name)
    return f"{np.median(values):.3f} ({len(values)})" if values else ""


def distinct(rows: Rows, name: str) -> list[str]:
    """Values of a column in the order in which they come."""
    return list(dict.fromkeys(row[name] for row in rows))


def by_model(
    name: str, measure: str, *, ours: str = "psd", label: str = "model"
) -> Callable[[Rows], list[Line]]:
    """A line per model with the mean of a measure; the paper's model is the library's too."""

    def lines(rows: Rows) -> list[Line]:
        found = []
        for model in distinct(rows, label):
            value = mean(where(rows, **{label: model}), measure, 4)
            both = model == ours
            found.append(Line(f"{name}, {model}", "", value, value if both else ""))
        if "truth" in rows[0]:
            found.append(Line(f"{name} of the truth", "", mean(rows, "truth", 4)))
        return found

    return lines


def points(what: str) -> Callable[[Rows], list[Line]]:
    """Rows that are drawn, not summed up: how many per curve."""

    def lines(rows: Rows) -> list[Line]:
        label = "model" if "model" in rows[0] else "method"
        return [
            Line(f"{what}, {name}", "a figure", f"{len(where(rows, **{label: name}))} points")
            for name in distinct(rows, label)
        ]

    return lines


def denovas_figure_3(rows: Rows) -> list[Line]:
    """How often x1 alone is selected."""
    printed = {"10.0": "x1 only", "0.001": "x1 and x2"}
    choices = {
        "penalised": "tau by validation",
        "refit": "tau by validation of the refit",
        "matched": "the same tau for all",
    }
    found = []
    for nu, published in printed.items():
        for choice, words in choices.items():
            part = where(rows, nu=nu, choice=choice)
            if not part:
                continue
            share = f"x1 only in {len(where(part, selected='1'))} of {len(part)} draws"
            default = share if choice == "refit" else ""
            found.append(Line(f"nu = {nu}, {words}", published, "" if default else share, default))
    return found


def nvsd_protocol(rows: Rows) -> list[Line]:
    """RMSE and Tanimoto distance by method; ours next to the paper's own that know as much."""
    found = []
    for problem in distinct(rows, "problem"):
        for place, n in enumerate(ROWS):
            part = where(rows, problem=problem, n=n)
            ours = {"NVSD(L)": METRIC, "NVSD(EN)": METRIC, "NVSD(GL)": GROUPED}
            for method, printed in PUBLISHED[problem].items():
                own = _error_and_distance(where(part, method=method))
                default = _error_and_distance(where(part, method=ours.get(method)))
                if own or default:
                    published = f"{printed[place][0]:.2f} ({printed[place][1]:.2f})"
                    what = f"{problem}, n = {n}, {method}"
                    found.append(Line(what, published, own, default))
    return found


def _error_and_distance(rows: Rows) -> str:
    """Means, and over how many draws."""
    if not rows:
        return ""
    return f"{mean(rows, 'rmse')} ({mean(rows, 'tanimoto', 2)}), {len(rows)}"


def nvsd_twins(rows: Rows) -> list[Line]:
    """Share of relevant pairs of twins that are selected whole."""
    found = []
    for estimator in distinct(rows, "estimator"):
        for fraction in distinct(rows, "fraction"):
            part = where(rows, estimator=estimator, fraction=fraction)
            whole = sum(column(part, "pairs_whole"))
            text = f"{whole:.0f} of {2 * len(part)}"
            found.append(Line(f"pairs whole, {estimator}, {fraction} of alpha_max", "", text))
    return found


def sgl_table_1(rows: Rows) -> list[Line]:
    """How often each variable is among the five selected, in per cent of the draws."""
    found = []
    centred = where(rows, method="SGL, columns centred")
    standardised = where(rows, method="SGL, columns standardised")
    lasso = where(rows, method="lasso")
    for variable in range(1, 11):
        printed, lars = SGL_TABLE_1[variable - 1], LASSO_TABLE_1[variable - 1]
        ours = [_selected(part, variable) for part in (centred, standardised)]
        found.append(Line(f"SGL selects x{variable}, per cent", str(printed), *ours))
        other = _selected(lasso, variable)
        found.append(Line(f"lasso selects x{variable}, per cent", str(lars), other))
    return found


def _selected(rows: Rows, variable: int) -> str:
    hits = [str(variable) in row["selected"].split() for row in rows]
    return f"{100 * np.mean(hits):.0f}" if hits else ""


def sgl_figure_2(rows: Rows) -> list[Line]:
    """Draws with x1, x2 and nothing else, by the deviation of the other inputs."""
    found = []
    for spread in distinct(rows, "spread"):
        for method in distinct(rows, "method"):
            part = where(rows, spread=spread, method=method)
            words = f"{_share(part, 'exact')}, accuracy {mean(part, 'accuracy', 2)}"
            printed = "under 0.7" if method == "GL" else "x1 and x2"
            what = f"deviation {spread}, {method}"
            is_default = "adaptive" in method
            found.append(
                Line(what, printed, "" if is_default else words, words if is_default else "")
            )
    return found


def sgl_table_2(rows: Rows) -> list[Line]:
    """Genes and errors at the alpha that each way chooses."""
    found = []
    for row in rows:
        if row["chosen"]:
            left = row["loo_given"] if row["chosen"] in ("given", "both") else row["loo_errors"]
            words = f"{row['n_genes']} genes; {left}/38 left out, {row['test_errors']}/34 test"
            what = row["method"] + ("" if row["chosen"] == "only" else f", alpha {row['chosen']}")
            printed = PRINTED_LEUKEMIA[row["method"].split(",")[0]]
            found.append(Line(what, printed, words))
    return found


def hkl_figure_8(rows: Rows) -> list[Line]:
    """Median error over the variance of f, and the number of draws."""
    found = []
    for n in distinct(rows, "n"):
        for p in sorted(distinct(rows, "p"), key=int):
            part = where(rows, n=n, p=p)
            ours = [
                median(where(part, method=name), "relative_error")
                for name in ("HKL hermite", "HKL hermite + refit")
            ]
            found.append(Line(f"HKL, n = {n}, p = {p}", "stays low as p grows (a curve)", *ours))
            for name in ("HKL hermite + pruning", AUTOMATIC):
                value = median(where(part, method=name), "relative_error")
                found.append(Line(f"{name}, n = {n}, p = {p}", "", "", value))
            for name in ("L2 hermite", "greedy hermite", "MKL hermite", "Gaussian process"):
                value = median(where(part, method=name), "relative_error")
                if value:
                    found.append(Line(f"{name}, n = {n}, p = {p}", "grows with p (a curve)", value))
    return [line for line in found if line.paper or line.default]


def hkl_rules(rows: Rows) -> list[Line]:
    """Variables too many and too few, exact hulls, median error over var(f)."""
    found = []
    for problem, rule in _combinations(rows, "problem", "rule"):
        part = where(rows, problem=problem, rule=rule)
        wrong = f"{mean(part, 'too_many', 2)} / {mean(part, 'too_few', 2)}"
        known = [row["hull_exact"] == "True" for row in part if row["hull_exact"]]
        hull = f", hull exact in {sum(known)} of {len(known)}" if known else ""
        error = np.median(column(part, "relative_error"))
        words = f"too many / too few {wrong}{hull}, error {error:.3f}"
        is_default = rule == "1se, pruned"  # what HierarchicalKernelRegressorCV does
        found.append(
            Line(f"{problem}, {rule}", "", "" if is_default else words, words if is_default else "")
        )
    return found


def hkl_figure_9(rows: Rows) -> list[Line]:
    """Median test error over the variance of y, and the number of splits."""
    found = []
    for data in distinct(rows, "data"):
        for method in distinct(rows, "method"):
            value = median(where(rows, data=data, method=method), "error")
            is_default = method in ("HKL hermite + pruning", AUTOMATIC)
            line = Line(
                f"pumadyn {data}, {method}",
                "a curve",
                "" if is_default else value,
                value if is_default else "",
            )
            found.append(line)
    return [line for line in found if line.paper or line.default]


def psd_figure_2(rows: Rows) -> list[Line]:
    """Root mean square errors of the approximations."""
    printed = {"psd": "goes to the target as n grows", "ncm": "does not"}
    found = []
    for kernel, model, tuning, n in _combinations(rows, "kernel", "model", "tuning", "n"):
        part = where(rows, kernel=kernel, model=model, tuning=tuning, n=n)
        what = f"{model}, kernel {kernel}, weight {tuning}, n = {n}"
        found.append(Line(what, printed[model], mean(part, "rmse", 2)))
    return found


def psd_crossings(rows: Rows) -> list[Line]:
    """How often quantiles cross, learned together and one by one."""
    found = []
    for fit, printed in (("joint", "never"), ("independent", "may cross")):
        part = where(rows, fit=fit)
        crossed = sum(value > 0 for value in column(part, "crossed"))
        words = f"{crossed} of {len(part)} draws; pinball loss {mean(part, 'pinball')}"
        found.append(Line(f"crossings, {fit}", printed, words, words if fit == "joint" else ""))
    return found


def psd_boosting(rows: Rows) -> list[Line]:
    """Held-out pinball loss on real tables, ours and boosting."""
    found = []
    for data, method in _combinations(rows, "data", "method"):
        part = where(rows, data=data, method=method)
        words = f"{mean(part, 'pinball')}, {mean(part, 'crossed', 2)} crossed"
        found.append(Line(f"pinball loss, {data}, {method}", "", words))
    return found


def _share(rows: Rows, name: str) -> str:
    return f"{sum(column(rows, name)):.0f} of {len(rows)}"


def _combinations(rows: Rows, *names: str) -> Iterable[tuple[Any, ...]]:
    return dict.fromkeys(tuple(row[name] for name in names) for row in rows)
